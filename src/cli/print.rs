//! Printing: the only module that writes to the terminal and handles output that cannot be written.

use std::error::Error;
use std::io::{ErrorKind, Write, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
pub(crate) use onnx_conformance_harness::note::note;
use onnx_conformance_report::json_format::versioned_json;

/// Text that is printed later, in one piece.
static COLLECTED: Mutex<Option<String>> = Mutex::new(None);

/// Collects text from now on instead of printing it, except JSON.
pub(crate) fn collect() {
    *collection() = Some(String::new());
}

/// Returns the collected text, and prints from now on.
pub(crate) fn collected() -> Option<String> {
    collection().take()
}

fn collection() -> MutexGuard<'static, Option<String>> {
    COLLECTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a line to the collected text. Returns false if text is not collected.
fn is_collected(text: &str) -> bool {
    let mut collected = collection();
    let Some(collected) = collected.as_mut() else { return false };
    collected.push_str(text);
    collected.push('\n');
    true
}

/// Prints text to standard output. A reader that closed the pipe, as in `run | head`, has no effect on written files and the exit
/// code.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    let text = escape::lines(text);
    if is_collected(&text) { Ok(()) } else { plain(&text) }
}

/// Prints a value as JSON to standard output. An object begins with the version of its format.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    json_text(&versioned_json(value)?)
}

/// Prints JSON to standard output. Characters that a terminal acts on are escaped as JSON escapes them.
pub(crate) fn json_text(text: &str) -> anyhow::Result<()> {
    plain(&escape::json(text))
}

/// Prints text with our own colours to standard output. All other text in it must be escaped already. The colours are removed if
/// the output does not show them.
pub(crate) fn styled(text: &str) -> anyhow::Result<()> {
    if is_collected(text) {
        return Ok(());
    }
    printed(writeln!(anstream::stdout().lock(), "{text}"))
}

/// Prints text without colours. A stream that searches for colours would take seconds for the ids of all cases.
fn plain(text: &str) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// Prints bytes that need no escaping.
pub(crate) fn raw(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    printed(out.write_all(bytes).and_then(|()| out.flush()))
}

fn printed(written: std::io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

/// Prints to standard error. If that is closed or full, there is nobody left to notify.
fn complain(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints an error and its causes. An error with a place in a file is shown with its line and a caret.
pub(crate) fn error(error: &anyhow::Error) {
    match error.chain().find_map(|cause| placed(cause)).and_then(render_report) {
        Some(report) => complain(&report),
        None => note(&format!("error: {}", escape::line(&format!("{error:#}")))),
    }
}

/// Returns the error as a diagnostic with labels in a text.
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

/// Formats the report of an error. The output stream removes the colours if they are not shown.
fn render_report(error: &dyn Diagnostic) -> Option<String> {
    let render = |theme: GraphicalTheme| {
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_links(false);
        handler.render_report(&mut text, error).is_ok().then_some(text)
    };
    // The report also shows the file of the error. If the file has characters that must be escaped, there are no colours.
    let plain = render(GraphicalTheme::unicode_nocolor())?;
    let escaped = escape::lines(&plain);
    if escaped == plain { render(GraphicalTheme::unicode()) } else { Some(escaped.into_owned()) }
}
