//! Sentences of IR.md, onnx.proto and other documents of the standard, with their states: `specs/documents`.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::suite::{Filter, FilterError, Generated, Suite};
use onnx_conformance_reference::spec::{Sentence, Specs, yaml};

use super::text::{OperatorText, StatedSentence, TextError, TextItem, TextState};
use super::text_problems::start_of;

/// Returns the sentences of documents that a rule of `check` tests, each with the name of its document.
pub fn sentences_of_check(rule: &str) -> Result<Vec<(&'static str, &'static Sentence)>, TextError> {
    let mut found = Vec::new();
    for name in Sentence::documents() {
        let path = path_of(name);
        let items: Vec<TextItem> = yaml::read(&path, Specs::embedded().file(&path).unwrap_or("[]"))?;
        let tested = items.iter().filter(|item| item.check.iter().any(|id| id == rule));
        let is_of = |item: &TextItem, sentence: &Sentence| item.text.starts_with(sentence.digest);
        let sentences = Sentence::all_of_document(name);
        let sentences = tested.filter_map(|item| sentences.iter().find(|sentence| is_of(item, sentence)));
        found.extend(sentences.map(|sentence| (name, sentence)));
    }
    Ok(found)
}

/// Returns the path of a document's states below `specs/`: `documents/onnx_proto.yaml`.
fn path_of(document: &str) -> String {
    format!("documents/{}.yaml", document.trim_end_matches(".md").replace('.', "_"))
}

impl OperatorText {
    /// Reads the sentences of the documents with these names, such as `IR.md`; of all documents if there are no names.
    pub fn documents(names: &[String]) -> Result<Vec<OperatorText>, TextError> {
        let is_chosen = |name: &&str| names.is_empty() || names.iter().any(|it| it.eq_ignore_ascii_case(name));
        let chosen: Vec<&str> = Sentence::documents().filter(is_chosen).collect();
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let suite = Suite::project(None, Generated::embedded())?;
        let mut ids: Vec<String> = suite.choose(&Filter::default())?.into_iter().flat_map(|(_, _, ids)| ids).collect();
        ids.sort_unstable();
        chosen
            .into_iter()
            .map(|name| {
                let path = path_of(name);
                let text = Specs::embedded().file(&path).unwrap_or("[]");
                OperatorText::read_document(name, &format!("specs/{path}"), text, &ids)
            })
            .collect()
    }

    /// Reads the file of a document. The suite has cases with these ids, which are sorted.
    fn read_document(name: &str, path: &str, text: &str, ids: &[String]) -> Result<OperatorText, TextError> {
        let items: Vec<TextItem> = yaml::read(path, text)?;
        let known = Sentence::all_of_document(name);
        let mut problems = Vec::new();
        let mut cases: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for item in &items {
            let digest = item.digest();
            let mut report = |what: String| problems.push(item.fault(path, text, &what));
            item.sentence(known, name, &mut report);
            if cases.contains_key(digest) {
                report("has two states".to_owned());
            }
            if !item.versions.is_empty() || !item.rules.is_empty() || item.by_signature.is_some() {
                report("is about a document, which has no versions, signature, or rules of op.yaml".to_owned());
            }
            item.faults().for_each(&mut report);
            let mut shown = BTreeSet::new();
            for pattern in &item.cases {
                match selected(pattern, ids) {
                    Ok(found) if found.is_empty() => report(format!("names cases {pattern}, but the suite has none")),
                    Ok(found) => shown.extend(found),
                    Err(error) => report(error.to_string()),
                }
            }
            cases.insert(digest, shown.into_iter().cloned().collect());
        }
        let stated = known.iter().map(|sentence| {
            let item = items.iter().find(|item| item.text.starts_with(sentence.digest));
            StatedSentence {
                sentence,
                versions: Vec::new(),
                state: item.map_or(TextState::Missing, TextItem::state),
                cases: cases.remove(sentence.digest).unwrap_or_default(),
            }
        });
        let sentences: Vec<StatedSentence> = stated.collect();
        for sentence in known.iter().filter(|known| !items.iter().any(|item| item.text.starts_with(known.digest))) {
            let start = start_of(sentence.text);
            problems.push(format!("{path}: no state for '{} {start}'; add an item", sentence.digest));
        }
        Ok(OperatorText { operator: name.to_owned(), sentences, problems })
    }
}

/// Returns the ids that a pattern selects. The ids are sorted, so only those that begin with its literal start are compared.
fn selected<'a>(pattern: &str, ids: &'a [String]) -> Result<Vec<&'a String>, FilterError> {
    let filter = Filter::new(&[pattern])?;
    let literal = pattern.split(['*', '?', '[', '{']).next().unwrap_or_default();
    let start = ids.partition_point(|id| id.as_str() < literal);
    let candidates = ids.iter().skip(start).take_while(|id| id.starts_with(literal));
    Ok(candidates.filter(|id| filter.matches(id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the faults of a file of `onnx.proto` about its first sentence.
    fn faults(item: &str) -> Vec<String> {
        let sentence = &Sentence::all_of_document("onnx.proto")[0];
        let text = format!("- {{text: \"{} SPDX\", {item}}}\n", sentence.digest);
        let ids = ["ir/graph/a".to_owned()];
        let read = OperatorText::read_document("onnx.proto", "onnx_proto.yaml", &text, &ids).unwrap();
        assert_eq!(read.sentences.len(), Sentence::all_of_document("onnx.proto").len());
        read.problems
    }

    #[test]
    fn each_fault_names_its_line_and_sentence() {
        for (item, expected) in [
            ("check: [graph/no-such]", "names rule graph/no-such, which `check` does not have"),
            ("cases: ['ir/scope/**']", "names cases ir/scope/**, but the suite has none"),
            ("rules: [C1]", "is about a document, which has no versions"),
            ("check: [graph/name], open: There is no case yet.", "has 2 states"),
        ] {
            let found = faults(item);
            let place = "onnx_proto.yaml:1: '";
            assert!(found.iter().any(|it| it.starts_with(place) && it.contains(expected)), "{found:#?}");
        }
        let found = faults("check: [graph/name], cases: ['ir/**']");
        assert!(found.iter().all(|it| it.contains("no state for")), "{found:#?}");
    }

    #[test]
    fn a_sentence_of_another_text_is_found() {
        let text = "- {text: \"00000000 One\", not_normative: heading}\n";
        let read = OperatorText::read_document("onnx.proto", "onnx_proto.yaml", text, &[]).unwrap();
        assert!(read.problems[0].contains("is no sentence of onnx.proto"), "{:?}", read.problems);
    }
}
