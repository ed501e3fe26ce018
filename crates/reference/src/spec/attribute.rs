//! Attributes as declared by an operator version: type, requirement, default value.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::names::by_name;
use super::unique::checked;

/// The type of an attribute, by the number of `AttributeProto.AttributeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename_all = "snake_case"))]
#[expect(missing_docs, reason = "the names are ONNX's own and documented there")]
pub enum AttributeType {
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11,
    SparseTensors = 12,
    TypeProto = 13,
    TypeProtos = 14,
}

impl AttributeType {
    /// Every attribute type, by number.
    pub const ALL: [AttributeType; 14] = [
        AttributeType::Float,
        AttributeType::Int,
        AttributeType::String,
        AttributeType::Tensor,
        AttributeType::Graph,
        AttributeType::Floats,
        AttributeType::Ints,
        AttributeType::Strings,
        AttributeType::Tensors,
        AttributeType::Graphs,
        AttributeType::SparseTensor,
        AttributeType::SparseTensors,
        AttributeType::TypeProto,
        AttributeType::TypeProtos,
    ];

    /// ONNX's name in lower case, as version files spell it.
    pub const fn name(self) -> &'static str {
        match self {
            AttributeType::Float => "float",
            AttributeType::Int => "int",
            AttributeType::String => "string",
            AttributeType::Tensor => "tensor",
            AttributeType::Graph => "graph",
            AttributeType::Floats => "floats",
            AttributeType::Ints => "ints",
            AttributeType::Strings => "strings",
            AttributeType::Tensors => "tensors",
            AttributeType::Graphs => "graphs",
            AttributeType::SparseTensor => "sparse_tensor",
            AttributeType::SparseTensors => "sparse_tensors",
            AttributeType::TypeProto => "type_proto",
            AttributeType::TypeProtos => "type_protos",
        }
    }

    /// The value of `AttributeProto.AttributeType`.
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The attribute type with this `AttributeProto.AttributeType` value.
    pub fn from_code(code: i32) -> Option<AttributeType> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

impl fmt::Display for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error: a name that is not an attribute type.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is not an attribute type; ONNX has {names}", names = AttributeType::ALL.map(AttributeType::name).join(", "))]
pub struct UnknownAttributeType(String);

impl FromStr for AttributeType {
    type Err = UnknownAttributeType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownAttributeType(name.to_owned()))
    }
}

impl<'de> Deserialize<'de> for AttributeType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        by_name(deserializer, "an attribute type such as int")
    }
}

impl Serialize for AttributeType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Default of an attribute that a node omits. Only these six types have defaults.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each variant is the attribute type of that name")]
pub enum DefaultValue {
    Int(i64),
    Float(f32),
    String(String),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Strings(Vec<String>),
}

/// Floats are equal if their bits are: a default of -0.0 differs from a default of 0.0.
impl PartialEq for DefaultValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (DefaultValue::Int(a), DefaultValue::Int(b)) => a == b,
            (DefaultValue::Float(a), DefaultValue::Float(b)) => a.to_bits() == b.to_bits(),
            (DefaultValue::String(a), DefaultValue::String(b)) => a == b,
            (DefaultValue::Ints(a), DefaultValue::Ints(b)) => a == b,
            (DefaultValue::Floats(a), DefaultValue::Floats(b)) => {
                a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()))
            }
            (DefaultValue::Strings(a), DefaultValue::Strings(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for DefaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefaultValue::Int(value) => write!(f, "{value}"),
            DefaultValue::Float(value) => write!(f, "{value:?}"),
            DefaultValue::String(value) => write!(f, "{value}"),
            DefaultValue::Ints(values) => write!(f, "{values:?}"),
            DefaultValue::Floats(values) => write!(f, "{values:?}"),
            DefaultValue::Strings(values) => write!(f, "[{}]", values.join(", ")),
        }
    }
}

/// An attribute of an operator version.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeSpec {
    /// The attribute's type.
    pub kind: AttributeType,
    /// True if a node must set it.
    pub required: bool,
    /// The value if a node omits it; an optional attribute may have none.
    pub default: Option<DefaultValue>,
}

impl<'de> Deserialize<'de> for AttributeSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        checked::<AttributeFile, _, _>(deserializer)
    }
}

/// An attribute of an operator version.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct AttributeFile {
    /// The attribute's type.
    r#type: AttributeType,
    /// True if a node must set it.
    #[serde(default)]
    required: bool,
    /// The value if a node omits it, written in the attribute's type: floats with a decimal point.
    default: Option<Literal>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Literal {
    Int(i64),
    Float(f64),
    String(String),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Strings(Vec<String>),
}

/// Contradiction in the description of an attribute.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttributeFileError {
    /// A required attribute has a default.
    #[error("a required attribute cannot have a default; remove one of the two")]
    RequiredWithDefault,
    /// The default has another type than the attribute.
    #[error("{literal} is not a default of type {kind}; write floats with a point, strings in quotes")]
    Default {
        /// The default.
        literal: String,
        /// The type of the attribute.
        kind: AttributeType,
    },
}

impl TryFrom<AttributeFile> for AttributeSpec {
    type Error = AttributeFileError;

    fn try_from(file: AttributeFile) -> Result<Self, AttributeFileError> {
        let AttributeFile { r#type: kind, required, default } = file;
        if required && default.is_some() {
            return Err(AttributeFileError::RequiredWithDefault);
        }
        let default = default.map(|literal| typed_default(kind, literal)).transpose()?;
        Ok(AttributeSpec { kind, required, default })
    }
}

/// Converts a literal that must have exactly the attribute's type.
fn typed_default(kind: AttributeType, literal: Literal) -> Result<DefaultValue, AttributeFileError> {
    match (kind, literal) {
        (AttributeType::Int, Literal::Int(value)) => Ok(DefaultValue::Int(value)),
        (AttributeType::Float, Literal::Float(value)) => Ok(DefaultValue::Float(single(value))),
        (AttributeType::String, Literal::String(value)) => Ok(DefaultValue::String(value)),
        (AttributeType::Ints, Literal::Ints(values)) => Ok(DefaultValue::Ints(values)),
        (AttributeType::Floats, Literal::Floats(values)) => {
            Ok(DefaultValue::Floats(values.into_iter().map(single).collect()))
        }
        (AttributeType::Strings, Literal::Strings(values)) => Ok(DefaultValue::Strings(values)),
        (kind, literal) => Err(AttributeFileError::Default { literal: format!("{literal:?}"), kind }),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "attributes are single floats; the files print the shortest one")]
fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::yaml::{self, YamlError};

    fn read(text: &str) -> Result<AttributeSpec, Box<YamlError>> {
        yaml::read("attribute", text)
    }

    #[test]
    fn a_default_is_read_as_its_type() {
        for (text, expected) in [
            ("{type: int, default: 1}", DefaultValue::Int(1)),
            ("{type: float, default: -0.0}", DefaultValue::Float(-0.0)),
            ("{type: float, default: 1.0e-5}", DefaultValue::Float(1e-5)),
            ("{type: string, default: NONE}", DefaultValue::String("NONE".to_owned())),
            ("{type: ints, default: [0, 2]}", DefaultValue::Ints(vec![0, 2])),
            ("{type: strings, default: [Tanh]}", DefaultValue::Strings(vec!["Tanh".to_owned()])),
        ] {
            assert_eq!(read(text).unwrap().default, Some(expected), "{text}");
        }
        assert_eq!(read("{type: int}").unwrap().default, None);
    }

    #[test]
    fn negative_zero_is_another_default_than_zero() {
        assert_ne!(DefaultValue::Float(0.0), DefaultValue::Float(-0.0));
        assert_ne!(DefaultValue::Floats(vec![0.0]), DefaultValue::Floats(vec![-0.0]));
    }

    #[test]
    fn a_default_of_another_type_is_refused() {
        for text in [
            "{type: float, default: 1}",
            "{type: int, default: 1.0}",
            "{type: string, default: 1}",
            "{type: tensor, default: 1}",
            "{type: int, required: true, default: 1}",
        ] {
            assert!(read(text).is_err(), "{text} was taken");
        }
        assert!(read("{type: integer}").unwrap_err().message.contains("'integer' is not an attribute type"));
    }

    #[test]
    fn every_type_reads_back_by_name_and_number() {
        for kind in AttributeType::ALL {
            assert_eq!(kind.name().parse::<AttributeType>().unwrap(), kind);
            assert_eq!(AttributeType::from_code(kind.code()), Some(kind));
        }
        assert_eq!(AttributeType::from_code(0), None);
    }
}
