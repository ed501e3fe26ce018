//! Sentences of the standard, each with the rules and cases that test it: `specs/<domain>/<Op>/text.yaml`, and
//! `specs/documents` for IR.md, onnx.proto and other documents.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use onnx_conformance_cases::generate::{GenerateError, OperatorFile};
use onnx_conformance_cases::suite::SuiteError;
use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{Section, Sentence};
use serde::{Deserialize, Serialize};

/// Name of the rule that the cases outside of `constraints` show.
const FORMULA: &str = "formula";

/// Name of op.yaml's `shape`: every case that runs shows it.
const SHAPE: &str = "shape";

/// Name of op.yaml's `changes`, each of which names its cases.
const CHANGES: &str = "changes";

/// Item of a text.yaml: the state of a sentence.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextItem {
    /// The digest and the first words.
    pub(super) text: String,
    /// The versions that the state is about; all that have the sentence if it is empty.
    #[serde(default)]
    pub(super) versions: Vec<u32>,
    #[serde(default)]
    pub(super) rules: Vec<String>,
    #[serde(default)]
    pub(super) cases: Vec<String>,
    /// The rules of `check`.
    #[serde(default)]
    pub(super) check: Vec<String>,
    pub(super) by_signature: Option<Signature>,
    pub(super) not_normative: Option<NotNormative>,
    pub(super) untestable: Option<String>,
    pub(super) contradicts: Option<Contradiction>,
    pub(super) open: Option<String>,
}

/// Part of a version file that states a sentence. Cases are generated from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Signature {
    /// Types of inputs and outputs.
    Types,
    /// The number of inputs and outputs, and which are optional.
    Arity,
    /// An attribute: its type, default, and whether it is required.
    Attribute,
}

/// Kind of a sentence that states no requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotNormative {
    /// Explanation of other sentences.
    Explanation,
    /// Introduction of an example.
    Example,
    /// Reference to a paper or a library.
    Reference,
    /// History of earlier versions.
    History,
    /// Heading.
    Heading,
    /// Part of a formula, table or list whose meaning another sentence states.
    Fragment,
}

/// Contradiction between a sentence and another part of the standard.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Contradiction {
    /// The other sentence, by its digest or in words; the function body, or a test of ONNX.
    pub with: String,
    /// The reading of the suite.
    pub reading: String,
}

/// State of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextState {
    /// Rules of op.yaml, cases without a rule, or rules of `check` test it.
    Tested {
        /// The rules of op.yaml.
        rules: Vec<String>,
        /// Names of cases; for a document, patterns of ids.
        cases: Vec<String>,
        /// Rules of `check`.
        check: Vec<String>,
    },
    /// The signature of the version states it.
    BySignature(Signature),
    /// Node of the function body, which is run in place of the operator as evidence for its cases.
    Body,
    /// It states no requirement.
    NotNormative(NotNormative),
    /// No outcome can be judged, for this reason.
    Untestable(String),
    /// It contradicts another part of the standard.
    Contradicts(Contradiction),
    /// A case is missing, for this reason.
    Open(String),
    /// text.yaml does not have it.
    Missing,
}

impl TextState {
    /// Returns the name of the state in totals.
    pub fn name(&self) -> &'static str {
        match self {
            TextState::Tested { .. } => "tested",
            TextState::BySignature(_) => "by signature",
            TextState::Body => "function body",
            TextState::NotNormative(_) => "not normative",
            TextState::Untestable(_) => "untestable",
            TextState::Contradicts(_) => "contradicts",
            TextState::Open(_) => "open",
            TextState::Missing => "without a state",
        }
    }

    /// Describes the state in a few words.
    pub fn words(&self) -> String {
        match self {
            TextState::Tested { rules, cases, check } => {
                let check = check.iter().map(|rule| format!("check {rule}"));
                rules.iter().chain(cases).cloned().chain(check).collect::<Vec<_>>().join(", ")
            }
            TextState::BySignature(Signature::Types) => "by the signature: types".to_owned(),
            TextState::BySignature(Signature::Arity) => "by the signature: arity".to_owned(),
            TextState::BySignature(Signature::Attribute) => "by the signature: attribute".to_owned(),
            TextState::Body => "function body".to_owned(),
            TextState::NotNormative(kind) => format!("not normative: {}", format!("{kind:?}").to_lowercase()),
            TextState::Untestable(reason) => format!("untestable: {reason}"),
            TextState::Contradicts(Contradiction { with, reading }) => format!("contradicts {with}: {reading}"),
            TextState::Open(reason) => format!("open: {reason}"),
            TextState::Missing => "without a state".to_owned(),
        }
    }
}

/// Sentence with its state in some of its versions.
#[derive(Clone, Debug)]
pub struct StatedSentence {
    /// The sentence.
    pub sentence: &'static Sentence,
    /// The versions that the state is about.
    pub versions: Vec<u32>,
    /// The state.
    pub state: TextState,
    /// The ids of the cases that show it.
    pub cases: Vec<String>,
}

impl StatedSentence {
    /// Returns the sections that have the sentence in these versions.
    pub fn sections(&self) -> BTreeSet<&Section> {
        let is_chosen = |since: &Option<u32>| since.is_none_or(|since| self.versions.contains(&since));
        let places = self.sentence.places.iter().filter(|(since, _)| is_chosen(since));
        places.map(|(_, section)| section).collect()
    }
}

/// Sentences of an operator or a document, with their states.
#[derive(Clone, Debug, Default)]
pub struct OperatorText {
    /// The domain and name of the operator, `ai.onnx/Slice`, or the name of the document, `IR.md`.
    pub operator: String,
    /// The sentences in the order of the texts.
    pub sentences: Vec<StatedSentence>,
    /// Faults of the file of states, each with its file and line.
    pub problems: Vec<String>,
}

/// Error while the sentences and their cases are read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// A text.yaml cannot be read.
    #[error(transparent)]
    Yaml(#[from] Box<YamlError>),
    /// An op.yaml cannot be read.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The suite cannot be read.
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

/// Ids of the cases of each version of an operator.
pub(super) type IdsByVersion = BTreeMap<u32, Vec<String>>;

impl OperatorText {
    /// Returns the number of sentences by state.
    pub fn totals(all: &[OperatorText]) -> BTreeMap<&'static str, usize> {
        let mut totals = BTreeMap::new();
        for sentence in all.iter().flat_map(|operator| &operator.sentences) {
            *totals.entry(sentence.state.name()).or_default() += 1;
        }
        totals
    }

    /// Formats the totals as a line.
    pub fn summary(all: &[OperatorText]) -> String {
        let totals = OperatorText::totals(all);
        let sum: usize = totals.values().sum();
        let states: Vec<String> = totals.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let documents = all.iter().filter(|text| text.is_document()).count();
        let counted = [(all.len() - documents, "operator"), (documents, "document")].into_iter();
        let counted = counted.filter(|(count, _)| *count > 0);
        let counted = counted.map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        format!("{sum} sentences of {}: {}", counted.collect::<Vec<_>>().join(" and "), states.join(", "))
    }

    /// Returns true for the sentences of a document, false for those of an operator.
    pub fn is_document(&self) -> bool {
        !self.operator.contains('/')
    }
}

/// Cases of an operator, by what they show.
pub(super) struct ShownCases<'a> {
    /// The ids of each version, with the name of the case.
    ids: BTreeMap<u32, Vec<(&'a str, String)>>,
    /// The rule of each case, by its name.
    rules: HashMap<String, String>,
    /// The names of the cases of changes.
    changes: BTreeSet<String>,
    /// The rules of op.yaml.
    pub(super) known: BTreeSet<String>,
}

impl<'a> ShownCases<'a> {
    pub(super) fn new(file: &OperatorFile, ids: &'a IdsByVersion) -> ShownCases<'a> {
        let named = |id: &'a String| Some((case_name(id)?, id.clone()));
        let cases = file.cases.iter().map(|case| (&case.name, &case.constraint));
        let refusals = file.refuse.iter().map(|case| (&case.name, &case.constraint));
        let rules = cases.chain(refusals).filter_map(|(name, rule)| Some((name.clone(), rule.clone()?))).collect();
        let mut known: BTreeSet<String> = file.constraints.0.iter().map(|(id, _)| id.clone()).collect();
        known.extend([FORMULA, SHAPE, CHANGES].map(str::to_owned));
        ShownCases {
            ids: ids.iter().map(|(since, ids)| (*since, ids.iter().filter_map(named).collect())).collect(),
            rules,
            changes: file.changes.0.values().flatten().flat_map(|change| change.cases.iter().cloned()).collect(),
            known,
        }
    }

    /// Returns the ids of a version's cases that show a rule.
    pub(super) fn of_rule<'s>(&'s self, since: u32, rule: &'s str) -> impl Iterator<Item = &'s String> {
        self.ids
            .get(&since)
            .into_iter()
            .flatten()
            .filter(move |(name, id)| match rule {
                SHAPE => !id.contains("/refuse/"),
                CHANGES => self.changes.contains(*name),
                rule => self.rules.get(*name).is_some_and(|known| known == rule),
            })
            .map(|(_, id)| id)
    }

    /// Returns the ids of a version's cases with a name.
    pub(super) fn named<'s>(&'s self, since: u32, name: &'s str) -> impl Iterator<Item = &'s String> {
        self.ids.get(&since).into_iter().flatten().filter(move |(other, _)| *other == name).map(|(_, id)| id)
    }
}

/// Returns the name of the case that an id is made from: `x` of `ai.onnx/Abs-13/x/T=float` and `ai.onnx/Abs-13/refuse/x`.
fn case_name(id: &str) -> Option<&str> {
    let mut parts = id.split('/').skip(2);
    match parts.next()? {
        // Refusals and large cases are in folders.
        "refuse" | "large" => parts.next(),
        name => Some(name),
    }
}

/// Joins the sentences of an operator with their states.
pub(super) fn stated(operator: &str, items: &[TextItem], shown: &ShownCases<'_>) -> Vec<StatedSentence> {
    let mut all = Vec::new();
    for sentence in Sentence::all_of(operator) {
        let mut left: BTreeSet<u32> = sentence.versions().into_iter().collect();
        for item in items.iter().filter(|item| item.text.starts_with(sentence.digest)) {
            let is_chosen = |since: &u32| item.versions.is_empty() || item.versions.contains(since);
            let versions: Vec<u32> = left.iter().copied().filter(is_chosen).collect();
            left.retain(|since| !versions.contains(since));
            all.push(StatedSentence {
                sentence,
                cases: cases_of(item, &versions, shown),
                state: item.state(),
                versions,
            });
        }
        if !left.is_empty() {
            let sections: BTreeSet<&Section> = sentence.places.iter().map(|(_, section)| section).collect();
            let state = if sections.iter().all(|section| matches!(section, Section::Type(_))) {
                TextState::BySignature(Signature::Types)
            } else if sections.iter().all(|section| matches!(section, Section::Type(_) | Section::Body)) {
                TextState::Body
            } else {
                TextState::Missing
            };
            all.push(StatedSentence { sentence, versions: left.into_iter().collect(), state, cases: Vec::new() });
        }
    }
    all
}

fn cases_of(item: &TextItem, versions: &[u32], shown: &ShownCases<'_>) -> Vec<String> {
    let mut ids = BTreeSet::new();
    for since in versions {
        ids.extend(item.rules.iter().flat_map(|rule| shown.of_rule(*since, rule)));
        ids.extend(item.cases.iter().flat_map(|name| shown.named(*since, name)));
    }
    ids.into_iter().cloned().collect()
}

impl TextItem {
    pub(super) fn state(&self) -> TextState {
        if let Some(signature) = self.by_signature {
            TextState::BySignature(signature)
        } else if let Some(kind) = self.not_normative {
            TextState::NotNormative(kind)
        } else if let Some(reason) = &self.untestable {
            TextState::Untestable(reason.clone())
        } else if let Some(contradiction) = &self.contradicts {
            TextState::Contradicts(contradiction.clone())
        } else if let Some(reason) = &self.open {
            TextState::Open(reason.clone())
        } else if self.rules.is_empty() && self.cases.is_empty() && self.check.is_empty() {
            TextState::Missing
        } else {
            TextState::Tested { rules: self.rules.clone(), cases: self.cases.clone(), check: self.check.clone() }
        }
    }
}
