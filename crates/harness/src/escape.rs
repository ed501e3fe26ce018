//! Escaping of external text in reports: ids, names, versions and messages cannot be mistaken for anything else.

use std::borrow::Cow;
use std::fmt::Write as _;

use onnx_conformance_subject::message::MAX_MESSAGE;

/// Maximum number of characters of a message in a report.
pub const LONGEST: usize = MAX_MESSAGE;

/// Escapes multi-line text for a terminal or XML. Characters that move the cursor, change colours or reorder text, and
/// noncharacters, are written as `\u{1b}`. XML 1.0 allows all remaining characters.
pub fn lines(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' | '\t' => escaped.push(c),
            c if is_plain(c) => escaped.push(c),
            c => escaped.extend(c.escape_default()),
        }
    }
    Cow::Owned(escaped)
}

/// Escapes single-line text such as an id. A line break is written as `\n`.
pub fn line(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) { escaped.push(c) } else { escaped.extend(c.escape_default()) }
    }
    Cow::Owned(escaped)
}

/// Escapes a multi-line message, truncated to [`LONGEST`] characters.
pub fn message(text: &str) -> String {
    lines(&cut(text, LONGEST)).into_owned()
}

/// Truncates a text, and appends the number of omitted characters.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(most) else { return Cow::Borrowed(text) };
    let (shown, rest) = text.split_at(end);
    Cow::Owned(format!("{shown}... ({} more characters)", rest.chars().count()))
}

/// Escapes text for one line of markdown, also within a table.
pub fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in line(text).chars() {
        if "\\`*_[]<>|~#&".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Escapes text for one line of HTML or SVG, between tags or in quotes.
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Formats single-line text as markdown code. The fence is longer than any run of backticks in the text.
pub fn markdown_code(text: &str) -> String {
    let text = line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Markdown parsers remove one space at both ends.
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Formats text as code in a markdown table cell, where a bar ends the cell even within code.
pub fn markdown_cell_code(text: &str) -> String {
    markdown_code(text).replace('|', "\\|")
}

/// Escapes JSON text so that strings contain no terminal control characters.
pub fn json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) || c == '\n' {
            escaped.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    escaped
}

/// Returns true if a character may be printed as it is. Excludes control characters, marks that reorder or break lines, and
/// noncharacters.
pub fn is_plain(c: char) -> bool {
    let reorders = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    let is_none = matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe;
    !(c.is_control() || reorders || breaks || is_none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_remains() {
        assert_eq!(lines("a\u{1b}[31mb\r\nc\rd\te\u{9b}\u{202e}"), "a\\u{1b}[31mb\nc\\rd\te\\u{9b}\\u{202e}");
        assert_eq!(line("a\nb\tc — ü \u{fffe}\u{10ffff}"), "a\\nb\\tc — ü \\u{fffe}\\u{10ffff}");
        assert_eq!(json("{\"a\": \"\u{9b}\u{1ffff}\"}\n"), "{\"a\": \"\\u009b\\ud83f\\udfff\"}\n");
    }

    #[test]
    fn a_long_message_says_how_much_is_missing() {
        let cut = message(&"é".repeat(LONGEST + 7));
        assert_eq!(cut, format!("{}... (7 more characters)", "é".repeat(LONGEST)));
        assert_eq!(message("short"), "short");
    }

    #[test]
    fn markdown_has_no_meaning_of_its_own() {
        assert_eq!(markdown("a|b`c`\n<d> #1 &lt;"), "a\\|b\\`c\\`\\\\n\\<d\\> \\#1 \\&lt;");
        assert_eq!(markdown_code("a/b|c"), "`a/b|c`");
        assert_eq!(markdown_code("a``b\n`"), "``` a``b\\n` ```");
        assert_eq!(markdown_cell_code("a|b"), "`a\\|b`");
    }
}
