//! Printing: the only place that writes to the terminal, and that decides what becomes of what cannot be written.

use std::error::Error;
use std::io::{ErrorKind, Write, stdout};

use anyhow::Context as _;
use miette::Diagnostic;
use miette::{GraphicalReportHandler, GraphicalTheme};
use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{LookupError, SpecError};
use serde::Serialize;

use onnx_conformance_cases::generate::GenerateError;
use onnx_conformance_cases::suite::SuiteError;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::expectations::ExpectationError;

/// Prints text to standard output. A reader that went away, as in `run | head`, changes nothing: files are written and the
/// exit code is what it is, whoever reads.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    plain(&escape::lines(text))
}

/// Prints a value as JSON to standard output.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    plain(&escape::json(&serde_json::to_string_pretty(value)?))
}

/// Prints text with colours of our own, all else in it escaped already, to standard output; the colours go where they would not be
/// seen.
pub(crate) fn styled(text: &str) -> anyhow::Result<()> {
    printed(writeln!(anstream::stdout().lock(), "{text}"))
}

/// Prints text without colours. A stream that looks for them takes seconds for the ids of all cases.
fn plain(text: &str) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// Prints what needs no more escaping, as it is.
pub(crate) fn raw(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    printed(out.write_all(bytes).and_then(|()| out.flush()))
}

fn printed(written: std::io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("standard output cannot be written"),
    }
}

/// Prints to standard error. Where that is closed or full, nobody is left to be told so.
fn complain(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints an error and what caused it. One that has a place in a file is shown with its line and a caret.
pub(crate) fn error(error: &anyhow::Error) {
    match error.chain().find_map(|cause| placed(cause)).and_then(graphical) {
        Some(report) => complain(&report),
        None => note(&format!("error: {}", escape::line(&format!("{error:#}")))),
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
    let render = |theme: GraphicalTheme| {
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_links(false);
        handler.render_report(&mut text, error).is_ok().then_some(text)
    };
    // The file that the error is about is shown, too. Where it holds what must not be printed, there are no colours.
    let plain = render(GraphicalTheme::unicode_nocolor())?;
    let escaped = escape::lines(&plain);
    if escaped == plain { render(GraphicalTheme::unicode()) } else { Some(escaped.into_owned()) }
}

/// Prints a note for people, which is no result.
pub(crate) fn note(text: &str) {
    complain(&escape::lines(text));
}
