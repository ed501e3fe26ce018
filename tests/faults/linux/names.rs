//! Runtimes with invalid names, and answers in unusual or nearly valid JSON.

use std::fs;

use onnx_conformance_harness::run::Outcome::{Error, ProtocolError};

use crate::linux::Tests;
use crate::linux::program::{Scene, adapter};

pub(crate) const TESTS: Tests = &[
    ("a_runtime_is_called_by_a_word", a_runtime_is_called_by_a_word),
    ("nothing_is_written_outside_of_the_expectations", nothing_is_written_outside_of_the_expectations),
    ("strange_json_is_a_protocol_error", strange_json_is_a_protocol_error),
    ("a_long_message_is_kept_in_part", a_long_message_is_kept_in_part),
];

const RULE: &str = "begin it with a letter or a digit, continue with letters, digits and";

fn a_runtime_is_called_by_a_word() {
    for (name, version) in [("..", "1"), (".", "1"), ("../a", "1"), ("", "1"), ("-a", "1"), ("a", "../1"), ("a", "1 2")]
    {
        let ran = Scene::new(1).run_command(&adapter(&format!("called '{name}' '{version}'")));
        ran.refuses(4, RULE);
    }
}

fn nothing_is_written_outside_of_the_expectations() {
    let scene = Scene::new(1);
    fs::create_dir(scene.path("place")).unwrap();
    for (name, version) in [("..", "docker-compose"), ("a", "../../docker-compose")] {
        let command = adapter(&format!("called '{name}' '{version}'"));
        let (code, said) = scene.init(&scene.path("place"), &["--exact", "--runtime", &command]);
        assert!(code == Some(4) && said.contains(RULE), "{code:?} {said}");
    }
    assert_eq!(fs::read_dir(scene.path("place")).unwrap().count(), 0);
    assert!(!scene.path("docker-compose.yaml").exists());
}

fn strange_json_is_a_protocol_error() {
    let deep = format!("{{\"seq\":SEQ,\"ok\":true,\"a\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    for (answer, rule) in [
        (deep.as_str(), "unknown field `a`"),
        (r#"{"seq":1e999,"ok":true}"#, ""),
        (r#"{"seq":-SEQ,"ok":true}"#, "invalid"),
        (r#"{"seq":SEQ.0,"ok":true}"#, "invalid type: floating point"),
        (r#"{"seq":99999999999999999999999,"ok":true}"#, "invalid type: floating point"),
        (r#"{"seq":NaN,"ok":true}"#, "the line is not JSON"),
        (r#"{"seq":SEQ,"seq":SEQ,"ok":true}"#, "duplicate field `seq`"),
        (r"[SEQ,true]", "expected an object"),
        (r#"{"seq":SEQ,"error":{"phase":"run","message":"a","message":"b"}}"#, "duplicate field `message`"),
    ] {
        let command = adapter(&format!("says '{answer}'"));
        Scene::new(1).run_command(&command).expect(1, &[(ProtocolError, rule)]);
    }
}

fn a_long_message_is_kept_in_part() {
    let scene = Scene::new(20);
    let ran = scene.run("long-message");
    ran.expect(1, &[(Error, "m... (998040 more characters)"); 20]);
    assert!(fs::metadata(scene.path("results.jsonl")).unwrap().len() < 100_000);
    let field = "f".repeat(60_000);
    let ran = Scene::new(1).run_command(&adapter(&format!("says '{{\"seq\":SEQ,\"{field}\":1}}'")));
    ran.expect(1, &[(ProtocolError, "more characters)")]);
    assert!(ran.results[0].message.chars().count() <= 2_000);
}
