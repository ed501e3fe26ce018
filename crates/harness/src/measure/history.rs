//! History of a group of cases: the version of a runtime since which it passes.

use std::fmt;

use onnx_conformance_cases::case::Level;
use onnx_conformance_cases::suite::{Filter, recorded_cases};
use onnx_conformance_reference::spec::Specs;

use crate::expectations::ExpectationError;
use crate::measure::measurement::Measurement;
use crate::measure::measurements::Measurements;
use crate::run::Outcome;

/// Outcomes of the same required cases on the measured versions of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The runtime.
    pub runtime: &'static str,
    /// Versions that were given some of the cases, the oldest first.
    pub versions: Vec<VersionOutcomes>,
}

/// Outcomes of the cases on one version of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionOutcomes {
    /// The version.
    pub version: &'static str,
    /// Number of cases given to it.
    pub cases: usize,
    /// Number of declined cases.
    pub declined: usize,
    /// Number of other failures.
    pub failed: usize,
}

impl History {
    /// Returns the history of the required cases that a filter selects, for each runtime that was measured on any of them.
    pub fn for_cases(filter: &Filter) -> Result<Vec<History>, ExpectationError> {
        let measurements = Measurements::embedded();
        let mut histories = Vec::new();
        for (runtime, names) in measurements.runtimes() {
            let mut versions = Vec::new();
            for version in names {
                let Some(measurement) = measurements.get(runtime, version)? else { continue };
                let outcomes = VersionOutcomes::new(measurement, version, filter);
                versions.extend((outcomes.cases > 0).then_some(outcomes));
            }
            if !versions.is_empty() {
                histories.push(History { runtime, versions });
            }
        }
        Ok(histories)
    }

    /// Returns the oldest version from which on every version passes every case that it was given.
    pub fn right_since(&self) -> Option<&'static str> {
        let right = self.versions.iter().rev().take_while(|version| version.is_right());
        right.last().map(|version| version.version)
    }
}

impl VersionOutcomes {
    fn new(measurement: &Measurement, version: &'static str, filter: &Filter) -> VersionOutcomes {
        let mut outcomes = VersionOutcomes { version, cases: 0, declined: 0, failed: 0 };
        let operators = Specs::embedded().all().filter(|operator| filter.may_select_from(&operator.qualified()));
        for operator in operators {
            let chosen = recorded_cases(&operator).iter();
            let chosen = chosen.filter(|case| case.facts.level == Level::Required && filter.matches(&case.id));
            let mut measured = measurement.at_version(&operator);
            for case in chosen {
                let Some(outcome) = measured.outcome(case).outcome() else { continue };
                outcomes.cases += 1;
                outcomes.declined += usize::from(outcome == Outcome::Unsupported);
                outcomes.failed += usize::from(outcome != Outcome::Unsupported && outcome != Outcome::Pass);
            }
        }
        outcomes
    }

    /// Returns true if every case passes.
    pub fn is_right(&self) -> bool {
        self.declined + self.failed == 0
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.right_since(), &self.versions[..]) {
            (Some(since), [first, ..]) if first.version == since => {
                write!(f, "right in every measured version, from {since}")?;
            }
            (Some(since), _) => write!(f, "right since {since}")?,
            (None, _) => f.write_str("not right")?,
        }
        for outcomes in self.versions.iter().filter(|outcomes| !outcomes.is_right()) {
            write!(f, "; {outcomes}")?;
        }
        Ok(())
    }
}

impl fmt::Display for VersionOutcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.version)?;
        let mut separator = " ";
        for (count, what) in [(self.failed, "fail"), (self.declined, "are declined")] {
            if count > 0 {
                write!(f, "{separator}{count} of {} {what}", self.cases)?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(version: &'static str, declined: usize, failed: usize) -> VersionOutcomes {
        VersionOutcomes { version, cases: 9, declined, failed }
    }

    #[test]
    fn right_is_what_passes_from_a_version_to_the_newest() {
        let check = |versions: &[VersionOutcomes], expected: &str| {
            let history = History { runtime: "a", versions: versions.to_vec() };
            assert_eq!(history.to_string(), expected);
        };
        check(&[version("1", 0, 0), version("2", 0, 0)], "right in every measured version, from 1");
        check(
            &[version("1", 9, 0), version("2", 1, 2), version("3", 0, 0)],
            "right since 3; 1: 9 of 9 are declined; 2: 2 of 9 fail, 1 of 9 are declined",
        );
        check(&[version("1", 0, 0), version("2", 0, 1)], "not right; 2: 1 of 9 fail");
    }

    #[test]
    fn a_measured_runtime_has_a_history_of_cases_that_were_put_to_it() {
        let filter = Filter::new(&["ai.onnx/NonZero-13/scalar/**"]).unwrap();
        let histories = History::for_cases(&filter).unwrap();
        let onnxruntime = histories.iter().find(|history| history.runtime == "onnxruntime").unwrap();
        assert!(onnxruntime.versions.len() > 8 && onnxruntime.versions.iter().all(|version| version.failed > 0));
    }
}
