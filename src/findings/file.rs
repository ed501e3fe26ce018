//! `findings/<runtime>.yaml`.

use std::sync::OnceLock;

use miette::Diagnostic;
use onnx_conformance_reference::spec::yaml::{self, YamlError};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use serde::{Deserialize, Serialize};

use crate::case::{CaseId, Level, Variant};
use crate::expectations::{Entry, ExpectationError};
use crate::findings::proof::{DecidedBy, Proof, QuoteEntry};
use crate::findings::versions::MeasuredVersions;
use crate::measure::{Measured, Measurement, Measurements};
use crate::run::{CaseResult, Outcome};
use crate::suite::{Filter, FilterError, HostileCases, RecordedCase, recorded_cases};

/// Every file, as it was when the program was built, by name.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/findings.rs"));

/// Everything that was found of the measured runtimes.
#[derive(Debug)]
pub struct Findings(Vec<Finding>);

/// A cause of failures of a runtime.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The runtime.
    pub runtime: &'static str,
    /// The id, unique for its runtime: `gather-strings`.
    pub id: String,
    /// The cases that show it, as patterns over ids.
    pub cases: Vec<String>,
    /// Outcomes of the failing cases, where they are several; empty where all end alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcome>,
    /// Title, as an issue would have it.
    pub title: String,
    /// Sentence of the standard that decides, or what decides in its place.
    pub proof: Proof,
    /// What follows from the proof, in our words.
    pub text: String,
    /// What the runtime does instead.
    pub does: String,
    /// Id of the smallest case that shows it.
    pub sample: String,
    #[serde(skip)]
    filter: Filter,
    /// The cases that the patterns choose, when they are first asked for.
    #[serde(skip)]
    chosen: OnceLock<Vec<(OperatorVersion, &'static RecordedCase)>>,
    /// The hostile models that the patterns choose, when they are first asked for.
    #[serde(skip)]
    hostile: OnceLock<Vec<String>>,
    /// In which versions of the runtime it was measured.
    #[serde(skip)]
    measured: OnceLock<MeasuredVersions>,
}

/// A file of findings.
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
    text: String,
    runtime: String,
    sample: String,
}

/// A file of findings that cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum FindingError {
    /// The text is not such a file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] Box<YamlError>),
    /// A pattern is none.
    #[error("{path}: finding '{id}': {error}")]
    Pattern {
        /// The file.
        path: String,
        /// The finding.
        id: String,
        /// What is wrong.
        error: FilterError,
    },
    /// Two findings of a runtime have one id, or the file is about another runtime than its name says.
    #[error("{path}: {rule}")]
    Rule {
        /// The file.
        path: String,
        /// What is wrong.
        rule: String,
    },
}

impl Findings {
    /// The findings that the program was built with.
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

    /// Every finding, by runtime, in the order of its file.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// The finding that a case which failed on a runtime shows.
    pub fn of_case(&self, runtime: &str, id: &str) -> Option<&Finding> {
        self.0.iter().find(|finding| finding.runtime == runtime && finding.filter.matches(id))
    }

    /// The finding that a result shows; nothing where it is no failure, or the runtime declines.
    pub fn of_result(&self, runtime: &str, result: &CaseResult) -> Option<&Finding> {
        let id = CaseId::parse(&result.id);
        let is_shown = is_failure(result.outcome) && id.variant == Variant::Runtime;
        is_shown.then(|| self.of_case(runtime, id.path)).flatten()
    }

    /// The required cases from the specs that a measurement fails and no finding is about, and those of any level, hostile models among
    /// them, that end without an answer.
    pub fn unexplained(&self, measurement: &Measurement) -> Vec<(String, Outcome)> {
        let mut found = Vec::new();
        for version in Specs::embedded().all() {
            for case in recorded_cases(&version) {
                let Measured::Ended(outcome) = measurement.outcome(&version, case) else { continue };
                let is_judged = case.facts.level == Level::Required || outcome.is_without_answer();
                if is_judged && is_failure(outcome) && self.of_case(measurement.runtime(), &case.id).is_none() {
                    found.push((case.id.clone(), outcome));
                }
            }
        }
        let hostile = HostileCases::all_ids().filter_map(|id| hostile_failure(measurement, &id).map(|it| (id, it)));
        let is_unexplained = |(id, outcome): &(String, Outcome)| {
            outcome.is_without_answer() && self.of_case(measurement.runtime(), id).is_none()
        };
        found.extend(hostile.filter(is_unexplained));
        found
    }

    /// The findings that are about an operator version: whose patterns choose one of its cases.
    pub fn about<'a>(&'a self, version: &'a OperatorVersion) -> impl Iterator<Item = &'a Finding> {
        let shows = |finding: &Finding| recorded_cases(version).iter().any(|case| finding.is_about(&case.id));
        self.0.iter().filter(move |finding| finding.may_be_about(version) && shows(finding))
    }

    /// The findings of an id, of every runtime that has one.
    pub fn named(&self, id: &str) -> Vec<&Finding> {
        self.0.iter().filter(|finding| finding.id == id || finding.full_id() == id).collect()
    }
}

impl Finding {
    /// The id with its runtime: `onnxruntime/gather-strings`.
    pub fn full_id(&self) -> String {
        format!("{}/{}", self.runtime, self.id)
    }

    /// Whether a case is among those that show it, by its id.
    pub fn is_about(&self, id: &str) -> bool {
        self.filter.matches(id)
    }

    /// Whether some case of an operator version may be among those that show it.
    pub fn may_be_about(&self, version: &OperatorVersion) -> bool {
        self.filter.may_choose_from(&version.qualified())
    }

    /// The cases of a measurement that show the finding, by id: those from the specs and hostile models that the patterns choose and
    /// that fail. What the runtime declines shows nothing.
    pub fn failures(&self, measurement: &Measurement) -> Vec<(&str, Outcome)> {
        let failure =
            |(version, case): &(OperatorVersion, &'static RecordedCase)| match measurement.outcome(version, case) {
                Measured::Ended(outcome) if is_failure(outcome) => Some((case.id.as_str(), outcome)),
                _ => None,
            };
        let hostile = self.hostile().iter().filter_map(|id| Some((id.as_str(), hostile_failure(measurement, id)?)));
        self.shown_by().iter().filter_map(failure).chain(hostile).collect()
    }

    /// Whether a version of the runtime was given a case of the finding.
    pub fn was_measured(&self, measurement: &Measurement) -> bool {
        let is_measured = |(version, case): &(OperatorVersion, &'static RecordedCase)| matches!(measurement.outcome(version, case), Measured::Ended(outcome) if outcome != Outcome::Unsupported);
        self.shown_by().iter().any(is_measured)
    }

    /// In which versions of the runtime the finding was measured.
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
                (!self.failures(measurement).is_empty(), self.was_measured(measurement))
            } else {
                // `records/` has the cases of operators. A measurement lists the failures of others, and not what was measured.
                let entry = measurement.entry(&self.sample);
                (entry.is_some_and(|entry| is_failure(entry.outcome())), measurement.is_held_by_ci())
            };
            if fails || was_measured {
                outcomes.push((version, fails));
            }
        }
        Ok(self.measured.get_or_init(|| MeasuredVersions::new(&outcomes)))
    }

    /// The cases that the patterns choose, each with its operator version.
    fn shown_by(&self) -> &[(OperatorVersion, &'static RecordedCase)] {
        self.chosen.get_or_init(|| {
            let cases = |version: OperatorVersion| {
                let chosen = recorded_cases(&version).iter().filter(|case| self.filter.matches(&case.id));
                chosen.map(|case| (version.clone(), case)).collect::<Vec<_>>()
            };
            self.versions().flat_map(cases).collect()
        })
    }

    /// The hostile models that the patterns choose.
    fn hostile(&self) -> &[String] {
        self.hostile.get_or_init(|| HostileCases::all_ids().filter(|id| self.filter.matches(id)).collect())
    }

    /// The operator versions that the patterns may be about.
    fn versions(&self) -> impl Iterator<Item = OperatorVersion> + '_ {
        let specs = Specs::embedded();
        specs.all().filter(|version| self.filter.may_choose_from(&version.qualified()))
    }
}

/// Whether an outcome is a failure that has a cause to argue: what the runtime declines shows nothing.
fn is_failure(outcome: Outcome) -> bool {
    !outcome.is_inconclusive() && outcome != Outcome::Pass && outcome != Outcome::Unsupported
}

/// How a measurement fails a hostile model, of which `records/` knows nothing: its entries alone say so.
fn hostile_failure(measurement: &Measurement, id: &str) -> Option<Outcome> {
    measurement.entry(id).map(Entry::outcome).filter(|outcome| is_failure(*outcome))
}

/// The findings of a file.
fn read(file: &'static str, text: &str) -> Result<Vec<Finding>, FindingError> {
    let (path, name) = (format!("findings/{file}"), file.strip_suffix(".yaml").unwrap_or(file));
    let file: FindingsFile = yaml::read(&path, text)?;
    let rule = |rule: String| FindingError::Rule { path: path.clone(), rule };
    if file.runtime != name {
        return Err(rule(format!("is about {}; call it findings/{}.yaml", file.runtime, file.runtime)));
    }
    let mut found: Vec<Finding> = Vec::new();
    for FindingEntry { id, title, cases, outcomes, quote, by, text, runtime, sample } in file.findings {
        if found.iter().any(|other| other.id == id) {
            return Err(rule(format!("duplicate finding '{id}'")));
        }
        let proof = Proof::from_entry(quote, by);
        let proof = proof.ok_or_else(|| rule(format!("finding '{id}' needs either a `quote:` or a `by:`")))?;
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
            measured: OnceLock::new(),
        });
    }
    Ok(found)
}
