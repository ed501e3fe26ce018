//! Rules of op.yaml that a changed sentence concerns: rules that text.yaml names for the older sentences, and rules
//! about a parameter that the sentences name.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::generate::{OperatorCatalog, OperatorFile};
use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_report::coverage::{TextError, tests_of_sentence};

use super::changes::Change;
use super::sentence::digest;
use super::standard::version;

/// Returns a line for each operator of a change: the rules and cases that test the older sentences, and the rules about
/// the parameters that the sentences name, with their numbers of cases.
pub(crate) fn about(catalog: &OperatorCatalog, change: &Change) -> Vec<String> {
    let mut operators: BTreeMap<OperatorVersion, BTreeSet<&str>> = BTreeMap::new();
    for (place, _) in &change.places {
        let Some(Ok(parsed)) = version(place).map(str::parse::<OperatorVersion>) else { continue };
        let operator = OperatorVersion { since: 0, ..parsed };
        let part = place.split_once(' ').and_then(|(_, part)| part.split_once(' '));
        operators.entry(operator).or_default().extend(part.map(|(_, name)| name));
    }
    let lines = operators.iter().map(|(operator, parts)| match catalog.get(operator) {
        Ok(file) => line(operator, file, parts, change),
        Err(error) => error.to_string(),
    });
    lines.collect()
}

fn line(operator: &OperatorVersion, file: &OperatorFile, parts: &BTreeSet<&str>, change: &Change) -> String {
    let OperatorVersion { domain, name, .. } = operator;
    let stated = match tests(&format!("{domain}/{name}"), change) {
        Ok(tests) if tests.is_empty() => String::new(),
        Ok(tests) => format!("the older sentences are tested by {}; ", Vec::from_iter(tests).join(", ")),
        Err(error) => format!("{error}; "),
    };
    let found = rules(file, parts, change);
    let rules = if found.is_empty() {
        format!("none of {} rules is about a parameter that the sentences name", file.constraints.0.len())
    } else {
        let count = |id: &&str| {
            let is_of = |constraint: &Option<String>| constraint.as_deref() == Some(*id);
            let cases = file.cases.iter().filter(|case| is_of(&case.constraint)).count();
            let refusals = file.refuse.iter().filter(|refusal| is_of(&refusal.constraint)).count();
            format!("{id} ({})", cases + refusals)
        };
        format!("rules, with their numbers of cases: {}", found.iter().map(count).collect::<Vec<_>>().join(", "))
    };
    format!("specs/{domain}/{name}/op.yaml: {stated}{rules}; run '{domain}/{name}-*/**'")
}

/// Returns the rules and cases that text.yaml names for the removed sentences.
fn tests(operator: &str, change: &Change) -> Result<BTreeSet<String>, TextError> {
    let mut tests = BTreeSet::new();
    for sentence in &change.removed {
        tests.extend(tests_of_sentence(operator, &digest(sentence))?);
    }
    Ok(tests)
}

/// Returns the ids of the rules about one of the parts, or about a parameter that a changed sentence names.
fn rules<'a>(file: &'a OperatorFile, parts: &BTreeSet<&str>, change: &Change) -> Vec<&'a str> {
    let sentences = change.removed.iter().chain(&change.added);
    let words: BTreeSet<&str> =
        sentences.flat_map(|sentence| sentence.split(|c: char| !c.is_alphanumeric() && c != '_')).collect();
    let is_named = |parameter: &String| parts.contains(parameter.as_str()) || words.contains(parameter.as_str());
    let rules = file.constraints.0.iter().filter(|(_, rule)| rule.about.iter().any(is_named));
    rules.map(|(id, _)| id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "op: A\nsummary: x\ncases: [{name: c}, {name: d}, {name: e}]\n\
                        constraints:\n  C1: {says: a, about: [axis]}\n  C2: {says: b, about: [X, Y]}\n";

    fn check(parts: &[&str], added: &str, rules: &str) {
        let mut file: OperatorFile = serde_yaml::from_str(FILE).unwrap();
        file.cases.iter_mut().take(2).for_each(|case| case.constraint = Some("C1".to_owned()));
        let change = Change { places: Vec::new(), removed: Vec::new(), added: vec![added.to_owned()] };
        let shown = line(&OperatorVersion::new("ai.onnx", "A", 0), &file, &parts.iter().copied().collect(), &change);
        assert_eq!(shown, format!("specs/ai.onnx/A/op.yaml: {rules}; run 'ai.onnx/A-*/**'"));
    }

    #[test]
    fn rules_are_found_by_the_parameters_of_the_sentences() {
        check(&[], "The `axis` counts.", "rules, with their numbers of cases: C1 (2)");
        check(&["X"], "Data.", "rules, with their numbers of cases: C2 (0)");
        check(&[], "It is.", "none of 2 rules is about a parameter that the sentences name");
    }

    #[test]
    fn every_operator_of_a_change_has_a_line() {
        let places = ["ai.onnx/Abs-6", "ai.onnx/Abs-13", "ai.onnx/Neg-13 input X", "ai.onnx/NoSuch-1", "onnx.proto"];
        let places = places.map(|place| (place.to_owned(), 1)).to_vec();
        let change = Change { places, removed: Vec::new(), added: Vec::new() };
        let lines = about(&OperatorCatalog::embedded(), &change);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("specs/ai.onnx/Abs/op.yaml: ") && lines[2].contains("NoSuch"), "{lines:?}");
    }

    #[test]
    fn the_rules_of_a_removed_sentence_are_those_of_text_yaml() {
        let removed = vec!["However step value cannot be 0.".to_owned()];
        let change = Change { places: vec![("ai.onnx/Slice-13".to_owned(), 1)], removed, added: Vec::new() };
        let lines = about(&OperatorCatalog::embedded(), &change);
        assert!(
            lines[0].contains("op.yaml: the older sentences are tested by C5; none of 9 rules is about"),
            "{lines:?}"
        );
    }
}
