//! Validation of a node against an operator version: arity, attributes and types.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

use super::attribute::AttributeType;
use super::operator::{FormalParameter, FormalType, OpSpec, Presence};
use super::type_list::type_list;
use super::version::OperatorVersion;
use crate::types::ValueType;

/// Content of one position of a node's inputs or outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// No value: the empty name.
    Absent,
    /// A value whose type is not yet known.
    Unknown,
    /// A value of this type.
    Typed(ValueType),
}

/// Properties of a node that are known before it runs.
#[derive(Clone, Copy, Debug)]
pub struct NodeSignature<'a> {
    /// The inputs by position.
    pub inputs: &'a [Argument],
    /// The outputs by position; their types are usually unknown.
    pub outputs: &'a [Argument],
    /// The attributes by name.
    pub attributes: &'a [(&'a str, AttributeType)],
}

/// The type of each type parameter in one node, as far as the arguments determine it.
pub type Bindings = BTreeMap<String, ValueType>;

/// Inputs or outputs of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The inputs.
    Input,
    /// The outputs.
    Output,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Input => "input",
            Side::Output => "output",
        })
    }
}

/// Violation of the signature of an operator version.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the fields are the parts of the message")]
pub enum SignatureError {
    /// A required parameter is missing.
    #[error("{version} needs {side} {position} '{name}'")]
    Missing { version: OperatorVersion, side: Side, position: usize, name: String },
    /// The variadic parameter has fewer values than its minimum.
    #[error("{version} takes at least {min} of variadic {side} '{name}', not {actual}")]
    TooFew { version: OperatorVersion, side: Side, name: String, min: usize, actual: usize },
    /// There are more inputs or outputs than the version declares.
    #[error("{version} has at most {max} {side}s, not {actual}")]
    Surplus { version: OperatorVersion, side: Side, max: usize, actual: usize },
    /// The version does not declare the attribute.
    #[error("{version} has no attribute '{name}'{known}")]
    UnknownAttribute { version: OperatorVersion, name: String, known: String },
    /// The attribute has another type than declared.
    #[error("attribute '{name}' of {version} is of type {expected}, not {actual}")]
    AttributeType { version: OperatorVersion, name: String, expected: AttributeType, actual: AttributeType },
    /// A required attribute is missing.
    #[error("{version} needs attribute '{name}' of type {kind}")]
    MissingAttribute { version: OperatorVersion, name: String, kind: AttributeType },
    /// The type is outside the constraint.
    #[error("{version} does not take {actual} for {side} {position} '{name}'; {parameter} allows {allowed}")]
    TypeOutside {
        version: OperatorVersion,
        side: Side,
        position: usize,
        name: String,
        actual: ValueType,
        parameter: String,
        allowed: String,
    },
    /// The values of a homogeneous variadic parameter differ in type.
    #[error("{version} takes one type for all of variadic {side} '{name}', not {first} and, at {position}, {actual}")]
    Mixed { version: OperatorVersion, side: Side, position: usize, name: String, first: ValueType, actual: ValueType },
    /// A type parameter would need two types.
    #[error("{version} has {parameter} = {first} already, so {side} {position} '{name}' cannot be {actual}")]
    Rebound {
        version: OperatorVersion,
        side: Side,
        position: usize,
        name: String,
        parameter: String,
        first: ValueType,
        actual: ValueType,
    },
}

/// Checks a node against its operator version and returns the bindings of its type parameters.
///
/// Reports the first violation: attributes before arity before types.
pub fn validate(spec: &OpSpec, node: NodeSignature) -> Result<Bindings, Box<SignatureError>> {
    let (bindings, violations) = violations(spec, node);
    violations.into_iter().next().map_or(Ok(bindings), |first| Err(Box::new(first)))
}

/// Returns all violations of an operator version in a node, attributes before arity before types, and the bindings of
/// its type parameters from the arguments that fit them.
pub fn violations(spec: &OpSpec, node: NodeSignature) -> (Bindings, Vec<SignatureError>) {
    let mut found = Vec::new();
    check_attributes(spec, node.attributes, &mut found);
    check_arity(spec, Side::Input, node.inputs, &mut found);
    check_arity(spec, Side::Output, node.outputs, &mut found);
    let mut bindings = Bindings::new();
    for place in places(spec, Side::Input, node.inputs).chain(places(spec, Side::Output, node.outputs)) {
        found.extend(place.check_allowed().or_else(|| place.bind(&mut bindings)));
    }
    (bindings, found)
}

fn check_attributes(spec: &OpSpec, attributes: &[(&str, AttributeType)], found: &mut Vec<SignatureError>) {
    for &(name, actual) in attributes {
        match spec.attributes.get(name) {
            None => found.push(unknown_attribute(spec, name)),
            Some(attribute) if attribute.kind != actual => {
                let (version, expected) = (spec.version.clone(), attribute.kind);
                found.push(SignatureError::AttributeType { version, name: name.to_owned(), expected, actual });
            }
            Some(_) => {}
        }
    }
    let given = |name: &str| attributes.iter().any(|(other, _)| *other == name);
    let missing = spec.attributes.iter().filter(|(name, attribute)| attribute.required && !given(name));
    found.extend(missing.map(|(name, attribute)| {
        let (version, kind) = (spec.version.clone(), attribute.kind);
        SignatureError::MissingAttribute { version, name: name.clone(), kind }
    }));
}

fn unknown_attribute(spec: &OpSpec, name: &str) -> SignatureError {
    let names: Vec<&str> = spec.attributes.keys().map(String::as_str).collect();
    let known = if names.is_empty() { String::new() } else { format!("; it has {}", names.join(", ")) };
    SignatureError::UnknownAttribute { version: spec.version.clone(), name: name.to_owned(), known }
}

fn check_arity(spec: &OpSpec, side: Side, arguments: &[Argument], found: &mut Vec<SignatureError>) {
    let formals = if side == Side::Input { &spec.inputs } else { &spec.outputs };
    let version = || spec.version.clone();
    // Trailing empty names are omitted parameters, neither surplus nor present.
    let actual = arguments.iter().rposition(|argument| *argument != Argument::Absent).map_or(0, |last| last + 1);
    let variadic = formals.last().filter(|last| last.is_variadic());
    if variadic.is_none() && actual > formals.len() {
        found.push(SignatureError::Surplus { version: version(), side, max: formals.len(), actual });
    }
    let missing = |position, formal: &FormalParameter| {
        let name = formal.name.clone();
        SignatureError::Missing { version: version(), side, position, name }
    };
    let is_absent = |position: usize| arguments.get(position).is_none_or(|argument| *argument == Argument::Absent);
    for (position, formal) in formals.iter().enumerate() {
        if formal.presence == Presence::Single && is_absent(position) {
            found.push(missing(position, formal));
        }
    }
    let Some(formal) = variadic else { return };
    let first = formals.len() - 1;
    // A node may leave the name of a variadic output empty if it does not use the value; an input is required.
    if side == Side::Input {
        found.extend((first..actual).filter(|&position| is_absent(position)).map(|position| missing(position, formal)));
    }
    let Presence::Variadic { min, .. } = formal.presence else { return };
    let given = actual.saturating_sub(first);
    if given < min {
        let name = formal.name.clone();
        found.push(SignatureError::TooFew { version: version(), side, name, min, actual: given });
    }
}

/// Returns the arguments whose types are known, each with its formal parameter.
fn places<'a>(spec: &'a OpSpec, side: Side, arguments: &'a [Argument]) -> impl Iterator<Item = Place<'a>> {
    arguments.iter().enumerate().filter_map(move |(position, argument)| {
        let formal = match side {
            Side::Input => spec.input_at(position),
            Side::Output => spec.output_at(position),
        }?;
        let Argument::Typed(actual) = argument else { return None };
        Some(Place { spec, side, position, formal, actual })
    })
}

/// Argument of known type, with its formal parameter.
struct Place<'a> {
    spec: &'a OpSpec,
    side: Side,
    position: usize,
    formal: &'a FormalParameter,
    actual: &'a ValueType,
}

impl Place<'_> {
    fn check_allowed(&self) -> Option<SignatureError> {
        let allowed = self.spec.allowed(&self.formal.kind);
        if allowed.contains(self.actual) {
            return None;
        }
        Some(SignatureError::TypeOutside {
            version: self.spec.version.clone(),
            side: self.side,
            position: self.position,
            name: self.formal.name.clone(),
            actual: self.actual.clone(),
            parameter: self.formal.kind.to_string(),
            allowed: type_list(allowed),
        })
    }

    fn bind(&self, bindings: &mut Bindings) -> Option<SignatureError> {
        let FormalType::Parameter(parameter) = &self.formal.kind else { return None };
        if self.formal.is_heterogeneous() {
            return None;
        }
        match bindings.get(parameter) {
            None => {
                bindings.insert(parameter.clone(), self.actual.clone());
                None
            }
            Some(first) if first == self.actual => None,
            Some(first) => Some(self.conflict(parameter, first)),
        }
    }

    fn conflict(&self, parameter: &str, first: &ValueType) -> SignatureError {
        let (version, side, position, name) =
            (self.spec.version.clone(), self.side, self.position, self.formal.name.clone());
        let (first, actual) = (first.clone(), self.actual.clone());
        let formals = if side == Side::Input { &self.spec.inputs } else { &self.spec.outputs };
        if self.formal.is_variadic() && position >= formals.len() {
            SignatureError::Mixed { version, side, position, name, first, actual }
        } else {
            SignatureError::Rebound { version, side, position, name, parameter: parameter.to_owned(), first, actual }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Specs;

    /// Parses `_` as a value of unknown type, an empty string as absent, and anything else as an element type.
    fn arguments(texts: &[&str]) -> Vec<Argument> {
        let read = |text: &&str| match *text {
            "" => Argument::Absent,
            "_" => Argument::Unknown,
            element => Argument::Typed(ValueType::Tensor(element.parse().unwrap())),
        };
        texts.iter().map(read).collect()
    }

    fn node(
        (name, opset): (&str, u32),
        inputs: &[&str],
        outputs: usize,
        attributes: &[(&str, AttributeType)],
    ) -> Result<Bindings, Box<SignatureError>> {
        let spec = Specs::embedded().find("", name, opset).unwrap();
        let (inputs, outputs) = (arguments(inputs), vec![Argument::Unknown; outputs]);
        validate(spec, NodeSignature { inputs: &inputs, outputs: &outputs, attributes })
    }

    fn check(operator: (&str, u32), inputs: &[&str], attributes: &[(&str, AttributeType)], expected: &str) {
        let outcome = match node(operator, inputs, 1, attributes) {
            Ok(bindings) => {
                bindings.iter().map(|(name, bound)| format!("{name}={bound}")).collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(outcome, expected, "{operator:?} {inputs:?}");
    }

    const SUM: (&str, u32) = ("Sum", 13);
    const CLIP: (&str, u32) = ("Clip", 11);

    #[test]
    fn types_bind_type_parameters() {
        check(SUM, &["float", "float"], &[], "T=tensor(float)");
        check(SUM, &["_", "double"], &[], "T=tensor(double)");
        check(SUM, &["_"], &[], "");
        check(("Pow", 12), &["float", "int64"], &[], "T=tensor(float) T1=tensor(int64)");
        let body = [("body", AttributeType::Graph)];
        check(("Loop", 13), &["int64", "bool", "float", "string"], &body, "B=tensor(bool) I=tensor(int64)");
    }

    #[test]
    fn optional_inputs_may_be_absent_anywhere() {
        check(CLIP, &["float"], &[], "T=tensor(float)");
        check(CLIP, &["float", "", "float"], &[], "T=tensor(float)");
        check(CLIP, &["float", "", ""], &[], "T=tensor(float)");
        check(("Loop", 13), &["", "", "float"], &[("body", AttributeType::Graph)], "");
    }

    #[test]
    fn arity_is_checked() {
        check(("Add", 13), &["float"], &[], "Add-13 needs input 1 'B'");
        check(("Add", 13), &["", "float"], &[], "Add-13 needs input 0 'A'");
        check(("Add", 13), &["float"; 3], &[], "Add-13 has at most 2 inputs, not 3");
        check(SUM, &[], &[], "Sum-13 takes at least 1 of variadic input 'data_0', not 0");
        check(SUM, &["float", "", "float"], &[], "Sum-13 needs input 1 'data_0'");
        assert_eq!(node(SUM, &["float"], 0, &[]).unwrap_err().to_string(), "Sum-13 needs output 0 'sum'");
        assert_eq!(node(SUM, &["float"], 2, &[]).unwrap_err().to_string(), "Sum-13 has at most 1 outputs, not 2");
    }

    #[test]
    fn types_are_checked() {
        let allowed = "T allows tensor(bfloat16|double|float|float16)";
        let outside = format!("Sum-13 does not take tensor(int8) for input 1 'data_0'; {allowed}");
        check(SUM, &["float", "int8"], &[], &outside);
        let mixed =
            "Sum-13 takes one type for all of variadic input 'data_0', not tensor(float) and, at 1, tensor(double)";
        check(SUM, &["float", "double"], &[], mixed);
        let rebound = "Add-13 has T = tensor(float) already, so input 1 'B' cannot be tensor(int64)";
        check(("Add", 13), &["float", "int64"], &[], rebound);
    }

    #[test]
    fn attributes_are_checked() {
        let shape = ("Shape", 15);
        check(shape, &["float"], &[("start", AttributeType::Int)], "T=tensor(float)");
        let unknown = "Shape-15 has no attribute 'begin'; it has end, start";
        check(shape, &["float"], &[("begin", AttributeType::Int)], unknown);
        check(SUM, &["float"], &[("axis", AttributeType::Int)], "Sum-13 has no attribute 'axis'");
        let expected = "attribute 'end' of Shape-15 is of type int, not ints";
        check(shape, &["float"], &[("end", AttributeType::Ints)], expected);
        check(("Cast", 13), &["float"], &[], "Cast-13 needs attribute 'to' of type int");
    }

    #[test]
    fn all_violations_of_a_node_are_found() {
        let spec = Specs::embedded().find("", "Shape", 15).unwrap();
        let inputs = arguments(&["float", "float"]);
        let attributes = [("begin", AttributeType::Int), ("end", AttributeType::Ints)];
        let node = NodeSignature { inputs: &inputs, outputs: &[], attributes: &attributes };
        let (bindings, found) = violations(spec, node);
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected = [
            "Shape-15 has no attribute 'begin'; it has end, start",
            "attribute 'end' of Shape-15 is of type int, not ints",
            "Shape-15 has at most 1 inputs, not 2",
            "Shape-15 needs output 0 'shape'",
        ];
        assert_eq!((bindings.len(), texts), (1, expected.map(str::to_owned).to_vec()));
    }
}
