//! Terminal reporter: progress on standard error, failures and totals on standard output.

use onnx_conformance_harness::expectations::Verdict;
use onnx_conformance_harness::failures::Show;
use onnx_conformance_harness::run::{CaseResult, Summary};
use onnx_conformance_report::reporter::{Finished, ReportError, Reporter, Started};
use onnx_conformance_report::terminal::closing;

use crate::cli::screen::to_screen;
use crate::cli::{Progress, print};

/// Reporter for the terminal.
#[derive(Debug)]
pub struct TerminalReporter {
    show: Show,
    summary: Summary,
    progress: Option<Progress>,
    /// Way to print everything, if the end is shortened to the screen.
    hint: Option<&'static str>,
}

impl TerminalReporter {
    /// Creates a reporter that prints failures with the settings of `show`.
    pub fn new(show: Show) -> TerminalReporter {
        TerminalReporter { show, summary: Summary::default(), progress: None, hint: None }
    }

    /// Shortens the failures to the screen of a terminal. `hint` says how to get everything.
    #[must_use]
    pub fn shortened(self, hint: &'static str) -> TerminalReporter {
        TerminalReporter { hint: Some(hint), ..self }
    }
}

impl Reporter for TerminalReporter {
    fn started(&mut self, run: &Started<'_>) -> Result<(), ReportError> {
        self.progress = Some(Progress::new(run.cases));
        Ok(())
    }

    fn case_ended(&mut self, result: &CaseResult, _verdict: Verdict) -> Result<(), ReportError> {
        self.summary.add(result);
        if let Some(progress) = &mut self.progress {
            progress.show(&self.summary);
        }
        Ok(())
    }

    fn cases_ended(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.finish();
        }
    }

    fn finished(&mut self, run: &Finished<'_>) -> Result<(), ReportError> {
        self.cases_ended();
        let text = closing(run.gate, &self.show, run.elapsed);
        let text = match self.hint {
            Some(hint) => to_screen(&text, hint),
            None => text,
        };
        print::styled(&text)
            .map_err(|error| ReportError { place: error.to_string(), error: error.root_cause().to_string().into() })
    }
}
