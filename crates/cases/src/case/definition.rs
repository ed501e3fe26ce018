//! The parts of a case.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use bytes::Bytes;
use onnx_conformance_subject::{Named, Output};
use serde::{Deserialize, Serialize};

use crate::case::level::{Level, TextLevel};
use crate::case::text::TextRelease;
use crate::case::{DrawnTensor, Evidence, Expected, OutputEvidence};

/// A model, its inputs, and the expectation.
#[derive(Clone, Debug)]
pub struct Case {
    /// The stable name: `onnx-1.23.2/node/test_sum_example`.
    pub id: String,
    /// The serialized `ModelProto`.
    pub model: Bytes,
    /// The folder of the model, if it has external data.
    pub folder: Option<PathBuf>,
    /// Sets of inputs, each with its own expected outputs.
    pub data: Vec<DataSet>,
    /// The refusal that is expected instead of outputs, for a negative case.
    pub refusal: Option<Refusal>,
    /// The rule of an op.yaml that the case shows or breaks, or the attack of a hostile model.
    pub rule: Option<RuleRef>,
    /// Level of the expectation: required, recommended or open.
    pub level: Level,
    /// The level by the texts of some releases, if they decide it.
    pub text: Option<TextLevel>,
    /// The reason for a level below required; empty if `note` or the operator says it.
    pub why: String,
    /// The note of the op.yaml on the case; may be empty.
    pub note: String,
    /// True if the case is about special values: NaN, infinities, signed zeros, subnormals, overflow, ties, empty
    /// tensors or rank 0.
    pub is_edge: bool,
    /// True if the model attacks the runtime. A refusal then passes even if outputs are expected. Without expected
    /// outputs any answer passes. A runtime is never evidence for such a case.
    pub is_hostile: bool,
    /// Evidence for each expected output, apart from our own kernels.
    pub evidence: Vec<OutputEvidence>,
    /// The rule that judges the case, if it is not upstream's.
    pub judged: Option<UpstreamOverride>,
    /// The draws that make some of the inputs. An archive stores these instead of the elements.
    pub drawn: Vec<DrawnTensor>,
}

impl Case {
    /// Returns a required case with an id and no data.
    pub fn without_data(id: &str) -> Case {
        Case::new(id, Bytes::new(), Vec::new())
    }

    /// Creates a required case with a model and data only.
    pub fn new(id: impl Into<String>, model: Bytes, data: Vec<DataSet>) -> Case {
        Case {
            id: id.into(),
            model,
            folder: None,
            data,
            refusal: None,
            rule: None,
            level: Level::Required,
            text: None,
            why: String::new(),
            note: String::new(),
            is_edge: false,
            is_hostile: false,
            evidence: Vec::new(),
            judged: None,
            drawn: Vec::new(),
        }
    }

    /// Sets the level to that by the text of a release.
    pub fn judge_by(&mut self, text: TextRelease) {
        if let Some(decided) = self.text {
            self.level = decided.by(text);
        }
    }

    /// Returns the part of the case that shows a runtime that it must refuse, or `None` if the case must run. If the
    /// model equals that of the control, only input values differ.
    pub fn refusal_class(&self) -> Option<RefusalClass> {
        let refusal = self.refusal.as_ref()?;
        let by_values = self.model == refusal.control.model;
        Some(if by_values { RefusalClass::Value } else { RefusalClass::Static })
    }

    /// Returns the outputs whose values are judged, not only their type and shape, in order.
    pub fn judged_outputs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        if self.refusal.is_none() && self.level != Level::Open && !self.is_hostile {
            for output in self.data.iter().flat_map(|data| &data.outputs) {
                let is_judged = !matches!(output.expected, Expected::Unspecified(..));
                names.extend(Some(output.name.as_str()).filter(|name| is_judged && !names.contains(name)));
            }
        }
        names
    }

    /// Records evidence for every judged output.
    pub fn confirm(&mut self, source: &Evidence) {
        let names: Vec<String> = self.judged_outputs().into_iter().map(str::to_owned).collect();
        for name in &names {
            self.confirm_output(name, source.clone());
        }
    }

    /// Records evidence for one output.
    pub fn confirm_output(&mut self, name: &str, source: Evidence) {
        match self.evidence.iter_mut().find(|evidence| evidence.output == name) {
            Some(evidence) => drop(evidence.sources.insert(source)),
            None => self.evidence.push(OutputEvidence::new(name, source)),
        }
    }

    /// Returns the evidence for an output.
    pub fn evidence_of(&self, output: &str) -> impl Iterator<Item = &Evidence> {
        let found = self.evidence.iter().find(|evidence| evidence.output == output);
        found.into_iter().flat_map(|evidence| &evidence.sources)
    }

    /// Returns the evidence that all judged outputs share.
    pub fn confirmed_by(&self) -> BTreeSet<Evidence> {
        let sources = |output| self.evidence_of(output).cloned().collect::<BTreeSet<_>>();
        let each = self.judged_outputs().into_iter().map(sources);
        each.reduce(|common, sources| &common & &sources).unwrap_or_default()
    }

    /// Returns the judged outputs without evidence besides our own kernels.
    pub fn unconfirmed_outputs(&self) -> Vec<&str> {
        let mut outputs = self.judged_outputs();
        outputs.retain(|output| self.evidence_of(output).next().is_none());
        outputs
    }

    /// Formats the evidence: once if all outputs have the same, else for each output. `None` if no output is judged.
    pub fn evidence_text(&self) -> Option<String> {
        let outputs = self.judged_outputs();
        let text = |output: &str| {
            let sources: Vec<String> = self.evidence_of(output).map(ToString::to_string).collect();
            if sources.is_empty() { "nothing".to_owned() } else { sources.join(", ") }
        };
        let first = text(outputs.first()?);
        if outputs.iter().all(|output| text(output) == first) {
            return Some(first);
        }
        let each: Vec<String> = outputs.iter().map(|output| format!("{output} by {}", text(output))).collect();
        Some(each.join("; "))
    }
}

/// The inputs of one run and the outputs expected of it.
#[derive(Clone, Debug, Default)]
pub struct DataSet {
    /// The inputs, by name.
    pub inputs: Vec<Named>,
    /// The outputs, in the order of the graph's.
    pub outputs: Vec<ExpectedOutput>,
}

/// The expectation for one output.
#[derive(Clone, Debug)]
pub struct ExpectedOutput {
    /// The name of the output.
    pub name: String,
    /// The rule and its values.
    pub expected: Expected,
}

impl ExpectedOutput {
    /// Returns the output to request from a runtime.
    pub fn requested(&self) -> Output {
        let (value_type, _) = self.expected.declared();
        Output::new(&self.name, value_type, self.expected.bytes())
    }
}

/// Reason to judge a vendored case by another rule than upstream's. docs/accuracy.md and docs/releases.md argue each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamOverride {
    /// The stored outputs are samples of a random operator.
    Draws,
    /// Dropout in training: the dropped elements are random.
    Dropout,
    /// A lossy image format, for which decoders may differ.
    Lossy,
    /// Some stored elements are rounding noise of a sum whose exact value may be zero.
    Noise,
    /// A later release fixed the test: its outputs for the same model and inputs are expected.
    Mended,
    /// Values that are stored with another element type than the model declares.
    Restored,
    /// The stored outputs are one of several results that the standard allows.
    Ambiguous,
    /// The test is wrong in its release and was never fixed for the same model. It is recorded, not judged.
    Defective,
}

impl UpstreamOverride {
    /// Returns the document that argues the rule.
    pub const fn document(self) -> &'static str {
        match self {
            UpstreamOverride::Draws | UpstreamOverride::Dropout | UpstreamOverride::Lossy | UpstreamOverride::Noise => {
                "docs/accuracy.md"
            }
            UpstreamOverride::Mended
            | UpstreamOverride::Restored
            | UpstreamOverride::Ambiguous
            | UpstreamOverride::Defective => "docs/releases.md",
        }
    }

    /// Returns the rule in a few words.
    pub const fn reason(self) -> &'static str {
        match self {
            UpstreamOverride::Draws => "stored draws of a random operator: type, shape and mean",
            UpstreamOverride::Dropout => {
                "dropout in training: kept elements are scaled, and the number of dropped ones is within chance"
            }
            UpstreamOverride::Lossy => "a lossy image format: 4 of 255 in a channel",
            UpstreamOverride::Noise => "stored rounding noise of a sum near zero: the rounding of its terms",
            UpstreamOverride::Mended => {
                "a test that a later release fixed: the outputs stored there for the same inputs"
            }
            UpstreamOverride::Restored => "values stored in another element type: the type that the model declares",
            UpstreamOverride::Ambiguous => "a test that stores one of several results that the text allows",
            UpstreamOverride::Defective => "a test that contradicts its release's own text: recorded, not judged",
        }
    }
}

/// A rule of an op.yaml, with its text and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRef {
    /// The id in its file, such as `C9`.
    pub id: String,
    /// The rule in one sentence.
    pub says: String,
    /// File and line: `specs/ai.onnx/Resize/op.yaml:212`.
    pub place: String,
}

impl fmt::Display for RuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A formula has several lines.
        write!(f, "{}: {} ({})", self.id, self.says.lines().collect::<Vec<_>>().join("; "), self.place)
    }
}

/// The rule that a negative case breaks, and the control that shows the refusal is for that rule.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The rule that the case breaks, in a few words.
    pub rule: String,
    /// The same model with the violation repaired. It must run.
    pub control: Box<Case>,
    /// True if only a run shows the violation, and not the model. Checkers are not asked about such a case.
    pub only_at_run_time: bool,
}

/// The part of a case that shows a runtime that it must refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RefusalClass {
    /// The model: its types, shapes, attributes and form.
    #[serde(rename = "refusal/static")]
    Static,
    /// The values of inputs only, which a runtime may never inspect.
    #[serde(rename = "refusal/value")]
    Value,
}

impl fmt::Display for RefusalClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RefusalClass::Static => "refusal/static",
            RefusalClass::Value => "refusal/value",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Accuracy;
    use onnx_conformance_reference::dtype::ElementType;
    use onnx_conformance_reference::tensor::Tensor;
    use onnx_conformance_reference::types::ValueType;
    use onnx_conformance_reference::value::Value;

    /// Returns a case with the outputs a and b, and with c, whose value is unspecified.
    fn case() -> Case {
        let value = Value::Tensor(Tensor::of_floats(ElementType::Float, &[1], &[0.0]).unwrap());
        let judged = |name: &str| ExpectedOutput {
            name: name.to_owned(),
            expected: Expected::Value(value.clone(), Accuracy::Exact),
        };
        let free = Expected::Unspecified(ValueType::Tensor(ElementType::Float), None);
        let outputs = vec![judged("a"), judged("b"), ExpectedOutput { name: "c".to_owned(), expected: free }];
        Case { data: vec![DataSet { inputs: Vec::new(), outputs }], ..Case::without_data("case") }
    }

    #[test]
    fn a_case_is_confirmed_by_what_confirms_each_of_its_outputs() {
        let mut case = case();
        assert_eq!((case.unconfirmed_outputs(), case.evidence_text().unwrap()), (vec!["a", "b"], "nothing".to_owned()));
        case.confirm_output("a", Evidence::Literal);
        assert_eq!((case.confirmed_by(), case.unconfirmed_outputs()), (BTreeSet::new(), vec!["b"]));
        assert_eq!(case.evidence_text().unwrap(), "a by literal; b by nothing");
        case.confirm(&Evidence::Runtime("tract".into()));
        assert_eq!(case.confirmed_by(), [Evidence::Runtime("tract".into())].into());
        assert_eq!(case.evidence_text().unwrap(), "a by literal, tract; b by tract");
        case.confirm_output("b", Evidence::Literal);
        assert_eq!(case.evidence_text().unwrap(), "literal, tract");
        assert!(case.unconfirmed_outputs().is_empty() && case.evidence_of("c").next().is_none());
    }

    #[test]
    fn outputs_that_are_not_judged_need_no_evidence() {
        let mut open = Case { level: Level::Open, ..case() };
        open.confirm(&Evidence::Runtime("tract".into()));
        assert!(open.evidence.is_empty() && open.evidence_text().is_none() && open.confirmed_by().is_empty());
    }
}
