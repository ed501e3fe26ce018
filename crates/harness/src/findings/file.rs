//! Findings files: `findings/<runtime>.yaml`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use miette::Diagnostic;
use onnx_conformance_cases::case::{CaseId, Level, OPSET, Variant};
use onnx_conformance_cases::suite::{
    Filter, FilterError, GraphCases, HostileCases, RecordedCase, WrappedCases, recorded_cases,
};
use onnx_conformance_reference::spec::yaml::{self, YamlError};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use serde::{Deserialize, Serialize};

use crate::expectations::{Entry, ExpectationError};
use crate::findings::proof::{DecidedBy, Proof, QuoteEntry};
use crate::findings::versions::MeasuredVersions;
use crate::measure::{Measurement, Measurements};
use crate::run::{CaseResult, Outcome};
use crate::runtimes::at_level;

/// Files by name, embedded at build time.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/findings.rs"));

/// All findings about the measured runtimes.
#[derive(Debug)]
pub struct Findings(Vec<Finding>);

/// Cause of failures of a runtime.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The runtime.
    pub runtime: &'static str,
    /// Id, unique for its runtime: `gather-strings`.
    pub id: String,
    /// Cases that show it, as patterns over ids.
    pub cases: Vec<String>,
    /// Outcomes of the failing cases if they differ; empty if all have the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcome>,
    /// Title, in the style of an issue.
    pub title: String,
    /// Sentence of the standard that decides, or another proof.
    pub proof: Proof,
    /// Conclusion from the proof, if it is not obvious.
    pub text: Option<String>,
    /// Actual behaviour of the runtime.
    pub does: String,
    /// Id of the smallest case that shows it.
    pub sample: String,
    #[serde(skip)]
    filter: Filter,
    /// Cases that the patterns select, by operator version, computed on first use.
    #[serde(skip)]
    chosen: OnceLock<BTreeMap<OperatorVersion, Vec<&'static RecordedCase>>>,
    /// Hostile models that the patterns select, computed on first use.
    #[serde(skip)]
    hostile: OnceLock<Vec<String>>,
    /// Graphs that the patterns select, computed on first use.
    #[serde(skip)]
    graphs: OnceLock<Vec<&'static str>>,
    /// Versions of the runtime in which it was measured.
    #[serde(skip)]
    measured: OnceLock<MeasuredVersions>,
}

/// Findings file, as parsed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingsFile {
    runtime: String,
    findings: Vec<FindingEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingEntry {
    id: String,
    title: String,
    cases: Vec<String>,
    #[serde(default)]
    outcomes: Vec<Outcome>,
    quote: Option<QuoteEntry>,
    by: Option<DecidedBy>,
    text: Option<String>,
    runtime: String,
    sample: String,
}

/// An unusable findings file.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum FindingError {
    /// The text is not a findings file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] Box<YamlError>),
    /// A pattern is invalid.
    #[error("{path}: finding '{id}': {error}")]
    Pattern {
        /// The file.
        path: String,
        /// The finding.
        id: String,
        /// The problem.
        error: FilterError,
    },
    /// Two findings of a runtime have the same id, or the file is about a runtime other than the one in its name.
    #[error("{path}: {rule}")]
    Rule {
        /// The file.
        path: String,
        /// The problem.
        rule: String,
    },
}

impl Findings {
    /// Returns the embedded findings.
    pub fn embedded() -> Result<&'static Findings, FindingError> {
        static ALL: OnceLock<Findings> = OnceLock::new();
        if let Some(all) = ALL.get() {
            return Ok(all);
        }
        let mut all = Vec::new();
        for (name, text) in FILES {
            all.extend(read(name, text)?);
        }
        Ok(ALL.get_or_init(|| Findings(all)))
    }

    /// Returns every finding, by runtime, in file order.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// Returns the finding for a case that failed on a runtime, at any level of its optimizer. A wrapped case without a
    /// finding has the finding of the case without no-ops, if there is one.
    pub fn for_case(&self, runtime: &str, id: &str) -> Option<&Finding> {
        let runtime = at_level(runtime).map_or(runtime, |(runtime, _)| runtime);
        let about = |id: &str| self.0.iter().find(|finding| finding.runtime == runtime && finding.is_about(id));
        about(id).or_else(|| about(WrappedCases::plain_id(id)?))
    }

    /// Returns the finding for a result; `None` if it is not a failure or the runtime declined the case.
    pub fn for_result(&self, runtime: &str, result: &CaseResult) -> Option<&Finding> {
        let id = CaseId::parse(&result.id);
        (id.variant == Variant::Runtime).then(|| self.for_outcome(runtime, id.path, result.outcome)).flatten()
    }

    /// Returns the finding for the outcome of a case; `None` if it is not a failure or the runtime declined the case.
    pub fn for_outcome(&self, runtime: &str, id: &str, outcome: Outcome) -> Option<&Finding> {
        is_failure(outcome).then(|| self.for_case(runtime, id)).flatten()
    }

    /// Returns the failures of a measurement without a finding: required cases from the specs, graphs, and cases of any level
    /// and hostile models that end without an answer.
    pub fn unexplained(&self, measurement: &Measurement) -> Vec<(String, Outcome)> {
        let mut found = Vec::new();
        for version in Specs::embedded().all() {
            let mut measured = measurement.at_version(&version);
            for case in recorded_cases(&version) {
                let Some(outcome) = measured.outcome(case).outcome() else { continue };
                let is_judged = case.facts.level == Level::Required || outcome.is_without_answer();
                if is_judged && is_failure(outcome) && self.for_case(measurement.runtime(), &case.id).is_none() {
                    found.push((case.id.clone(), outcome));
                }
            }
        }
        let failed = |id: String| unrecorded_failure(measurement, &id).map(|outcome| (id, outcome));
        let hostile = HostileCases::all_ids().filter_map(failed).filter(|(_, outcome)| outcome.is_without_answer());
        let graphs = all_graphs().filter(|id| measurement.was_measured(CaseId::parse(id), None));
        let graphs = graphs.map(str::to_owned).filter_map(failed);
        let graphs = graphs.filter(|(id, outcome)| is_own_failure(measurement, id, *outcome));
        found.extend(hostile.chain(graphs).filter(|(id, _)| self.for_case(measurement.runtime(), id).is_none()));
        found
    }

    /// Returns the cases between no-ops with an unexplained error, although the case without no-ops does not fail. They
    /// do not count as unexplained failures, since the error may be about a no-op.
    pub fn errors_between_no_ops(&self, measurement: &Measurement) -> Vec<&'static str> {
        let is_error = |id: &&str| {
            measurement.was_measured(CaseId::parse(id), None)
                && unrecorded_failure(measurement, id) == Some(Outcome::Error)
                && WrappedCases::plain_id(id).is_some_and(|plain| measurement.entry(plain).is_none())
                && self.for_case(measurement.runtime(), id).is_none()
        };
        all_graphs().filter(is_error).collect()
    }

    /// Returns the findings about an operator version: their patterns select one of its cases.
    pub fn about<'a>(&'a self, version: &'a OperatorVersion) -> impl Iterator<Item = &'a Finding> {
        let name = version.qualified();
        let shows = |finding: &Finding| recorded_cases(version).iter().any(|case| finding.is_about(&case.id));
        self.0.iter().filter(move |finding| finding.filter.may_select_from(&name) && shows(finding))
    }

    /// Returns the findings with an id, of any runtime.
    pub fn named(&self, id: &str) -> Vec<&Finding> {
        self.0.iter().filter(|finding| finding.id == id || finding.full_id() == id).collect()
    }
}

impl Finding {
    /// Returns the id with its runtime: `onnxruntime/gather-strings`.
    pub fn full_id(&self) -> String {
        format!("{}/{}", self.runtime, self.id)
    }

    /// Returns true if the patterns select a case, by its id at the operator version's first opset. Patterns that name an opset
    /// select only cases at that one.
    pub fn is_about(&self, id: &str) -> bool {
        let id = CaseId::parse(id);
        let names_opset = || id.opset().is_some() && self.cases.iter().any(|pattern| pattern.contains(OPSET));
        self.filter.matches(id.at_first_opset()) || (names_opset() && self.filter.matches(id.path))
    }

    /// Returns true if a pattern is about graphs.
    pub fn has_graphs(&self) -> bool {
        self.cases.iter().any(|pattern| is_graph(pattern))
    }

    /// Returns the ids of the failing cases of a measurement that the patterns select, in order. Declined cases do not count as
    /// failures.
    pub fn failures<'a>(&'a self, measurement: &'a Measurement) -> Vec<(&'a str, Outcome)> {
        let mut found: Vec<_> = self.failures_unordered(measurement).collect();
        found.sort_unstable();
        found
    }

    fn failures_unordered<'a>(&'a self, measurement: &'a Measurement) -> impl Iterator<Item = (&'a str, Outcome)> {
        let of_version = move |(version, cases): (&'a OperatorVersion, &'a Vec<&'static RecordedCase>)| {
            let mut measured = measurement.at_version(version);
            cases.iter().filter_map(move |case| {
                let outcome = measured.outcome(case).outcome().filter(|outcome| is_failure(*outcome))?;
                Some((case.id.as_str(), outcome))
            })
        };
        let unrecorded = self.hostile().iter().map(String::as_str).chain(self.graphs().iter().copied());
        let unrecorded = unrecorded.filter_map(|id| Some((id, unrecorded_failure(measurement, id)?)));
        let others = measurement.not_passed_in(|group| !is_graph(group) && self.filter.may_select_from(group));
        let others = others.filter(|(id, outcome)| is_failure(*outcome) && self.is_about(id));
        self.chosen().iter().flat_map(of_version).chain(unrecorded).chain(others)
    }

    /// Returns true if a version of the runtime was given a case of the finding.
    pub fn was_measured(&self, measurement: &Measurement) -> bool {
        self.chosen().iter().any(|(version, cases)| {
            let mut measured = measurement.at_version(version);
            let is_measured = |case: &RecordedCase| {
                measured.outcome(case).outcome().is_some_and(|outcome| outcome != Outcome::Unsupported)
            };
            cases.iter().copied().any(is_measured)
        })
    }

    /// Returns the versions of the runtime in which the finding was measured.
    pub fn measured_in(&self) -> Result<&MeasuredVersions, ExpectationError> {
        if let Some(known) = self.measured.get() {
            return Ok(known);
        }
        let all = Measurements::embedded();
        let versions = all.runtimes().into_iter().find(|(runtime, _)| *runtime == self.runtime);
        let mut outcomes = Vec::new();
        for version in versions.map(|(_, versions)| versions).unwrap_or_default() {
            let Some(measurement) = all.get(self.runtime, version)? else { continue };
            let (fails, was_measured) = if CaseId::parse(&self.sample).version().is_some() {
                (self.failures_unordered(measurement).next().is_some(), self.was_measured(measurement))
            } else {
                // `records/` covers the cases of operators. For other cases a measurement lists only the failures.
                let entry = measurement.entry(&self.sample);
                (
                    entry.is_some_and(|entry| is_failure(entry.outcome())),
                    measurement.was_measured(CaseId::parse(&self.sample), None),
                )
            };
            if fails || was_measured {
                outcomes.push((version, fails));
            }
        }
        Ok(self.measured.get_or_init(|| MeasuredVersions::new(&outcomes)))
    }

    /// Returns the cases of an operator version that the patterns select.
    pub fn cases_of(&self, version: &OperatorVersion) -> &[&'static RecordedCase] {
        self.chosen().get(version).map(Vec::as_slice).unwrap_or_default()
    }

    fn chosen(&self) -> &BTreeMap<OperatorVersion, Vec<&'static RecordedCase>> {
        self.chosen.get_or_init(|| {
            let cases = |version: OperatorVersion| {
                let cases = recorded_cases(&version).iter().filter(|case| self.is_about(&case.id));
                Some((version, cases.collect::<Vec<_>>())).filter(|(_, cases)| !cases.is_empty())
            };
            self.versions().filter_map(cases).collect()
        })
    }

    /// Returns the hostile models that the patterns select.
    fn hostile(&self) -> &[String] {
        self.hostile.get_or_init(|| {
            if !self.filter.may_select_from(HostileCases::GROUP) {
                return Vec::new();
            }
            HostileCases::all_ids().filter(|id| self.is_about(id)).collect()
        })
    }

    /// Returns the graphs that the patterns select. An entry of a measurement may be a pattern over several of them.
    fn graphs(&self) -> &[&'static str] {
        self.graphs.get_or_init(|| {
            if !self.has_graphs() {
                return Vec::new();
            }
            // Ids of the same group follow each other.
            let mut group = ("", false);
            let is_shown = |id: &&'static str| {
                let name = CaseId::parse(id).group();
                if name != group.0 {
                    group = (name, self.filter.may_select_from(name));
                }
                group.1 && self.is_about(id)
            };
            all_graphs().filter(is_shown).collect()
        })
    }

    /// Returns the operator versions that the patterns may match.
    fn versions(&self) -> impl Iterator<Item = OperatorVersion> + '_ {
        let specs = Specs::embedded();
        specs.all().filter(|version| self.filter.may_select_from(&version.qualified()))
    }
}

/// Returns true if an outcome is a failure that needs a cause. Declined cases do not.
fn is_failure(outcome: Outcome) -> bool {
    !outcome.is_inconclusive() && outcome != Outcome::Pass && outcome != Outcome::Unsupported
}

/// Returns the ids of all graphs. The program in a browser contains no such ids, and does not need them.
fn all_graphs() -> impl Iterator<Item = &'static str> {
    let all = (!cfg!(target_arch = "wasm32")).then(|| {
        let wrapped = WrappedCases::all_ids().iter().map(String::as_str);
        GraphCases::all_ids().chain(wrapped)
    });
    all.into_iter().flatten()
}

/// Returns true for the id of a graph, or a pattern over such ids.
fn is_graph(id: &str) -> bool {
    id.split('/').next() == Some(GraphCases::GROUP)
}

/// Returns true unless a case between no-ops may fail for another reason than its graph. The case without no-ops may
/// fail, too. Or a no-op may have no kernel for a type: errors inside functions do not show which node they are about.
fn is_own_failure(measurement: &Measurement, id: &str, outcome: Outcome) -> bool {
    WrappedCases::plain_id(id).is_none_or(|plain| outcome != Outcome::Error && measurement.entry(plain).is_none())
}

/// Returns the failure of a hostile model or a graph in a measurement. They are not in `records/`, so the entries decide.
fn unrecorded_failure(measurement: &Measurement, id: &str) -> Option<Outcome> {
    measurement.entry(id).map(Entry::outcome).filter(|outcome| is_failure(*outcome))
}

/// Parses the findings of a file.
fn read(file: &'static str, text: &str) -> Result<Vec<Finding>, FindingError> {
    let (path, name) = (format!("findings/{file}"), file.strip_suffix(".yaml").unwrap_or(file));
    let file: FindingsFile = yaml::read(&path, text)?;
    let rule = |rule: String| FindingError::Rule { path: path.clone(), rule };
    if file.runtime != name {
        return Err(rule(format!("is about {}; rename it to findings/{}.yaml", file.runtime, file.runtime)));
    }
    let mut found: Vec<Finding> = Vec::new();
    for FindingEntry { id, title, cases, outcomes, quote, by, text, runtime, sample } in file.findings {
        if found.iter().any(|other| other.id == id) {
            return Err(rule(format!("duplicate finding '{id}'")));
        }
        let proof = Proof::from_entry(quote, by);
        let proof = proof.ok_or_else(|| rule(format!("finding '{id}' needs either a `quote:` or a `by:`")))?;
        if text.is_none() && !matches!(proof, Proof::Quote(_)) {
            return Err(rule(format!("finding '{id}' has no quote, so it needs a `text:`")));
        }
        let filter = Filter::new(&cases);
        let filter = filter.map_err(|error| FindingError::Pattern { path: path.clone(), id: id.clone(), error })?;
        found.push(Finding {
            runtime: name,
            id,
            title,
            cases,
            outcomes,
            proof,
            text,
            does: runtime,
            sample,
            filter,
            chosen: OnceLock::new(),
            hostile: OnceLock::new(),
            graphs: OnceLock::new(),
            measured: OnceLock::new(),
        });
    }
    Ok(found)
}
