//! Notes for people, on standard error.

use std::io::{Write as _, stderr};

use crate::escape;

/// Prints a note, which is no result. Where standard error is closed or full, nobody is left to be told so.
pub fn note(text: &str) {
    let _ = writeln!(stderr().lock(), "{}", escape::lines(text));
}
