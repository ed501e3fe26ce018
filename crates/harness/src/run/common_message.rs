//! Common part of the messages of cases that fail for the same reason.

use std::collections::BTreeSet;

/// Character for any text in a pattern of messages.
pub const ANY_TEXT: char = '*';

/// Maximum length of a common message in characters.
const LONGEST: usize = 160;

/// Replacements that shorten lists of differing parts to one part, and remove signs, so a pattern matches any length
/// and sign.
const LISTS: [(&str, &str); 15] = [
    ("'*', '*'", "'*'"),
    ("\"*\", \"*\"", "\"*\""),
    ("`*`, `*`", "`*`"),
    ("<class '*'>, <class '*'>", "<class '*'>"),
    ("[*], [*]", "[*]"),
    ("[*] [*]", "[*]"),
    ("(*), (*)", "(*)"),
    (" -*", " *"),
    ("[-*", "[*"),
    ("(-*", "(*"),
    ("*,)", "*)"),
    ("*, *", "*"),
    ("*,*", "*"),
    ("* *", "*"),
    ("**", "*"),
];

/// Returns the pattern of messages that differ from this one only in numbers, quoted names, the lengths of lists of them, and the names of
/// these operators, such as `ai.onnx/Gemm`. The element types are part of it, since they are often the reason.
pub fn common_message(message: &str, operators: &BTreeSet<String>) -> String {
    let first = message.trim().lines().next().unwrap_or_default();
    let names: BTreeSet<&str> = operators.iter().filter_map(|name| name.rsplit('/').next()).collect();
    let mut text = String::new();
    let mut word = String::new();
    let mut quote = None;
    for c in first.chars().chain([' ']) {
        if let Some(end) = quote {
            if c == end {
                text.extend([ANY_TEXT, c]);
                quote = None;
            }
            continue;
        }
        let is_in_number = c == '.' && word.starts_with(|first: char| first.is_ascii_digit());
        if c.is_alphanumeric() || c == '_' || is_in_number {
            word.push(c);
            continue;
        }
        if differs(&word, &names) {
            text.push(ANY_TEXT);
        } else {
            text.push_str(&word);
        }
        word.clear();
        text.push(c);
        // An apostrophe within a word opens no quotation.
        let is_free = text.chars().rev().nth(1).is_none_or(|before| !before.is_alphanumeric());
        quote = Some(c).filter(|c| matches!(c, '\'' | '"' | '`') && is_free);
    }
    without_lists(text.trim()).chars().take(LONGEST).collect()
}

/// Replaces each list by one of its items. A message that a pattern matches still matches it, since `*` stands for any text.
fn without_lists(text: &str) -> String {
    let mut text = text.to_owned();
    loop {
        let shorter = LISTS.iter().fold(text.clone(), |text, (list, item)| text.replace(list, item));
        if shorter == text {
            return text;
        }
        text = shorter;
    }
}

/// Returns true if a word of a message differs from case to case.
fn differs(word: &str, operators: &BTreeSet<&str>) -> bool {
    let is_number = word.chars().next().is_some_and(|first| first.is_ascii_digit());
    let is_operator =
        operators.contains(word) || word.rsplit_once('_').is_some_and(|(name, _)| operators.contains(name));
    is_number || is_operator
}

/// Returns true if a message begins with text that matches a pattern; `*` matches any text.
pub(crate) fn begins_as(message: &str, pattern: &str) -> bool {
    let mut parts = pattern.split(ANY_TEXT);
    let Some(mut rest) = message.trim_start().strip_prefix(parts.next().unwrap_or_default()) else { return false };
    parts.all(|part| {
        let found = rest.split_once(part);
        rest = found.map_or("", |(_, after)| after);
        found.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_do_not_distinguish_messages() {
        let operators = BTreeSet::from(["ai.onnx/Gemm".to_owned()]);
        let of = |message: &str| common_message(message, &operators);
        assert_eq!(of("node 12: Gemm does not take \"alpha\" of 0.5"), "node *: * does not take \"*\" of *");
        assert_eq!(of("can't load Gemm_3"), "can't load *");
        assert_eq!(of("no kernel of float16\nsecond line"), "no kernel of float16");
        assert_eq!(of("shape [1, 2, 3] is not [4]"), "shape [*] is not [*]");
        assert_eq!(of("shape (3,) is not (2,3)"), "shape (*) is not (*)");
        assert_eq!(of("pads=[[0 -1] [2 3]] of ['a', 'b']"), "pads=[[*]] of ['*']");
        assert_eq!(of("[<class 'int'>, <class 'str'>] at -3"), "[<class '*'>] at *");
    }

    #[test]
    fn a_message_begins_as_its_pattern() {
        let operators = BTreeSet::from(["ai.onnx/Gemm".to_owned()]);
        for message in [
            "shape (3,) is not (2,3)",
            "pads=[[0 -1] [2 3]] of ['a', 'b'] in Gemm",
            "Issues with types [<class 'int'>, <class 'str'>] and attributes ['a', 'b', 'c'] (operator 'Gemm').",
            "a.cpp:12: error: (-215:Assertion failed) dims >= -1 && dims <= 4 in function 'f'",
            "it's \"a\", \"b\" or `c`, `d`",
        ] {
            let pattern = common_message(message, &operators);
            assert!(begins_as(message, &pattern), "{message} {pattern}");
        }
    }

    #[test]
    fn a_message_matches_its_own_pattern() {
        let operators = BTreeSet::from(["ai.onnx/Gemm".to_owned()]);
        for message in [
            "node 12: Gemm does not take \"alpha\" of 0.5",
            " can't load Gemm_3",
            "no kernel of float16\nsecond line",
            "it's 'a *quoted* name' [1, 2, 3]",
            "an open 'quotation of Gemm",
            "",
        ] {
            assert!(begins_as(message, &common_message(message, &operators)), "{message}");
        }
        assert!(begins_as("output 'y': expected float", "output '*': expected"));
        assert!(!begins_as("the output 'y': expected float", "output '*': expected"));
        assert!(!begins_as("output 'y'", "output '*': expected"));
        assert!(begins_as("anything", ""));
    }
}
