//! Lists of types, and `specs/types.yaml`: named groups of types.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::yaml::{self, YamlError};
use onnx_conformance_reference::types::ValueType;
use serde::Deserialize;

use crate::generate::file::ordered::Ordered;
use crate::generate::file::words::Words;
use crate::generate::file::yaml_text::YamlText;

/// Error: a word that is neither a type nor a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is neither a type nor a group; the groups are {}", .groups.join(", "))]
pub(crate) struct UnknownType {
    /// The word.
    word: String,
    /// The names of the groups.
    groups: Vec<String>,
}

/// `specs/types.yaml`: groups of types by name. Each lists types and groups before it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TypesFile {
    /// The groups.
    pub groups: Ordered<TypeList>,
}

/// Types, as one word or a list of words: a group, an element type for its tensor, or a full type.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Words"))]
#[serde(from = "Words")]
pub struct TypeList {
    words: Vec<String>,
    types: Vec<ValueType>,
}

impl From<Words> for TypeList {
    fn from(Words(words): Words) -> TypeList {
        TypeList { words, types: Vec::new() }
    }
}

impl TypeList {
    /// Returns true if the type is listed.
    pub fn contains(&self, value_type: &ValueType) -> bool {
        self.types.contains(value_type)
    }

    /// Replaces the words by their types.
    pub(crate) fn resolve(&mut self, groups: &TypeGroups) -> Result<(), UnknownType> {
        self.types =
            self.words.iter().map(|word| groups.types(word)).collect::<Result<Vec<_>, UnknownType>>()?.concat();
        Ok(())
    }
}

/// The groups of types, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeGroups {
    groups: Vec<(String, Vec<ValueType>)>,
}

impl TypeGroups {
    /// Reads the text of `specs/types.yaml`.
    pub(crate) fn read(source: YamlText<'_>) -> Result<TypeGroups, Box<YamlError>> {
        let file: TypesFile = yaml::read(source.path, source.text)?;
        let mut known = TypeGroups::default();
        for (name, mut list) in file.groups.0 {
            let line = source.text.lines().position(|line| line.trim_start().starts_with(&format!("{name}:")));
            let at = |message: String, help: &str| {
                let place = (line.map_or(1, |line| line + 1), 1);
                source.error(place, message, Some(help.to_owned()))
            };
            if name.parse::<ElementType>().is_ok() {
                return Err(at(format!("'{name}' is an element type"), "give the group another name"));
            }
            list.resolve(&known)
                .map_err(|error| at(error.to_string(), "a group lists types, and groups defined above it"))?;
            known.groups.push((name, list.types));
        }
        Ok(known)
    }

    /// Returns the types of a word.
    fn types(&self, word: &str) -> Result<Vec<ValueType>, UnknownType> {
        if let Some((_, types)) = self.groups.iter().find(|(name, _)| name == word) {
            return Ok(types.clone());
        }
        if let Ok(element) = word.parse::<ElementType>() {
            return Ok(vec![ValueType::Tensor(element)]);
        }
        word.parse::<ValueType>().map(|value_type| vec![value_type]).map_err(|_| {
            let groups = self.groups.iter().map(|(name, _)| name.clone()).collect();
            UnknownType { word: word.to_owned(), groups }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "groups:\n  wide: [float, double]\n  floats: [float16, wide]\n";

    fn read(text: &str) -> Result<TypeGroups, Box<YamlError>> {
        TypeGroups::read(YamlText::whole("types.yaml", text))
    }

    fn types(list: &str) -> Result<Vec<String>, UnknownType> {
        let groups = read(GROUPS).unwrap();
        let mut list: TypeList = serde_yaml::from_str(list).unwrap();
        list.resolve(&groups)?;
        Ok(list.types.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_word_is_a_group_or_a_type() {
        let floats = ["tensor(float16)", "tensor(float)", "tensor(double)"].map(str::to_owned).to_vec();
        assert_eq!(types("floats"), Ok(floats));
        assert_eq!(types("['seq(tensor(int8))', bool]"), Ok(vec!["seq(tensor(int8))".into(), "tensor(bool)".into()]));
        assert!(types("flots").unwrap_err().to_string().contains("the groups are wide, floats"));
    }

    #[test]
    fn a_group_names_only_groups_above_it() {
        let error = read("groups:\n  a: float\n  floats: [float16, wide]\n").unwrap_err();
        assert!(error.to_string().starts_with("types.yaml:3: 'wide' is neither"), "{error}");
        assert!(read("groups: {float: [double]}\n").is_err());
    }
}
