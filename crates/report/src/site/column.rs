//! Columns of the site: one per measured version of a runtime, and one per results file.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use onnx_conformance_reference::spec::OperatorVersion;
use serde::Serialize;

use onnx_conformance_cases::case::{CaseId, Variant};
use onnx_conformance_cases::generate::PlannedGraph;
use onnx_conformance_cases::suite::{Generated, GraphCases, RecordedCase, Source as _};
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::measure::{Measured, MeasuredAccuracy, MeasuredVersion, Measurement, Measurements};
use onnx_conformance_harness::run::{CaseResult, DecodedCase, Outcome, ProcessorFeatures, Read, feature_list};
use onnx_conformance_subject::{Accepted, Opsets};

use crate::site::causes::FailureCauses;

/// Maximum number of ids in a remark.
const MAX_NAMED: usize = 5;
/// Maximum number of other cases on an operator's page.
const MAX_USES: usize = 40;

/// Results of one version of a runtime.
#[derive(Debug)]
pub struct Column {
    /// Name in addresses, unique among the columns.
    pub(crate) key: String,
    /// The runtime.
    pub(crate) runtime: String,
    /// Its version.
    pub(crate) version: String,
    /// Results file of the column, if it has one.
    pub(crate) file: Option<String>,
    /// Date of the measurement.
    pub(crate) date: Option<String>,
    /// Platform of the measurement.
    pub(crate) platform: Option<String>,
    /// Digest of the suite, if known.
    pub(crate) digest: Option<String>,
    /// Files that the runtime accepts.
    pub(crate) accepts: Option<Accepted>,
    /// Remarks about the measurement for readers.
    pub(crate) remarks: Vec<String>,
    /// Cases of other operators that executed an operator, by operator, as reported in results.
    pub(crate) uses: BTreeMap<String, BTreeSet<String>>,
    /// Shares of the error bounds that outputs take, if the measurement has them.
    pub(crate) accuracy: Option<MeasuredAccuracy>,
    /// Causes of the failures in a results file. A measurement has no messages.
    pub(crate) causes: Option<FailureCauses>,
    origin: Origin,
}

/// Source of the outcomes of a column.
#[derive(Debug)]
enum Origin {
    /// An embedded measurement.
    Committed(&'static Measurement),
    /// A results file of this suite, by id without the variant.
    Results(HashMap<String, CaseResult>),
    /// A results file of another suite, which is not shown in the tables.
    OtherSuite { outcomes: BTreeMap<Outcome, usize> },
}

/// Outcomes of the cases of an operator version in a column.
pub(crate) enum OutcomesOfVersion<'a> {
    /// An embedded measurement.
    Committed(MeasuredVersion<'a>),
    /// A column of another origin, and the version.
    Other(&'a Column, &'a OperatorVersion),
}

impl OutcomesOfVersion<'_> {
    /// Returns the outcome of a case of the version.
    pub(crate) fn of_case(&mut self, case: &RecordedCase) -> Measured {
        match self {
            OutcomesOfVersion::Committed(measured) => measured.outcome(case),
            OutcomesOfVersion::Other(column, version) => column.measured(version, case),
        }
    }
}

/// Details of a case from a results file.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Detail {
    /// The message.
    #[serde(rename = "m", skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    /// Largest distance.
    #[serde(rename = "u", skip_serializing_if = "Option::is_none")]
    pub(crate) ulps: Option<u64>,
}

impl Column {
    /// Returns the runtime.
    pub fn runtime(&self) -> &str {
        &self.runtime
    }

    /// Returns its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the committed measurements, by runtime and version.
    pub fn committed() -> Result<Vec<Column>, ExpectationError> {
        let measurements = Measurements::embedded();
        let of = |measurement: &'static Measurement| -> Result<Column, ExpectationError> {
            let accuracy = measurements.accuracy(measurement.runtime(), measurement.version())?;
            Ok(Column {
                key: key(&format!("{}-{}", measurement.runtime(), measurement.version())),
                runtime: measurement.runtime().to_owned(),
                version: measurement.version().to_owned(),
                file: None,
                date: measurement.date().map(str::to_owned),
                platform: measurement
                    .platform()
                    .map(|platform| platform.to_owned() + &processor_suffix(measurement.processor())),
                digest: measurement.suite().map(str::to_owned),
                accepts: measurement.accepts().cloned(),
                remarks: Vec::new(),
                uses: BTreeMap::new(),
                accuracy: accuracy.cloned(),
                causes: None,
                origin: Origin::Committed(measurement),
            })
        };
        measurements.all()?.into_iter().map(of).collect()
    }

    /// Creates a column from a results file called `path`, for the suite with this digest.
    pub fn from_results(path: &str, read: &Read, digest: &str) -> Column {
        let header = &read.header;
        let mut remarks = Vec::new();
        if read.is_torn {
            remarks.push(format!("{path}: the last line is incomplete and ignored"));
        }
        if read.missing() > 0 {
            let (missing, cases) = (read.missing(), header.selected.cases);
            remarks.push(format!("{path}: {missing} of {cases} cases have no result; they are shown as not measured"));
        }
        if header.selected.variant != Variant::Runtime {
            remarks.push(format!("{path}: the cases were run in the variant {}", header.selected.variant));
        }
        let origin = if header.digest == digest {
            Origin::Results(known_results(path, read, &mut remarks))
        } else {
            remarks.push(format!(
                "{path}: the results are of another suite ({}, not {digest}), whose cases may differ, so they are not \
                 shown in the tables; run the cases again",
                header.digest
            ));
            let mut outcomes = BTreeMap::new();
            read.results.iter().for_each(|result| *outcomes.entry(result.outcome).or_default() += 1);
            Origin::OtherSuite { outcomes }
        };
        let accuracy = matches!(origin, Origin::Results(_)).then(|| MeasuredAccuracy::of_results(&read.results));
        let machine = &header.machine;
        Column {
            key: key(&format!("{}-{}", header.runtime.name, header.runtime.version)),
            runtime: header.runtime.name.clone(),
            version: header.runtime.version.clone(),
            // Pages are published, so the folder is removed.
            file: Some(path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()),
            date: None,
            platform: Some(format!(
                "{}-{}{}, {} processors",
                machine.os,
                machine.arch,
                processor_suffix(machine.features.as_ref()),
                machine.cpus
            )),
            digest: Some(header.digest.clone()),
            accepts: declared(read),
            remarks,
            uses: uses(read),
            accuracy: accuracy.filter(|accuracy| !accuracy.is_empty()),
            causes: matches!(origin, Origin::Results(_)).then(|| FailureCauses::from_results(&read.results)).flatten(),
            origin,
        }
    }

    /// Returns the outcome of a case.
    pub(crate) fn measured(&self, version: &OperatorVersion, case: &RecordedCase) -> Measured {
        match &self.origin {
            Origin::Committed(measurement) => measurement.outcome(version, case),
            Origin::OtherSuite { .. } => Measured::Unknown,
            Origin::Results(results) => match results.get(&case.id) {
                Some(result) if result.outcome == Outcome::NotDeclared && !self.takes(version, case) => {
                    Measured::NotAccepted
                }
                Some(result) => Measured::ended(result.outcome, result.mismatch_ulps()),
                None => Measured::Unknown,
            },
        }
    }

    /// Returns the outcomes of the cases of an operator version.
    pub(crate) fn at_version<'a>(&'a self, version: &'a OperatorVersion) -> OutcomesOfVersion<'a> {
        match &self.origin {
            Origin::Committed(measurement) => OutcomesOfVersion::Committed(measurement.at_version(version)),
            Origin::Results(_) | Origin::OtherSuite { .. } => OutcomesOfVersion::Other(self, version),
        }
    }

    /// Returns the outcome of a graph, which belongs to no operator version. A graph whose versions are not planned needs its case.
    pub(crate) fn measured_graph(&self, graph: &PlannedGraph, case: Option<&DecodedCase<'_>>) -> Measured {
        match &self.origin {
            Origin::Committed(measurement) => match (graph.versions, case) {
                (Some((opset, ir)), _) => measurement.outcome_in(&graph.id, graph.level, ir, opset),
                (None, Some(case)) => measurement.outcome_of(case),
                (None, None) => Measured::Unknown,
            },
            Origin::OtherSuite { .. } => Measured::Unknown,
            Origin::Results(results) => match results.get(&graph.id) {
                Some(result) if result.outcome == Outcome::NotDeclared => Measured::NotAccepted,
                Some(result) => Measured::ended(result.outcome, result.mismatch_ulps()),
                None => Measured::Unknown,
            },
        }
    }

    /// Returns the message and the distance of a case in a results file.
    pub(crate) fn detail(&self, id: &str) -> Option<Detail> {
        let Origin::Results(results) = &self.origin else { return None };
        let result = results.get(id).filter(|result| result.outcome != Outcome::Pass)?;
        let message = result.message.chars().take(300).collect();
        Some(Detail { message, ulps: result.ulps })
    }

    /// Returns true if the column is shown in the tables.
    pub(crate) fn is_shown(&self) -> bool {
        !matches!(self.origin, Origin::OtherSuite { .. })
    }

    /// Returns the outcome counts of a results file of another suite.
    pub(crate) fn outcomes_elsewhere(&self) -> Vec<(&'static str, usize)> {
        match &self.origin {
            Origin::OtherSuite { outcomes } => {
                outcomes.iter().map(|(outcome, count)| (outcome.name(), *count)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the remarks about the measurement for readers.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns the title.
    pub fn title(&self) -> String {
        match &self.file {
            Some(file) => format!("{} {} ({file})", self.runtime, self.version),
            None => format!("{} {}", self.runtime, self.version),
        }
    }

    /// Returns true if the runtime accepts the opsets and the IR version of a case.
    fn takes(&self, version: &OperatorVersion, case: &RecordedCase) -> bool {
        let Some(accepts) = &self.accepts else { return true };
        let needs = case.facts.needs(version, CaseId::parse(&case.id));
        let takes = |(domain, opset): &(String, u32)| {
            accepts.opsets.get(domain).is_some_and(|opsets| opsets.contains(i64::from(*opset)))
        };
        accepts.ir.contains(i64::from(needs.ir)) && needs.opsets.iter().all(takes)
    }
}

/// Gives columns of the same runtime and version unique keys, and adds a remark to each about the others.
pub(crate) fn make_keys_unique(columns: &mut [Column]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for index in 0..columns.len() {
        let Some(column) = columns.get(index) else { continue };
        let count = *seen.entry(column.key.clone()).and_modify(|count| *count += 1).or_insert(1);
        if count == 1 {
            continue;
        }
        let title = format!("{} {}", column.runtime, column.version);
        if let Some(column) = columns.get_mut(index) {
            column.key = format!("{}~{count}", column.key);
            column.remarks.push(format!("{title} was measured more than once; each measurement has its own column"));
        }
    }
}

/// Returns the results of cases in the suite, by id without the variant. The others are mentioned in a remark.
fn known_results(path: &str, read: &Read, remarks: &mut Vec<String>) -> HashMap<String, CaseResult> {
    let suite = Generated::embedded();
    let mut known: BTreeMap<&str, HashSet<String>> = BTreeMap::new();
    let (mut results, mut unknown) = (HashMap::new(), Vec::new());
    for result in &read.results {
        let id = CaseId::parse(&result.id);
        if id.path.split('/').next() == Some(GraphCases::GROUP) {
            results.insert(id.path.to_owned(), result.clone());
            continue;
        }
        // Tests of ONNX's releases belong to no operator version.
        if id.version().is_none() {
            continue;
        }
        let ids_of_version = || match suite.find_group(id.group()) {
            Ok(Some(unit)) => suite.ids(&unit).unwrap_or_default().into_iter().collect(),
            _ => HashSet::new(),
        };
        if known.entry(id.group()).or_insert_with(ids_of_version).contains(id.path) {
            results.insert(id.path.to_owned(), result.clone());
        } else {
            unknown.push(result.id.as_str());
        }
    }
    if !unknown.is_empty() {
        let named = unknown.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        remarks.push(format!("{path}: {} results are of cases that are not in the suite: {named}", unknown.len()));
    }
    results
}

/// Returns the first cases by id of other operators that executed an operator, by operator.
fn uses(read: &Read) -> BTreeMap<String, BTreeSet<String>> {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for result in &read.results {
        let own = CaseId::parse(&result.id).version().map(|version| format!("{}/{}", version.domain, version.name));
        for cell in &result.executed_cells {
            let version = cell.split(' ').next().unwrap_or(cell);
            let Some((operator, _)) = version.rsplit_once('-') else { continue };
            if own.as_deref() == Some(operator) {
                continue;
            }
            let ids = uses.entry(operator.to_owned()).or_default();
            if ids.len() < MAX_USES {
                ids.insert(result.id.clone());
            }
        }
    }
    uses
}

/// Returns the files that the runtime declares to accept in a results file.
pub(crate) fn declared(read: &Read) -> Option<Accepted> {
    let runtime = &read.header.runtime;
    let (opsets, ir) = (runtime.opsets.clone()?, runtime.ir.unwrap_or(Opsets::UpTo(u32::MAX)));
    Some(Accepted { ir, opsets })
}

/// Formats processor features as a suffix of a platform: ` (avx2, fma)`; empty if they were not detected.
fn processor_suffix(features: Option<&ProcessorFeatures>) -> String {
    match features {
        None => String::new(),
        Some(features) if features.is_empty() => " (no known processor feature)".to_owned(),
        Some(features) => format!(" ({})", feature_list(features)),
    }
}

/// Formats a name with letters, digits and `.`, `_`, `-` only.
fn key(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::suite::recorded_cases;
    use onnx_conformance_harness::run::test_results::result;
    use onnx_conformance_harness::run::{Header, Selected};
    use onnx_conformance_subject::Declaration;

    fn read(digest: &str, ids: &[&str], cases: usize) -> Read {
        let header =
            Header::new(Declaration::named("mine", "1"), digest.to_owned(), Selected { cases, ..Selected::default() });
        Read { header, results: ids.iter().map(|id| result(id, Outcome::Crash)).collect(), is_torn: false }
    }

    fn measured(column: &Column, id: &str) -> Measured {
        let version = CaseId::parse(id).version().unwrap();
        let known = recorded_cases(&version).iter().find(|case| case.id == id).unwrap();
        column.measured(&version, known)
    }

    #[test]
    fn results_of_another_suite_are_shown_beside_no_other() {
        let id = "ai.onnx/Abs-13/ranks/X=2x3x4/T=int8";
        let own = Column::from_results("a.jsonl", &read("d", &[id], 1), "d");
        assert_eq!(measured(&own, id), Measured::Ended(Outcome::Crash));
        assert!(own.remarks().is_empty() && own.is_shown());
        let other = Column::from_results("a.jsonl", &read("e", &[id], 1), "d");
        assert_eq!(measured(&other, id), Measured::Unknown);
        assert!(other.remarks()[0].contains("another suite (e, not d)"), "{:?}", other.remarks());
        assert_eq!(other.outcomes_elsewhere(), [("crash", 1)]);
        assert!(!other.is_shown());
    }

    #[test]
    fn missing_results_are_remarked() {
        let torn = Read { is_torn: true, ..read("d", &["ai.onnx/Abs-13/a", "ai.onnx/Gone-1/a"], 7) };
        let column = Column::from_results("a.jsonl", &torn, "d");
        let remarks = column.remarks().join("\n");
        for part in ["last line is incomplete", "5 of 7 cases", "not in the suite: ai.onnx/Abs-13/a, ai.onnx/Gone-1/a"]
        {
            assert!(remarks.contains(part), "{part}: {remarks}");
        }
        assert_eq!(measured(&column, "ai.onnx/Abs-13/ranks/X=2x3x4/T=int8"), Measured::Unknown);
    }

    #[test]
    fn two_measurements_of_one_version_are_two_columns() {
        let mut columns: Vec<Column> =
            ["a", "b"].iter().map(|path| Column::from_results(path, &read("d", &[], 0), "d")).collect();
        make_keys_unique(&mut columns);
        assert_eq!((columns[0].key.as_str(), columns[1].key.as_str()), ("mine-1", "mine-1~2"));
        assert!(columns[1].remarks()[0].contains("more than once"));
    }

    #[test]
    fn the_committed_measurements_are_columns() {
        let columns = Column::committed().unwrap();
        let onnxruntime = columns.iter().find(|column| column.runtime == "onnxruntime").unwrap();
        assert_eq!(measured(onnxruntime, "ai.onnx/Abs-13/ranks/X=2x3x4/T=float"), Measured::Ended(Outcome::Pass));
        assert_eq!(measured(onnxruntime, "ai.onnx/Cast-28/sign_of_nan_in_float8"), Measured::NotAccepted);
    }
}
