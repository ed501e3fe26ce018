//! `specs/texts/schemas.txt`: the texts of all operator versions in the imported release, by sentence.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, bail, ensure};

use super::sentence;
use crate::workspace;

/// Sentences by place: the documentation of an operator version (`ai.onnx/Abs-13`), one of its parts (`ai.onnx/Abs-13 input X`, or
/// `attribute`, `output`, `type`), a function body with the opset that it is written for (`ai.onnx/Relu-14 body 18`), or
/// `onnx.proto`. Empty texts are absent.
pub(crate) type Texts = BTreeMap<String, Vec<String>>;

/// Path of the file below specs/.
pub(crate) const PATH: &str = "texts/schemas.txt";

/// Place of the texts of onnx.proto.
const PROTO: &str = "onnx.proto";

/// Returns the operator version of a place; `None` for onnx.proto.
pub(crate) fn version(place: &str) -> Option<&str> {
    place.split(' ').next().filter(|version| version.contains('/'))
}

/// Adds the sentences of onnx.proto, whose comments are texts.
pub(crate) fn add_proto(texts: &mut Texts, proto: &str) {
    let text: String =
        proto.lines().map(|line| line.trim_start().trim_start_matches('/')).flat_map(|line| [line, "\n"]).collect();
    texts.insert(PROTO.to_owned(), sentence::split(&text));
}

/// Formats the file. Places with the same sentences share one block.
pub(crate) fn file(package: &str, texts: &Texts) -> String {
    let mut file = format!(
        "The texts of the operator schemas and of onnx.proto in {package}, by sentence. Written by `cargo xtask import-specs`.\n\
         Copyright (c) ONNX Project Contributors. SPDX-License-Identifier: Apache-2.0\n\
         The sentences of a text follow the line of the places that have it. Each follows its digest, the first digits of its SHA-256.\n"
    );
    let mut blocks: BTreeMap<&str, (Vec<&str>, &[String])> = BTreeMap::new();
    let mut firsts: BTreeMap<&[String], &str> = BTreeMap::new();
    for (place, sentences) in texts {
        let first = *firsts.entry(sentences).or_insert(place);
        blocks.entry(first).or_insert((Vec::new(), sentences)).0.push(place);
    }
    for (places, sentences) in blocks.values() {
        // Writing to a string does not fail.
        let _ = writeln!(file, "@@ {}", places.join(", "));
        for sentence in *sentences {
            let _ = writeln!(file, "{} {sentence}", sentence::digest(sentence));
        }
    }
    file
}

/// Reads the committed file.
pub(crate) fn committed() -> Result<Texts> {
    let path = workspace::root().join("specs").join(PATH);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read specs/{PATH}"))?;
    read(&text).with_context(|| format!("specs/{PATH} is not as `cargo xtask import-specs` writes it"))
}

fn read(text: &str) -> Result<Texts> {
    let mut texts = Texts::new();
    let mut places: Vec<&str> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(names) = line.strip_prefix("@@ ") {
            places = names.split(", ").collect();
        } else if !places.is_empty() {
            let Some((digest, sentence)) = line.split_once(' ') else {
                bail!("line {}: a sentence without a digest", number + 1);
            };
            let actual = sentence::digest(sentence);
            ensure!(digest == actual, "line {}: the digest of the sentence is {actual}, not {digest}", number + 1);
            for place in &places {
                texts.entry((*place).to_owned()).or_default().push(sentence.to_owned());
            }
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Texts {
        let text = |sentences: &[&str]| sentences.iter().map(|it| (*it).to_owned()).collect();
        Texts::from([
            ("ai.onnx/A-1".to_owned(), text(&["One.", "Two."])),
            ("ai.onnx/A-1 input X".to_owned(), text(&["Data"])),
            ("ai.onnx/A-7".to_owned(), text(&["One.", "Two."])),
        ])
    }

    #[test]
    fn a_file_reads_back() {
        let file = file("onnx", &texts());
        assert!(file.contains("@@ ai.onnx/A-1, ai.onnx/A-7\n"), "{file}");
        assert_eq!(read(&file).unwrap(), texts());
    }

    #[test]
    fn an_edited_sentence_is_refused() {
        let file = file("onnx", &texts()).replace("Two.", "Three.");
        let error = read(&file).unwrap_err().to_string();
        assert!(error.contains("the digest of the sentence is"), "{error}");
    }

    #[test]
    fn the_committed_texts_are_those_of_all_versions() {
        use onnx_conformance_reference::spec::Specs;

        let texts = committed().unwrap();
        for version in Specs::embedded().all() {
            assert!(texts.keys().any(|place| super::version(place) == Some(&version.qualified())), "{version:?}");
        }
    }
}
