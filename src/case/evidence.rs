//! What confirms the expected outputs of a case.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::case::{Case, Expected, Level};

/// Evidence: what confirms an expected output besides our own kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Derived by hand, in the operator's YAML.
    Literal,
    /// Upstream's own node tests.
    Vendored,
    /// The function body that defines the operator gives the same, which tests/bodies.rs holds.
    Body,
    /// Another implementation gave the same.
    Onnxruntime,
    /// Upstream's reference implementation gave the same.
    OnnxReference,
    /// Another implementation gave the same.
    Openvino,
    /// Another implementation gave the same.
    Tract,
}

/// What confirms one output of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputEvidence {
    /// The name of the output.
    pub output: String,
    /// What confirms it.
    pub sources: BTreeSet<Evidence>,
}

impl Evidence {
    /// What the agreement of a runtime is, for the runtimes whose agreement counts.
    pub fn of_runtime(name: &str) -> Option<Evidence> {
        match name {
            "onnxruntime" => Some(Evidence::Onnxruntime),
            "onnx-reference" => Some(Evidence::OnnxReference),
            "openvino" => Some(Evidence::Openvino),
            "tract" => Some(Evidence::Tract),
            _ => None,
        }
    }
}

impl OutputEvidence {
    /// One source for an output.
    pub fn of(output: &str, source: Evidence) -> OutputEvidence {
        OutputEvidence { output: output.to_owned(), sources: [source].into() }
    }
}

impl Case {
    /// The outputs whose values bear on a runtime, besides their type and shape, in order.
    pub fn judged_outputs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        if self.refusal.is_none() && self.level != Level::Open {
            for output in self.data.iter().flat_map(|data| &data.outputs) {
                let is_judged = !matches!(output.expected, Expected::Unspecified(..));
                names.extend(Some(output.name.as_str()).filter(|name| is_judged && !names.contains(name)));
            }
        }
        names
    }

    /// Notes that every output is confirmed.
    pub fn confirm(&mut self, source: Evidence) {
        let names: Vec<String> = self.judged_outputs().into_iter().map(str::to_owned).collect();
        names.iter().for_each(|name| self.confirm_output(name, source));
    }

    /// Notes that one output is confirmed.
    pub fn confirm_output(&mut self, name: &str, source: Evidence) {
        match self.evidence.iter_mut().find(|evidence| evidence.output == name) {
            Some(evidence) => drop(evidence.sources.insert(source)),
            None => self.evidence.push(OutputEvidence::of(name, source)),
        }
    }

    /// What confirms an output.
    pub fn evidence_of(&self, output: &str) -> impl Iterator<Item = Evidence> + '_ {
        let found = self.evidence.iter().find(|evidence| evidence.output == output);
        found.into_iter().flat_map(|evidence| evidence.sources.iter().copied())
    }

    /// What confirms every judged output of the case.
    pub fn confirmed_by(&self) -> BTreeSet<Evidence> {
        let sources = |output| self.evidence_of(output).collect::<BTreeSet<_>>();
        let each = self.judged_outputs().into_iter().map(sources);
        each.reduce(|common, sources| &common & &sources).unwrap_or_default()
    }

    /// The judged outputs that nothing confirms but our own kernels.
    pub fn unconfirmed_outputs(&self) -> Vec<&str> {
        let mut outputs = self.judged_outputs();
        outputs.retain(|output| self.evidence_of(output).next().is_none());
        outputs
    }

    /// The evidence for people: of all outputs together where they have the same, else of each. Nothing where nothing is
    /// judged.
    pub fn evidence_text(&self) -> Option<String> {
        let outputs = self.judged_outputs();
        let text = |output: &str| {
            let sources: Vec<String> = self.evidence_of(output).map(|source| source.to_string()).collect();
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

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Evidence::Literal => "literal",
            Evidence::Vendored => "vendored",
            Evidence::Body => "body",
            Evidence::Onnxruntime => "onnxruntime",
            Evidence::OnnxReference => "onnx.reference",
            Evidence::Openvino => "openvino",
            Evidence::Tract => "tract",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{DataSet, ExpectedOutput};
    use crate::compare::Accuracy;
    use onnx_conformance_reference::dtype::ElementType;
    use onnx_conformance_reference::tensor::Tensor;
    use onnx_conformance_reference::types::ValueType;
    use onnx_conformance_reference::value::Value;

    /// A case with the outputs a and b, and c of which only the type is known.
    fn case() -> Case {
        let value = Value::Tensor(Tensor::of_floats(ElementType::Float, &[1], &[0.0]).unwrap());
        let judged = |name: &str| ExpectedOutput {
            name: name.to_owned(),
            expected: Expected::Value(value.clone(), Accuracy::Exact),
        };
        let free = Expected::Unspecified(ValueType::Tensor(ElementType::Float), None);
        let outputs = vec![judged("a"), judged("b"), ExpectedOutput { name: "c".to_owned(), expected: free }];
        Case {
            id: "case".to_owned(),
            model: bytes::Bytes::new(),
            folder: None,
            data: vec![DataSet { inputs: Vec::new(), outputs }],
            refusal: None,
            level: Level::Required,
            evidence: Vec::new(),
            judged: None,
        }
    }

    #[test]
    fn a_case_is_confirmed_by_what_confirms_each_of_its_outputs() {
        let mut case = case();
        assert_eq!((case.unconfirmed_outputs(), case.evidence_text().unwrap()), (vec!["a", "b"], "nothing".to_owned()));
        case.confirm_output("a", Evidence::Literal);
        assert_eq!((case.confirmed_by(), case.unconfirmed_outputs()), (BTreeSet::new(), vec!["b"]));
        assert_eq!(case.evidence_text().unwrap(), "a by literal; b by nothing");
        case.confirm(Evidence::Tract);
        assert_eq!(case.confirmed_by(), [Evidence::Tract].into());
        assert_eq!(case.evidence_text().unwrap(), "a by literal, tract; b by tract");
        case.confirm_output("b", Evidence::Literal);
        assert_eq!(case.evidence_text().unwrap(), "literal, tract");
        assert!(case.unconfirmed_outputs().is_empty() && case.evidence_of("c").next().is_none());
    }

    #[test]
    fn what_is_not_judged_needs_no_evidence() {
        let mut open = Case { level: Level::Open, ..case() };
        open.confirm(Evidence::Tract);
        assert!(open.evidence.is_empty() && open.evidence_text().is_none() && open.confirmed_by().is_empty());
    }
}
