//! Marks of states: a sign, a name and numbers, which can be distinguished without colours.

use crate::site::severity::{CellState, letter_of, state_of};
use crate::site::static_pages::html::Html;

/// Creates the mark of a state, with the number of its behaviours.
pub(crate) fn mark(state: &CellState) -> Html {
    let numbers = match state {
        CellState::Worst(_, bad, total) => format!(" {bad}/{total}"),
        CellState::Right(total) | CellState::DeclinedAll(total) => format!(" {total}"),
        CellState::Untested | CellState::Recorded | CellState::NotAccepted => String::new(),
    };
    with_numbers(letter_of(state), &numbers)
}

/// Creates the mark of a state by its letter in the data of the pages.
pub(crate) fn letter_mark(letter: char) -> Html {
    with_numbers(letter, "")
}

fn with_numbers(letter: char, numbers: &str) -> Html {
    let state = state_of(letter);
    let class = if state.key == '?' { 'q' } else { state.key };
    let sign = Html::with("span", &[("aria-hidden", "true")], state.sign.to_string());
    let words = Html::from(format!(" {}{numbers}", state.name));
    Html::with("span", &[("class", format!("mark s-{class}").as_str())], [sign, words])
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_harness::measure::Severity;

    #[test]
    fn a_mark_has_sign_name_and_numbers() {
        let html = mark(&CellState::Worst(Severity::Wrong, 1, 25));
        let sign = "<span aria-hidden=\"true\">✗</span>";
        assert_eq!(html.as_str(), format!("<span class=\"mark s-w\">{sign} wrong 1/25</span>"));
        assert!(mark(&CellState::Untested).as_str().contains("s-q"));
        assert!(mark(&CellState::Worst(Severity::Declined, 1, 2)).as_str().contains("partly declined 1/2"));
        assert!(letter_mark('c').as_str().contains("crashes</span>"));
    }
}
