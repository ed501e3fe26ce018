//! Styles of terminal text, as escape sequences. The program removes them if its output shows none.

use std::fmt;

/// Style of a part of a text: `{STYLE}` begins it, and `{STYLE:#}` ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style(&'static str);

/// Names and titles.
pub(super) const BOLD: Style = Style("\u{1b}[1m");
/// Less important text.
pub(super) const DIM: Style = Style("\u{1b}[2m");

/// End of every style.
const RESET: &str = "\u{1b}[0m";

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if f.alternate() { RESET } else { self.0 })
    }
}

/// Removes the styles of a text in which nothing else has an escape sequence.
pub fn without_style(text: &str) -> String {
    [BOLD.0, DIM.0, RESET].iter().fold(text.to_owned(), |text, code| text.replace(code, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_its_styles_is_plain() {
        let text = format!("{BOLD}a{BOLD:#} b {DIM}c{DIM:#}");
        assert_eq!(text, "\u{1b}[1ma\u{1b}[0m b \u{1b}[2mc\u{1b}[0m");
        assert_eq!(without_style(&text), "a b c");
    }
}
