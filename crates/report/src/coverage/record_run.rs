//! Collection of the record of coverage: runs the cases of the groups that it has not as they are now.

use std::time::Duration;

use onnx_conformance_cases::case::{Case, Variant};
use onnx_conformance_cases::generate::{GenerateError, OperatorCatalog};
use onnx_conformance_cases::suite::{Filter, Generated, Suite, SuiteError};
use onnx_conformance_harness::run::{CaseResult, Event, Runner, plan};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_subject::{Builtin, Stop};

use crate::coverage::exclusions::Exclusions;
use crate::coverage::record::CoverageRecord;
use crate::coverage::survey::CoverageCollector;

/// Time limit of a case.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The record cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CoverageRecordError {
    /// Cases cannot be made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// An op.yaml file cannot be read.
    #[error(transparent)]
    Generate(#[from] GenerateError),
}

/// Returns the current text of the record. Only the cases of groups run that the record does not have as they are now.
pub fn coverage_record() -> Result<String, CoverageRecordError> {
    let suite = Suite::project(None, Generated::embedded())?;
    let record = CoverageRecord::embedded(&suite)?;
    let (exclusions, everything) = (Exclusions::default(), Filter::default());
    let survey = CoverageCollector::new(Specs::embedded(), OperatorCatalog::shared(), &exclusions, &everything)?;
    let mut plan = plan(&suite, &everything, Variant::Runtime)?;
    survey.take_recorded(&record, &mut plan);
    let mut broken = None;
    let inspect = |case: &Case, result: &CaseResult| survey.record(case, result);
    Runner::new(&plan, &Builtin::new(TIMEOUT), &Stop::default()).inspected_by(&inspect).run(|event| {
        if let Event::Broken(error) = event {
            broken.get_or_insert(error);
        }
    });
    match broken {
        Some(error) => Err(error.into()),
        None => Ok(survey.to_record(&record)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use onnx_conformance_harness::evidence::ConfirmingRuntimes;
    use onnx_conformance_harness::run::judge;
    use onnx_conformance_subject::Host as _;

    use super::*;
    use crate::coverage::record::record_text;

    const NAME: &str = "ai.onnx/Abs-13";

    /// Runs the cases of Abs-13, and returns a record that has them.
    fn recorded(exclusions: &Exclusions) -> (CoverageRecord, CoverageCollector<'_>) {
        let suite = Suite::project(None, Generated::embedded()).unwrap();
        let filter = Filter::new(&["ai.onnx/Abs-13/**"]).unwrap();
        let survey = CoverageCollector::new(Specs::embedded(), OperatorCatalog::shared(), exclusions, &filter).unwrap();
        let runtime = Builtin::new(TIMEOUT);
        let plan = plan(&suite, &filter, Variant::Runtime).unwrap();
        for case in plan.groups().iter().flat_map(|group| plan.load(group).unwrap()) {
            survey.record(&case, &judge(&case, &runtime, &runtime.declaration()));
        }
        let record = CoverageRecord::embedded(&suite).unwrap();
        let text = survey.to_record(&record);
        (record.with_text(&text), survey)
    }

    #[test]
    fn a_group_reads_back_unless_its_cases_or_items_differ() {
        let exclusions = Exclusions::default();
        let (record, survey) = recorded(&exclusions);
        let (specs, operators, group) = (Specs::embedded(), OperatorCatalog::shared(), survey.group(NAME));
        let ids: BTreeSet<&str> = group.cases.keys().map(String::as_str).collect();
        assert!(ids.len() > 50 && group.cases.values().flatten().count() > 20 && group.other == 0);
        let read = record.group(NAME, &ids, specs, operators).unwrap();
        assert_eq!((&read.cases, &read.refusals, read.unjudged), (&group.cases, &group.refusals, group.unjudged));
        let line = record.line(NAME, &group, specs, operators).unwrap();
        assert_eq!(record.line(NAME, &read, specs, operators), Some(line.clone()));
        assert!(survey.unlike(&record, true).is_empty());
        assert_eq!(record.group(NAME, &ids.iter().copied().skip(1).collect(), specs, operators), None);
        assert_eq!(record.group("ai.onnx/Abs-6", &ids, specs, operators), None);
        let (digest, items) = ("{\"digest\":\"", "\"items\":\"");
        for old in [digest, items, "\"own\"", "\"cases\":[["] {
            let damaged = record_of(&line.replacen(old, &format!("{old}0"), 1));
            assert_eq!(damaged.group(NAME, &ids, specs, operators), None, "{old}");
            assert_eq!(
                (survey.unlike(&damaged, true), survey.unlike(&damaged, false)),
                (vec![NAME.to_owned()], vec![])
            );
        }
    }

    fn record_of(text: &str) -> CoverageRecord {
        let suite = Suite::project(None, Generated::embedded()).unwrap();
        CoverageRecord::embedded(&suite).unwrap().with_text(text)
    }

    #[test]
    fn coverage_from_a_record_is_that_of_a_run() {
        let exclusions = Exclusions::default();
        let (record, run) = recorded(&exclusions);
        let suite = Suite::project(None, Generated::embedded()).unwrap();
        let filter = Filter::new(&["ai.onnx/Abs-13/**"]).unwrap();
        let read = CoverageCollector::new(Specs::embedded(), OperatorCatalog::shared(), &exclusions, &filter).unwrap();
        let mut plan = plan(&suite, &filter, Variant::Runtime).unwrap();
        read.take_recorded(&record, &mut plan);
        assert_eq!(plan.selected, 0, "every case is recorded");
        let runtimes = ConfirmingRuntimes::embedded().unwrap();
        let (read, run) = (read.with_runtimes(&runtimes).finish(), run.with_runtimes(&runtimes).finish());
        assert_eq!(read.summary(), run.summary());
        assert_eq!((read.missing(), read.unconfirmed(), read.sizes()), (run.missing(), run.unconfirmed(), run.sizes()));
        let runtime = read.evidence().into_iter().find(|(title, _)| title.starts_with("onnxruntime "));
        assert!(runtime.is_some_and(|(_, count)| count > 20), "{}", read.summary());
    }

    #[test]
    fn the_record_has_most_groups() {
        let groups = record_text().lines().filter(|line| !line.starts_with('#')).count();
        assert!(groups > 600, "records/coverage.txt has {groups} groups; run `cargo xtask gen`");
    }
}
