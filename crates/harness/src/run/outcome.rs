//! What a runtime did with a case.

use std::collections::BTreeSet;
use std::fmt;

use onnx_conformance_reference::spec::OperatorVersion;
use serde::{Deserialize, Serialize};

use onnx_conformance_cases::case::{
    Case, CaseId, Cell, Level, OutputEvidence, RefusalClass, RuleRef, UpstreamOverride, Variant,
};
use onnx_conformance_cases::compare::Distance;

use crate::escape;

/// What a runtime did with a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All outputs are right, or the refusal came.
    Pass,
    /// A refusal whose control case does not pass, so that it says nothing.
    NotApplicable,
    /// Outside what the runtime says it does; not sent.
    NotDeclared,
    /// The runtime declined before running.
    Unsupported,
    /// The runtime failed.
    Error,
    /// An output has wrong values.
    Mismatch,
    /// An output has the wrong shape, length or keys.
    WrongShape,
    /// An output has the wrong type.
    WrongType,
    /// The runtime took what it must refuse.
    Accepted,
    /// No answer in time.
    Timeout,
    /// More memory than allowed.
    OutOfMemory,
    /// The runtime died.
    Crash,
    /// The answer broke the protocol.
    ProtocolError,
}

impl Outcome {
    /// Every outcome, best first.
    pub const ALL: [Outcome; 13] = [
        Outcome::Pass,
        Outcome::NotApplicable,
        Outcome::NotDeclared,
        Outcome::Unsupported,
        Outcome::Error,
        Outcome::Mismatch,
        Outcome::WrongShape,
        Outcome::WrongType,
        Outcome::Accepted,
        Outcome::Timeout,
        Outcome::OutOfMemory,
        Outcome::Crash,
        Outcome::ProtocolError,
    ];

    /// The name, as results and expectations spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::NotApplicable => "not-applicable",
            Outcome::NotDeclared => "not-declared",
            Outcome::Unsupported => "unsupported",
            Outcome::Error => "error",
            Outcome::Mismatch => "mismatch",
            Outcome::WrongShape => "wrong-shape",
            Outcome::WrongType => "wrong-type",
            Outcome::Accepted => "accepted",
            Outcome::Timeout => "timeout",
            Outcome::OutOfMemory => "out-of-memory",
            Outcome::Crash => "crash",
            Outcome::ProtocolError => "protocol-error",
        }
    }

    /// How bad the outcome is: a change to a higher rank is a regression, to a lower one an improvement. A wrong value
    /// is worse than an honest error, and what takes the process down is worst.
    pub const fn rank(self) -> u8 {
        match self {
            Outcome::Pass | Outcome::NotApplicable | Outcome::NotDeclared => 0,
            Outcome::Unsupported => 1,
            Outcome::Error => 2,
            Outcome::Mismatch | Outcome::WrongShape | Outcome::WrongType | Outcome::Accepted => 3,
            Outcome::Timeout | Outcome::OutOfMemory => 4,
            Outcome::Crash | Outcome::ProtocolError => 5,
        }
    }

    /// Returns true for the failures of positive cases, with which a runtime passes a case that must be refused.
    pub const fn is_of_positive_cases(self) -> bool {
        matches!(self, Outcome::Error | Outcome::Mismatch | Outcome::WrongShape | Outcome::WrongType)
    }

    /// Returns true where the runtime gave no answer: it died, hung, took too much memory or broke the protocol.
    pub const fn is_without_answer(self) -> bool {
        self.rank() >= Outcome::Timeout.rank()
    }

    /// Returns true where the outcome of a case of this level is recorded and not judged. The standard leaves results open, and
    /// nowhere the lack of an answer.
    pub fn is_left_open(self, level: Level) -> bool {
        level == Level::Open && !self.is_without_answer()
    }

    /// Whether the outcome is neither a pass nor a failure: the case was not put to the runtime, or says nothing.
    pub const fn is_inconclusive(self) -> bool {
        matches!(self, Outcome::NotApplicable | Outcome::NotDeclared)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The result of one case: a line of results.jsonl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The id of the case.
    pub id: String,
    /// What the runtime did.
    pub outcome: Outcome,
    /// Why it is no pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The inputs in short, where the case is no pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
    /// What the runtime does not have, the same for all cases that need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The largest distance from an expected element, in representable values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ulps: Option<u64>,
    /// How far a mismatch is from the expected output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
    /// How the case ended at first, where it ended otherwise alone; the rest is about that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<String>,
    /// How binding the expectation is.
    pub level: Level,
    /// From what a runtime can tell that it must refuse the case, where it must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<RefusalClass>,
    /// The rule by which the case is judged other than upstream does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<UpstreamOverride>,
    /// The rule of op.yaml that the case is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// The finding that the failure shows, with its runtime: `onnxruntime/gather-strings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// What confirms each expected output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<OutputEvidence>,
    /// The type cells that the run went through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executed_cells: Vec<String>,
    /// The operator versions and type cells that the model names, where the run does not tell which it went through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared_cells: Vec<String>,
    /// How long it took, in milliseconds.
    pub ms: f64,
}

impl CaseResult {
    /// What a case that ended otherwise when it was run alone is called.
    pub fn flaky_note(&self) -> String {
        let first = escape::message(self.flaky.as_deref().unwrap_or_default());
        format!("flaky: {} is {} alone; at first {first}", escape::line(&self.id), self.outcome)
    }

    /// A pass of a case, before anything is known.
    pub(super) fn of(case: &Case) -> CaseResult {
        CaseResult {
            id: case.id.clone(),
            outcome: Outcome::Pass,
            message: String::new(),
            inputs: String::new(),
            missing: None,
            ulps: None,
            distance: None,
            flaky: None,
            level: case.level,
            class: case.refusal_class(),
            judged: case.judged,
            rule: case.rule.clone(),
            finding: None,
            evidence: case.evidence.clone(),
            executed_cells: Vec::new(),
            declared_cells: Vec::new(),
            ms: 0.0,
        }
    }

    /// The result of a case that is the same in this variant, or cannot be put so: nothing is learnt from it.
    pub(super) fn without_form(case: &Case, variant: Variant) -> CaseResult {
        let message = format!("has no form of its own as {variant}");
        CaseResult { outcome: Outcome::NotApplicable, message, ..CaseResult::of(case) }
    }

    /// The operators of a case, without versions: the one that its id names, `ai.onnx/Sum-13/...`; else those of its model.
    pub fn operators(&self) -> BTreeSet<String> {
        let operator = |version: &OperatorVersion| format!("{}/{}", version.domain, version.name);
        if let Some(version) = CaseId::parse(&self.id).version() {
            return BTreeSet::from([operator(&version)]);
        }
        let cells = self.declared_cells.iter().chain(&self.executed_cells);
        cells.filter_map(|cell| Some(operator(cell.parse::<Cell>().ok()?.version()))).collect()
    }

    /// Returns true where the outcome counts for a runtime: never where it is left open, and for a recommendation only where the
    /// runtime gives no answer or is held to the letter.
    pub fn counts(&self, strict: bool) -> bool {
        let is_asked = strict || self.level != Level::Recommended || self.outcome.is_without_answer();
        is_asked && !self.outcome.is_left_open(self.level)
    }

    /// Whether the case says something of a runtime that is held to all there is.
    pub(crate) fn counts_when_strict(&self) -> bool {
        self.counts(true) && !self.outcome.is_inconclusive()
    }
}
