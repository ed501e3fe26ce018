//! Values in op.yaml: inputs, shapes, containers.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::generate::file::alternatives::{AlternativeAxis, Label, OneOrEach};
use crate::generate::file::expression::Size;
use crate::generate::file::fill::Fill;
use crate::generate::file::literal::Literal;

/// An input: one value, or a list of values for a variadic input.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum InputFile {
    /// The values of a variadic input.
    Many(Vec<ValueFile>),
    /// One value.
    One(Box<ValueFile>),
}

impl InputFile {
    /// Returns the values, and true if they are a list.
    pub fn values(&self) -> (&[ValueFile], bool) {
        match self {
            InputFile::One(value) => (std::slice::from_ref(value), false),
            InputFile::Many(values) => (values, true),
        }
    }
}

impl<'de> Deserialize<'de> for InputFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

/// Distinguishes a value from a list by its form, so that an error points at the mistake inside.
struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = InputFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value such as {shape: [2, 3]} or {values: [1, 2]}, or for a variadic input a list of them")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<InputFile, A::Error> {
        ValueFile::deserialize(MapAccessDeserializer::new(map)).map(|value| InputFile::One(Box::new(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<InputFile, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(InputFile::Many)
    }
}

/// A value: a tensor with a shape and a fill, or written out; or a container.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueFile {
    /// The shape of the tensor, or of the tensors in a filled container.
    pub shape: Option<OneOrEach<ShapeFile>>,
    /// The fill of the tensor.
    pub fill: Option<OneOrEach<Fill>>,
    /// The elements. Nested lists give the shape, unless `shape` does.
    pub values: Option<OneOrEach<Literal>>,
    /// The value of every element.
    pub all: Option<Literal>,
    /// The type, or a type parameter that has it, if the version's signature does not give one.
    pub r#type: Option<String>,
    /// The items of a sequence.
    pub sequence: Option<Vec<ValueFile>>,
    /// True for an optional without a value.
    #[serde(default, rename = "none")]
    pub is_absent: bool,
    /// The entries of a map: keys and values.
    pub map: Option<MapFile>,
    /// The indices of the elements of a sparse tensor; `values` has the elements.
    pub sparse: Option<Literal>,
}

impl ValueFile {
    /// Adds the axes of the alternatives of shape, fill and values.
    pub(crate) fn axes(&self, name: &str, axes: &mut Vec<AlternativeAxis>) {
        if let Some(shape) = &self.shape {
            shape.axis(name, axes);
        }
        if let Some(fill) = &self.fill {
            fill.axis(&format!("{name}.fill"), axes);
        }
        if let Some(values) = &self.values {
            values.axis(name, axes);
        }
    }

    /// Returns true if a fill makes the value, and false if elements or items are written out.
    pub fn is_filled(&self) -> bool {
        self.values.is_none() && self.all.is_none() && self.sequence.is_none() && self.map.is_none()
    }
}

/// The entries of a map.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MapFile {
    /// The keys.
    pub keys: Literal,
    /// The values, as many as keys.
    pub values: Literal,
}

/// A shape.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ShapeFile(pub Vec<Size>);

impl Label for ShapeFile {
    fn label(&self) -> String {
        if self.0.is_empty() {
            return "scalar".to_owned();
        }
        self.0.iter().map(Size::to_string).collect::<Vec<_>>().join("x").replace([' ', '*', '/', '(', ')'], "_")
    }
}
