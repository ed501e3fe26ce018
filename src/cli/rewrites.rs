//! `run --rewrites`: asks a runtime which graphs its optimizer rewrites.

use onnx_conformance_harness::expectations::Verdict;
use onnx_conformance_harness::run::{CaseResult, Rewrites};
use onnx_conformance_report::reporter::{Finished, ReportError, Reporter};
use onnx_conformance_subject::{Declaration, Host, Stop};

use crate::cli::print;
use crate::cli::runtime::RuntimeOptions;

/// Starts the runtime again, in separate processes, to ask for its rewrites. Returns `None`, with a note, if the
/// runtime does not report it.
pub(crate) fn open_optimizer(
    options: &RuntimeOptions,
    declaration: &Declaration,
    stop: &Stop,
) -> anyhow::Result<Option<Box<dyn Host + Send>>> {
    if declaration.reports_rewrites() {
        return options.open_again(stop).map(Some);
    }
    print::note(&format!(
        "{} does not report which graphs it rewrites: its adapter does not declare `optimize`",
        declaration.name
    ));
    Ok(None)
}

/// Reporter of the rewritten patterns.
pub(crate) struct RewriteReporter {
    rewrites: Rewrites,
    /// Largest number of printed cases.
    most: usize,
}

impl RewriteReporter {
    /// Creates a reporter that prints at most this many cases.
    pub(crate) fn new(most: usize) -> RewriteReporter {
        RewriteReporter { rewrites: Rewrites::default(), most }
    }
}

impl Reporter for RewriteReporter {
    fn case_ended(&mut self, result: &CaseResult, _verdict: Verdict) -> Result<(), ReportError> {
        self.rewrites.add(result);
        Ok(())
    }

    fn finished(&mut self, run: &Finished<'_>) -> Result<(), ReportError> {
        let Some(names) = self.rewrites.rewritten() else { return Ok(()) };
        let Rewrites { failing, known, unknown, .. } = &self.rewrites;
        let (rewritten, patterns) = (names.values().map(Vec::len).sum::<usize>(), self.rewrites.patterns());
        let unknown = if *unknown > 0 { format!("; no answer for {unknown}") } else { String::new() };
        print::note(&format!(
            "{} {} rewrites {rewritten} of {patterns} patterns ({known} graphs{unknown}); {} rewritten graphs fail",
            run.runtime.name,
            run.runtime.version,
            failing.len()
        ));
        failing.iter().take(self.most).for_each(|id| print::note(&format!("rewritten, and fails: {id}")));
        Ok(())
    }
}
