//! Ids, names and messages that imitate other output.

#![cfg(unix)]

use std::fs;

use onnx_conformance::reference::proto::Message as _;

use crate::models::{Folder, model, node};
use crate::program::{call, command, finish};

/// Name of a case that clears the screen and claims a pass.
const NAME: &str = "a\u{1b}[2J\nunexpected: crash |`b`| <c>";

/// The same name as a terminal should show it.
const SHOWN: &str = "a\\u{1b}[2J\\nunexpected: crash |`b`| <c>";

fn folder() -> Folder {
    let folder = Folder::new();
    let operator = format!("\u{1b}]0;title\u{7}\u{fffe}{}", "x".repeat(900_000));
    folder.add(NAME, &model(13, vec![node(&operator, &["x"], &["y"])]).encode_to_vec());
    folder
}

fn is_clean(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{fffe}')
}

#[test]
fn a_terminal_is_shown_no_escape_sequence() {
    let folder = folder();
    let (suite, failures, results) = (folder.argument(), folder.file("failures"), folder.file("results.jsonl"));
    let run = ["run", "--suite", &suite, "--failures", &failures, "--results", &results];
    let called = call(&run).expect(1, &format!("unexpected: error {SHOWN}\n"));
    assert!(is_clean(&called.out) && is_clean(&called.err), "{called:?}");
    assert!(called.out.contains("more characters)") && called.out.len() < 6_000, "{called:?}");
    assert!(called.out.contains(" $'a\\033[2J\\012unexpected: crash |`b`| <c>'"), "{called:?}");
    fs::remove_dir_all(&failures).unwrap();
    let listed = call(&["list", "--suite", &suite]).expect(0, SHOWN);
    assert_eq!(listed.out, format!("{SHOWN}\n"));
    let shown = call(&["show", NAME, "--suite", &suite]).expect(0, SHOWN);
    assert!(is_clean(&shown.out), "{shown:?}");
    let error = call(&["show", "\u{1b}[2J", "--suite", &suite]).expect(64, "\\u{1b}[2J");
    assert!(is_clean(&error.err), "{error:?}");
    let better = folder.write("better.jsonl", fs::read_to_string(&results).unwrap().replace("\"error\"", "\"pass\""));
    let compared = call(&["compare", &better, &results]).expect(1, &format!("broken: {SHOWN} (pass -> error)\n"));
    assert!(is_clean(&compared.out) && compared.out.len() < 6_000, "{compared:?}");
    let json = call(&["compare", &better, &results, "--format", "json"]).expect(1, "broken").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["broken"][0]["id"], NAME);
}

#[test]
fn a_report_keeps_its_form() {
    let folder = folder();
    let [junit, markdown, failures, results] =
        ["junit.xml", "summary.md", "failures", "results.jsonl"].map(|name| folder.file(name));
    let run = [
        "run",
        "--suite",
        &folder.argument(),
        "--report",
        &format!("junit={junit}"),
        "--report",
        &format!("markdown={markdown}"),
    ];
    call(&[&run[..], &["--failures", &failures, "--results", &results]].concat()).expect(1, "1 error");
    let [junit, markdown] = [&junit, &markdown].map(|path| fs::read_to_string(path).unwrap());
    assert!(is_clean(&junit) && junit.len() < 8_000, "{junit}");
    assert!(junit.contains("a\\u{1b}[2J\\nunexpected: crash |`b`| &lt;c&gt;"), "{junit}");
    assert!(is_clean(&markdown) && markdown.len() < 8_000, "{markdown}");
    let cell = " | `` a\\u{1b}[2J\\nunexpected: crash \\|`b`\\| <c> `` | ";
    assert!(markdown.lines().any(|line| line.starts_with("| error: ") && line.contains(cell)), "{markdown}");
    let better = folder.write("better.jsonl", fs::read_to_string(&results).unwrap().replace("\"error\"", "\"pass\""));
    let compared = call(&["compare", &better, &results, "--format", "markdown"]).expect(1, "### broken: 1\n");
    let row = "| `` a\\u{1b}[2J\\nunexpected: crash \\|`b`\\| <c> `` | pass -> error |";
    assert!(compared.out.lines().any(|line| line == row), "{compared:?}");
}

/// Python first imports files of the current folder.
#[test]
fn a_text_of_the_standard_runs_no_file_of_the_current_folder() {
    let folder = Folder::new();
    let started = folder.path().join("started");
    for name in ["onnx.py", "json.py"] {
        folder.write(name, format!("open({:?}, 'w')\nraise SystemExit('planted')\n", started.display().to_string()));
    }
    let mut command = command(&["diff", "ai.onnx/Relu", "13", "14", "--text"]);
    command.current_dir(folder.path()).env("ONNX_CONFORMANCE_PYTHON", "python3");
    let called = finish(command);
    // If Python has no onnx package, the error says so.
    assert!(called.code == 0 || called.err.contains("No module named 'onnx'"), "{called:?}");
    assert!(!started.exists());
}
