//! Whether a node fits an operator version: arity, attributes and types.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

use super::attribute::AttributeType;
use super::operator::{FormalParameter, FormalType, OpSpec, Presence};
use super::version::OperatorVersion;
use crate::types::ValueType;

/// What a node has at one position of its inputs or outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing: the empty name.
    Absent,
    /// A value whose type is not known yet.
    Unknown,
    /// A value of this type.
    Typed(ValueType),
}

/// What a node shows of itself before it runs.
#[derive(Clone, Copy, Debug)]
pub struct NodeSignature<'a> {
    /// The inputs by position.
    pub inputs: &'a [Argument],
    /// The outputs by position; their types are usually unknown.
    pub outputs: &'a [Argument],
    /// The attributes by name.
    pub attributes: &'a [(&'a str, AttributeType)],
}

/// The type that each type parameter stands for in one node, as far as the arguments tell.
pub type Bindings = BTreeMap<String, ValueType>;

/// Which side of a node.
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

/// How a node breaks the signature of its operator version.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the fields are the parts of the message")]
pub enum SignatureError {
    /// A parameter that must be there is not.
    #[error("{version} needs {side} {position} '{name}'")]
    Missing { version: OperatorVersion, side: Side, position: usize, name: String },
    /// The variadic parameter has fewer values than its minimum.
    #[error("{version} needs at least {min} values for variadic {side} '{name}', not {actual}")]
    TooFew { version: OperatorVersion, side: Side, name: String, min: usize, actual: usize },
    /// More inputs or outputs than the version declares.
    #[error("{version} takes at most {most} {side}s, not {actual}")]
    Surplus { version: OperatorVersion, side: Side, most: usize, actual: usize },
    /// An attribute the version does not declare.
    #[error("{version} has no attribute '{name}'{known}")]
    UnknownAttribute { version: OperatorVersion, name: String, known: String },
    /// An attribute of another type than declared.
    #[error("attribute '{name}' of {version} is of type {expected}, not {actual}")]
    AttributeType { version: OperatorVersion, name: String, expected: AttributeType, actual: AttributeType },
    /// An attribute that must be there is not.
    #[error("{version} needs attribute '{name}' of type {kind}")]
    MissingAttribute { version: OperatorVersion, name: String, kind: AttributeType },
    /// A type outside the constraint.
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
    /// One type parameter would stand for two types.
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

/// Checks a node against its operator version and returns what its type parameters stand for.
///
/// The first violation is reported, attributes before arity before types.
pub fn validate(spec: &OpSpec, node: NodeSignature) -> Result<Bindings, SignatureError> {
    check_attributes(spec, node.attributes)?;
    check_arity(spec, Side::Input, &spec.inputs, node.inputs)?;
    check_arity(spec, Side::Output, &spec.outputs, node.outputs)?;
    let mut bindings = Bindings::new();
    bind(spec, Side::Input, node.inputs, &mut bindings)?;
    bind(spec, Side::Output, node.outputs, &mut bindings)?;
    Ok(bindings)
}

fn check_attributes(spec: &OpSpec, attributes: &[(&str, AttributeType)]) -> Result<(), SignatureError> {
    for &(name, actual) in attributes {
        match spec.attributes.get(name) {
            None => return Err(unknown_attribute(spec, name)),
            Some(attribute) if attribute.kind != actual => {
                let (version, expected) = (spec.version.clone(), attribute.kind);
                return Err(SignatureError::AttributeType { version, name: name.to_owned(), expected, actual });
            }
            Some(_) => {}
        }
    }
    let given = |name: &str| attributes.iter().any(|(other, _)| *other == name);
    match spec.attributes.iter().find(|(name, attribute)| attribute.required && !given(name)) {
        Some((name, attribute)) => {
            let (version, kind) = (spec.version.clone(), attribute.kind);
            Err(SignatureError::MissingAttribute { version, name: name.clone(), kind })
        }
        None => Ok(()),
    }
}

fn unknown_attribute(spec: &OpSpec, name: &str) -> SignatureError {
    let names: Vec<&str> = spec.attributes.keys().map(String::as_str).collect();
    let known = if names.is_empty() { String::new() } else { format!("; it has {}", names.join(", ")) };
    SignatureError::UnknownAttribute { version: spec.version.clone(), name: name.to_owned(), known }
}

fn check_arity(
    spec: &OpSpec,
    side: Side,
    formals: &[FormalParameter],
    arguments: &[Argument],
) -> Result<(), SignatureError> {
    let version = || spec.version.clone();
    // Trailing empty names say nothing, so that they are neither a surplus nor a presence.
    let actual = arguments.iter().rposition(|argument| *argument != Argument::Absent).map_or(0, |last| last + 1);
    let variadic = formals.last().filter(|last| last.is_variadic());
    if variadic.is_none() && actual > formals.len() {
        return Err(SignatureError::Surplus { version: version(), side, most: formals.len(), actual });
    }
    let missing = |position, formal: &FormalParameter| {
        Err(SignatureError::Missing { version: version(), side, position, name: formal.name.clone() })
    };
    for (position, formal) in formals.iter().enumerate() {
        let absent = arguments.get(position).is_none_or(|argument| *argument == Argument::Absent);
        if formal.presence == Presence::Single && absent {
            return missing(position, formal);
        }
    }
    // A node may leave the name of a variadic output empty, because it does not use the value; an input it needs.
    if let (Side::Input, Some(formal)) = (side, variadic) {
        let first = formals.len() - 1;
        let gap = (first..actual).find(|position| arguments.get(*position) == Some(&Argument::Absent));
        if let Some(position) = gap {
            return missing(position, formal);
        }
    }
    let Some(FormalParameter { name, presence: Presence::Variadic { min, .. }, .. }) = variadic else { return Ok(()) };
    let first = formals.len() - 1;
    let given = actual.saturating_sub(first);
    if given < *min {
        return Err(SignatureError::TooFew { version: version(), side, name: name.clone(), min: *min, actual: given });
    }
    Ok(())
}

fn bind(spec: &OpSpec, side: Side, arguments: &[Argument], bindings: &mut Bindings) -> Result<(), SignatureError> {
    for (position, argument) in arguments.iter().enumerate() {
        let formal = match side {
            Side::Input => spec.input_at(position),
            Side::Output => spec.output_at(position),
        };
        if let (Some(formal), Argument::Typed(actual)) = (formal, argument) {
            let place = Place { spec, side, position, formal };
            place.check_allowed(actual)?;
            place.bind(actual, bindings)?;
        }
    }
    Ok(())
}

/// A position of a node, and the formal parameter that stands for it.
struct Place<'a> {
    spec: &'a OpSpec,
    side: Side,
    position: usize,
    formal: &'a FormalParameter,
}

impl Place<'_> {
    fn check_allowed(&self, actual: &ValueType) -> Result<(), SignatureError> {
        let allowed = self.spec.allowed(&self.formal.kind);
        if allowed.contains(actual) {
            return Ok(());
        }
        Err(SignatureError::TypeOutside {
            version: self.spec.version.clone(),
            side: self.side,
            position: self.position,
            name: self.formal.name.clone(),
            actual: actual.clone(),
            parameter: self.formal.kind.to_string(),
            allowed: allowed.iter().map(ValueType::to_string).collect::<Vec<_>>().join(", "),
        })
    }

    fn bind(&self, actual: &ValueType, bindings: &mut Bindings) -> Result<(), SignatureError> {
        let FormalType::Parameter(parameter) = &self.formal.kind else { return Ok(()) };
        if self.formal.is_heterogeneous() {
            return Ok(());
        }
        match bindings.get(parameter) {
            None => {
                bindings.insert(parameter.clone(), actual.clone());
                Ok(())
            }
            Some(first) if first == actual => Ok(()),
            Some(first) => Err(self.conflict(parameter, first, actual)),
        }
    }

    fn conflict(&self, parameter: &str, first: &ValueType, actual: &ValueType) -> SignatureError {
        let (version, side, position, name) =
            (self.spec.version.clone(), self.side, self.position, self.formal.name.clone());
        let (first, actual) = (first.clone(), actual.clone());
        let formals = if side == Side::Input { &self.spec.inputs } else { &self.spec.outputs };
        if self.formal.is_variadic() && position >= formals.len() {
            SignatureError::Mixed { version, side, position, name, first, actual }
        } else {
            SignatureError::Rebound { version, side, position, name, parameter: parameter.to_owned(), first, actual }
        }
    }
}
