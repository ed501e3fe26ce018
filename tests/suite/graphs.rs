//! Graphs: a rewrite keeps the outputs of the good form, and changes those of each near miss.

use onnx_conformance_cases::generate::{rewrites, rounded};
use onnx_conformance_cases::suite::GraphCases;

#[test]
fn rewrites_keep_good_forms_and_change_near_misses() {
    let mut wrong = Vec::new();
    let (mut good, mut near) = (0, 0);
    for topic in GraphCases::topics().unwrap() {
        for rewritten in rewrites(topic).unwrap() {
            match (rewritten.must_agree, rewritten.difference) {
                (true, None) => good += 1,
                (true, Some(difference)) => wrong.push(format!("{}: the outputs differ: {difference}", rewritten.id)),
                (false, Some(_)) => near += 1,
                (false, None) => wrong.push(format!("{}: the outputs are the same", rewritten.id)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(good > 500 && near > 2_500, "{good} {near}");
}

#[test]
fn exact_graphs_compute_the_same_numbers_in_double() {
    let mut wrong = Vec::new();
    for topic in GraphCases::topics().unwrap() {
        wrong.extend(rounded(topic).unwrap().into_iter().map(|(id, message)| format!("{id}: {message}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
