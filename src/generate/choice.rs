//! One value, or alternatives that become cases of their own.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use crate::generate::ordered::Ordered;

/// One value, or alternatives that become cases of their own. A plain list is always one value.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(untagged))]
pub enum Choice<T> {
    /// Alternatives.
    Each(Each<T>),
    /// One value.
    One(T),
}

/// `{each: [...]}`, or `{each: {name: value, ...}}` where the values are too long to name a case.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, bound = "T: DeserializeOwned")]
pub struct Each<T> {
    each: Items<T>,
}

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(untagged))]
enum Items<T> {
    Listed(Vec<T>),
    Named(Ordered<T>),
}

// Both are told apart by their form before they are read, so that a mistake inside is what the error is about.

impl<'de, T: DeserializeOwned> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_yaml::Value::deserialize(deserializer)?;
        let read = match value.get("each") {
            Some(_) => Each::deserialize(value).map(Choice::Each),
            None => T::deserialize(value).map(Choice::One),
        };
        read.map_err(D::Error::custom)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Items<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_yaml::Value::deserialize(deserializer)?;
        let read = if value.is_mapping() {
            Ordered::deserialize(value).map(Items::Named)
        } else {
            Vec::deserialize(value).map(Items::Listed)
        };
        read.map_err(D::Error::custom)
    }
}

/// What an alternative is called in a case id.
pub trait Label {
    /// The value in the characters of an id.
    fn label(&self) -> String;
}

/// An axis of alternatives: what it is called, and what each alternative is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The parameter.
    pub name: String,
    /// The alternatives.
    pub labels: Vec<String>,
}

impl<T: Label> Choice<T> {
    /// Adds the axis of the alternatives, where there are any.
    pub fn axis(&self, name: &str, axes: &mut Vec<Axis>) {
        let labels = match self {
            Choice::One(_) => return,
            Choice::Each(Each { each: Items::Listed(items) }) => items.iter().map(Label::label).collect(),
            Choice::Each(Each { each: Items::Named(items) }) => items.keys().map(str::to_owned).collect(),
        };
        axes.push(Axis { name: name.to_owned(), labels });
    }
}

impl<T> Choice<T> {
    /// The alternatives by name, where they have names.
    pub(crate) fn named(&self) -> Option<&Ordered<T>> {
        match self {
            Choice::Each(Each { each: Items::Named(items) }) => Some(items),
            _ => None,
        }
    }

    /// The value, where `picks` gives the number of the alternative of each axis in the order of [`Choice::axis`].
    pub fn pick(&self, picks: &mut impl Iterator<Item = usize>) -> Result<&T, String> {
        let none = || "an `each` without alternatives".to_owned();
        match self {
            Choice::One(value) => Ok(value),
            Choice::Each(Each { each: Items::Listed(items) }) => {
                picks.next().and_then(|at| items.get(at)).ok_or_else(none)
            }
            Choice::Each(Each { each: Items::Named(items) }) => {
                picks.next().and_then(|at| items.0.get(at)).map(|(_, value)| value).ok_or_else(none)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::literal::Literal;

    #[test]
    fn a_list_in_a_list_is_one_value() {
        let choice: Choice<Literal> = serde_yaml::from_str("[[1, 2]]").unwrap();
        assert!(matches!(choice, Choice::One(Literal::List(_))));
        let choice: Choice<Literal> = serde_yaml::from_str("{each: [1, 2]}").unwrap();
        assert!(matches!(choice, Choice::Each(_)));
        assert!(serde_yaml::from_str::<Choice<Literal>>("{every: [1, 2]}").is_err());
    }
}
