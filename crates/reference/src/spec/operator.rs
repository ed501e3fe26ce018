//! Operator version, as defined by its file under `specs/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::attribute::{AttributeSpec, DefaultValue};
use super::changes::MeaningChange;
use super::facts::VersionFacts;
use super::unique::{SortedTypes, checked, unique_map};
use super::version::{OperatorVersion, canonical_domain};
use crate::types::ValueType;

/// Definition of an operator version.
#[derive(Clone, Debug, PartialEq)]
pub struct OpSpec {
    /// The operator version.
    pub version: OperatorVersion,
    /// The changes of meaning since the previous version, from op.yaml; signatures are compared by program.
    pub changes: Vec<MeaningChange>,
    /// The facts from op.yaml.
    pub facts: VersionFacts,
    /// True if the version deprecates the operator.
    pub deprecated: bool,
    /// True if the standard calls the version experimental.
    pub experimental: bool,
    /// The kind of function body, if the standard defines one.
    pub function: Option<FunctionKind>,
    /// True if the standard infers types and shapes of the outputs.
    pub shape_inference: bool,
    /// The attributes by name.
    pub attributes: BTreeMap<String, AttributeSpec>,
    /// The formal inputs in order.
    pub inputs: Vec<FormalParameter>,
    /// The formal outputs in order.
    pub outputs: Vec<FormalParameter>,
    /// The allowed types of each type parameter, sorted by spelling.
    pub types: BTreeMap<String, Vec<ValueType>>,
}

/// Definition of an operator by other operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FunctionKind {
    /// One body for every node.
    Body,
    /// A body built for each node from its attributes, inputs and types.
    Context,
}

impl fmt::Display for FunctionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FunctionKind::Body => "body",
            FunctionKind::Context => "context",
        })
    }
}

/// A formal input or output.
#[derive(Clone, Debug, PartialEq)]
pub struct FormalParameter {
    /// The name, unique among the inputs or among the outputs.
    pub name: String,
    /// The allowed types.
    pub kind: FormalType,
    /// Single, optional or variadic.
    pub presence: Presence,
}

/// Allowed types of a formal parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormalType {
    /// The types of a type parameter, by its name.
    Parameter(String),
    /// Exactly one type.
    Literal(ValueType),
}

impl fmt::Display for FormalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormalType::Parameter(name) => f.write_str(name),
            FormalType::Literal(literal) => write!(f, "{literal}"),
        }
    }
}

/// Number of times that a formal parameter appears in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Once.
    Single,
    /// Once or not at all.
    Optional,
    /// At least `min` times; always the last parameter.
    Variadic {
        /// The minimum number.
        min: usize,
        /// True if each value may have its own type.
        heterogeneous: bool,
    },
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Presence::Single => f.write_str("required"),
            Presence::Optional => f.write_str("optional"),
            Presence::Variadic { min, heterogeneous: false } => write!(f, "variadic, at least {min}"),
            Presence::Variadic { min, heterogeneous: true } => write!(f, "heterogeneous variadic, at least {min}"),
        }
    }
}

impl FormalParameter {
    /// True if the parameter takes any number of values.
    pub fn is_variadic(&self) -> bool {
        matches!(self.presence, Presence::Variadic { .. })
    }

    /// True if the parameter takes any number of values, each with its own type.
    pub fn is_heterogeneous(&self) -> bool {
        matches!(self.presence, Presence::Variadic { heterogeneous: true, .. })
    }
}

impl OpSpec {
    /// The allowed types of a formal parameter.
    pub fn allowed<'a>(&'a self, kind: &'a FormalType) -> &'a [ValueType] {
        match kind {
            FormalType::Parameter(name) => self.types.get(name).map_or(&[], Vec::as_slice),
            FormalType::Literal(literal) => std::slice::from_ref(literal),
        }
    }

    /// True if a string attribute may have this value. A default is accepted as spelled, even if misspelled.
    pub fn allows(&self, attribute: &str, value: &str) -> bool {
        let allowed = self.facts.values(attribute);
        let default = || self.attributes.get(attribute).and_then(|attribute| attribute.default.as_ref());
        allowed.is_empty()
            || allowed.iter().any(|allowed| allowed == value)
            || matches!(default(), Some(DefaultValue::String(default)) if default == value)
    }

    /// Returns the name in a condition of `change` that the version does not have.
    pub(super) fn unknown_name<'a>(&self, change: &'a MeaningChange) -> Option<&'a str> {
        let is_formal = |name: &str| self.inputs.iter().chain(&self.outputs).any(|formal| formal.name == name);
        let unknown = change.silent.iter().find_map(|silent| {
            let (mut types, mut formals) = silent.names();
            types.find(|name| !self.types.contains_key(*name)).or_else(|| formals.find(|name| !is_formal(name)))
        });
        unknown.map(String::as_str)
    }

    /// The formal input for the node's input at `position`; a variadic one covers all that follow.
    pub fn input_at(&self, position: usize) -> Option<&FormalParameter> {
        formal_at(&self.inputs, position)
    }

    /// The formal output for the node's output at `position`; a variadic one covers all that follow.
    pub fn output_at(&self, position: usize) -> Option<&FormalParameter> {
        formal_at(&self.outputs, position)
    }
}

fn formal_at(formals: &[FormalParameter], position: usize) -> Option<&FormalParameter> {
    formals.get(position).or_else(|| formals.last().filter(|last| last.is_variadic()))
}

impl<'de> Deserialize<'de> for OpSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        checked::<VersionFile, _, _>(deserializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for OpSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        VersionFile::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        VersionFile::json_schema(generator)
    }
}

/// Definition of an operator version: `specs/<domain>/<operator>/<since>.yaml`.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct VersionFile {
    /// The operator's name, the same as the folder's.
    op: String,
    /// The domain, the same as its folder's; the default domain is `ai.onnx`.
    domain: String,
    /// The opset of the domain that introduced this version, the same as the file's name.
    since: u32,
    /// True if the version deprecates the operator.
    #[serde(default)]
    deprecated: bool,
    /// True if the standard calls the version experimental.
    #[serde(default)]
    experimental: bool,
    /// The kind of function body, if the standard defines one: the same for all nodes, or built for each node.
    function: Option<FunctionKind>,
    /// True if the standard infers types and shapes of the outputs.
    #[serde(default)]
    shape_inference: bool,
    /// The attributes by name.
    #[serde(default, deserialize_with = "unique_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, super::attribute::AttributeFile>"))]
    attributes: BTreeMap<String, AttributeSpec>,
    /// The formal inputs in order.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<FormalFile>"))]
    inputs: Vec<FormalParameter>,
    /// The formal outputs in order.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<FormalFile>"))]
    outputs: Vec<FormalParameter>,
    /// The allowed types of each type parameter, one per line, sorted.
    #[serde(default, deserialize_with = "unique_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, Vec<ValueType>>"))]
    types: BTreeMap<String, SortedTypes>,
}

/// Contradiction in the file of an operator version.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionFileError {
    #[error("the default domain is written ai.onnx")]
    Domain,
    #[error("since is 0; opsets count from 1")]
    Since,
    #[error("two {side}s are named '{name}'")]
    Repeated { side: Side, name: String },
    #[error("the variadic {side} '{name}' is not the last")]
    VariadicNotLast { side: Side, name: String },
    #[error("{side} '{name}' has type {parameter}, which is not under types; add it there")]
    UnknownType { side: Side, name: String, parameter: String },
    #[error("'{0}' is not variadic, so min and heterogeneous do not apply to it")]
    NotVariadic(String),
}

/// Side of a node.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    Input,
    Output,
}

impl fmt::Display for Side {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Side::Input => "input",
            Side::Output => "output",
        })
    }
}

impl TryFrom<VersionFile> for OpSpec {
    type Error = VersionFileError;

    fn try_from(file: VersionFile) -> Result<Self, VersionFileError> {
        if canonical_domain(&file.domain) != file.domain {
            return Err(VersionFileError::Domain);
        }
        if file.since == 0 {
            return Err(VersionFileError::Since);
        }
        let spec = OpSpec {
            version: OperatorVersion { domain: file.domain, name: file.op, since: file.since },
            changes: Vec::new(),
            facts: VersionFacts::default(),
            deprecated: file.deprecated,
            experimental: file.experimental,
            function: file.function,
            shape_inference: file.shape_inference,
            attributes: file.attributes,
            inputs: file.inputs,
            outputs: file.outputs,
            types: file.types.into_iter().map(|(parameter, types)| (parameter, types.0)).collect(),
        };
        check_formals(&spec, Side::Input, &spec.inputs)?;
        check_formals(&spec, Side::Output, &spec.outputs)?;
        Ok(spec)
    }
}

fn check_formals(spec: &OpSpec, side: Side, formals: &[FormalParameter]) -> Result<(), VersionFileError> {
    let mut names = BTreeSet::new();
    for (position, formal) in formals.iter().enumerate() {
        let name = formal.name.clone();
        if !names.insert(&formal.name) {
            return Err(VersionFileError::Repeated { side, name });
        }
        if formal.is_variadic() && position + 1 != formals.len() {
            return Err(VersionFileError::VariadicNotLast { side, name });
        }
        if let FormalType::Parameter(parameter) = &formal.kind
            && !spec.types.contains_key(parameter)
        {
            return Err(VersionFileError::UnknownType { side, name, parameter: parameter.clone() });
        }
    }
    Ok(())
}

impl<'de> Deserialize<'de> for FormalParameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        checked::<FormalFile, _, _>(deserializer)
    }
}

/// A formal input or output.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct FormalFile {
    /// The name, unique among the inputs or among the outputs.
    name: String,
    /// A type parameter, or one type such as tensor(int64).
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    r#type: FormalType,
    /// Omitted if the parameter appears exactly once.
    option: Option<FormalOption>,
    /// The minimum number of values of a variadic parameter, if not 1.
    min: Option<usize>,
    /// True if each value of a variadic parameter may have its own type.
    #[serde(default)]
    heterogeneous: bool,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum FormalOption {
    /// Once or not at all.
    Optional,
    /// Any number of times.
    Variadic,
}

impl TryFrom<FormalFile> for FormalParameter {
    type Error = VersionFileError;

    fn try_from(file: FormalFile) -> Result<Self, VersionFileError> {
        let presence = match file.option {
            Some(FormalOption::Variadic) => {
                Presence::Variadic { min: file.min.unwrap_or(1), heterogeneous: file.heterogeneous }
            }
            _ if file.min.is_some() || file.heterogeneous => {
                return Err(VersionFileError::NotVariadic(file.name));
            }
            Some(FormalOption::Optional) => Presence::Optional,
            None => Presence::Single,
        };
        Ok(FormalParameter { name: file.name, kind: file.r#type, presence })
    }
}

impl<'de> Deserialize<'de> for FormalType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::names::by_name(deserializer, "a type parameter, or a type such as tensor(int64)")
    }
}

impl Serialize for FormalType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::str::FromStr for FormalType {
    type Err = crate::types::TypeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains('(') {
            text.parse().map(FormalType::Literal)
        } else {
            Ok(FormalType::Parameter(text.to_owned()))
        }
    }
}
