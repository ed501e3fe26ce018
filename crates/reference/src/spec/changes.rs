//! Changes of meaning: what a version of an operator computes differently from the one before it. They are read from
//! `changes` in op.yaml.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::unique::unique_map;
use crate::dtype::ElementType;

/// Changes of meaning of an operator, by the version that has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Changes(pub BTreeMap<u32, Vec<MeaningChange>>);

impl<'de> Deserialize<'de> for Changes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let by_key: BTreeMap<String, Vec<MeaningChange>> = unique_map(deserializer)?;
        let mut changes = BTreeMap::new();
        for (key, of_version) in by_key {
            let since = key.parse().map_err(|_| {
                D::Error::custom(format!("'{key}' is not a version; write the opset that introduced it, such as 13"))
            })?;
            changes.insert(since, of_version);
        }
        Ok(Changes(changes))
    }
}

impl Changes {
    /// Returns the line and column, counted from 1, of a word in a change: the one at `number` of the version `since`.
    /// If the word is not found, those of the change, of the version, or of `changes`.
    pub fn place(text: &str, since: u32, number: usize, word: &str) -> (usize, usize) {
        let lines: Vec<&str> = text.lines().collect();
        let Some(head) = lines.iter().position(|line| line.starts_with("changes:")) else { return (1, 1) };
        let is_inside = |line: &&&str| line.is_empty() || line.starts_with([' ', '#']);
        let end = head + 1 + lines.iter().skip(head + 1).take_while(is_inside).count();
        let range = |from: usize, to: usize| (from..to).filter_map(|at| Some((at, *lines.get(at)?)));
        let outermost = |from: usize, to: usize, is: fn(&str) -> bool| {
            range(from, to).filter(|(_, line)| is(line.trim_start())).map(|(_, line)| indent(line)).min()
        };
        let Some(column) = outermost(head + 1, end, is_key) else { return (head + 1, 1) };
        let is_version = |line: &str| indent(line) == column && is_key(line.trim_start());
        let key = format!("{since}:");
        let of_version = |(_, line): &(usize, &str)| is_version(line) && line.trim_start().starts_with(&key);
        let Some((first, _)) = range(head + 1, end).find(of_version) else { return (head + 1, 1) };
        let last = range(first + 1, end).find(|(_, line)| is_version(line)).map_or(end, |(at, _)| at);
        let Some(column_of_items) = outermost(first + 1, last, is_item) else { return (first + 1, column + 1) };
        let begins = |line: &str| indent(line) == column_of_items && is_item(line.trim_start());
        let mut items = range(first + 1, last).filter(|(_, line)| begins(line)).map(|(at, _)| at).skip(number);
        let Some(item) = items.next() else { return (first + 1, column + 1) };
        let next = items.next().unwrap_or(last);
        let found = range(item, next).find_map(|(at, line)| Some((at + 1, column_of(line, word)?)));
        found.unwrap_or((item + 1, column_of_items + 1))
    }
}

fn is_key(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit())
}

fn is_item(line: &str) -> bool {
    line.starts_with("- ")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns the column, counted from 1, of a name in a line, unless it is part of a longer one.
fn column_of(line: &str, name: &str) -> Option<usize> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_whole = |(at, _): &(usize, &str)| {
        let before = line.get(..*at).and_then(|before| before.chars().next_back());
        let after = line.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    line.match_indices(name).find(is_whole).map(|(at, _)| line.get(..at).unwrap_or_default().chars().count() + 1)
}

/// Change of meaning of an operator from one version to the next.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MeaningChange {
    /// The rule from this version on: a sentence in markdown, in our words.
    pub says: String,
    /// The rule up to the version before: a half-sentence that continues "Before,".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Nodes that both versions accept, but compute differently: those that meet the conditions of one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<SilentChange>,
    /// Names of cases with outputs by hand that show the rule of either version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
}

impl fmt::Display for MeaningChange {
    /// Writes the rule, the previous one, and the nodes for which the change is silent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)?;
        if let Some(was) = &self.was {
            write!(f, " Before, {was}.")?;
        }
        for (number, silent) in self.silent.iter().enumerate() {
            f.write_str(if number == 0 { " Silent (the model stays valid)" } else { ";" })?;
            write!(f, "{silent}")?;
        }
        Ok(())
    }
}

/// Nodes with a silent change of meaning: the version and the previous one both accept them, but compute different
/// results. It applies to the nodes that meet all conditions.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SilentChange {
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

impl SilentChange {
    /// The type parameters, inputs and outputs that the conditions name.
    pub(super) fn names(&self) -> (impl Iterator<Item = &String>, impl Iterator<Item = &String>) {
        (self.types.keys(), self.given.iter().chain(&self.left_out).chain(self.ranks.keys()))
    }
}

impl fmt::Display for SilentChange {
    /// Writes the conditions, and the case that shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut conditions: Vec<String> = Vec::new();
        conditions.extend(self.attributes.iter().map(|(name, one)| format!("{name} is {one}")));
        conditions.extend(self.types.iter().map(|(name, one)| format!("{name} is {one}")));
        conditions.extend(self.ranks.iter().map(|(name, one)| format!("the rank of {name} is {one}")));
        conditions.extend(self.given.iter().map(|name| format!("{name} is given")));
        conditions.extend(self.left_out.iter().map(|name| format!("{name} is left out")));
        if !conditions.is_empty() {
            write!(f, " where {}", conditions.join(", and "))?;
        }
        write!(f, ": {}", self.example)
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

    fn read(text: &str) -> Result<Changes, Box<YamlError>> {
        yaml::read("changes", text)
    }

    #[test]
    fn conditions_are_lists_or_their_opposite() {
        let text = "1: [{says: a, silent: [{example: b, attributes: {axis: {not: [last, 0]}, mode: [absent]}, types: {T: [float16]}, ranks: {X: [3]}}]}]";
        let changes = read(text).unwrap();
        let silent = &changes.0[&1][0].silent[0];
        let axis = &silent.attributes["axis"];
        assert_eq!(axis.values(), [AttributeValue::Text("last".to_owned()), AttributeValue::Int(0)]);
        assert_eq!(axis.holds(|value| Some(*value == AttributeValue::Int(0))), Some(false));
        assert_eq!(axis.holds(|_| Some(false)), Some(true));
        assert_eq!(axis.holds(|_| None), None);
        assert_eq!(silent.ranks["X"].holds(|rank| Some(*rank == 3)), Some(true));
    }

    #[test]
    fn a_mistake_in_a_change_is_an_error() {
        for (text, said) in [
            ("1: [{says: a, silent: [{example: b, types: {T: [floaty]}}]}]", "silent[0].types: data did not match"),
            ("1: [{says: a, silent: [{example: b, when: c}]}]", "unknown key `when`"),
            ("1: [{says: a, now: c}]", "unknown key `now`"),
            ("1: [{was: a}]", "missing field `says`"),
            ("1: [{says: a}]\n1: [{says: b}]", "'1' appears twice"),
            ("one: [{says: a}]", "'one' is not a version"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{said} is not in {error}");
        }
    }

    #[test]
    fn a_change_is_one_sentence_after_the_other() {
        let text = "7: [{says: B broadcasts., was: it has the shape of A, silent: [{example: Add-7/a}, {example: Add-7/b, left_out: [C]}]}]";
        assert_eq!(
            read(text).unwrap().0[&7][0].to_string(),
            "B broadcasts. Before, it has the shape of A. Silent (the model stays valid): Add-7/a; where C is left out: Add-7/b"
        );
    }

    #[test]
    fn a_word_is_found_in_the_change_of_its_version_and_number() {
        let text = "op: A\nchanges:\n  2:\n    - says: one\n      cases: [first, second]\n    - says: two\n      cases:\n        - second_one\n        - second\n  3:\n    - {says: three, cases: [second]}\ncases: []\n";
        assert_eq!(Changes::place(text, 2, 0, "second"), (5, 22));
        assert_eq!(Changes::place(text, 2, 1, "second"), (9, 11));
        assert_eq!(Changes::place(text, 2, 1, "third"), (6, 5));
        assert_eq!(Changes::place(text, 2, 2, "second"), (3, 3));
        assert_eq!(Changes::place(text, 3, 0, "second"), (11, 29));
        assert_eq!(Changes::place(text, 4, 0, "second"), (2, 1));
        assert_eq!(Changes::place("op: A\n", 1, 0, "second"), (1, 1));
    }
}
