//! Silent changes of meaning: nodes that a version and the one before it both accept, with different results.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::unique::unique_map;
use crate::dtype::ElementType;

/// Silent change of meaning: the version and the one before it both accept such a node, but compute different results.
/// It applies to the nodes that meet all conditions.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Behaviour {
    /// The difference, in our words.
    pub says: String,
    /// The smallest case of the suite that shows it: at the other version it gives a different result.
    pub example: String,
    /// Conditions on attributes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "unique_map")]
    pub attributes: BTreeMap<String, OneOf<AttributeValue>>,
    /// Conditions on the element types of the later version's type parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "unique_map")]
    pub types: BTreeMap<String, OneOf<ElementName>>,
    /// Conditions on the ranks of inputs, by the later version's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "unique_map")]
    pub ranks: BTreeMap<String, OneOf<usize>>,
    /// Inputs and outputs that must be present, by the later version's names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    /// Inputs and outputs that must be omitted, by the later version's names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl fmt::Display for Behaviour {
    /// Writes the difference, the conditions, and the case that shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)?;
        let mut conditions: Vec<String> = Vec::new();
        conditions.extend(self.attributes.iter().map(|(name, one)| format!("{name} is {one}")));
        conditions.extend(self.types.iter().map(|(name, one)| format!("{name} is {one}")));
        conditions.extend(self.ranks.iter().map(|(name, one)| format!("the rank of {name} is {one}")));
        conditions.extend(self.given.iter().map(|name| format!("{name} is given")));
        conditions.extend(self.left_out.iter().map(|name| format!("{name} is left out")));
        if !conditions.is_empty() {
            write!(f, " Where {}.", conditions.join(", and "))?;
        }
        write!(f, " Shown by {}", self.example)
    }
}

/// Condition on one property: `[a, b]` is one of these, `{not: [a, b]}` none of these.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OneOf<T> {
    /// One of these.
    In(Vec<T>),
    /// None of these.
    Not {
        /// The excluded values.
        not: Vec<T>,
    },
}

impl<T> OneOf<T> {
    /// The listed values.
    pub fn values(&self) -> &[T] {
        match self {
            OneOf::In(values) | OneOf::Not { not: values } => values,
        }
    }

    /// Evaluates the condition; `is` compares the property with a listed value. `None` means unknown.
    pub fn holds(&self, is: impl Fn(&T) -> Option<bool>) -> Option<bool> {
        let mut any = Some(false);
        for value in self.values() {
            any = match (any, is(value)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        match self {
            OneOf::In(_) => any,
            OneOf::Not { .. } => any.map(|any| !any),
        }
    }
}

impl<T: fmt::Display> fmt::Display for OneOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values().iter().map(T::to_string).collect();
        let not = if matches!(self, OneOf::Not { .. }) { "not " } else { "" };
        write!(f, "{not}{}", values.join(" or "))
    }
}

/// Value of an attribute: an integer, a string, or one of the words `absent` (omitted) and `last` (the last axis of
/// input 0).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AttributeValue {
    /// An integer.
    Int(i64),
    /// A string, `absent`, or `last`.
    Text(String),
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttributeValue::Int(value) => write!(f, "{value}"),
            AttributeValue::Text(text) => f.write_str(text),
        }
    }
}

/// An element type by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementName(pub ElementType);

impl fmt::Display for ElementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for ElementName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::names::by_name(deserializer, "an element type such as float16").map(ElementName)
    }
}

impl Serialize for ElementName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ElementName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ElementName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An element type by its name.",
            "enum": ElementType::ALL.map(ElementType::name).as_slice(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::yaml::{self, YamlError};

    fn read(text: &str) -> Result<Behaviour, Box<YamlError>> {
        yaml::read("behaviour", text)
    }

    #[test]
    fn conditions_are_lists_or_their_opposite() {
        let text = "{says: a, example: b, attributes: {axis: {not: [last, 0]}, mode: [absent]}, types: {T: [float16]}, ranks: {X: [3]}}";
        let behaviour = read(text).unwrap();
        let axis = &behaviour.attributes["axis"];
        assert_eq!(axis.values(), [AttributeValue::Text("last".to_owned()), AttributeValue::Int(0)]);
        assert_eq!(axis.holds(|value| Some(*value == AttributeValue::Int(0))), Some(false));
        assert_eq!(axis.holds(|_| Some(false)), Some(true));
        assert_eq!(axis.holds(|_| None), None);
        assert_eq!(behaviour.ranks["X"].holds(|rank| Some(*rank == 3)), Some(true));
        assert!(read("{says: a, example: b, types: {T: [floaty]}}").is_err());
        assert!(read("{says: a, example: b, when: c}").is_err());
    }
}
