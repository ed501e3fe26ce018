//! Sentences of the standard: the texts of each operator and the comments of onnx.proto in `specs/texts/schemas.txt`, which
//! `cargo xtask import-specs` writes, and other documents in `specs/texts/documents.txt`. The sentences are ONNX's (Apache-2.0).

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use super::version::OperatorVersion;

/// The texts. A published package contains `specs`.
const TEXT: &str = include!(concat!(env!("OUT_DIR"), "/sentences.rs"));

/// The documents that the Python package does not contain.
const DOCUMENTS: &str = include!(concat!(env!("OUT_DIR"), "/documents.rs"));

/// Marks a line with the places of the sentences below it.
const PLACES: &str = "@@ ";

/// Sentence of the texts of an operator, in one or more versions, or of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The first digits of its SHA-256.
    pub digest: &'static str,
    /// The sentence.
    pub text: &'static str,
    /// Its places, by version and section. A document has no version.
    pub places: Vec<(Option<u32>, Section)>,
}

/// Section of an operator version's text, or of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The description of the operator.
    Description,
    /// The description of an attribute.
    Attribute(&'static str),
    /// The description of an input.
    Input(&'static str),
    /// The description of an output.
    Output(&'static str),
    /// The description of a type parameter.
    Type(&'static str),
    /// The function body.
    Body,
    /// A part of a document, by its heading.
    Heading(&'static str),
}

impl Section {
    /// Reads the words after the operator version: `attribute axis`.
    fn read(words: &'static str) -> Option<Section> {
        let (kind, name) = words.split_once(' ').unwrap_or((words, ""));
        Some(match kind {
            "" => Section::Description,
            "attribute" => Section::Attribute(name),
            "input" => Section::Input(name),
            "output" => Section::Output(name),
            "type" => Section::Type(name),
            "body" => Section::Body,
            _ => return None,
        })
    }
}

impl std::fmt::Display for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Section::Description => f.write_str("description"),
            Section::Attribute(name) => write!(f, "attribute {name}"),
            Section::Input(name) => write!(f, "input {name}"),
            Section::Output(name) => write!(f, "output {name}"),
            Section::Type(name) => write!(f, "type {name}"),
            Section::Body => f.write_str("function body"),
            Section::Heading(heading) => f.write_str(heading),
        }
    }
}

impl Sentence {
    /// Returns the versions that have the sentence, in order; none for a document.
    pub fn versions(&self) -> Vec<u32> {
        let mut versions: Vec<u32> = self.places.iter().filter_map(|(since, _)| *since).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// Returns the sentences of an operator, by its domain and name such as `ai.onnx/Conv`, in the order of the texts.
    pub fn all_of(operator: &str) -> &'static [Sentence] {
        by_operator().get(operator).map_or(&[], Vec::as_slice)
    }

    /// Iterates over the operators that have texts.
    pub fn operators() -> impl Iterator<Item = &'static str> {
        by_operator().keys().map(String::as_str)
    }

    /// Returns the sentences of a document such as `IR.md` or `onnx.proto`, in the order of the document.
    pub fn all_of_document(name: &str) -> &'static [Sentence] {
        by_document().get(name).map_or(&[], Vec::as_slice)
    }

    /// Iterates over the names of the documents.
    pub fn documents() -> impl Iterator<Item = &'static str> {
        by_document().keys().copied()
    }
}

fn by_operator() -> &'static BTreeMap<String, Vec<Sentence>> {
    static SENTENCES: OnceLock<BTreeMap<String, Vec<Sentence>>> = OnceLock::new();
    SENTENCES.get_or_init(|| read(TEXT))
}

fn by_document() -> &'static BTreeMap<&'static str, Vec<Sentence>> {
    static SENTENCES: OnceLock<BTreeMap<&'static str, Vec<Sentence>>> = OnceLock::new();
    SENTENCES.get_or_init(|| {
        let mut documents = read_documents(TEXT);
        documents.extend(read_documents(DOCUMENTS));
        documents
    })
}

/// Reads the sentences that follow a line with a document and one of its headings: `IR.md Graphs`, `onnx.proto`.
fn read_documents(text: &'static str) -> BTreeMap<&'static str, Vec<Sentence>> {
    let mut documents: BTreeMap<&'static str, Vec<Sentence>> = BTreeMap::new();
    let mut place = None;
    for line in text.lines() {
        if let Some(line) = line.strip_prefix(PLACES) {
            let (document, heading) = line.split_once(' ').unwrap_or((line, ""));
            place = (!document.contains('/')).then_some((document, heading));
            continue;
        }
        let (Some((document, heading)), Some((digest, text))) = (place, line.split_once(' ')) else { continue };
        let sentences = documents.entry(document).or_default();
        let place = (None, Section::Heading(heading));
        match sentences.iter_mut().find(|sentence| sentence.digest == digest) {
            Some(sentence) => sentence.places.push(place),
            None => sentences.push(Sentence { digest, text, places: vec![place] }),
        }
    }
    documents
}

fn read(text: &'static str) -> BTreeMap<String, Vec<Sentence>> {
    let mut by_operator: BTreeMap<String, Vec<Sentence>> = BTreeMap::new();
    let mut known: HashMap<(String, &str), usize> = HashMap::new();
    let mut places: Vec<(OperatorVersion, Section)> = Vec::new();
    for line in text.lines() {
        if let Some(line) = line.strip_prefix(PLACES) {
            places = line.split(", ").filter_map(place).collect();
            continue;
        }
        let Some((digest, sentence)) = line.split_once(' ') else { continue };
        for (version, section) in &places {
            let operator = format!("{}/{}", version.domain, version.name);
            let sentences = by_operator.entry(operator.clone()).or_default();
            let index = *known.entry((operator, digest)).or_insert_with(|| {
                sentences.push(Sentence { digest, text: sentence, places: Vec::new() });
                sentences.len() - 1
            });
            if let Some(sentence) = sentences.get_mut(index) {
                sentence.places.push((Some(version.since), section.clone()));
            }
        }
    }
    by_operator
}

/// Reads a place: `ai.onnx/Conv-22 attribute auto_pad`. The places of other texts, such as those of `onnx.proto`, are `None`.
fn place(text: &'static str) -> Option<(OperatorVersion, Section)> {
    let (version, section) = text.split_once(' ').unwrap_or((text, ""));
    Some((version.parse().ok()?, Section::read(section)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Specs;

    #[test]
    fn every_version_has_sentences() {
        let missing: Vec<String> = Specs::embedded()
            .all()
            .filter(|version| {
                let sentences = Sentence::all_of(&format!("{}/{}", version.domain, version.name));
                !sentences.iter().any(|sentence| sentence.versions().contains(&version.since))
            })
            .map(|version| version.qualified())
            .collect();
        assert_eq!(missing, Vec::<String>::new());
        assert!(Sentence::operators().count() > 200);
    }

    #[test]
    fn a_sentence_of_several_versions_is_one() {
        let text =
            "words\n@@ d/A-1, d/A-6 attribute x, onnx.proto\n01234567 One.\n@@ d/A-6\n01234567 One.\n89abcdef Two.\n";
        let [one, two] = read(text).remove("d/A").unwrap().try_into().unwrap();
        assert_eq!((one.digest, one.text, one.versions()), ("01234567", "One.", vec![1, 6]));
        let [first, sixth] = [Some(1), Some(6)];
        assert_eq!(
            one.places,
            [(first, Section::Description), (sixth, Section::Attribute("x")), (sixth, Section::Description)]
        );
        assert_eq!((two.text, two.versions()), ("Two.", vec![6]));
    }

    #[test]
    fn a_document_has_headings_and_no_versions() {
        let text = "words\n@@ d/A-1\n01234567 One.\n@@ IR.md Graphs, nodes\n89abcdef Two.\n@@ IR.md Types\n89abcdef Two.\n76543210 Three.\n";
        let [two, three] = read_documents(text).remove("IR.md").unwrap().try_into().unwrap();
        assert_eq!(two.places, [(None, Section::Heading("Graphs, nodes")), (None, Section::Heading("Types"))]);
        assert_eq!((two.versions(), three.text), (Vec::new(), "Three."));
    }

    #[test]
    fn the_documents_have_sentences() {
        assert!(Sentence::documents().any(|name| name == "onnx.proto"));
        for name in Sentence::documents() {
            assert!(!Sentence::all_of_document(name).is_empty(), "{name}");
        }
    }
}
