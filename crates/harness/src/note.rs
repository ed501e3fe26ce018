//! Notes for people, on standard error.

use std::io::{Write as _, stderr};

use crate::escape;

/// Prints a note to standard error. Errors are ignored: if standard error is closed or full, nobody can be notified.
pub fn note(text: &str) {
    let _ = writeln!(stderr().lock(), "{}", escape::lines(text));
}
