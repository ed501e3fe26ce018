//! Error messages: each fact once, with a fix.

use crate::models::Folder;
use crate::program::call;

/// Returns the separate statements of a message.
fn parts(text: &str) -> Vec<&str> {
    let parts = text.split(['\n', ';']).flat_map(|line| line.split(": ")).map(str::trim);
    parts.filter(|part| part.len() > 3 && *part != "error").collect()
}

#[test]
fn nothing_is_said_twice() {
    let folder = Folder::with_identity("case");
    folder.write("text", "a,b\n");
    folder.write("wrong.yaml", "runtime: builtin\nexpect: [}\n");
    folder.write("other.yaml", "runtime: builtin\nexpect:\n  - {cases: a, outcome: error, more: 1}\n");
    let header = "{\"format\":1,\"suite\":\"1\",\"digest\":\"d\",\"tool\":\"1\",\"runtime\":{\"name\":\"a\",\"version\":\"1\"},\
                  \"machine\":{\"os\":\"a\",\"arch\":\"b\",\"cpus\":1},\"selected\":{\"cases\":1}}\n";
    folder.write("results.jsonl", format!("{header}{{\"id\":1}}\n"));
    std::fs::create_dir_all(folder.path().join("broken/case")).unwrap();
    folder.write("broken/manifest.jsonl", "{\"format\":2,\"tool\":\"1\",\"suite\":\"d\"}\n{\"id\":1}\n");
    let suite = folder.path().join("case").to_str().unwrap().to_owned();
    let [none, text, wrong, other, results, broken] =
        ["none", "text", "wrong.yaml", "other.yaml", "results.jsonl", "broken"].map(|name| folder.file(name));
    let lines: &[&[&str]] = &[
        &["run", "--suite", &none],
        &["list", "--suite", &none],
        &["export", &folder.file("new"), "--suite", &none],
        &["run", "--suite", &broken],
        &["run", "--specs", &none],
        &["run", "--testdata", &none],
        &["run", "--suite", &suite, "--expectations", &none],
        &["run", "--suite", &suite, "--expectations", &wrong],
        &["run", "--suite", &suite, "--expectations", &other],
        &["run", "--suite", &suite, "--results", &folder.file("none/results.jsonl")],
        &["run", "--suite", &suite, "--resume", &none],
        &["run", "--suite", &suite, "--resume", &text],
        &["run", "--suite", &suite, "--report", &format!("junit={}", folder.file("none/junit.xml"))],
        &["run", "--suite", &suite, "--runtime", "no-such-program"],
        &["run", "--suite", &suite, "--runtime", "'"],
        &["run", "--suite", &suite, "--from", &none],
        &["compare", &none, &none],
        &["compare", &results, &results],
        &["merge", &text, "-o", &folder.file("merged.jsonl")],
        &["list", "a[b"],
        &["show", "none"],
        &["diff", "Nonsense", "8", "13"],
        &["diff", "Sum", "8", "99"],
        &["export", &folder.argument(), "ai.onnx/Abs-13"],
        &["run", "--smoke", "--runtime", "no-such-program"],
    ];
    for arguments in lines {
        let called = call(arguments);
        assert!([4, 64].contains(&called.code) && !called.err.is_empty(), "{arguments:?}: {called:?}");
        let mut parts = parts(&called.err);
        parts.sort_unstable();
        let count = parts.len();
        parts.dedup();
        assert_eq!(parts.len(), count, "{arguments:?} says something twice: {}", called.err);
    }
}

#[test]
fn a_number_out_of_range_is_told_its_range() {
    let jobs = "a whole number from 1 to 1024";
    let count = "a whole number from 0";
    for (option, value, text) in [
        ("--timeout", "-1", "a positive number of seconds"),
        ("--timeout", "0", "a positive number of seconds"),
        ("--timeout", "nan", "a positive number of seconds"),
        ("-j", "0", jobs),
        ("-j", "-1", jobs),
        ("-j", "1e19", jobs),
        ("-j", "100000", jobs),
        ("-j", "99999999999999999999", jobs),
        ("--memory", "-1", count),
        ("--restarts", "-1", count),
        ("--show", "-1", count),
        ("--show", "many", count),
        ("--shard", "-1/2", "expected K/N"),
    ] {
        let called = call(&["run", option, value]).expect(64, text);
        assert!(called.err.contains(&format!("invalid value '{value}'")) && !called.err.contains("-- -"), "{called:?}");
    }
    call(&["run", "-j", "1024", "ai.onnx/Abs-13/known_values"]).expect(0, " pass");
}

#[test]
fn a_message_is_coloured_only_if_asked_for() {
    let folder = Folder::with_identity("case");
    folder.write("other.yaml", "runtime: builtin\nexpect:\n  - {cases: a, outcome: error, more: 1}\n");
    let file = folder.file("other.yaml");
    let message =
        |color: &[&str]| call(&[&["run", "ai.onnx/Abs-13/**", "--expectations", &file][..], color].concat()).err;
    assert!(message(&["--color", "always"]).contains("\u{1b}["));
    for color in [&["--color", "never"][..], &[]] {
        assert!(!message(color).contains('\u{1b}'), "{color:?}");
    }
    call(&["--color", "blue", "list", "outcomes"]).expect(64, "[possible values: auto, always, never]");
}
