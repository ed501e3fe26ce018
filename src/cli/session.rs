//! A session: running a plan with progress and a results file, and how it ends before its last case.

use std::time::{Duration, Instant};

use crate::cli::results_file::ResultsFile;
use crate::cli::runtime::ended_early;
use crate::cli::{Progress, print};
use crate::run::{Event, Plan, Summary, run};
use crate::runtime::{Host, Stop, StopReason};

/// What is to be run, on what.
pub(crate) struct Job<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) runtime: &'a dyn Host,
    pub(crate) stop: &'a Stop,
    /// How many cases there are, with those that have a result in the file already.
    pub(crate) total: usize,
    /// The file that the results are appended to.
    pub(crate) file: Option<ResultsFile>,
}

/// The end of a run in which every case ended.
pub(crate) struct Ended {
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// What the runtime did outside of any case that it should not have done.
    pub(crate) problems: Vec<String>,
}

impl Job<'_> {
    /// Runs the plan; `sink` is given each event and says how far the run is. A run that was stopped has no end but an exit
    /// code; finished results are kept.
    pub(crate) fn run(mut self, mut sink: impl FnMut(Event, &dyn Fn(&Summary))) -> anyhow::Result<Result<Ended, u8>> {
        let (started, mut unwritten) = (Instant::now(), None);
        let progress = std::cell::RefCell::new(Progress::new(self.total));
        run(self.plan, self.runtime, self.stop, |event| {
            if let (Event::Finished(result), Some(file)) = (&event, &mut self.file)
                && unwritten.is_none()
                && let Err(error) = file.write(result)
            {
                // What cannot be kept need not be run.
                self.stop.set(StopReason::Failed(format!("{error:#}")));
                unwritten = Some(error);
            }
            sink(event, &|summary| progress.borrow_mut().show(summary));
        });
        progress.into_inner().finish();
        let elapsed = started.elapsed();
        let problems = self.runtime.finish();
        for problem in &problems {
            print::note(&format!("{}: {problem}", self.runtime.declaration().name));
        }
        if let Some(error) = unwritten {
            return Err(error);
        }
        if self.stop.is_set() {
            return Ok(Err(ended_early(self.stop)?));
        }
        Ok(Ok(Ended { elapsed, problems }))
    }
}
