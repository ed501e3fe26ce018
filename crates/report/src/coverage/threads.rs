//! Reports of wrong rewrites that patterns of graphs name, and the measured versions that fail a case of such a pattern.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_cases::suite::{Filter, GraphCases, SuiteError};
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_harness::run::Outcome;
use serde::Serialize;

/// Outcomes that a wrong rewrite can have. A runtime that declines a model rewrites nothing.
const SHOWN: [Outcome; 6] =
    [Outcome::Mismatch, Outcome::WrongShape, Outcome::WrongType, Outcome::Error, Outcome::Crash, Outcome::Timeout];

/// A report of a wrong rewrite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Thread {
    /// The report: `microsoft/onnxruntime#32105`.
    pub thread: String,
    /// The patterns that name it: `graph/transposes/pair_that_cancels`.
    pub patterns: Vec<String>,
    /// Number of cases of these patterns.
    pub cases: usize,
    /// The measured versions of each runtime that fail one of these cases, in order.
    pub fails_in: BTreeMap<String, Vec<String>>,
}

/// A failure while the threads are listed.
#[derive(Debug, thiserror::Error)]
pub enum ThreadsError {
    /// A file of graphs cannot be read.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A measurement cannot be read.
    #[error(transparent)]
    Measurement(#[from] ExpectationError),
}

impl Thread {
    /// Lists the threads of the patterns with a selected case, in order.
    pub fn all(filter: &Filter) -> Result<Vec<Thread>, ThreadsError> {
        let mut threads: BTreeMap<String, Thread> = BTreeMap::new();
        for file in GraphCases::topics()? {
            for pattern in file.patterns() {
                let prefix = format!("{}/{}/{}", GraphCases::GROUP, file.name(), pattern.name);
                let cases = selected(filter, &prefix);
                for name in pattern.threads.iter().filter(|_| cases > 0) {
                    let thread = threads.entry(name.clone()).or_default();
                    thread.thread.clone_from(name);
                    thread.patterns.push(prefix.clone());
                    thread.cases += cases;
                }
            }
        }
        for measurement in Measurements::embedded().all()? {
            let failing: Vec<&str> = measurement
                .not_passed_outside_operators()
                .filter(|(id, outcome)| id.starts_with(GraphCases::GROUP) && SHOWN.contains(outcome))
                .map(|(id, _)| id)
                .collect();
            for thread in threads.values_mut().filter(|thread| failing.iter().any(|id| thread.has(id))) {
                let versions = thread.fails_in.entry(measurement.runtime().to_owned()).or_default();
                versions.push(measurement.version().to_owned());
            }
        }
        Ok(threads.into_values().collect())
    }

    /// Formats the totals.
    pub fn summary(threads: &[Thread]) -> String {
        let failing = threads.iter().filter(|thread| !thread.fails_in.is_empty()).count();
        let patterns: usize = threads.iter().map(|thread| thread.patterns.len()).sum();
        format!("{} threads in {patterns} patterns; {failing} have a case that a measured version fails", threads.len())
    }

    fn has(&self, id: &str) -> bool {
        self.patterns.iter().any(|pattern| id.strip_prefix(pattern.as_str()).is_some_and(|rest| rest.starts_with('/')))
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Thread { thread, patterns, cases, fails_in } = self;
        let plural = if *cases == 1 { "case" } else { "cases" };
        write!(formatter, "{thread}: {cases} {plural} in {}; ", patterns.join(", "))?;
        if fails_in.is_empty() {
            return formatter.write_str("no measured version fails one");
        }
        let runtimes = fails_in.iter().map(|(runtime, versions)| format!("{runtime} {}", versions.join(", ")));
        write!(formatter, "fails in {}", runtimes.collect::<Vec<_>>().join("; "))
    }
}

/// Returns the number of selected cases of a pattern.
fn selected(filter: &Filter, pattern: &str) -> usize {
    let of_pattern = |id: &&'static str| id.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('/'));
    GraphCases::all_ids().filter(of_pattern).filter(|id| filter.matches(id)).count()
}
