//! What a check found of a model file, and what becomes of it elsewhere.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_check::finding::Finding;
use onnx_conformance_check::rules::Level;
use onnx_conformance_check::validity::ModelFacts;
use serde::Serialize;

use crate::models::runtimes::{RuntimeReport, RuntimeVerdict};
use crate::models::saved::SavedNode;
use onnx_conformance_harness::measure::NodeVerdict;

/// What a check found of a model file.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReport {
    /// The file, as it was named.
    pub file: String,
    /// The worst of it.
    pub status: Status,
    /// The answer in a line, the cause first.
    pub verdict: String,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// What the model is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<ModelFacts>,
    /// By domain, the opsets at which every node means the same operator version.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub same_operators: BTreeMap<String, [i64; 2]>,
    /// By domain, the opsets at which no node has to change.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unedited: BTreeMap<String, [i64; 2]>,
    /// What becomes of it at the opsets that were asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetReport>,
    /// What measured runtimes do with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runtimes: Vec<RuntimeReport>,
    /// The nodes that were written as models of their own; nothing where none were to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<Vec<SavedNode>>,
}

/// What there is to say of a model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It breaks no rule, and can be what was asked for.
    Valid,
    /// It breaks a rule, or cannot be what was asked for.
    Findings,
    /// It holds no model.
    Unreadable,
    /// This program failed on it, which is a fault of the program.
    Failed,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Status::Valid => "valid",
            Status::Findings => "findings",
            Status::Unreadable => "unreadable",
            Status::Failed => "failed",
        })
    }
}

/// What becomes of a model at other opsets or in another IR version.
#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    /// What was asked for: `opset 12`, `ONNX 1.12`.
    pub label: String,
    /// The answer.
    pub answer: Answer,
    /// The edits that it takes, each with its place.
    pub edits: Vec<(String, String)>,
    /// What stands against it, each with its place.
    pub reasons: Vec<(String, String)>,
}

/// Whether a model can be what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The numbers of opsets and IR version change, and no node.
    RelabelOnly,
    /// Nodes change, and the model means the same.
    Edits,
    /// Nothing there means the same.
    Cannot,
}

impl ModelReport {
    /// How many findings have this level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// Whether of some node on some runtime nothing is known.
    pub fn has_unknown(&self) -> bool {
        let kinds = self.runtimes.iter().flat_map(|runtime| &runtime.kinds);
        kinds.into_iter().any(|kind| kind.answer.verdict == NodeVerdict::Unknown)
    }

    /// Whether the report fails a check that is to fail on findings of this level.
    pub fn fails_on(&self, level: Level) -> bool {
        let answer = self.target.as_ref().map(|target| target.answer);
        let by_target = match answer {
            Some(Answer::Cannot) => true,
            Some(Answer::Edits) => level != Level::Error,
            _ => false,
        };
        let by_runtime = self.runtimes.iter().any(|runtime| runtime.verdict >= RuntimeVerdict::WrongSomewhere);
        by_target || by_runtime || self.findings.iter().any(|finding| finding.level <= level)
    }
}
