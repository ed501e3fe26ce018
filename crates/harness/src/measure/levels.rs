//! Graphs at the levels of a runtime's optimizer.

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_cases::suite::{GraphCases, WrappedCases};
use serde::Serialize;

use crate::expectations::{Entry, ExpectationError};
use crate::measure::measurement::Measurement;
use crate::measure::measurements::Measurements;
use crate::run::Outcome;
use crate::runtimes::levels;

/// Measurements of a version of a runtime at levels of its optimizer, the weakest first.
#[derive(Debug)]
pub struct Levels<'a>(Vec<(&'a str, &'a Measurement)>);

/// Number of graphs that fail at a level of the optimizer, and pass at all weaker ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelFailures {
    /// The level: `basic`.
    pub level: String,
    /// The number of graphs.
    pub graphs: usize,
}

impl Levels<'static> {
    /// Returns the measured levels of a version of a runtime; `None` if it was measured at one level at most.
    pub fn measured(runtime: &str, version: &str) -> Result<Option<Levels<'static>>, ExpectationError> {
        let Some((last, weaker)) = levels(runtime).split_last() else { return Ok(None) };
        let mut found = Vec::new();
        for level in weaker {
            let measurement = Measurements::at_levels().get(&format!("{runtime}-{level}"), version)?;
            found.extend(measurement.map(|measurement| (level.as_str(), measurement)));
        }
        let measurement = Measurements::embedded().get(runtime, version)?;
        found.extend(measurement.map(|measurement| (last.as_str(), measurement)));
        Ok((found.len() > 1).then_some(Levels(found)))
    }
}

impl<'a> Levels<'a> {
    /// Returns the weakest level at which a graph fails. If it is the first, the optimizer is not at fault.
    pub fn weakest_failing(&self, id: &str) -> Option<&'a str> {
        self.0.iter().find(|(_, measurement)| fails(measurement, id)).map(|(level, _)| *level)
    }

    /// Counts the graphs that fail, by their weakest failing level.
    pub fn failures(&self) -> Vec<LevelFailures> {
        let mut counts: Vec<LevelFailures> =
            self.0.iter().map(|(level, _)| LevelFailures { level: (*level).to_owned(), graphs: 0 }).collect();
        for id in GraphCases::all_ids().chain(WrappedCases::all_ids().iter().map(String::as_str)) {
            let at = self.0.iter().position(|(_, measurement)| fails(measurement, id));
            if let Some(count) = at.and_then(|at| counts.get_mut(at)) {
                count.graphs += 1;
            }
        }
        counts
    }
}

/// Returns true if a graph failed, and has not changed since it was measured. Declined graphs do not count.
fn fails(measurement: &Measurement, id: &str) -> bool {
    let outcome = measurement.entry(id).map(Entry::outcome);
    let is_failure =
        |outcome: Outcome| !outcome.is_inconclusive() && !matches!(outcome, Outcome::Pass | Outcome::Unsupported);
    outcome.is_some_and(is_failure) && measurement.was_measured(CaseId::parse(id), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(entries: &str) -> Measurement {
        let text = format!("runtime: a\nversion: 1.2\nexact: true\nscope: ['graph/**']\nexpect:\n{entries}");
        Measurement::read("a.yaml", &text, None).unwrap().unwrap()
    }

    #[test]
    fn a_level_is_at_fault_if_weaker_ones_pass() {
        let [always, basic, all] = [0, 1, 2].map(|at| GraphCases::all_ids().nth(at).unwrap());
        let entry = |id: &str| format!("  - {{cases: '{id}', outcome: mismatch}}\n");
        let [disabled, weak, strong] =
            [entry(always), entry(always) + &entry(basic), entry(always) + &entry(all)].map(|text| measurement(&text));
        let levels = Levels(vec![("disabled", &disabled), ("basic", &weak), ("all", &strong)]);
        assert_eq!(
            [always, basic, all].map(|id| levels.weakest_failing(id)),
            [Some("disabled"), Some("basic"), Some("all")]
        );
        assert_eq!(levels.weakest_failing(GraphCases::all_ids().nth(3).unwrap()), None);
        let counts: Vec<(String, usize)> =
            levels.failures().into_iter().map(|count| (count.level, count.graphs)).collect();
        assert_eq!(counts, [("disabled".to_owned(), 1), ("basic".to_owned(), 1), ("all".to_owned(), 1)]);
    }

    #[test]
    fn a_version_at_one_level_has_no_levels() {
        assert!(Levels::measured("tract", "0.23.9").unwrap().is_none());
        assert!(Levels::measured("none", "1").unwrap().is_none());
    }
}
