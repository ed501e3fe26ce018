//! Sentences of a text of the standard.
//!
//! White space and the HTML tag `<br>` are normalized to one space before a text is split, so texts that differ only in them have
//! the same sentences. A sentence ends
//! - after `.`, `?` or `!`, which quotes and brackets may follow, unless the next word begins with a small letter, the word is a
//!   known abbreviation, or it is the number of a list item (`1.`);
//! - after `:`, `;` or `,` before the mark of a list item (`-`, `*`, `1.`, `(2)`);
//! - before and after the fence of a code block (```` ``` ````).

use onnx_conformance_cases::suite::sha256;

/// Abbreviations that end with a full stop within a sentence.
const ABBREVIATIONS: [&str; 9] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "resp.", "approx.", "Eq.", "Fig."];

/// Spellings of the tag for a line break.
const BREAKS: [&str; 3] = ["<br>", "<br/>", "<br />"];

/// Number of digits of a sentence's digest.
const DIGITS: usize = 8;

/// Splits a text into its sentences.
pub(crate) fn split(text: &str) -> Vec<String> {
    let text = BREAKS.iter().fold(text.to_owned(), |text, tag| text.replace(tag, " "));
    let mut sentences: Vec<String> = Vec::new();
    let mut sentence = String::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let is_first = sentence.is_empty();
        if !is_first {
            sentence.push(' ');
        }
        sentence.push_str(word);
        if words.peek().is_none_or(|next| ends(word, is_first, next)) {
            sentences.push(std::mem::take(&mut sentence));
        }
    }
    sentences
}

/// Returns the digest of a sentence: the first digits of its SHA-256.
pub(crate) fn digest(sentence: &str) -> String {
    sha256(sentence.as_bytes()).chars().take(DIGITS).collect()
}

/// Returns true if a sentence ends between two words.
fn ends(word: &str, is_first: bool, next: &str) -> bool {
    if [word, next].iter().any(|word| word.starts_with("```")) {
        return true;
    }
    let bare = word.trim_end_matches([')', ']', '"', '\'', '`', '*', '_']);
    match bare.chars().next_back() {
        Some('.' | '?' | '!') => {
            let is_abbreviation = ABBREVIATIONS.contains(&bare.trim_start_matches(['(', '[']));
            let is_number = is_first && is_item_mark(word);
            !is_abbreviation && !is_number && !next.starts_with(char::is_lowercase)
        }
        Some(':' | ';' | ',') => is_item_mark(next),
        _ => false,
    }
}

/// Returns true for the mark of a list item: `-`, `*`, `•`, `1.`, `2)`, `(3)`, `a)`.
fn is_item_mark(word: &str) -> bool {
    if ["-", "*", "•"].contains(&word) {
        return true;
    }
    let inner = word.strip_prefix('(').unwrap_or(word);
    let Some(number) = inner.strip_suffix(['.', ')']) else { return false };
    let is_letter = number.len() == 1 && number.starts_with(|c: char| c.is_ascii_alphabetic());
    is_letter || !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, sentences: &[&str]) {
        assert_eq!(split(text), sentences, "{text}");
    }

    #[test]
    fn texts_that_differ_in_white_space_have_the_same_sentences() {
        let sentences = ["The sum of X.", "One value per row."];
        for text in [
            "The sum of X. One value per row.",
            "\n  The sum\n  of X.\n\nOne\tvalue per row.\n",
            "The sum of X.<br>One value per<br />row.",
        ] {
            check(text, &sentences);
        }
        check(" \n ", &[]);
    }

    #[test]
    fn full_stops_within_a_sentence_do_not_end_it() {
        check("Types (e.g. Float) and so on. Next!", &["Types (e.g. Float) and so on.", "Next!"]);
        check("See X.shape and version 1.5 or x. y is small.", &["See X.shape and version 1.5 or x. y is small."]);
        check("The default is 0. If it is absent, ...", &["The default is 0.", "If it is absent, ..."]);
        check("It is \"left out.\" (A note.) End", &["It is \"left out.\"", "(A note.)", "End"]);
    }

    #[test]
    fn items_and_code_are_separate() {
        check("Modes: - first; - second, * third", &["Modes:", "- first;", "- second,", "* third"]);
        check("Steps: 1. Add. 2. Subtract a - b.", &["Steps:", "1. Add.", "2. Subtract a - b."]);
        check("Example ```python x = 1 ``` End", &["Example", "```python", "x = 1", "```", "End"]);
    }

    #[test]
    fn a_digest_is_eight_digits_of_the_sha256() {
        assert_eq!(digest("abc"), "ba7816bf");
    }
}
