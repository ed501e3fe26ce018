//! Report on a model file: the findings of its check, conversions, and runtimes.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_check::finding::{Described, Finding};
use onnx_conformance_check::rules::Level;
use onnx_conformance_check::validity::ModelFacts;
use onnx_conformance_harness::measure::NodeVerdict;
use serde::Serialize;

use crate::models::runtimes::{RuntimeReport, RuntimeVerdict};
use crate::models::saved::SavedNode;
use crate::models::summary::ModelSummary;
use crate::models::trace::TriedResult;

/// Report on a model file.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReport {
    /// File name as given.
    pub file: String,
    /// Overall status.
    pub status: Status,
    /// Summary in one line, the cause first.
    pub verdict: String,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// Facts about the model's contents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<ModelFacts>,
    /// Range of opsets per domain at which every node has the same operator version.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub same_operators: BTreeMap<String, [i64; 2]>,
    /// Range of opsets per domain at which no node has to change.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unedited: BTreeMap<String, [i64; 2]>,
    /// Conversion to the requested opsets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetReport>,
    /// Results on measured runtimes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runtimes: Vec<RuntimeReport>,
    /// Nodes written as separate models; `None` if none were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<Vec<SavedNode>>,
    /// Inputs of the main graph and outputs of its nodes, in order, with inferred types and shapes; `None` if not
    /// requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Described>>,
    /// Parameters, bytes and operations; `None` if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<ModelSummary>,
}

/// Status of a model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Violates no rule, and can be converted as requested.
    Valid,
    /// Violates a rule, or cannot be converted as requested.
    Findings,
    /// Contains no model.
    Unreadable,
    /// This program failed on it, which is a bug in the program.
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

/// Conversion of a model to other opsets or another IR version.
#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    /// The request: `opset 12`, `ONNX 1.12`.
    pub label: String,
    /// The answer.
    pub answer: Answer,
    /// Required edits, each with its place.
    pub edits: Vec<(String, String)>,
    /// Obstacles, each with its place.
    pub reasons: Vec<(String, String)>,
}

/// Answer to a requested conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Only the opset and IR version numbers change.
    RelabelOnly,
    /// Nodes change, and the model keeps its meaning.
    Edits,
    /// No equivalent exists in the target.
    Cannot,
}

impl ModelReport {
    /// Returns the number of findings of this level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// Returns true if the result of some node on some runtime is unknown.
    pub fn has_unknown(&self) -> bool {
        // A whole model that was tried says more than its nodes.
        let is_open = |runtime: &&RuntimeReport| {
            runtime
                .tried
                .as_ref()
                .is_none_or(|tried| matches!(tried.result, TriedResult::Loads | TriedResult::RunsUncompared))
        };
        let kinds = self.runtimes.iter().filter(is_open).flat_map(|runtime| &runtime.kinds);
        kinds.into_iter().any(|kind| kind.answer.verdict == NodeVerdict::Unknown)
    }

    /// Returns true if the report fails a check that fails on findings of this level.
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
