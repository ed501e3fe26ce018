//! Adapters with wrong answers.

use onnx_conformance_harness::run::Outcome::{self, Error, Pass, ProtocolError, WrongShape, WrongType};

use crate::linux::Tests;
use crate::linux::program::Scene;

pub(crate) const TESTS: Tests = &[
    ("what_breaks_the_protocol_is_a_protocol_error", what_breaks_the_protocol_is_a_protocol_error),
    ("an_answer_before_its_question_is_a_protocol_error", an_answer_before_its_question_is_a_protocol_error),
    ("an_endless_line_is_cut", an_endless_line_is_cut),
    ("two_answers_are_one_too_many", two_answers_are_one_too_many),
    ("an_answer_to_stop_fails_the_run", an_answer_to_stop_fails_the_run),
    ("outputs_are_what_was_asked_for", outputs_are_what_was_asked_for),
    ("validation_shows_line_rule_and_way_out", validation_shows_line_rule_and_way_out),
    ("much_on_standard_error_is_not_kept", much_on_standard_error_is_not_kept),
];

fn check(fault: &str, outcome: Outcome, message: &str) {
    Scene::new(2).run(fault).expect(1, &[(outcome, message); 2]);
}

fn what_breaks_the_protocol_is_a_protocol_error() {
    check("garbage", ProtocolError, "the line is not JSON");
    check("garbage", ProtocolError, "the line is: Warning: 1 thread");
    check("bytes", ProtocolError, "the line is not JSON");
    check("wrong-seq", ProtocolError, "does not answer a pending request");
    check("unknown-key", ProtocolError, "unknown field `time`");
}

/// The adapter writes the answer to the second request together with the first, or directly after it.
fn an_answer_before_its_question_is_a_protocol_error() {
    for fault in ["answers-ahead", "answers-ahead-later"] {
        for _ in 0..5 {
            let ran = Scene::new(2).run(fault);
            assert!(ran.results.iter().any(|result| result.outcome == ProtocolError), "{fault}: {ran:?}");
        }
    }
}

fn an_endless_line_is_cut() {
    check("endless-line", ProtocolError, "the line is longer than 1 MiB");
}

fn two_answers_are_one_too_many() {
    check("twice-at-once", ProtocolError, "received more than one line for one request");
    let ran = Scene::new(1).run("twice");
    ran.expect(1, &[(Pass, "")]);
    assert!(ran.err.contains("received a line that does not answer a pending request"), "{ran:?}");
    let ran = Scene::new(4).run("twice");
    assert!(ran.code == Some(1) && ran.results.len() == 4, "{ran:?}");
    assert!(ran.results.iter().any(|result| result.outcome == ProtocolError), "{ran:?}");
}

fn an_answer_to_stop_fails_the_run() {
    let ran = Scene::new(1).run("answers-stop");
    ran.expect(1, &[(Pass, "")]);
    assert!(ran.err.contains("received a line that does not answer a pending request"), "{ran:?}");
}

fn outputs_are_what_was_asked_for() {
    check("output-missing", ProtocolError, "output 'y' (output_0.pb) was not written");
    check("output-too-many", ProtocolError, "output_1.pb was written but not requested");
    check("output-name", ProtocolError, "contains a value named 'z'");
    check("output-garbage", ProtocolError, "is not a valid TensorProto");
    check("output-folder", ProtocolError, "is not a regular file");
    check("output-fifo", ProtocolError, "is not a regular file");
    check("output-link", ProtocolError, "is not a regular file");
    check("output-socket", ProtocolError, "is not a regular file");
    check("output-strange-name", ProtocolError, "was written but not requested");
    check("output-huge", ProtocolError, "over the limit of 16777408 bytes for this output");
    check("output-type", WrongType, "int32");
    check("output-shape", WrongShape, "[3, 1]");
}

fn validation_shows_line_rule_and_way_out() {
    let ran = Scene::new(1).with(&["--validate"]).run("unknown-key");
    for text in ["protocol: unknown field `time`", "fix: the answer is {\"seq\":N}", "\"ok\":true,\"time\":1}"] {
        assert!(ran.err.contains(text), "no '{text}' in {ran:?}");
    }
    let ran = Scene::new(1).with(&["--validate"]).run("empty-message");
    assert!(ran.err.contains("protocol: the message is empty"), "{ran:?}");
}

fn much_on_standard_error_is_not_kept() {
    let ran = Scene::new(1).run("flood");
    ran.expect(1, &[(Error, " kB")]);
    let grown: u64 = ran.results[0].message.trim_end_matches(" kB").parse().unwrap();
    assert!(grown < 10_000, "the harness grew by {grown} kB");
}
