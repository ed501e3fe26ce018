//! Reading text.yaml: the sentences of an operator, their states, and the faults of the file.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_cases::suite::{Filter, Generated, Suite, SuiteError};
use onnx_conformance_reference::parallel::map_items;
use onnx_conformance_reference::spec::{OperatorVersion, Specs, yaml};

use super::text::{IdsByVersion, OperatorText, ShownCases, TextError, TextItem, stated};
use super::text_problems::{Check, problems};

/// Returns the rules, and the cases of no rule, that test a sentence of an operator by its digest.
pub fn tests_of_sentence(operator: &str, digest: &str) -> Result<Vec<String>, TextError> {
    let path = format!("{operator}/text.yaml");
    let items: Vec<TextItem> = yaml::read(&path, Specs::embedded().file(&path).unwrap_or("[]"))?;
    let tests = items.into_iter().filter(|item| item.text.starts_with(digest));
    let mut tests: Vec<String> = tests.flat_map(|item| item.rules.into_iter().chain(item.cases)).collect();
    tests.sort();
    tests.dedup();
    Ok(tests)
}

impl OperatorText {
    /// Reads the sentences of the operators that a filter selects cases of.
    pub fn chosen(filter: &Filter) -> Result<Vec<OperatorText>, TextError> {
        let suite = Suite::project(None, Generated::embedded())?;
        let mut ids: BTreeMap<String, IdsByVersion> = BTreeMap::new();
        let Some(whole) = whole_operators(&suite, filter)? else { return Ok(Vec::new()) };
        for id in suite.choose(&whole)?.into_iter().flat_map(|(_, _, ids)| ids) {
            if let Some(version) = CaseId::parse(&id).version().filter(|version| !Specs::is_next(version)) {
                let operator = format!("{}/{}", version.domain, version.name);
                ids.entry(operator).or_default().entry(version.since).or_default().push(id);
            }
        }
        let is_chosen = |ids: &IdsByVersion| ids.values().flatten().any(|id| filter.matches(id));
        let chosen: Vec<_> = ids.iter().filter(|(_, ids)| is_chosen(ids)).collect();
        let read = |(operator, ids): &(&String, &IdsByVersion)| {
            let path = format!("{operator}/text.yaml");
            let text = Specs::embedded().file(&path).unwrap_or("[]");
            OperatorText::read(operator, &format!("specs/{path}"), text, ids)
        };
        map_items(None, &chosen, read).into_iter().collect()
    }

    /// Reads the text.yaml of an operator, which has cases with these ids.
    pub(super) fn read(operator: &str, path: &str, text: &str, ids: &IdsByVersion) -> Result<OperatorText, TextError> {
        let items: Vec<TextItem> = yaml::read(path, text)?;
        let (domain, name) = operator.split_once('/').unwrap_or_default();
        let since = ids.keys().next_back().copied().unwrap_or_default();
        let catalog = OperatorCatalog::shared();
        let shown = ShownCases::new(catalog.get(&OperatorVersion::new(domain, name, since))?, ids);
        let sentences = stated(operator, &items, &shown);
        let check = Check { path, text, operator, items: &items, sentences: &sentences, shown: &shown };
        let problems = problems(&check);
        Ok(OperatorText { operator: operator.to_owned(), sentences, problems })
    }
}

/// Returns a filter for every case of the operators with a case that `filter` selects; `None` if it selects none.
fn whole_operators(suite: &Suite, filter: &Filter) -> Result<Option<Filter>, SuiteError> {
    if filter.is_everything() {
        return Ok(Some(Filter::default()));
    }
    let chosen = suite.choose(filter)?;
    let versions = chosen.iter().flat_map(|(_, _, ids)| ids).filter_map(|id| CaseId::parse(id).version());
    let operators: BTreeSet<(String, String)> = versions.map(|version| (version.domain, version.name)).collect();
    let is_chosen = |version: &OperatorVersion| operators.contains(&(version.domain.clone(), version.name.clone()));
    let groups = Specs::embedded().all().filter(is_chosen).map(|version| version.qualified());
    Ok((!operators.is_empty()).then(|| Filter::default().within(groups)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_of_some_cases_are_read_as_among_all() {
        let read = |patterns: &[&str]| OperatorText::chosen(&Filter::new(patterns).unwrap()).unwrap();
        let some = read(&["ai.onnx/Abs-13/known_values/**", "ai.onnx.ml/Scaler-1/**"]);
        let names: Vec<&str> = some.iter().map(|text| text.operator.as_str()).collect();
        assert_eq!(names, ["ai.onnx.ml/Scaler", "ai.onnx/Abs"]);
        let all = read(&[]);
        for text in &some {
            let among_all = all.iter().find(|other| other.operator == text.operator).unwrap();
            assert_eq!(format!("{text:?}"), format!("{among_all:?}"));
            assert!(text.sentences.iter().any(|sentence| !sentence.cases.is_empty()), "{}", text.operator);
        }
        assert!(read(&["hostile/**"]).is_empty() && read(&["none/**"]).is_empty());
    }

    /// The whole file of `Abs`.
    const FILE: &str = "\
- {text: \"6535c010 Absolute takes one input data\", rules: [formula]}
- {text: \"906d9ca1 legacy optimization attribute.\", not_normative: history}
- {text: \"e34185fd Input tensor\", by_signature: types}
- {text: \"97dc325f Output tensor\", by_signature: types}
- {text: \"6e40e61e Absolute takes one input data\", rules: [formula]}
";

    /// Returns the faults of a file of `Abs` that has cases in versions 6 and 13 alone.
    fn faults(text: &str) -> Vec<String> {
        let ids = |since: u32| (since, vec![format!("ai.onnx/Abs-{since}/known_values/T=float")]);
        let ids: IdsByVersion = [ids(6), ids(13)].into_iter().collect();
        OperatorText::read("ai.onnx/Abs", "text.yaml", text, &ids).unwrap().problems
    }

    #[test]
    fn each_fault_names_its_line_and_sentence() {
        for (from, to, expected) in [
            (
                "6535c010 Abs",
                "00000000 Abs",
                "text.yaml:1: '00000000 Absolute takes one input data' is no sentence of ai.onnx/Abs",
            ),
            (
                "e34185fd Input",
                "e34185fd Output",
                "text.yaml:3: 'e34185fd Output tensor' is another sentence: Input tensor",
            ),
            (
                "by_signature: types}\n- {text: \"6e4",
                "by_signature: types, open: \"There is no case yet.\"}\n- {text: \"6e4",
                "text.yaml:4: '97dc325f Output tensor' has 2 states",
            ),
            (", not_normative: history", "", "text.yaml:2: '906d9ca1 legacy optimization attribute.' has 0 states"),
            ("not_normative: history", "untestable: no", "needs a reason, one sentence"),
            ("history}", "history, versions: [6]}", "names version 6, which does not have the sentence"),
            ("[formula]}\n- {text: \"906", "[C77]}\n- {text: \"906", "names rule C77, which op.yaml does not have"),
            (
                "[formula]}\n- {text: \"906",
                "[formula], versions: [13]}\n- {text: \"906",
                "names version 13, which does not have the sentence",
            ),
            (
                "- {text: \"e34185fd Input tensor\", by_signature: types}\n",
                "",
                "no state for 'e34185fd Input tensor' (input X, version 1, 6, 13); add an item",
            ),
            (
                "types}\n- {text: \"97d",
                "types}\n- {text: \"e34185fd Input tensor\", by_signature: types}\n- {text: \"97d",
                "has two states in one version",
            ),
        ] {
            assert!(FILE.contains(from), "{from}");
            let found = faults(&FILE.replacen(from, to, 1));
            assert!(found.iter().any(|fault| fault.contains(expected)), "{expected}: {found:#?}");
        }
    }

    #[test]
    fn a_rule_needs_a_case_in_each_version() {
        let found = faults(FILE);
        assert_eq!(
            found,
            [
                "text.yaml:1: '6535c010 Absolute takes one input data' has no case in version 1: neither its rules nor the named cases have one there"
            ]
        );
    }
}
