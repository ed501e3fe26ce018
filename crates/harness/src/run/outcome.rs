//! Outcomes of cases.

use std::collections::BTreeSet;
use std::fmt;

use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_subject::OperatorCounts;
use serde::{Deserialize, Serialize};

use onnx_conformance_cases::case::{
    Case, CaseId, Cell, Level, OutputEvidence, RefusalClass, RuleRef, UpstreamOverride, Variant,
};
use onnx_conformance_cases::compare::{Distance, UsedBound};

use crate::escape;
use crate::questions::{Completeness, Metadata};

/// Outcome of a case on a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// Every output is correct, or the model was refused as required.
    Pass,
    /// The control of a refusal does not pass, so the refusal proves nothing.
    NotApplicable,
    /// The case needs an undeclared feature and was not sent.
    NotDeclared,
    /// The runtime reported a missing feature before running.
    Unsupported,
    /// The runtime failed.
    Error,
    /// An output has wrong values.
    Mismatch,
    /// An output has the wrong shape, length or keys.
    WrongShape,
    /// An output has the wrong type.
    WrongType,
    /// The resulting model of a tool is invalid or does not run.
    InvalidModel,
    /// The resulting model of a tool is at another opset than requested.
    WrongOpset,
    /// The inputs or outputs of the resulting model have other names or another order.
    WrongInterface,
    /// The runtime accepted a model that it must refuse.
    Accepted,
    /// No answer within the time limit.
    Timeout,
    /// More memory than the limit.
    OutOfMemory,
    /// The runtime died.
    Crash,
    /// The answer violated the protocol.
    ProtocolError,
}

/// Row of the table of outcomes.
struct Definition {
    name: &'static str,
    letter: char,
    rank: u8,
    words: &'static str,
    meaning: &'static str,
    next_step: &'static str,
}

impl Outcome {
    /// Every outcome, best first.
    pub const ALL: [Outcome; 16] = [
        Outcome::Pass,
        Outcome::NotApplicable,
        Outcome::NotDeclared,
        Outcome::Unsupported,
        Outcome::Error,
        Outcome::Mismatch,
        Outcome::WrongShape,
        Outcome::WrongType,
        Outcome::InvalidModel,
        Outcome::WrongOpset,
        Outcome::WrongInterface,
        Outcome::Accepted,
        Outcome::Timeout,
        Outcome::OutOfMemory,
        Outcome::Crash,
        Outcome::ProtocolError,
    ];

    /// The table of outcomes: the only place with their names, words, ranks and meanings.
    #[expect(clippy::too_many_lines, reason = "a table")]
    const fn definition(self) -> Definition {
        match self {
            Outcome::Pass => Definition {
                name: "pass",
                letter: 'P',
                rank: 0,
                words: "pass",
                meaning: "every output is correct, or the model was refused as required",
                next_step: "No action is needed.",
            },
            Outcome::NotApplicable => Definition {
                name: "not-applicable",
                letter: 'N',
                rank: 0,
                words: "not applicable: the control fails",
                meaning: "the case must be refused, but the same model without the violation does not run \
                       either, so the refusal proves nothing",
                next_step: "`show` names the control, the same model without the violation. Once it runs, the case \
                       is judged.",
            },
            Outcome::NotDeclared => Definition {
                name: "not-declared",
                letter: 'D',
                rank: 0,
                words: "not declared",
                meaning: "the case needs a feature that the runtime does not declare, so it was not sent",
                next_step: "If the runtime has the feature, declare it in the adapter. The case is neither a pass \
                       nor a failure.",
            },
            Outcome::Unsupported => Definition {
                name: "unsupported",
                letter: 'U',
                rank: 1,
                words: "unsupported",
                meaning: "the runtime declines the case and names the missing feature",
                next_step: "A missing feature is not a wrong answer. An entry `unsupported` in the expectation \
                       file covers all such cases.",
            },
            Outcome::Error => Definition {
                name: "error",
                letter: 'E',
                rank: 2,
                words: "error",
                meaning: "the runtime fails to load or run a valid model",
                next_step: "Read its message. If it means that a feature is missing, the adapter may answer \
                       `unsupported`.",
            },
            Outcome::Mismatch => Definition {
                name: "mismatch",
                letter: 'M',
                rank: 3,
                words: "wrong values",
                meaning: "an output has wrong values, outside the error bound of the case",
                next_step: "The message gives the position, both values and their distance in representable values \
                       (ULP). `trace` prints every step.",
            },
            Outcome::WrongShape => Definition {
                name: "wrong-shape",
                letter: 'S',
                rank: 3,
                words: "wrong shape",
                meaning: "an output has the wrong shape, length or keys",
                next_step: "Compare with `show`. The usual cause is axes or broadcasting.",
            },
            Outcome::WrongType => Definition {
                name: "wrong-type",
                letter: 'Y',
                rank: 3,
                words: "wrong type",
                meaning: "an output has the wrong type",
                next_step: "Compare with `show`. Some runtimes compute in a wider type and do not convert back.",
            },
            Outcome::InvalidModel => Definition {
                name: "invalid-model",
                letter: 'B',
                rank: 3,
                words: "invalid model",
                meaning: "the model that a tool returns is invalid, or does not run",
                next_step: "The message names the broken rule. `check` explains it.",
            },
            Outcome::WrongOpset => Definition {
                name: "wrong-opset",
                letter: 'V',
                rank: 2,
                words: "wrong opset",
                meaning: "the model that a tool returns is at another opset than requested",
                next_step: "A tool that does not convert a model must say so.",
            },
            Outcome::WrongInterface => Definition {
                name: "wrong-interface",
                letter: 'F',
                rank: 3,
                words: "other inputs or outputs",
                meaning: "the model that a tool returns has other inputs or outputs, or another order of them",
                next_step: "Compare the names in the message. Callers of the model depend on them.",
            },
            Outcome::Accepted => Definition {
                name: "accepted",
                letter: 'A',
                rank: 3,
                words: "accepted an invalid model",
                meaning: "the runtime runs a model that violates a rule and must be refused",
                next_step: "`show` names the rule and the control. A user with such a model gets meaningless \
                       outputs.",
            },
            Outcome::Timeout => Definition {
                name: "timeout",
                letter: 'T',
                rank: 4,
                words: "timeout",
                meaning: "the runtime did not answer in time",
                next_step: "Try a longer `--timeout`. A case takes milliseconds unless its name contains `large`.",
            },
            Outcome::OutOfMemory => Definition {
                name: "out-of-memory",
                letter: 'O',
                rank: 4,
                words: "out of memory",
                meaning: "the runtime exceeded the memory limit",
                next_step: "Try a higher `--memory`. If a small case needs gigabytes, that is a defect.",
            },
            Outcome::Crash => Definition {
                name: "crash",
                letter: 'C',
                rank: 5,
                words: "crash",
                meaning: "the process of the runtime ended without an answer",
                next_step: "The message gives the signal and the last output. Such a model also ends a user's \
                       program.",
            },
            Outcome::ProtocolError => Definition {
                name: "protocol-error",
                letter: 'X',
                rank: 5,
                words: "broke the protocol",
                meaning: "the adapter's answer violates the protocol",
                next_step: "The adapter has an error: `run --smoke` describes it, and `run --validate` names the rule.",
            },
        }
    }

    /// Returns the name, as results and expectations spell it.
    pub const fn name(self) -> &'static str {
        self.definition().name
    }

    /// Returns the letter in the data of the site.
    pub const fn letter(self) -> char {
        self.definition().letter
    }

    /// Returns the name in words, for pages: `wrong shape`.
    pub const fn words(self) -> &'static str {
        self.definition().words
    }

    /// Returns the meaning, as a fragment without a full stop.
    pub const fn meaning(self) -> &'static str {
        self.definition().meaning
    }

    /// Returns the recommended next step, in sentences.
    pub const fn next_step(self) -> &'static str {
        self.definition().next_step
    }

    /// Returns the severity of the outcome. A higher rank is a regression, a lower one an improvement. A wrong value is
    /// worse than an error, and the end of the process is worst.
    pub const fn rank(self) -> u8 {
        self.definition().rank
    }

    /// Returns true for failures of positive cases. The same behavior passes a case that must be refused.
    pub const fn is_of_positive_cases(self) -> bool {
        matches!(
            self,
            Outcome::Error
                | Outcome::Mismatch
                | Outcome::WrongShape
                | Outcome::WrongType
                | Outcome::InvalidModel
                | Outcome::WrongOpset
                | Outcome::WrongInterface
        )
    }

    /// Returns true if a limit of the run ended the case. Time and memory may run out in either order.
    pub const fn is_limit(self) -> bool {
        matches!(self, Outcome::Timeout | Outcome::OutOfMemory)
    }

    /// Returns true if the runtime gave no answer: it died, hung, took too much memory or violated the protocol.
    pub const fn is_without_answer(self) -> bool {
        self.rank() >= Outcome::Timeout.rank()
    }

    /// Returns true if the outcome of a case of this level is recorded and not judged. The standard leaves results
    /// open, but a runtime must always answer.
    pub fn is_left_open(self, level: Level) -> bool {
        level == Level::Open && !self.is_without_answer()
    }

    /// Returns true if the outcome of a case of this level counts. Outcomes that are left open never count. A recommendation
    /// only counts if the judgement is strict or the runtime gives no answer.
    pub fn counts(self, level: Level, strict: bool) -> bool {
        let is_asked = strict || level != Level::Recommended || self.is_without_answer();
        is_asked && !self.is_left_open(level)
    }

    /// Returns true if the outcome is neither a pass nor a failure: the case was not sent, or proves nothing.
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
    /// The outcome.
    pub outcome: Outcome,
    /// The reason why it is not a pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The first nodes of the model, if the case does not pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nodes: String,
    /// The inputs in short, if the case does not pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
    /// The feature that the runtime does not have, in the same form for all cases that need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The largest distance from an expected element, in representable values. A mismatch has it only if the outputs are inexact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ulps: Option<u64>,
    /// Distance of a mismatch from the expected output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
    /// The error bound with the largest share used by an element of the outputs. A mismatch has it only if it breaks a
    /// bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<UsedBound>,
    /// The outcome of the first run, if the case ended differently when re-run in a fresh process. The other fields are about the
    /// re-run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<String>,
    /// Level of the expectation: required, recommended or open.
    pub level: Level,
    /// The part of the case that shows a runtime that it must refuse, if it must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<RefusalClass>,
    /// The rule that judges the case, if it is not upstream's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<UpstreamOverride>,
    /// The rule of op.yaml that the case tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// The finding that explains the failure, with its runtime: `onnxruntime/gather-strings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// Evidence for each expected output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<OutputEvidence>,
    /// The type cells that the run exercised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executed_cells: Vec<String>,
    /// The operator versions and type cells of the model, if the run does not report the exercised ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared_cells: Vec<String>,
    /// True if the runtime's optimizer changed the operators of a graph; `None` if it was not asked for them, or gave no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<bool>,
    /// The operators of a graph after optimization, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimized: Option<OperatorCounts>,
    /// Completeness of inferred types and shapes of the outputs, if shape inference was asked for and contradicts no
    /// output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness: Option<Completeness>,
    /// Parts of the model whose metadata a tool drops; `None` if it was not asked with metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<BTreeSet<Metadata>>,
    /// True if the result is that of the measurement, since the case is unchanged and was not run again.
    #[serde(default, rename = "measured", skip_serializing_if = "std::ops::Not::not")]
    pub is_measured: bool,
    /// Duration in milliseconds.
    pub ms: f64,
}

impl CaseResult {
    /// Formats a case with a different outcome in a fresh process.
    pub fn flaky_note(&self) -> String {
        let first = escape::message(self.flaky.as_deref().unwrap_or_default());
        format!("flaky: {} is {} in a fresh process; at first {first}", escape::line(&self.id), self.outcome)
    }

    /// Returns the largest distance of a mismatch whose outputs are only inexact, in representable values.
    pub fn mismatch_ulps(&self) -> Option<u64> {
        self.ulps.filter(|_| self.outcome == Outcome::Mismatch)
    }

    /// Creates a pass of a case, to be completed.
    pub(crate) fn for_case(case: &Case) -> CaseResult {
        CaseResult {
            judged: case.judged,
            rule: case.rule.clone(),
            evidence: case.evidence.clone(),
            ..CaseResult::without_details(&case.id, Outcome::Pass, case.level, case.refusal_class())
        }
    }

    /// Creates a result that has an outcome only.
    pub(crate) fn without_details(id: &str, outcome: Outcome, level: Level, class: Option<RefusalClass>) -> CaseResult {
        CaseResult {
            id: id.to_owned(),
            outcome,
            message: String::new(),
            nodes: String::new(),
            inputs: String::new(),
            missing: None,
            ulps: None,
            distance: None,
            bound: None,
            flaky: None,
            level,
            class,
            judged: None,
            rule: None,
            finding: None,
            evidence: Vec::new(),
            executed_cells: Vec::new(),
            declared_cells: Vec::new(),
            rewritten: None,
            optimized: None,
            completeness: None,
            dropped: None,
            is_measured: false,
            ms: 0.0,
        }
    }

    /// Returns the result of a case that is unchanged in this variant or does not support it. It proves nothing.
    pub(super) fn without_form(case: &Case, variant: Variant) -> CaseResult {
        let message = format!("has no separate form in the variant {variant}");
        CaseResult { outcome: Outcome::NotApplicable, message, ..CaseResult::for_case(case) }
    }

    /// Returns the operators of a case, without versions: the one in its id, `ai.onnx/Sum-13/...`, or else those of its
    /// model.
    pub fn operators(&self) -> BTreeSet<String> {
        let operator = |version: &OperatorVersion| format!("{}/{}", version.domain, version.name);
        if let Some(version) = CaseId::parse(&self.id).version() {
            return BTreeSet::from([operator(&version)]);
        }
        let cells = self.declared_cells.iter().chain(&self.executed_cells);
        cells.filter_map(|cell| Some(operator(cell.parse::<Cell>().ok()?.version()))).collect()
    }

    /// Returns true if the outcome counts for a runtime.
    pub fn counts(&self, strict: bool) -> bool {
        self.outcome.counts(self.level, strict)
    }

    /// Returns true if the outcome counts in a strict run and is conclusive.
    pub fn counts_when_strict(&self) -> bool {
        self.counts(true) && !self.outcome.is_inconclusive()
    }
}
