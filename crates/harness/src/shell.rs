//! Words of a command line that a shell reads back.

use std::fmt::Write as _;

use crate::escape;

/// Formats a command-line word, quoted if a shell would interpret it.
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

/// Quotes a word with control characters in the `$'...'` syntax of bash, zsh and POSIX.1-2024.
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
