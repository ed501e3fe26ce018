//! Kinds of what is wrong with a model that must be refused.

use crate::case::CaseId;

/// Kind of what is wrong with a model that must be refused. The id of its case shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalKind {
    /// A required input is omitted, or there are too few inputs.
    MissingInput,
    /// There is an input or an output more than the operator version has.
    Surplus,
    /// A required attribute is omitted.
    MissingAttribute,
    /// The operator version does not have an attribute.
    UnknownAttribute,
    /// An attribute has another type than the declared one.
    AttributeType,
    /// The type of an input or an output is not allowed.
    Type,
    /// A sentence of the operator's text, or a rule that it implies, is broken: a refusal of op.yaml.
    Sentence,
    /// A rule about graphs, functions or the format is broken: a refusal of a topic.
    Format,
}

/// First part of the name of a case that must be refused; the second one is that of patterns of graphs.
const FOLDERS: [&str; 2] = ["refuse", "refused"];

impl RefusalKind {
    /// Every kind, from the signature of an operator version to its text.
    pub const ALL: [RefusalKind; 8] = [
        RefusalKind::MissingInput,
        RefusalKind::Surplus,
        RefusalKind::MissingAttribute,
        RefusalKind::UnknownAttribute,
        RefusalKind::AttributeType,
        RefusalKind::Type,
        RefusalKind::Sentence,
        RefusalKind::Format,
    ];

    /// Returns the kind of a case, or `None` if its model must run.
    pub fn from_id(id: CaseId<'_>) -> Option<RefusalKind> {
        let mut parts = id.parts();
        parts.find(|part| FOLDERS.contains(part))?;
        let name = parts.next()?;
        Some(if id.version().is_some() { RefusalKind::from_name(name) } else { RefusalKind::Format })
    }

    /// Returns the kind of a refusal of an operator version, by the part of its id after `refuse/`, such as `missing=X`. The name of a
    /// refusal in op.yaml is a word.
    pub(crate) fn from_name(name: &str) -> RefusalKind {
        let name = name.split(['/', '@']).next().unwrap_or(name);
        match name.split_once('=') {
            None if name == "too-few-inputs" => RefusalKind::MissingInput,
            None if matches!(name, "surplus-input" | "surplus-output") => RefusalKind::Surplus,
            None => RefusalKind::Sentence,
            Some(("missing", _)) => RefusalKind::MissingInput,
            Some(("missing-attribute", _)) => RefusalKind::MissingAttribute,
            Some(("attribute", _)) => RefusalKind::UnknownAttribute,
            Some(("attribute-type", _)) => RefusalKind::AttributeType,
            // The other names are those of type parameters, `input-type` and `mixed`.
            Some(_) => RefusalKind::Type,
        }
    }

    /// Returns the words of the kind, after "because".
    pub const fn words(self) -> &'static str {
        match self {
            RefusalKind::MissingInput => "a required input is missing",
            RefusalKind::Surplus => "there is an input or an output too many",
            RefusalKind::MissingAttribute => "a required attribute is missing",
            RefusalKind::UnknownAttribute => "the version does not have an attribute",
            RefusalKind::AttributeType => "an attribute has another type",
            RefusalKind::Type => "the version does not allow a type",
            RefusalKind::Sentence => "a sentence of the operator's text is broken",
            RefusalKind::Format => "a rule of the format is broken",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_id_shows_the_kind_of_a_refusal() {
        for (id, kind) in [
            ("ai.onnx/Abs-13/refuse/missing=X", Some(RefusalKind::MissingInput)),
            ("ai.onnx/Abs-13/refuse/too-few-inputs@check", Some(RefusalKind::MissingInput)),
            ("ai.onnx/Abs-13/refuse/surplus-output", Some(RefusalKind::Surplus)),
            ("ai.onnx/Abs-13/refuse/missing-attribute=to", Some(RefusalKind::MissingAttribute)),
            ("ai.onnx/Abs-13/refuse/attribute=no_such_attribute", Some(RefusalKind::UnknownAttribute)),
            ("ai.onnx/Abs-13/refuse/attribute-type=axis", Some(RefusalKind::AttributeType)),
            ("ai.onnx/Abs-13/refuse/T=seq.uint8", Some(RefusalKind::Type)),
            ("ai.onnx/Abs-13/refuse/input-type=axes@opset=last", Some(RefusalKind::Type)),
            ("ai.onnx/Abs-13/refuse/axis_too_large/axis=3@opset=last@check", Some(RefusalKind::Sentence)),
            ("ai.onnx/Abs-13/refuse/axis_too_large@opset=last", Some(RefusalKind::Sentence)),
            ("ir/graph/refuse/surplus-input", Some(RefusalKind::Format)),
            ("graph/casts/pair/refused/x", Some(RefusalKind::Format)),
            ("ai.onnx/Abs-13/refused_no_more/T=float", None),
            ("onnx-1.14.1/node/test_abs", None),
        ] {
            assert_eq!(RefusalKind::from_id(CaseId::parse(id)), kind, "{id}");
        }
    }

    #[test]
    fn each_kind_has_its_words() {
        let words: BTreeSet<&str> = RefusalKind::ALL.into_iter().map(RefusalKind::words).collect();
        assert_eq!(words.len(), RefusalKind::ALL.len());
    }
}
