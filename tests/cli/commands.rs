//! Every command line that the documents, the program's messages and the page print is valid.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance::reference::model::text::parse_model;
use onnx_conformance::reference::proto::{Message as _, OperatorSetIdProto};

use crate::models::{Folder, identity};
use crate::program::{Called, call, command, finish};
use crate::site::SITE;
use crate::submissions::{seal, write_submission};

/// Documents whose commands are run, below the project's folder. Folders stand for all their `.md` files.
const DOCUMENTS: [&str; 5] = ["README.md", "CONTRIBUTING.md", "docs", "adapters", "examples"];

/// Sources of the messages of the program and the page.
const SOURCES: [&str; 6] =
    ["src", "crates/subject/src", "crates/cases/src", "crates/harness/src", "crates/report/src", "crates/browser/src"];

/// Placeholders, each with sample values.
const PLACEHOLDERS: [(&str, &[&str]); 27] = [
    ("{operator}", &["Sum@13"]),
    ("{variant}", &["constants"]),
    ("suite@{version}", &["suite@0.1.0"]),
    ("ID", &[CASE]),
    ("${id}", &[CASE]),
    ("${finding}", &["onnx-reference/onehot-depth"]),
    ("${sample.id}", &[CASE]),
    ("{sample}", &[CASE]),
    ("CASE", &[CASE]),
    ("OUTCOME", &["mismatch"]),
    ("MODEL", &["model.onnx"]),
    ("OUT", &["out.onnx"]),
    ("OLD", &["old.jsonl"]),
    ("NEW", &["new.jsonl"]),
    ("RESULTS", &["results.jsonl"]),
    ("RESULTS...", &["results.jsonl"]),
    ("FOLDER", &["suite"]),
    ("target/failures/...", &["suite"]),
    ("{place}", &["r.jsonl"]),
    ("auto", &["1/1"]),
    ("times.jsonl", &["results.jsonl"]),
    ("results-*.jsonl", &["results-1.jsonl", "results-2.jsonl"]),
    ("...", &[]),
    ("testdata/exporters/skl2onnx/logistic_double.onnx", &["model.onnx"]),
    ("run{}", &["run"]),
    ("--update-expectations", &[]),
    ("mine.jsonl", &["results.jsonl"]),
];

/// Option values that differ from their placeholder: command, option, and value.
const VALUES: [(&str, &str, &str); 15] = [
    ("run", "--runtime", "builtin"),
    ("check", "--node", "0"),
    ("check", "--save-node", "made"),
    ("run", "--suite", "suite"),
    ("list", "--suite", "suite"),
    ("run", "--resume", "r.jsonl"),
    ("run", "--expectations", "file.yaml"),
    ("run", "--from-results", "r.jsonl"),
    ("run", "--from-denylist", "names:names.txt"),
    ("report", "-o", "made"),
    ("trace", "--runtime", "builtin"),
    ("trace", "--against", "builtin"),
    ("trace", "--inputs", "given"),
    ("check", "--inputs", "given"),
    ("convert", "--inputs", "given"),
];

/// Sample selection for commands that run, measure or write cases.
const CASES: &str = "ai.onnx/Abs-13/**";

/// Sample case.
const CASE: &str = "ai.onnx/Abs-13/known_values/T=float";

/// A command line and its location.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Printed {
    line: String,
    place: String,
}

/// Returns the files below a folder, or the file itself, with one of these name endings.
fn files(path: &Path, endings: &[&str]) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.is_dir() || endings.iter().any(|ending| entry.to_string_lossy().ends_with(ending)))
        .flat_map(|entry| files(&entry, endings))
        .collect();
    found.sort();
    found
}

/// Returns the command lines of a document: in code between backticks, and in indented or fenced blocks.
fn of_document(text: &str, place: &str) -> Vec<Printed> {
    let mut found = Vec::new();
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        let shown = line.trim_start().trim_start_matches("- ").trim_start_matches("run: ").trim_start_matches("$ ");
        let shown = shown.trim_start();
        let is_block = shown.starts_with("onnx-conformance ") && !line.contains('`');
        let commands = if is_block { vec![shown.split("  #").next().unwrap_or(shown)] } else { in_backticks(line) };
        let printed = |line: &str| Printed { line: line.trim().to_owned(), place: place.to_owned() };
        found.extend(commands.into_iter().filter(|line| !line.contains(" = {")).map(printed));
    }
    found
}

/// Returns the commands in backticks on a line.
fn in_backticks(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("onnx-conformance ")).collect()
}

/// Returns the command lines of a source file of the program or the page, where inserted values appear as `{...}`.
fn of_source(text: &str, place: &str) -> Vec<Printed> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//!")) {
        let pieces = line.replace("\\n", "\n");
        for piece in pieces.split(['\n', '`', '"']).filter(|piece| piece.starts_with("onnx-conformance ")) {
            let command = piece.split("  #").next().unwrap_or(piece).trim();
            let known = ["run", "show", "list", "export", "check", "diff", "completions"];
            if command.split(' ').nth(1).is_some_and(|name| known.contains(&name)) && !command.contains(" takes ") {
                found.push(Printed { line: command.to_owned(), place: place.to_owned() });
            }
        }
    }
    found
}

/// Splits a line into words like a shell. Targets of redirections are omitted.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '>') => break,
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Replaces placeholders by sample values, unavailable runtimes by the built-in executor, and selections by a small part of the
/// suite. Also returns the original patterns.
fn as_run(line: &str) -> (Vec<String>, Vec<String>) {
    let line = line.replace("MODULE:CLASS", "module").replace("'{}'", CASE).replace("${{ matrix.shard }}", "1");
    let printed = words(&line).split_off(1);
    let name = printed.first().cloned().unwrap_or_default();
    let selects = ["run", "coverage", "export"].contains(&name.as_str());
    let is_first = printed.iter().any(|word| word == "--init");
    let (mut arguments, mut patterns): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for word in printed {
        let option = arguments.last().cloned().unwrap_or_default();
        let value = VALUES.iter().find(|(command, of, _)| *command == name && *of == option);
        let is_probed = line.contains("--probe") || word == "NAME" || word.contains(' ');
        match (name.as_str(), option.as_str(), word.as_str()) {
            // A list is about a runtime that need not be there.
            ("run", "--runtime", _) if line.contains("--from-denylist") => arguments.push("mine".to_owned()),
            // A first file must be new.
            ("run", "--expectations", _) if is_first => arguments.push("made.yaml".to_owned()),
            _ if value.is_some() => arguments.extend(value.map(|(.., value)| (*value).to_owned())),
            ("check", "--runtime", _) if is_probed => arguments.push("builtin".to_owned()),
            ("list", "--runtime", "NAME") => arguments.push("onnxruntime".to_owned()),
            ("check", _, "DIR") => arguments.push("models".to_owned()),
            ("submit-check", _, "DIR") => arguments.push("submission".to_owned()),
            ("submit-check", "--package", _) => arguments.push("https://example.org/mine".to_owned()),
            (_, _, "DIR") => arguments.push("made".to_owned()),
            (_, _, pattern) if selects && is_pattern(&option, pattern) => patterns.push(word),
            _ => match PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == word) {
                Some((_, values)) => arguments.extend(values.iter().map(|value| (*value).to_owned())),
                None => arguments.push(word),
            },
        }
    }
    match name.as_str() {
        _ if arguments.len() == 1 => arguments.push("--help".to_owned()),
        // The table of all versions takes long; the tests of findings print that of one runtime.
        "list" if arguments.last().is_some_and(|it| it == "measured") => arguments.push("--help".to_owned()),
        "run"
            if ["--suite", "--failed", "--from", "--smoke", "--from-denylist"]
                .iter()
                .any(|it| arguments.contains(&(*it).to_owned())) => {}
        "coverage" if arguments.contains(&"--threads".to_owned()) => {}
        "run" | "export" if arguments.contains(&"--release".to_owned()) => arguments.push("**/test_abs".to_owned()),
        "coverage" if arguments.contains(&"--graphs".to_owned()) => arguments.push("graph/casts/**".to_owned()),
        "run" | "coverage" | "export" => arguments.push(CASES.to_owned()),
        _ => {}
    }
    (arguments, patterns)
}

/// Returns true if a word after this one is a pattern over case ids.
fn is_pattern(before: &str, word: &str) -> bool {
    let is_id = ["!", "**", "ai.onnx", "onnx-", "graph/", "hostile/"].iter().any(|start| word.starts_with(start));
    is_id
        && (!before.starts_with("--")
            || ["--init", "--exact", "--keep-failures", "--unconfirmed", "--conversions", "--sizes"].contains(&before))
}

/// Creates a folder with everything that the commands name.
fn folder() -> Folder {
    let folder = Folder::new();
    let mut model = identity();
    model.opset_import.push(OperatorSetIdProto { domain: Some("ai.onnx.ml".to_owned()), version: Some(3) });
    folder.add("given", &model.encode_to_vec());
    let model = folder.write("model.onnx", model.encode_to_vec());
    fs::create_dir(folder.path().join("models")).unwrap();
    fs::copy(model, folder.path().join("models/model.onnx")).unwrap();
    let batches = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[N, sequence] x) => (float[N, sequence] y) { y = Relu (x) }"#;
    folder.write("batches.onnx", parse_model(batches).unwrap().encode_to_vec());
    folder.write("ids.txt", format!("{CASE}\n"));
    folder.write("names.txt", "test_abs\n");
    for name in ["old.jsonl", "new.jsonl", "results.jsonl", "mine.jsonl", "last.jsonl", "r.jsonl"] {
        call(&["run", CASES, "--results", &folder.file(name)]).expect(0, "pass");
    }
    for number in ["1", "2"] {
        let shard = [&format!("{number}/2"), &folder.file(&format!("results-{number}.jsonl"))];
        call(&["run", CASES, "--shard", shard[0], "--results", shard[1]]).expect(0, "pass");
    }
    fs::create_dir_all(folder.path().join("target/failures")).unwrap();
    folder.write("target/failures/last.txt", format!("{CASE}\n"));
    folder.write("file.yaml", "runtime: builtin\nexpect: []\n");
    call(&["export", &folder.file("suite"), CASE]).expect(0, "1 cases");
    let submission = folder.path().join("submission");
    write_submission(&submission, None);
    seal(&submission).expect(0, "wrote ");
    folder
}

/// Links the files that a command needs into a folder.
fn link(from: &Folder, to: &Folder) {
    for entry in fs::read_dir(from.path()).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            std::os::unix::fs::symlink(entry.path(), to.path().join(entry.file_name())).unwrap();
        } else {
            fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
        }
    }
    for name in ["specs", "testdata"] {
        std::os::unix::fs::symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), to.path().join(name)).unwrap();
    }
}

/// Returns every printed command line, as it is run, with its locations.
fn printed() -> BTreeMap<(Vec<String>, Vec<String>), Vec<Printed>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: BTreeMap<(Vec<String>, Vec<String>), Vec<Printed>> = BTreeMap::new();
    let mut add = |all: Vec<Printed>| {
        for printed in all {
            found.entry(as_run(&printed.line)).or_default().push(printed);
        }
    };
    let name = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    for path in DOCUMENTS.iter().flat_map(|document| files(&root.join(document), &[".md"])) {
        add(of_document(&fs::read_to_string(&path).unwrap(), &name(&path)));
    }
    for path in SOURCES.iter().flat_map(|source| files(&root.join(source), &[".rs", ".js"])) {
        add(of_source(&fs::read_to_string(&path).unwrap(), &name(&path)));
    }
    found
}

/// Returns true for `report RESULTS... -o DIR`. It takes long, and the tests of the site run it.
fn writes_site(arguments: &[String]) -> bool {
    let [command, results @ .., option, _] = arguments else { return false };
    command == "report"
        && option == "-o"
        && !results.is_empty()
        && results.iter().all(|file| Path::new(file).extension().is_some_and(|it| it == "jsonl"))
}

/// Runs a command line in its own folder, and lists its selection. Returns the error, if any.
fn fault(arguments: &[String], patterns: &[String], prepared: &Folder) -> Option<String> {
    if !patterns.is_empty() {
        let listed = call(&[&["list".to_owned()], patterns].concat());
        if listed.code != 0 {
            return Some(format!("{patterns:?} select nothing: {}", listed.err.trim()));
        }
    }
    if writes_site(arguments) {
        let Called { code, err, .. } = &SITE.called;
        return (*code != 0).then(|| format!("exit code {code}: {}", err.trim()));
    }
    let own = Folder::new();
    link(prepared, &own);
    let mut command = command(arguments);
    command.current_dir(own.path());
    let called = finish(command);
    let needs_python = called.err.contains("ONNX_CONFORMANCE_PYTHON");
    (!(0..=2).contains(&called.code) && !needs_python)
        .then(|| format!("exit code {}: {}", called.code, called.err.trim()))
}

#[cfg(unix)]
#[test]
fn every_printed_command_is_one_that_the_program_takes() {
    let (all, prepared) = (printed(), folder());
    let commands: Vec<_> = all.iter().collect();
    assert!(commands.len() > 100, "only {} command lines are found", commands.len());
    let check = |&((arguments, patterns), places): &(&(Vec<String>, Vec<String>), &Vec<Printed>)| {
        let error = fault(arguments, patterns, &prepared)?;
        Some(format!("{places:?}\n  run as {arguments:?}\n  {error}"))
    };
    let faults: Vec<String> = std::thread::scope(|scope| {
        let (first, second) = commands.split_at(commands.len() / 2);
        let other = scope.spawn(|| second.iter().filter_map(check).collect::<Vec<_>>());
        let mut found: Vec<String> = first.iter().filter_map(check).collect();
        found.extend(other.join().unwrap());
        found
    });
    assert!(faults.is_empty(), "{} printed commands are false:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn lines_are_split_as_a_shell_does() {
    assert_eq!(words("a 'b c' \"d e\" f > g"), ["a", "b c", "d e", "f"]);
    let run = |line: &str| as_run(line).0.join(" ");
    assert_eq!(run("onnx-conformance show ID"), format!("show {CASE}"));
    assert_eq!(run("onnx-conformance run --runtime NAME --suite FOLDER"), "run --runtime builtin --suite suite");
    assert_eq!(as_run("onnx-conformance run 'ai.onnx/Sum-*'").1, ["ai.onnx/Sum-*"]);
}
