//! Levels that the texts of some releases decide.

use onnx_conformance_reference::spec::OperatorVersion;

use super::{SUM, mistake};
use crate::case::{Level, TextRelease};
use crate::generate::OperatorCatalog;
use crate::suite::{CaseGroup, Generated, Source as _};

/// Returns the levels of a case of Sum-13 by the texts of two releases.
fn levels(text: &str, name: &str) -> [Level; 2] {
    let level = |release: &str| {
        let operators = OperatorCatalog::new("specs", [("ai.onnx/Sum/op.yaml".to_owned(), text.to_owned())]);
        let generated = Generated::new(operators).by_text(TextRelease::known(release).unwrap());
        let group = CaseGroup { name: OperatorVersion::new("", "Sum", 13).qualified() };
        let prefix = format!("ai.onnx/Sum-13/{name}");
        let cases = generated.load(&group, &|id| id.starts_with(&prefix)).unwrap();
        assert!(!cases.is_empty() && cases.iter().all(|case| case.level == cases[0].level), "{name}");
        cases[0].level
    };
    ["1.10.0", "1.18.0"].map(level)
}

#[test]
fn a_case_is_open_by_other_texts() {
    let (required, open) = (Level::Required, Level::Open);
    let decided =
        |text: &str| SUM.replacen("- name: same\n", &format!("- name: same\n    note: A test.\n    {text}\n"), 1);
    assert_eq!(levels(SUM, "same/"), [required, required]);
    assert_eq!(levels(&decided("text: {since: 1.18.0}"), "same/"), [open, required]);
    assert_eq!(levels(&decided("text: {until: 1.18.0}"), "same/"), [required, open]);
    assert_eq!(levels(&decided("text: {since: 1.9.0, until: 1.10.0}"), "same/"), [open, open]);
    assert_eq!(levels(&decided("text: {since: 1.18.0}\n    level: recommended"), "same/"), [open, Level::Recommended]);
    let refusal = SUM.replacen("level: required", "note: A test.\n    text: {since: 1.18.0}", 1);
    assert_eq!(levels(&refusal, "refuse/shapes"), [open, required]);
    assert_eq!(levels(&refusal, "same_shape/"), [required, required]);
}

#[test]
fn the_cases_of_a_rule_have_its_text() {
    let (required, open) = (Level::Required, Level::Open);
    let input = "inputs: {data_0: [{shape: [2]}]}";
    let rule = format!(
        "C1:\n    says: A test.\n    text: {{since: 1.18.0}}\n    note: A test.\n    cases:\n      - {{name: of_rule, {input}}}\n      \
         - {{name: own, text: {{until: 1.18.0}}, {input}}}\n      - {{name: left, level: open, why: A test., {input}}}"
    );
    let text = SUM.replacen("C1: shapes broadcast", &rule, 1);
    assert_eq!(levels(&text, "of_rule/"), [open, required]);
    assert_eq!(levels(&text, "own/"), [required, open]);
    assert_eq!(levels(&text, "left/"), [open, open]);
    assert_eq!(levels(&text, "same/"), [required, required]);
}

#[test]
fn a_mistake_in_a_text_is_shown_with_its_line() {
    let written = |text: &str| mistake("- name: same\n", &format!("- name: same\n    {text}\n"));
    for (text, expected) in [
        ("text: {since: 1.5.1}", "op.yaml:7: cases[0].text.since: there is no ONNX release 1.5.1"),
        ("text: {since: soon}", "op.yaml:7: cases[0].text.since: 'soon' is not a version of ONNX"),
        ("text: {since: 1.18.0, until: 1.10.0}", "op.yaml:7: cases[0].text: no release is from 1.18.0 on"),
        ("text: {}", "op.yaml:7: cases[0].text: a range of texts needs"),
        ("text: {from: 1.18.0}", "op.yaml:7: cases[0].text: unknown key `from`"),
        ("text: {since: 1.18.0}", "op.yaml:6: 'same' is open by some texts without a reason"),
        ("level: open\n    note: A test.\n    text: {since: 1.18.0}", "op.yaml:6: 'same' is open by every text"),
    ] {
        let shown = written(text).replace("\n  │ ", " ");
        assert!(shown.contains(expected), "{text}: {shown}");
    }
}
