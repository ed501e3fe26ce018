//! Words of a command line that a shell reads back.

use std::fmt::Write as _;

use crate::escape;

/// A word of a command line, in quotes where a shell would take it for something else.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:@,+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else if text.chars().all(escape::is_plain) {
        format!("'{}'", text.replace('\'', "'\\''"))
    } else {
        ansi_quoted(text)
    }
}

/// A word with characters that no terminal should see, in the quotes that bash, zsh and POSIX.1-2024 know for them.
fn ansi_quoted(text: &str) -> String {
    let mut word = "$'".to_owned();
    for c in text.chars() {
        match c {
            '\'' | '\\' => word.extend(['\\', c]),
            c if escape::is_plain(c) => word.push(c),
            c => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(word, "\\{byte:03o}");
                }
            }
        }
    }
    word + "'"
}
