//! Progress of a run.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use onnx_conformance_harness::run::Summary;
use onnx_conformance_report::terminal;

use crate::cli::print;

/// Interval of progress lines if standard error is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// A progress bar on standard error, or a line every few seconds if that is not a terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    selected: usize,
    last_line: Instant,
}

impl Progress {
    /// Starts the progress of `selected` cases.
    pub fn new(selected: usize) -> Progress {
        let bar = ProgressBar::new(u64::try_from(selected).unwrap_or(u64::MAX));
        let style = ProgressStyle::with_template("{bar:32} {pos}/{len} cases, {eta} left  {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Progress { bar, selected, last_line: Instant::now() }
    }

    /// Shows the number of finished cases by outcome.
    pub fn show(&mut self, summary: &Summary) {
        if !self.bar.is_hidden() {
            self.bar.set_position(u64::try_from(summary.total()).unwrap_or(u64::MAX));
            // The bar draws itself at most 20 times a second, but the text is formatted on each call.
            if summary.total().is_multiple_of(16) {
                self.bar.set_message(terminal::counts(summary));
            }
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            print::note(&format!("{} of {} cases: {}", summary.total(), self.selected, terminal::counts(summary)));
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// A spinner on standard error, or one line if that is not a terminal, for work whose length is unknown.
#[derive(Debug)]
pub(crate) struct Waiting {
    bar: ProgressBar,
}

impl Waiting {
    /// Shows what is being done, such as `reading the measurements`, and for how long.
    pub(crate) fn new(what: &'static str) -> Waiting {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        if bar.is_hidden() {
            print::note(what);
        } else {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Waiting { bar }
    }

    /// Shows the next step of the work, with the number of its finished items and of all. If standard error is not a terminal, a step
    /// is one line, printed when it starts.
    pub(crate) fn show(&self, work: &'static str, items: Option<(usize, usize)>) {
        if !self.bar.is_hidden() {
            let message = match items {
                Some((finished, all)) => format!("{work}: {finished} of {all}"),
                None => work.to_owned(),
            };
            self.bar.set_message(message);
        } else if items.is_none_or(|(finished, _)| finished == 0) {
            print::note(work);
        }
    }
}

impl Drop for Waiting {
    /// Removes the spinner, also after an error.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
