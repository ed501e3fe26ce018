//! State of an operator version or of one of its types: the worst severity over its cases.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use anstyle::Style;
use onnx_conformance_cases::case::Level;
use onnx_conformance_harness::measure::{Measured, Severity};
use onnx_conformance_harness::run::Outcome;
use serde::Serialize;
use serde_json::json;

use crate::colours::{BAD, DIM, GOOD, NOTE, UNSURE};

/// State of a cell, as the pages show it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct State {
    /// The letter in the data of the pages.
    pub(crate) key: char,
    pub(crate) sign: char,
    pub(crate) name: &'static str,
    /// The predicate of several operators: `12 are wrong`.
    many: &'static str,
    /// The predicate of one operator.
    pub(crate) one: &'static str,
    /// True if the state is a failure.
    pub(crate) bad: bool,
}

const fn state(key: char, sign: char, name: &'static str, many: &'static str, one: &'static str) -> State {
    State { key, sign, name, many, one, bad: matches!(key, 'c' | 'w' | 's' | 'e' | 'a' | 'i') }
}

/// The states of cells, worst first.
pub(crate) const STATES: [State; 12] = [
    state('c', '☠', "crashes", "crash", "crashes, hangs or uses too much memory"),
    state('w', '✗', "wrong", "are wrong", "gives a wrong output"),
    state(
        's',
        '≈',
        "wrong in special values",
        "are wrong in special values",
        "gives a wrong output only for special values",
    ),
    state('e', '⊘', "fails", "fail", "fails on a valid model"),
    state('a', '!', "accepts invalid", "accept invalid models", "runs an invalid model"),
    state('p', '◐', "partly declined", "are partly declined", "reports some cases as not supported"),
    state('d', '–', "declined", "are declined", "reports it as not supported"),
    state('i', '±', "inexact", "are inexact", "differs from the expected output by a few ULP only"),
    state('r', '✓', "right", "are right", "is right in every case"),
    state('n', '▨', "not accepted", "are not accepted", "does not take files of this opset or IR version"),
    state('o', '○', "recorded", "are recorded", "the standard leaves it open; the outcome is recorded"),
    state('?', '?', "not measured", "are not measured", "not measured: neither right nor wrong"),
];

/// Returns the state with a letter; the last one, which is not measured, for an unknown letter.
pub(crate) fn state_of(letter: char) -> State {
    let rank = rank_of(letter);
    STATES.get(rank).copied().unwrap_or(state('?', '?', "not measured", "", ""))
}

/// Returns the position of a state among all, the worst first.
pub(crate) fn rank_of(letter: char) -> usize {
    STATES.iter().position(|state| state.key == letter).unwrap_or(STATES.len() - 1)
}

/// The script that gives the pages the tables of states and of outcomes. An outcome has its words and its state.
pub(crate) fn tables_script() -> String {
    let outcome = |outcome: Outcome| {
        let state = Severity::from_outcome(outcome, false).map_or('?', Severity::letter);
        (outcome.letter(), (outcome.words(), state))
    };
    let others = [
        ('I', ("inexact values", 'i')),
        ('n', ("opset or IR version not accepted", 'n')),
        ('?', ("not measured", '?')),
    ];
    let outcomes: BTreeMap<char, (&str, char)> = Outcome::ALL.into_iter().map(outcome).chain(others).collect();
    format!(
        "\"use strict\";\n\n/** The states of cells, worst first. */\nsite.STATES = {};\n\n\
         /** Words and state of the outcomes of single cases, by their letters in the data. */\nsite.OUTCOMES = {};\n",
        json!(STATES),
        json!(outcomes),
    )
}

/// Result of one case in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The case was judged.
    Judged(Severity),
    /// The standard leaves the result open, so it is only recorded.
    Recorded,
    /// The runtime does not accept the opset or the IR version.
    NotAccepted,
    /// Nothing is known.
    Unknown,
}

impl Ending {
    /// Returns the ending of a measured case of this level.
    pub(crate) fn from_measured(measured: Measured, level: Level, is_edge: bool) -> Ending {
        match measured {
            Measured::NotAccepted => Ending::NotAccepted,
            Measured::Unknown => Ending::Unknown,
            Measured::Inexact(_) | Measured::Ended(_) => match Severity::from_measured(measured, is_edge) {
                None => Ending::Unknown,
                Some(_) if measured.outcome().is_some_and(|outcome| outcome.is_left_open(level)) => Ending::Recorded,
                Some(severity) => Ending::Judged(severity),
            },
        }
    }
}

/// State of an operator version, or of one of its types, on one runtime. Counts behaviours, which are the names of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellState {
    /// No case is conclusive.
    Untested,
    /// Only cases that the standard leaves open have outcomes.
    Recorded,
    /// The runtime does not accept the opset or the IR version.
    NotAccepted,
    /// Every behaviour is correct.
    Right(usize),
    /// Every case is declined.
    DeclinedAll(usize),
    /// Worst severity, number of behaviours with it, and number of judged behaviours.
    Worst(Severity, usize, usize),
}

impl CellState {
    /// Summarizes cases, each with the number of its behaviour. Cases of the same behaviour must be adjacent.
    pub(crate) fn from_endings(endings: impl IntoIterator<Item = (usize, Ending)>) -> CellState {
        let (mut worst, mut bad, mut total) = (Severity::Right, 0, 0);
        let (mut any_other, mut recorded, mut refused) = (false, false, false);
        let mut current: Option<(usize, Severity)> = None;
        let mut close = |ended: Option<(usize, Severity)>| {
            let Some((_, severity)) = ended else { return };
            total += 1;
            match severity.cmp(&worst) {
                std::cmp::Ordering::Greater => (worst, bad) = (severity, 1),
                std::cmp::Ordering::Equal => bad += 1,
                std::cmp::Ordering::Less => {}
            }
        };
        for (behaviour, ending) in endings {
            let severity = match ending {
                Ending::Judged(severity) => severity,
                Ending::Recorded => {
                    recorded = true;
                    continue;
                }
                Ending::NotAccepted => {
                    refused = true;
                    continue;
                }
                Ending::Unknown => continue,
            };
            any_other |= severity != Severity::Declined;
            current = match current {
                Some((same, before)) if same == behaviour => Some((same, before.max(severity))),
                before => {
                    close(before);
                    Some((behaviour, severity))
                }
            };
        }
        close(current);
        match (total, worst) {
            (0, _) if refused => CellState::NotAccepted,
            (0, _) if recorded => CellState::Recorded,
            (0, _) => CellState::Untested,
            (_, Severity::Right) => CellState::Right(total),
            (_, Severity::Declined) if !any_other => CellState::DeclinedAll(total),
            _ => CellState::Worst(worst, bad, total),
        }
    }
}

/// Returns the terminal colour of the state.
pub(crate) fn colour_of(state: &CellState) -> Style {
    match state {
        CellState::Untested | CellState::Recorded | CellState::NotAccepted | CellState::DeclinedAll(_) => DIM,
        CellState::Right(_) | CellState::Worst(Severity::Right | Severity::Inexact, ..) => GOOD,
        CellState::Worst(Severity::Declined, ..) => NOTE,
        CellState::Worst(Severity::TakesInvalid | Severity::RefusesValid | Severity::WrongSpecial, ..) => UNSURE,
        CellState::Worst(Severity::Wrong | Severity::Crash, ..) => BAD,
    }
}

/// Returns the state as a letter: the first of [`CellState`]'s text.
pub(crate) fn letter_of(state: &CellState) -> char {
    state.to_string().chars().next().unwrap_or('?')
}

/// Describes the state: `wrong in 1 of 25 behaviours`.
pub(crate) fn words_of(state: &CellState) -> String {
    let words = |severity: &Severity| match severity {
        Severity::Right => "right",
        Severity::Inexact => "inexact",
        Severity::Declined => "partly declined",
        Severity::TakesInvalid => "accepts invalid models",
        Severity::RefusesValid => "refuses valid models",
        Severity::WrongSpecial => "wrong in special values",
        Severity::Wrong => "wrong",
        Severity::Crash => "crashes or hangs",
    };
    match state {
        CellState::Untested => "not measured".to_owned(),
        CellState::Recorded => "recorded: the standard leaves it open".to_owned(),
        CellState::NotAccepted => "opset not accepted".to_owned(),
        CellState::Right(total) => format!("right in all {total} behaviours"),
        CellState::DeclinedAll(total) => format!("declined in all {total} behaviours"),
        CellState::Worst(worst, bad, total) => format!("{} in {bad} of {total} behaviours", words(worst)),
    }
}

impl fmt::Display for CellState {
    /// Formats the state as in the data of the pages: `r24`, `w1/25`, `n`. `p` is partly declined, `d` entirely.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellState::Untested => f.write_char('?'),
            CellState::Recorded => f.write_char('o'),
            CellState::NotAccepted => f.write_char('n'),
            CellState::Right(total) => write!(f, "r{total}"),
            CellState::DeclinedAll(total) => write!(f, "d{total}"),
            CellState::Worst(Severity::Declined, bad, total) => write!(f, "p{bad}/{total}"),
            CellState::Worst(worst, bad, total) => write!(f, "{}{bad}/{total}", worst.letter()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcomes: &[(usize, Outcome)], expected: &str) {
        let endings = outcomes.iter().map(|&(behaviour, outcome)| {
            (behaviour, Ending::from_measured(Measured::Ended(outcome), Level::Required, behaviour >= 10))
        });
        assert_eq!(CellState::from_endings(endings).to_string(), expected, "{outcomes:?}");
    }

    #[test]
    fn the_worst_end_decides_and_behaviours_are_counted() {
        use Outcome::{Accepted, Crash, Error, Mismatch, Pass, Timeout, Unsupported, WrongShape};
        check(&[(0, Pass), (1, Pass), (1, Pass)], "r2");
        check(&[(0, Pass), (1, Unsupported)], "p1/2");
        check(&[(0, Pass), (0, Unsupported)], "p1/1");
        check(&[(0, Unsupported), (1, Unsupported)], "d2");
        check(&[(0, Unsupported), (1, Accepted)], "a1/2");
        check(&[(0, Accepted), (1, Error)], "e1/2");
        check(&[(0, Error), (1, Mismatch), (1, Pass), (2, WrongShape), (3, Pass)], "w2/4");
        check(&[(0, Mismatch), (1, Crash), (2, Timeout)], "c2/3");
    }

    #[test]
    fn special_values_weigh_less_than_others() {
        check(&[(0, Outcome::Pass), (10, Outcome::Mismatch)], "s1/2");
        check(&[(0, Outcome::Mismatch), (10, Outcome::Mismatch)], "w1/2");
        check(&[(0, Outcome::Error), (10, Outcome::WrongType)], "s1/2");
        check(&[(10, Outcome::Crash)], "c1/1");
    }

    #[test]
    fn unknown_open_and_unaccepted_cases_are_not_failures() {
        let state = |endings: &[Ending]| {
            CellState::from_endings(endings.iter().enumerate().map(|(behaviour, ending)| (behaviour, *ending)))
                .to_string()
        };
        assert_eq!(state(&[]), "?");
        assert_eq!(state(&[Ending::Unknown]), "?");
        assert_eq!(state(&[Ending::Unknown, Ending::Recorded]), "o");
        assert_eq!(state(&[Ending::NotAccepted, Ending::Recorded]), "n");
        assert_eq!(state(&[Ending::NotAccepted, Ending::Judged(Severity::Right)]), "r1");
        let crash = Measured::Ended(Outcome::Crash);
        assert_eq!(Ending::from_measured(crash, Level::Open, false), Ending::Judged(Severity::Crash));
        assert_eq!(Ending::from_measured(Measured::Ended(Outcome::Mismatch), Level::Open, false), Ending::Recorded);
        assert_eq!(
            Ending::from_measured(Measured::Ended(Outcome::NotApplicable), Level::Required, false),
            Ending::Unknown
        );
        assert_eq!(Ending::from_measured(Measured::Unknown, Level::Required, false), Ending::Unknown);
    }

    #[test]
    fn the_pages_have_every_state_and_every_outcome() {
        let keys: Vec<char> = STATES.iter().map(|state| state.key).collect();
        let severities: Vec<char> = Severity::ALL.into_iter().rev().map(Severity::letter).collect();
        let known: Vec<char> = keys.iter().copied().filter(|key| severities.contains(key)).collect();
        assert_eq!(known, severities, "the order of STATES differs from that of Severity");
        let states = [CellState::Untested, CellState::Recorded, CellState::NotAccepted, CellState::DeclinedAll(1)];
        let worst = Severity::ALL.into_iter().map(|severity| CellState::Worst(severity, 1, 2));
        for state in states.into_iter().chain(worst) {
            assert!(keys.contains(&letter_of(&state)), "{state}");
        }
        let script = tables_script();
        let (_, outcomes) = script.split_once("site.OUTCOMES = ").unwrap();
        let outcomes: BTreeMap<char, (String, char)> =
            serde_json::from_str(outcomes.trim_end().trim_end_matches(';')).unwrap();
        assert_eq!(outcomes.len(), Outcome::ALL.len() + 3, "two outcomes have the same letter");
        assert_eq!(outcomes.get(&'S'), Some(&("wrong shape".to_owned(), 'w')));
        assert!(outcomes.values().all(|(_, state)| keys.contains(state)), "{outcomes:?}");
    }
}
