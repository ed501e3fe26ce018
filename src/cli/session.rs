//! A session: runs a plan, sends each event to the reporters, and handles early ends.

use std::time::{Duration, Instant};

use onnx_conformance_harness::expectations::{Doubts, ExpectationMatcher, GateResult};
use onnx_conformance_harness::failures::Recorder;
use onnx_conformance_harness::findings::{Finding, Findings};
use onnx_conformance_harness::run::{CaseResult, Event, Plan, Runner};
use onnx_conformance_report::reporter::{Reporter, Started};
use onnx_conformance_subject::{Host, Stop, StopReason};

use crate::cli::print;
use crate::cli::results_file::ResultsFile;
use crate::cli::runtime::ended_early;

/// The plan and the runtime of a session.
pub(crate) struct Session<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) runtime: &'a Recorder<'a>,
    /// The runtime that reports which graphs it rewrites.
    pub(crate) optimizer: Option<&'a dyn Host>,
    pub(crate) stop: &'a Stop,
    pub(crate) expectations: &'a ExpectationMatcher,
    /// Results of an earlier run to report again. The results file already has them.
    pub(crate) kept: Vec<CaseResult>,
    /// The results file.
    pub(crate) file: Option<ResultsFile>,
}

/// End of a run in which every case ended.
pub(crate) struct Ended {
    /// The results compared with the expectations. The expectation entries themselves are not checked yet.
    pub(crate) gate: GateResult,
    /// Duration.
    pub(crate) elapsed: Duration,
}

impl Session<'_> {
    /// Runs the plan and reports each event except the last, which is up to the caller. If the run is interrupted, a results
    /// file keeps the finished results, and the exit code is returned instead.
    pub(crate) fn run(self, mut reporters: Vec<Box<dyn Reporter + '_>>) -> anyhow::Result<Result<Ended, u8>> {
        let (started, mut gate, mut failure) = (Instant::now(), GateResult::default(), None);
        let declaration = self.runtime.declaration();
        let findings = Findings::embedded()?;
        let explain = |result: &mut CaseResult| {
            result.finding = findings.for_result(&declaration.name, result).map(Finding::full_id);
        };
        reporters.started(&Started { runtime: &declaration, cases: self.plan.selected + self.kept.len() })?;
        for mut result in self.kept {
            explain(&mut result);
            let result = &result;
            let verdict = gate.add_result(result, self.expectations);
            reporters.case_ended(result, verdict)?;
        }
        let has_file = self.file.is_some();
        reporters.extend(self.file.map(|file| Box::new(file) as Box<dyn Reporter>));
        let doubts = Doubts::default();
        let end_case = |case: &_, result: &_| self.runtime.end_case(case, result);
        let doubtful = |result: &_| doubts.doubtful(self.expectations, result);
        let runner = Runner::new(self.plan, self.runtime, self.stop).inspected_by(&end_case).doubting(&doubtful);
        runner.optimized_by(self.optimizer).run(|mut event| {
            if let Event::Finished(result) = &mut event {
                explain(result);
            }
            if let Event::Finished(result) = &event {
                doubts.add_final(self.expectations, result);
            }
            let verdict = gate.add(&event, self.expectations);
            if let (Event::Finished(result), Some(verdict), None) = (&event, verdict, &failure)
                && let Err(error) = reporters.case_ended(result, verdict)
            {
                // If results cannot be stored, more cases need not run.
                let error = anyhow::Error::from(error);
                self.stop.set(StopReason::Failed(format!("{error:#}")));
                failure = Some(error);
            }
        });
        reporters.cases_ended();
        let elapsed = started.elapsed();
        gate.problems = self.runtime.finish();
        gate.problems.extend(self.optimizer.into_iter().flat_map(Host::finish));
        for problem in &gate.problems {
            print::note(&format!("{}: {problem}", declaration.name));
        }
        if let Some(error) = failure {
            return Err(error);
        }
        if self.stop.is_set() {
            return Ok(Err(ended_early(self.stop, has_file)?));
        }
        Ok(Ok(Ended { gate, elapsed }))
    }
}
