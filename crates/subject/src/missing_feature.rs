//! Features that a runtime reports as missing.

use std::fmt;
use std::str::FromStr;

use onnx_conformance_reference::spec::{OperatorVersion, canonical_domain};
use onnx_conformance_reference::types::ValueType;

/// A missing feature: the `what` of an answer `unsupported`, in one of the documented forms.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingFeature {
    /// An operator, or one of its versions: `operator ai.onnx/Abs-13`.
    Operator(OperatorName),
    /// A type, in general or in an operator: `tensor(bfloat16) in ai.onnx/Abs-13`.
    Type(ValueType, Option<OperatorName>),
    /// An attribute of an operator: `attribute mode of ai.onnx/Resize-19`.
    Attribute(String, OperatorName),
    /// An input for which the runtime only accepts a constant: `computed input shape of ai.onnx/Reshape-14`.
    ComputedInput(String, OperatorName),
    /// An opset of a domain: `opset 24 of ai.onnx`.
    Opset(i64, String),
    /// An IR version: `IR version 10`.
    Ir(i64),
}

/// An operator in all its versions, or in one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorName {
    /// The domain in its canonical spelling.
    pub domain: String,
    /// The operator's name.
    pub name: String,
    /// The version, if one is named.
    pub since: Option<u32>,
}

/// Error: a text in an unknown form.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{0}' is not a missing feature in a known form; write `operator ai.onnx/Abs-13`, \
     `tensor(bfloat16) in ai.onnx/Abs-13` or the like"
)]
pub struct MissingFeatureError(String);

impl MissingFeature {
    /// Returns the operator in which the feature is missing.
    pub fn operator(&self) -> Option<&OperatorName> {
        match self {
            MissingFeature::Operator(operator)
            | MissingFeature::Type(_, Some(operator))
            | MissingFeature::Attribute(_, operator)
            | MissingFeature::ComputedInput(_, operator) => Some(operator),
            MissingFeature::Type(_, None) | MissingFeature::Opset(..) | MissingFeature::Ir(_) => None,
        }
    }
}

impl OperatorName {
    /// Returns true if a version of an operator is included.
    pub fn includes(&self, version: &OperatorVersion) -> bool {
        let is_version = self.since.is_none_or(|since| since == version.since);
        is_version && self.name == version.name && self.domain == version.domain
    }
}

impl FromStr for MissingFeature {
    type Err = MissingFeatureError;

    fn from_str(text: &str) -> Result<MissingFeature, MissingFeatureError> {
        parse(text).ok_or_else(|| MissingFeatureError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<MissingFeature> {
    if let Some(operator) = text.strip_prefix("operator ") {
        return Some(MissingFeature::Operator(operator_name(operator)?));
    }
    if let Some((name, operator)) = text.strip_prefix("attribute ").and_then(|rest| rest.split_once(" of ")) {
        return Some(MissingFeature::Attribute(name.to_owned(), operator_name(operator)?));
    }
    if let Some((name, operator)) = text.strip_prefix("computed input ").and_then(|rest| rest.split_once(" of ")) {
        return Some(MissingFeature::ComputedInput(name.to_owned(), operator_name(operator)?));
    }
    if let Some((opset, domain)) = text.strip_prefix("opset ").and_then(|rest| rest.split_once(" of ")) {
        return Some(MissingFeature::Opset(opset.parse().ok()?, canonical_domain(domain).to_owned()));
    }
    if let Some(version) = text.strip_prefix("IR version ") {
        return Some(MissingFeature::Ir(version.parse().ok()?));
    }
    match text.split_once(" in ") {
        Some((value_type, operator)) => {
            Some(MissingFeature::Type(value_type.parse().ok()?, Some(operator_name(operator)?)))
        }
        None => Some(MissingFeature::Type(text.parse().ok()?, None)),
    }
}

/// Parses an operator with its domain, in all versions or in one.
fn operator_name(text: &str) -> Option<OperatorName> {
    let (domain, operator) = text.rsplit_once('/')?;
    let version = operator.rsplit_once('-').and_then(|(name, since)| Some((name, since.parse().ok()?)));
    let (name, since) = version.map_or((operator, None), |(name, since)| (name, Some(since)));
    let is_name = !name.is_empty() && !text.contains(char::is_whitespace);
    is_name.then(|| OperatorName { domain: canonical_domain(domain).to_owned(), name: name.to_owned(), since })
}

impl fmt::Display for MissingFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissingFeature::Operator(operator) => write!(f, "operator {operator}"),
            MissingFeature::Type(value_type, Some(operator)) => write!(f, "{value_type} in {operator}"),
            MissingFeature::Type(value_type, None) => value_type.fmt(f),
            MissingFeature::Attribute(name, operator) => write!(f, "attribute {name} of {operator}"),
            MissingFeature::ComputedInput(name, operator) => write!(f, "computed input {name} of {operator}"),
            MissingFeature::Opset(opset, domain) => write!(f, "opset {opset} of {domain}"),
            MissingFeature::Ir(version) => write!(f, "IR version {version}"),
        }
    }
}

impl fmt::Display for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.domain, self.name)?;
        self.since.map_or(Ok(()), |since| write!(f, "-{since}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back() {
        for text in [
            "operator ai.onnx/Abs",
            "operator ai.onnx.ml/Scaler-1",
            "tensor(int4)",
            "tensor(int4) in ai.onnx/Abs-13",
            "seq(tensor(bfloat16)) in ai.onnx/Loop",
            "attribute mode of ai.onnx/Resize-19",
            "computed input shape of ai.onnx/Reshape-14",
            "opset 24 of ai.onnx",
            "IR version 10",
        ] {
            assert_eq!(text.parse::<MissingFeature>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_unknown_form_is_refused() {
        for text in [
            "",
            "Abs",
            "tensor(int5)",
            "tensor(int4) in Abs",
            "operator Abs",
            "operator ai.onnx/",
            "operator ai.onnx/Abs twice",
            "attribute mode",
            "opset x of ai.onnx",
        ] {
            assert!(text.parse::<MissingFeature>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_operator_without_a_version_is_meant_in_all() {
        let feature: MissingFeature = "tensor(int4) in ai.onnx/Abs".parse().unwrap();
        let one: MissingFeature = "operator ai.onnx/Abs-6".parse().unwrap();
        let abs = OperatorVersion::new("", "Abs", 13);
        assert!(feature.operator().unwrap().includes(&abs) && !one.operator().unwrap().includes(&abs));
    }
}
