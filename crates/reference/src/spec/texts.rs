//! `specs/texts.yaml`: digests of the standard's text of each operator version, for comparison. The texts themselves
//! are upstream's.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::specs::Specs;
use super::version::OperatorVersion;
use super::yaml::{self, YamlError};

const PATH: &str = "texts.yaml";

/// The same for the next release of ONNX, in a program with the feature `next`.
const NEXT: &str = "next/texts.yaml";

/// Facts about the texts, by operator version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    /// The facts by the qualified name of the version: `ai.onnx/Conv-22`.
    pub texts: BTreeMap<String, TextFacts>,
}

/// Facts about the text of an operator version: its description, and those of its attributes, inputs and outputs,
/// without empty lines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextFacts {
    /// The number of lines.
    pub lines: usize,
    /// The first digits of the SHA-256 of the lines.
    pub digest: String,
}

impl Texts {
    /// Reads the list from these specs.
    pub fn read(specs: &Specs) -> Result<Texts, Box<YamlError>> {
        let read = |path: &str| {
            specs.file(path).map_or_else(|| Ok(Texts::default()), |text| yaml::read(&format!("specs/{path}"), text))
        };
        let mut texts: Texts = read(PATH)?;
        texts.texts.extend(read(NEXT)?.texts);
        Ok(texts)
    }

    /// The facts about the text of a version.
    pub fn get(&self, version: &OperatorVersion) -> Option<&TextFacts> {
        self.texts.get(&version.qualified())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_has_a_text() {
        let (specs, texts) = (Specs::embedded(), Texts::read(Specs::embedded()).unwrap());
        assert!(specs.all().all(|version| texts.get(&version).is_some_and(|text| text.digest.len() == 8)));
        assert_eq!(texts.texts.len(), specs.all().count());
    }

    #[test]
    fn a_text_may_change_where_the_signature_does_not() {
        let texts = Texts::read(Specs::embedded()).unwrap();
        let text = |since| texts.get(&OperatorVersion::new("ai.onnx", "Conv", since)).unwrap();
        assert_ne!(text(1), text(11));
    }
}
