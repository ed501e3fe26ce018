//! Facts about an operator that no signature tells, from the head of op.yaml: random outputs, neutral inputs, allowed
//! strings.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::changes::Changes;
use super::unique::unique_map;

/// The entries of op.yaml that [`super::entry::READ`] lists.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OperatorFacts {
    pub(super) changes: Changes,
    draws: Draws,
    neutral: NeutralInputs,
    tied_sizes: bool,
    values: AllowedValues,
}

/// Facts about an operator version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VersionFacts {
    /// The nodes whose outputs are random.
    pub draws: Draws,
    /// The inputs that do not accept any value, and values for them that are valid if any are.
    pub neutral: BTreeMap<String, Neutral>,
    /// True if the sizes of some inputs follow from those of others by the arithmetic of windows.
    pub tied_sizes: bool,
    /// The values of string attributes; an attribute that accepts any string is missing.
    values: BTreeMap<String, Vec<String>>,
}

impl OperatorFacts {
    /// Selects the facts about the version `since`, which `has` inputs and attributes by name.
    pub(super) fn of_version(self, since: u32, has: impl Fn(&String) -> bool) -> VersionFacts {
        let is_possible = match &self.draws {
            Draws::Never => false,
            Draws::Always => true,
            Draws::Sometimes(condition) => condition.when.iter().chain(&condition.unless).any(&has),
        };
        let values = self.values.0.into_iter().map(|(name, of_name)| (name, of_name.at(since)));
        VersionFacts {
            draws: if is_possible { self.draws } else { Draws::Never },
            neutral: self.neutral.0.into_iter().filter(|(name, _)| has(name)).collect(),
            tied_sizes: self.tied_sizes,
            values: values.filter(|(name, values)| has(name) && !values.is_empty()).collect(),
        }
    }

    /// Returns the versions under `values`, each with the attribute that it is listed for.
    pub(super) fn versions(&self) -> impl Iterator<Item = (u32, &str)> {
        self.values.0.iter().flat_map(|(name, values)| {
            let versions = match values {
                StringValues::ByVersion(versions) => Some(versions.keys()),
                StringValues::Any | StringValues::These(_) => None,
            };
            versions.into_iter().flatten().map(|since| (*since, name.as_str()))
        })
    }
}

impl VersionFacts {
    /// The values that an attribute may have; empty if any string is allowed.
    pub fn values(&self, attribute: &str) -> &[String] {
        self.values.get(attribute).map_or(&[], Vec::as_slice)
    }
}

/// Nodes of an operator whose outputs are random.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Draws {
    /// None.
    #[default]
    Never,
    /// All.
    Always,
    /// Nodes that meet the condition.
    Sometimes(DrawsIf),
}

/// Condition for random outputs. A version that has neither of the two never has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct DrawsIf {
    /// The input or attribute that must be true.
    pub when: Option<String>,
    /// The input or attribute that must be false, in versions without the one of `when`.
    pub unless: Option<String>,
}

impl Draws {
    /// True if the outputs of some nodes are random.
    pub fn is_possible(&self) -> bool {
        *self != Draws::Never
    }
}

impl<'de> Deserialize<'de> for Draws {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DrawsVisitor)
    }
}

struct DrawsVisitor;

impl<'de> Visitor<'de> for DrawsVisitor {
    type Value = Draws;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, or {when: INPUT, unless: ATTRIBUTE}")
    }

    fn visit_bool<E: Error>(self, draws: bool) -> Result<Draws, E> {
        Ok(if draws { Draws::Always } else { Draws::Never })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Draws, A::Error> {
        DrawsIf::deserialize(MapAccessDeserializer::new(map)).map(Draws::Sometimes)
    }
}

/// Value for an unknown input that is a shape, an axis, a count, a list of positions or a container: one that is valid
/// if any is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Neutral {
    /// All 0.
    Zeros,
    /// All 1.
    Ones,
    /// 0, 1, 2, ...
    Counting,
    /// The first dimension of the first input, then 1.
    Batch,
    /// The size of the axis, then 0; 1 for a scalar, which divides any axis.
    Parts,
    /// The shape of the first input.
    Same,
    /// The axes of size 1, then the others.
    SingleAxes,
    /// The length of the window, the third input, if there is one.
    Window,
    /// A sequence of items of any shape, enough for the input `position`.
    Items,
    /// A map without entries.
    Empty,
    /// No value is known to be valid if any is, so a node with an unknown one is not judged.
    Unknown,
}

/// Inputs with a neutral value, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct NeutralInputs(#[serde(deserialize_with = "unique_map")] BTreeMap<String, Neutral>);

/// Values of the string attributes, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct AllowedValues(#[serde(deserialize_with = "unique_map")] BTreeMap<String, StringValues>);

/// Values that a string attribute may have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(untagged))]
enum StringValues {
    /// Any string.
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("const" = "any")))]
    Any,
    /// One of these, in every version.
    These(Vec<String>),
    /// One of these from a version on, up to the next version in the list.
    ByVersion(BTreeMap<u32, Vec<String>>),
}

impl StringValues {
    /// The values at a version; empty for any string.
    fn at(self, since: u32) -> Vec<String> {
        match self {
            StringValues::Any => Vec::new(),
            StringValues::These(values) => values,
            StringValues::ByVersion(mut versions) => {
                let first_later = versions.split_off(&(since.saturating_add(1)));
                drop(first_later);
                versions.pop_last().map_or_else(Vec::new, |(_, values)| values)
            }
        }
    }
}

impl<'de> Deserialize<'de> for StringValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValuesVisitor)
    }
}

struct ValuesVisitor;

impl<'de> Visitor<'de> for ValuesVisitor {
    type Value = StringValues;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[one, other], {7: [one], 11: [one, other]}, or any")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<StringValues, E> {
        match word {
            "any" => Ok(StringValues::Any),
            other => Err(E::custom(format!("'{other}' is not a list; write [{other}], or any to allow every string"))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<StringValues, A::Error> {
        non_empty(Vec::deserialize(SeqAccessDeserializer::new(list))?).map(StringValues::These)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StringValues, A::Error> {
        let by_key: BTreeMap<String, Vec<String>> = unique_map(MapAccessDeserializer::new(map))?;
        let version = |(key, values): (String, Vec<String>)| {
            let since = key.parse().map_err(|_| {
                A::Error::custom(format!("'{key}' is not a version; write the opset that introduced it, such as 13"))
            })?;
            Ok((since, non_empty(values)?))
        };
        by_key.into_iter().map(version).collect::<Result<_, A::Error>>().map(StringValues::ByVersion)
    }
}

fn non_empty<E: Error>(values: Vec<String>) -> Result<Vec<String>, E> {
    if values.is_empty() { Err(E::custom("the list of values is empty; write any for any string")) } else { Ok(values) }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Draws {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Draws".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Nodes of an operator whose outputs are random: all, or those that meet a condition.",
            "anyOf": [{"type": "boolean"}, generator.subschema_for::<DrawsIf>()],
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dtype::ElementType;
    use crate::spec::entry::READ;
    use crate::spec::{AttributeType, OpSpec, OperatorVersion, Specs, yaml};
    use crate::types::ValueType;

    fn read(text: &str) -> Result<OperatorFacts, String> {
        yaml::read("op.yaml", text).map_err(|error| error.to_string())
    }

    #[test]
    fn every_input_that_is_no_data_has_a_neutral_value_of_its_type() {
        let specs = Specs::embedded();
        let mut kinds = [0; 3];
        for version in specs.all() {
            let spec = specs.get(&version).unwrap();
            for input in &spec.inputs {
                let neutral = spec.facts.neutral.get(&input.name);
                let all = |is: fn(&ValueType) -> bool| spec.allowed(&input.kind).iter().all(is);
                let is_count = all(|kind| matches!(kind, ValueType::Tensor(ElementType::Int64 | ElementType::Int32)));
                assert!(neutral.is_some() || !is_count, "{version}: {} has no neutral value", input.name);
                let (kind, is_of_type) = match neutral {
                    None => continue,
                    Some(Neutral::Items) => (0, all(|kind| matches!(kind, ValueType::Sequence(_)))),
                    Some(Neutral::Empty) => (1, all(|kind| matches!(kind, ValueType::Map(..)))),
                    Some(_) => (2, all(|kind| matches!(kind, ValueType::Tensor(_)))),
                };
                kinds[kind] += 1;
                assert!(is_of_type, "{version}: {neutral:?} is no value for {}", input.name);
            }
        }
        assert!(kinds.iter().all(|count| *count > 0), "{kinds:?}");
    }

    #[test]
    fn every_name_is_one_of_the_operator() {
        let specs = Specs::embedded();
        for domain in specs.domains() {
            for name in specs.operators(domain) {
                let path = format!("{domain}/{name}/op.yaml");
                let Some(text) = specs.file(&path) else { continue };
                let facts: OperatorFacts = yaml::read_entries(&path, text, &READ).unwrap();
                let spec_of = |since| specs.get(&OperatorVersion::new(domain, name, since)).unwrap();
                let versions: Vec<&OpSpec> = specs.versions(domain, name).map(spec_of).collect();
                let is_input =
                    |name: &String| versions.iter().any(|spec| spec.inputs.iter().any(|formal| formal.name == *name));
                let is_attribute = |name: &String| versions.iter().any(|spec| spec.attributes.contains_key(name));
                for name in facts.neutral.0.keys() {
                    assert!(is_input(name), "{path} has no input '{name}'");
                }
                if let Draws::Sometimes(DrawsIf { when, unless }) = &facts.draws {
                    assert!(when.is_some() || unless.is_some(), "{path}: draws has no condition");
                    for name in when.iter().chain(unless) {
                        assert!(is_input(name) || is_attribute(name), "{path} has no '{name}'");
                    }
                }
                let is_text = |kind: AttributeType| matches!(kind, AttributeType::String | AttributeType::Strings);
                let attributes = versions.iter().flat_map(|spec| &spec.attributes);
                let texts: BTreeSet<&String> =
                    attributes.filter(|(_, spec)| is_text(spec.kind)).map(|(name, _)| name).collect();
                // Each string attribute has its values, and nothing else has.
                assert_eq!(facts.values.0.keys().collect::<BTreeSet<_>>(), texts, "{path}");
            }
        }
    }

    #[test]
    fn values_change_at_a_version() {
        let facts = |name, since| &Specs::embedded().get(&OperatorVersion::new("", name, since)).unwrap().facts;
        let count = |since| facts("Pad", since).values("mode").len();
        assert_eq!((count(18), count(19), count(25)), (3, 4, 4));
        assert!(facts("Einsum", 12).values("equation").is_empty());
        assert!(facts("Resize", 10).values("nearest_mode").is_empty());
    }

    #[test]
    fn a_condition_holds_for_versions_that_have_its_name() {
        let draws =
            |since| Specs::embedded().get(&OperatorVersion::new("", "Dropout", since)).unwrap().facts.draws.clone();
        assert_eq!(
            [1, 6, 7, 10, 12, 13].map(|since| draws(since).is_possible()),
            [true, true, false, false, true, true]
        );
    }

    #[test]
    fn a_mistake_is_an_error_that_says_what_to_write() {
        for (text, said) in [
            ("values: {mode: linear}", "'linear' is not a list"),
            ("values: {mode: []}", "the list of values is empty"),
            ("values: {mode: {new: [a]}}", "'new' is not a version"),
            ("values: {mode: [a], mode: [b]}", "'mode' appears twice"),
            ("neutral: {axis: nought}", "unknown variant `nought`"),
            ("neutral: {axis: zeros, axis: ones}", "'axis' appears twice"),
            ("draws: {if: training_mode}", "unknown key `if`"),
            ("draws: maybe", "draws: invalid type: string \"maybe\""),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{said} is not in {error}");
        }
    }
}
