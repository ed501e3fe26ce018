//! Printing: the only place that writes to the terminal.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the command line is what prints")]

use std::io::{ErrorKind, Write};

/// Prints a line to standard output. A reader that went away, as in `list | head`, ends the program quietly.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    match writeln!(anstream::stdout().lock(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}

/// Prints an error and what caused it.
pub(crate) fn error(error: &anyhow::Error) {
    anstream::eprintln!("error: {error:#}");
}

/// Prints a note for people, which is no result.
pub(crate) fn note(text: &str) {
    anstream::eprintln!("{text}");
}
