//! Printing: the only place that writes to the terminal.

use std::error::Error;
use std::io::{ErrorKind, Write};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{LookupError, SpecError};

use crate::generate::GenerateError;
use crate::run::ExpectationError;
use crate::suite::SuiteError;

/// Prints a line to standard output. A reader that went away, as in `list | head`, ends the program quietly.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    match writeln!(anstream::stdout().lock(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}

/// Prints an error and what caused it. One that has a place in a file is shown with its line and a caret.
pub(crate) fn error(error: &anyhow::Error) {
    match error.chain().find_map(|cause| placed(cause)).and_then(graphical) {
        Some(report) => anstream::eprintln!("{report}"),
        None => anstream::eprintln!("error: {error:#}"),
    }
}

/// The error as one that has labels in a text.
fn placed<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a dyn Diagnostic> {
    fn as_diagnostic<'a, T: Diagnostic + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a dyn Diagnostic> {
        error.downcast_ref::<T>().map(|error| error as &dyn Diagnostic)
    }
    as_diagnostic::<SuiteError>(error)
        .or_else(|| as_diagnostic::<GenerateError>(error))
        .or_else(|| as_diagnostic::<ExpectationError>(error))
        .or_else(|| as_diagnostic::<LookupError>(error))
        .or_else(|| as_diagnostic::<SpecError>(error))
        .or_else(|| as_diagnostic::<YamlError>(error))
        .filter(|error| error.labels().is_some())
}

/// The report of an error; the stream that it is printed to takes the colours off where nobody would see them.
fn graphical(error: &dyn Diagnostic) -> Option<String> {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode()).with_links(false);
    handler.render_report(&mut text, error).is_ok().then_some(text)
}

/// Prints a note for people, which is no result.
pub(crate) fn note(text: &str) {
    anstream::eprintln!("{text}");
}
