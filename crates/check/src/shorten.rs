//! Shortening of long names and messages before they are copied.

use std::borrow::Cow;

/// Maximum length of a name in a finding, in bytes.
pub(crate) const MAX_NAME: usize = 500;

/// Shortens a text to `max` bytes, and appends its full length.
pub(crate) fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    // bounded: a character starts at one of the last four positions.
    let head = (0..=max).rev().find_map(|end| text.get(..end)).unwrap_or_default();
    Cow::Owned(format!("{head}... ({} bytes)", text.len()))
}

/// Shortens an owned text.
pub(crate) fn shorten_owned(text: String, max: usize) -> String {
    if text.len() <= max { text } else { shorten(&text, max).into_owned() }
}

/// Shortens a name.
pub(crate) fn name(text: &str) -> String {
    shorten(text, MAX_NAME).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shorten("aä", 3), "aä");
        assert_eq!(shorten("aä", 2), "a... (3 bytes)");
        assert_eq!(name(&"n".repeat(1 << 20)).len(), MAX_NAME + "... (1048576 bytes)".len());
    }
}
