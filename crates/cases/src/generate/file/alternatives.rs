//! One value, or alternatives that become separate cases.

use std::collections::BTreeSet;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};

use crate::generate::file::ordered::Ordered;

/// Error of choosing alternatives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlternativeError {
    /// The lists of a case with `zip` have different lengths.
    #[error("zip needs lists of the same length")]
    Lengths,
    /// An `each` has no alternative to choose.
    #[error("`each` has no alternatives")]
    Empty,
    /// Several alternatives of an output apply to the same case.
    #[error("two alternatives of an output apply to the same case, one of them '{0}'")]
    Several(String),
    /// An alternative of an output has a name that the case does not have.
    #[error("an output has the alternative '{name}', but the case does not; it has {}", .known.join(" "))]
    Unknown {
        /// The name.
        name: String,
        /// The names of the case.
        known: Vec<String>,
    },
    /// An alternative of an output has a name that several axes of the case have.
    #[error("several inputs or settings have an alternative '{0}'; write NAME={0}")]
    Ambiguous(String),
}

/// One value, or alternatives that become separate cases. A plain list is always one value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OneOrEach<T> {
    /// Alternatives.
    Each(Each<T>),
    /// One value.
    One(T),
}

/// `{each: [...]}`, or `{each: {name: value, ...}}` if the values are too long to name a case.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, bound(deserialize = "T: DeserializeOwned"))]
pub struct Each<T> {
    each: Alternatives<T>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Alternatives<T> {
    Listed(Vec<T>),
    Named(Ordered<T>),
}

// The two forms are distinguished before they are parsed, so that an error names the mistake inside.

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrEach<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_yaml::Value::deserialize(deserializer)?;
        let read = match value.get("each") {
            Some(_) => Each::deserialize(value).map(OneOrEach::Each),
            None => T::deserialize(value).map(OneOrEach::One),
        };
        read.map_err(D::Error::custom)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Alternatives<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_yaml::Value::deserialize(deserializer)?;
        let read = if value.is_mapping() {
            Ordered::deserialize(value).map(Alternatives::Named)
        } else {
            Vec::deserialize(value).map(Alternatives::Listed)
        };
        read.map_err(D::Error::custom)
    }
}

/// Name of an alternative in a case id.
pub trait Label {
    /// The value in the characters of an id.
    fn label(&self) -> String;
}

/// An axis of alternatives: its name, and the label of each alternative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlternativeAxis {
    /// The parameter.
    pub name: String,
    /// The alternatives.
    pub labels: Vec<String>,
}

/// Returns every combination of alternatives, or with `zip` one from each list in turn.
pub(crate) fn combinations(axes: &[AlternativeAxis], zip: bool) -> Result<Vec<Vec<usize>>, AlternativeError> {
    if zip {
        let lengths: BTreeSet<usize> = axes.iter().map(|axis| axis.labels.len()).collect();
        if lengths.len() > 1 {
            return Err(AlternativeError::Lengths);
        }
        let length = lengths.into_iter().next().unwrap_or(0);
        return Ok((0..length).map(|at| vec![at; axes.len()]).collect());
    }
    Ok(axes.iter().fold(vec![Vec::new()], |rows, axis| {
        let with = |row: &Vec<usize>, at: usize| [row.as_slice(), &[at]].concat();
        rows.iter().flat_map(|row| (0..axis.labels.len()).map(move |at| with(row, at))).collect()
    }))
}

impl<T: Label> OneOrEach<T> {
    /// Adds the axis of the alternatives, if there are any.
    pub fn axis(&self, name: &str, axes: &mut Vec<AlternativeAxis>) {
        let labels = match self {
            OneOrEach::One(_) => return,
            OneOrEach::Each(Each { each: Alternatives::Listed(items) }) => items.iter().map(Label::label).collect(),
            OneOrEach::Each(Each { each: Alternatives::Named(items) }) => items.keys().map(str::to_owned).collect(),
        };
        axes.push(AlternativeAxis { name: name.to_owned(), labels });
    }
}

impl<T> OneOrEach<T> {
    /// Returns the alternatives by name, if they have names.
    pub(crate) fn named(&self) -> Option<&Ordered<T>> {
        match self {
            OneOrEach::Each(Each { each: Alternatives::Named(items) }) => Some(items),
            _ => None,
        }
    }

    /// Returns the chosen value. `choices` gives the index of the alternative on each axis, in the order of
    /// [`OneOrEach::axis`].
    pub fn pick(&self, choices: &mut impl Iterator<Item = usize>) -> Result<&T, AlternativeError> {
        let value = match self {
            OneOrEach::One(value) => Some(value),
            OneOrEach::Each(Each { each: Alternatives::Listed(items) }) => choices.next().and_then(|at| items.get(at)),
            OneOrEach::Each(Each { each: Alternatives::Named(items) }) => {
                choices.next().and_then(|at| items.0.get(at)).map(|(_, value)| value)
            }
        };
        value.ok_or(AlternativeError::Empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::file::literal::Literal;

    #[test]
    fn a_list_in_a_list_is_one_value() {
        let choice: OneOrEach<Literal> = serde_yaml::from_str("[[1, 2]]").unwrap();
        assert!(matches!(choice, OneOrEach::One(Literal::List(_))));
        let choice: OneOrEach<Literal> = serde_yaml::from_str("{each: [1, 2]}").unwrap();
        assert!(matches!(choice, OneOrEach::Each(_)));
        assert!(serde_yaml::from_str::<OneOrEach<Literal>>("{every: [1, 2]}").is_err());
    }
}
