//! Every sentence of the standard has a state: `specs/<domain>/<Op>/text.yaml`, `specs/documents`.

use onnx_conformance_cases::suite::Filter;
use onnx_conformance_reference::spec::Sentence;
use onnx_conformance_report::coverage::OperatorText;

#[test]
fn every_sentence_is_tested_or_says_why_not() {
    let mut all = OperatorText::chosen(&Filter::default()).unwrap();
    let operators = all.len();
    all.extend(OperatorText::documents(&[]).unwrap());
    let problems: Vec<&String> = all.iter().flat_map(|operator| &operator.problems).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert_eq!(operators, Sentence::operators().count());
    assert_eq!(all.len() - operators, Sentence::documents().count());
    assert!(!OperatorText::totals(&all).contains_key("without a state"));
}
