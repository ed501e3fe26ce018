//! Tests of a test binary, and their outcomes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Exit code of a test binary whose tests failed, or whose command line is invalid.
pub(super) const FAILED: u8 = 101;

/// A named test.
pub(super) struct Trial<'a> {
    pub(super) name: String,
    /// True if the command line selects the test by something other than a part of its name.
    pub(super) is_chosen: bool,
    test: Box<dyn FnOnce() -> Result<Completion, Failed> + Send + 'a>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        name: impl Into<String>,
        test: impl FnOnce() -> Result<Completion, Failed> + Send + 'a,
    ) -> Trial<'a> {
        Trial { name: name.into(), is_chosen: false, test: Box::new(test) }
    }

    /// Sets whether the command line selects the test by something other than a part of its name.
    pub(super) fn chosen(self, is_chosen: bool) -> Trial<'a> {
        Trial { is_chosen, ..self }
    }

    /// Runs the test. A panic is a failure.
    pub(super) fn run(self) -> TrialResult {
        let outcome = match catch_unwind(AssertUnwindSafe(self.test)) {
            Ok(Ok(Completion::Passed)) => Outcome::Passed,
            Ok(Ok(Completion::Ignored(reason))) => Outcome::Ignored(reason),
            Ok(Err(Failed(message))) => Outcome::Failed(message),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                Outcome::Failed(text.map_or("test panicked".to_owned(), |text| format!("test panicked: {text}")))
            }
        };
        TrialResult { name: self.name, outcome }
    }

    /// Does not run the test.
    pub(super) fn ignore(self) -> TrialResult {
        TrialResult { name: self.name, outcome: Outcome::Ignored(String::new()) }
    }
}

/// End of a test that has not failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Completion {
    /// Passed test.
    Passed,
    /// Ignored test, with the reason.
    Ignored(String),
}

/// Failure of a test, with its message. Any error converts to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed(String);

impl<E: fmt::Display> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed(error.to_string())
    }
}

/// A test that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrialResult {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

/// Outcome of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// Failure with its message.
    Failed(String),
    /// Ignored, with the reason or an empty text.
    Ignored(String),
}

/// Numbers of tests by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conclusion {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
    pub(super) filtered_out: usize,
}

impl Conclusion {
    pub(super) fn exit_code(&self) -> ExitCode {
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
    }
}
