//! The declaration of a runtime.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_reference::dtype::ElementType;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::Question;
use crate::question::Variant;

/// The declaration of a runtime. A case is not sent if it needs undeclared opsets, types or variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// The name, as in `expectations/<name>.yaml`: a letter or a digit, then letters, digits, `.`, `_` and `-`, at most 100.
    #[serde(deserialize_with = "name")]
    #[cfg_attr(feature = "schema", schemars(length(max = 100), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$")))]
    pub name: String,
    /// Its version, as in `expectations/<name>/<version>.yaml`: characters of a name, and `+`.
    #[serde(deserialize_with = "version")]
    #[cfg_attr(feature = "schema", schemars(length(max = 100), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")))]
    pub version: String,
    /// The programming language of its API.
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub language: Option<String>,
    /// The address for bug reports.
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub issues: Option<String>,
    /// The opsets that it supports, by domain (`ai.onnx`, not the empty string). A domain that is left out is not
    /// supported.
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, Opsets>"))]
    pub opsets: Option<BTreeMap<String, Opsets>>,
    /// The IR versions that it supports: the newest, or the oldest and the newest.
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Opsets"))]
    pub ir: Option<Opsets>,
    /// The element types that it supports, as ONNX spells them: `float`, `bfloat16`, `float8e4m3fn`, `int4`, `string`.
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<ElementName>"))]
    pub types: Option<Vec<ElementName>>,
    /// The variants in which it accepts cases.
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Variant>"))]
    pub variants: Option<Vec<Variant>>,
    /// True if it reports the operators of a graph before and after optimization: it answers `optimize`.
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub optimize: Option<bool>,
    /// The questions that it answers; only `run` by default.
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Question>"))]
    pub does: Option<Vec<Question>>,
}

impl Declaration {
    /// Returns the declaration of a runtime that is sent every case.
    pub fn named(name: impl Into<String>, version: impl Into<String>) -> Declaration {
        Declaration {
            name: name.into(),
            version: version.into(),
            language: None,
            issues: None,
            opsets: None,
            ir: None,
            types: None,
            variants: None,
            optimize: None,
            does: None,
        }
    }

    /// Returns true if the runtime declares this opset, or no opsets at all.
    pub fn has_opset(&self, domain: &str, opset: i64) -> bool {
        let Some(opsets) = &self.opsets else { return true };
        opsets.get(domain).is_some_and(|opsets| opsets.contains(opset))
    }

    /// Returns true if the runtime declares this IR version, or none at all.
    pub fn has_ir(&self, ir: i64) -> bool {
        self.ir.is_none_or(|known| known.contains(ir))
    }

    /// Adds the probed opsets and IR versions, unless the runtime declares its own.
    #[must_use]
    pub fn accepting(mut self, accepted: &Accepted) -> Declaration {
        self.opsets.get_or_insert_with(|| accepted.opsets.clone());
        self.ir.get_or_insert(accepted.ir);
        self
    }

    /// Returns true if the runtime declares this element type, or none at all.
    pub fn has_type(&self, element: ElementType) -> bool {
        self.types.as_ref().is_none_or(|types| types.contains(&ElementName(element)))
    }

    /// Returns true if the runtime reports the operators of a graph before and after optimization.
    pub fn reports_rewrites(&self) -> bool {
        self.optimize == Some(true)
    }

    /// Returns true if the runtime declares this variant, or none at all. Variants that ask a question need the question instead.
    pub fn has_variant(&self, variant: Variant) -> bool {
        match variant.question() {
            Question::Run => self.variants.as_ref().is_none_or(|variants| variants.contains(&variant)),
            question => self.answers(question),
        }
    }

    /// Returns true if the subject answers a question.
    pub fn answers(&self, question: Question) -> bool {
        self.does.as_ref().map_or(question == Question::Run, |does| does.contains(&question))
    }
}

/// IR versions and opsets that a runtime accepts, found by probing with models of one `Identity` node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// The IR versions.
    pub ir: Opsets,
    /// The opsets by domain (`ai.onnx`, not the empty string). A model that imports any other domain is refused.
    pub opsets: BTreeMap<String, Opsets>,
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IR versions {}", self.ir)?;
        self.opsets.iter().try_for_each(|(domain, opsets)| write!(f, ", {domain} {opsets}"))
    }
}

/// The opsets of a domain, or the IR versions: the newest, or the oldest and the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "write opsets as a number, the newest, or as a pair of numbers, the oldest and the newest"
)]
pub enum Opsets {
    /// Every opset up to this one.
    UpTo(u32),
    /// Every opset from the first to the second.
    Between(u32, u32),
}

impl fmt::Display for Opsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opsets::UpTo(newest) => write!(f, "up to {newest}"),
            Opsets::Between(oldest, newest) => write!(f, "{oldest} to {newest}"),
        }
    }
}

impl Opsets {
    /// Returns true if an opset is included.
    pub fn contains(self, opset: i64) -> bool {
        match self {
            Opsets::UpTo(newest) => opset <= i64::from(newest),
            Opsets::Between(oldest, newest) => (i64::from(oldest)..=i64::from(newest)).contains(&opset),
        }
    }

    /// Returns the newest opset.
    pub const fn newest(self) -> u32 {
        match self {
            Opsets::UpTo(newest) | Opsets::Between(_, newest) => newest,
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

impl Serialize for ElementName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> Deserialize<'de> for ElementName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(ElementName).map_err(de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ElementName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ElementType".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names = ElementType::ALL.map(ElementType::name);
        schemars::json_schema!({ "description": "An element type as ONNX spells it.", "enum": names })
    }
}

/// Deserializes a field that is present. `null` is a value, not an absent field.
pub(super) fn deserialize_present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Longest name or version in characters, since it is part of a file name.
const MAX_WORD: usize = 100;

/// Returns true if a text can be the name of a runtime, an adapter or a provider: `[A-Za-z0-9][A-Za-z0-9._-]*`. Such a
/// name is a valid file name and never a parent folder.
pub(super) fn is_name(text: &str) -> bool {
    is_word(text, "._-")
}

/// Returns the reason why a text cannot be the name of a runtime, with the rule, or `None` if it can.
pub fn name_problem(text: &str) -> Option<String> {
    word_problem("name", text, "._-")
}

/// Returns the reason why a text cannot be the version of a runtime, with the rule, or `None` if it can.
pub fn version_problem(text: &str) -> Option<String> {
    word_problem("version", text, "._+-")
}

fn is_word(text: &str, others: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
        && text.len() <= MAX_WORD
}

fn word_problem(kind: &str, text: &str, others: &str) -> Option<String> {
    if is_word(text, others) {
        return None;
    }
    let others: Vec<String> = others.chars().map(|c| format!("'{c}'")).collect();
    let shown: String = text.chars().take(MAX_WORD).collect();
    Some(format!(
        "the {kind} '{}' cannot be part of a file name: begin it with a letter or a digit, continue with letters, \
         digits and {}, and use at most {MAX_WORD} characters",
        shown.escape_debug(),
        others.join(", ")
    ))
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    name_problem(&name).map_or(Ok(name), |problem| Err(de::Error::custom(problem)))
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let version = String::deserialize(deserializer)?;
    version_problem(&version).map_or(Ok(version), |problem| Err(de::Error::custom(problem)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_and_never_a_parent_folder() {
        let long = "a".repeat(101);
        for name in ["onnxruntime", "a", "9", "onnx.reference", "a-b_c.d", "a..", &long[1..]] {
            assert!(is_name(name), "{name}");
        }
        for name in
            ["", ".", "..", "...", ".a", "-a", "_a", "a/b", "../a", "a\\b", "a b", "\u{e9}", "a\n", "a:b", "a+b", &long]
        {
            assert!(!is_name(name), "{name}");
            let text = serde_json::json!({ "name": name, "version": "1" }).to_string();
            let error = serde_json::from_str::<Declaration>(&text).unwrap_err().to_string();
            assert!(error.contains("begin it with a letter or a digit") && error.len() < 500, "{error}");
        }
        for (version, is_right) in [("1.30.0", true), ("2.1+cu118", true), ("..", false), ("1/2", false), ("", false)] {
            let text = serde_json::json!({ "name": "a", "version": version }).to_string();
            assert_eq!(serde_json::from_str::<Declaration>(&text).is_ok(), is_right, "{version}");
        }
    }

    #[test]
    fn what_is_not_declared_is_allowed() {
        let all = Declaration::named("a", "1");
        assert!(all.has_opset("ai.onnx", 20) && all.has_type(ElementType::Int4) && all.has_variant(Variant::Constants));
    }

    #[test]
    fn probed_versions_fill_in_undeclared_ones() {
        let accepted = Accepted {
            ir: Opsets::Between(3, 9),
            opsets: BTreeMap::from([("ai.onnx".to_owned(), Opsets::Between(1, 20))]),
        };
        let found = Declaration::named("a", "1").accepting(&accepted);
        assert!(
            found.has_ir(9) && !found.has_ir(10) && found.has_opset("ai.onnx", 20) && !found.has_opset("ai.onnx", 21)
        );
        let said = Declaration { ir: Some(Opsets::UpTo(12)), ..Declaration::named("a", "1") }.accepting(&accepted);
        assert!(said.has_ir(12) && !said.has_opset("ai.onnx.ml", 1));
    }

    #[test]
    fn what_is_declared_excludes_the_rest() {
        let text = r#"{"name": "a", "version": "1", "opsets": {"ai.onnx": [7, 13], "ai.onnx.ml": 3},
            "types": ["float"], "variants": ["runtime"]}"#;
        let some: Declaration = serde_json::from_str(text).unwrap();
        let opsets = [("ai.onnx", 6), ("ai.onnx", 7), ("ai.onnx", 14), ("ai.onnx.ml", 1), ("other", 1)];
        assert_eq!(opsets.map(|(domain, opset)| some.has_opset(domain, opset)), [false, true, false, true, false]);
        assert!(some.has_type(ElementType::Float) && !some.has_type(ElementType::Int4));
        assert!(some.has_variant(Variant::Runtime) && !some.has_variant(Variant::Constants));
    }
}
