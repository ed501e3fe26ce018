//! Output files are never files that are read, and never replace files of another kind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use onnx_conformance::reference::dtype::ElementType;
use onnx_conformance::reference::proto::{Message as _, TensorProto, encode};
use onnx_conformance::reference::types::ValueType;

use crate::models::{Folder, external, identity, model, node, raw, with_initializer};
use crate::program::call;

/// Returns the files of a folder by name.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

/// Checks that a call is refused with this text and the way out.
fn refuses(arguments: &[&str], text: &str) {
    let called = call(arguments).expect(64, text);
    let ways = ["choose another file", "choose two different files"];
    assert!(ways.iter().any(|way| called.err.contains(way)), "{called:?}");
}

#[test]
fn an_output_is_no_input_and_no_file_of_another_kind() {
    let (folder, suite) = (Folder::new(), Folder::with_identity("good"));
    let model = folder.write("m.onnx", identity().encode_to_vec());
    let text = folder.write("m.txt", identity().encode_to_vec());
    let data = folder.write("w.bin", [0; 12]);
    let outside = folder.write("outside.onnx", with_initializer(external("w.bin")).encode_to_vec());
    let mine = folder.write("mine.md", "# Notes\n");
    let (results, other) = (folder.file("r.jsonl"), folder.file("new"));
    let suite = suite.argument();
    call(&["run", "--suite", &suite, "--results", &results]).expect(0, "1 cases");
    let before = contents(folder.path());
    let report = |format: &str, path: &str| format!("{format}={path}");
    let dotted = folder.file("./r.jsonl");
    let rows: [(&[&str], &str); 15] = [
        (&["check", &model, "-o", &model, "--format", "json"], "m.onnx is a model, which this command reads"),
        (&["check", &text, "-o", &text], "m.txt is a model, which this command reads"),
        (&["check", &text, "-o", &model], "m.onnx exists and is not a text file"),
        (
            &["check", &model, "--format", "markdown", "-o", &mine],
            "mine.md exists and is not a markdown report of `check`",
        ),
        (
            &["convert", &outside, "--opset", "14", "--force", "-o", &data],
            "w.bin is an external data file of the model",
        ),
        (&["convert", &model, "--opset", "14", "--force", "-o", &mine], "mine.md exists and is not an ONNX model"),
        (
            &["merge", &results, "-o", &dotted, "--suite", &suite],
            "is one of the files to merge, which this command reads",
        ),
        (&["merge", &results, "-o", &mine, "--suite", &suite], "mine.md exists and is not a results file"),
        (&["run", "--suite", &suite, "--results", &model], "m.onnx exists and is not a results file"),
        (
            &["run", "--suite", &suite, "--report", &report("junit", &model)],
            "m.onnx exists and is not a JUnit XML report",
        ),
        (
            &["run", "--suite", &suite, "--report", &report("markdown", &mine)],
            "mine.md exists and is not a markdown summary",
        ),
        (
            &["run", "--suite", &suite, "--resume", &results, "--report", &report("badge", &dotted)],
            "r.jsonl is the file of --resume",
        ),
        (&["run", "--suite", &suite, "--results", &other, "--report", &report("junit", &other)], "are the same file"),
        (
            &["run", "--init", "--suite", &suite, "--from-results", &results, "--expectations", &results],
            "r.jsonl is the file of --from-results, which this command reads",
        ),
        (
            &["run", "--init", "--suite", &suite, "--expectations", &model],
            "m.onnx exists and is not an expectation file",
        ),
    ];
    for (arguments, text) in rows {
        refuses(arguments, text);
    }
    let folder_of_mine = folder.argument();
    call(&["export", &folder_of_mine, "ai.onnx/Abs-13/**"]).expect(64, "is not an empty folder; choose a new one");
    call(&["report", "-o", &folder_of_mine]).expect(64, "is neither empty nor an earlier report");
    assert_eq!(contents(folder.path()), before);
    // Their own files are replaced.
    for (format, name) in
        [("text", "c.txt"), ("json", "c.json"), ("sarif", "c.sarif"), ("markdown", "c.md"), ("html", "c.html")]
    {
        for _ in 0..2 {
            call(&["check", &model, "--format", format, "-o", &folder.file(name)]).expect(0, "");
        }
    }
    let reports = [("junit", "r.xml"), ("markdown", "r.md"), ("badge", "r.json")];
    let reports = reports.map(|(format, name)| report(format, &folder.file(name)));
    let run = ["run", "--suite", &suite, "--results", &results, "--report", &reports[0], "--report", &reports[1]];
    for _ in 0..2 {
        call(&[&run[..], &["--report", &reports[2]]].concat()).expect(0, "1 cases");
    }
}

#[test]
fn failures_replace_no_folder_of_somebody_else() {
    let folder = Folder::new();
    folder.add("bad", b"no model");
    let suite = folder.argument();
    let told = call(&["run", "--suite", &suite, "--failures", &suite]).expect(1, "the failures cannot be written");
    assert!(told.err.contains("was not written by an earlier run"), "{told:?}");
    assert_eq!(fs::read(folder.path().join("bad/model.onnx")).unwrap(), b"no model");
    let failures = Folder::new();
    for _ in 0..2 {
        let run = ["run", "--suite", &suite, "--failures", &failures.argument()];
        let told = call(&run).expect(1, "expected and actual outputs of the failures");
        assert!(!told.err.contains("cannot be written"), "{told:?}");
    }
}

#[test]
fn a_failure_has_its_external_data() {
    let (folder, failures) = (Folder::new(), Folder::new());
    let case = folder.add("far", &with_initializer(external("data/w.bin")).encode_to_vec());
    fs::create_dir(case.join("data")).unwrap();
    fs::write(case.join("data/w.bin"), [1.0f32.to_le_bytes(); 3].concat()).unwrap();
    let run = |suite: &str, failures: &str| {
        call(&["run", "--suite", suite, "--failures", failures]).expect(1, "mismatch far")
    };
    run(&folder.argument(), &failures.argument());
    let copied = failures.path().join("far");
    assert_eq!(fs::read(copied.join("data/w.bin")).unwrap(), fs::read(case.join("data/w.bin")).unwrap());
    // Found by the digest of the file in the folder's manifest.
    run(copied.to_str().unwrap(), &failures.file("again"));
}

#[test]
fn what_is_read_counts_for_the_memory_of_a_case() {
    let (folder, failures) = (Folder::new(), Folder::new());
    folder.add("weights", &with_initializer(raw(&[500_000], 2_000_000)).encode_to_vec());
    let case = folder.add("expected", &identity().encode_to_vec());
    fs::File::options().write(true).open(case.join("test_data_set_0/output_0.pb")).unwrap().set_len(700 << 20).unwrap();
    folder.add("small", &identity().encode_to_vec());
    let run = |memory: &str| {
        let run = ["run", "--suite", &folder.argument(), "--failures", &failures.argument(), "--memory", memory];
        call(&run).expect(1, "unexpected: out-of-memory expected\n    the model and its data have 734003")
    };
    let told = run("1");
    assert!(told.out.contains("unexpected: out-of-memory weights\n    the model and its data have 200"), "{told:?}");
    assert!(told.out.contains("1 pass, 2 out-of-memory"), "{told:?}");
    assert!(!run("10").out.contains("out-of-memory weights"));
    // Such a case fails without its own files.
    assert!(!failures.path().join("expected").exists());
}

#[test]
fn weights_and_expected_outputs_count_while_a_case_runs() {
    let folder = Folder::new();
    let zeros = |name: &str| TensorProto { name: Some(name.to_owned()), ..raw(&[750_000], 3_000_000) };
    let mut negated = model(13, vec![node("Neg", &["c"], &["y"])]);
    let graph = negated.graph.as_mut().unwrap();
    graph.initializer.push(zeros("c"));
    graph.output[0].r#type = Some(encode::value_type(&ValueType::Tensor(ElementType::Float), None));
    let case = folder.add("zeros", &negated.encode_to_vec());
    fs::write(case.join("test_data_set_0/output_0.pb"), zeros("y").encode_to_vec()).unwrap();
    let run = |memory: &str, code, text: &str| {
        let failures = folder.file("failures");
        call(&["run", "--suite", &folder.argument(), "--memory", memory, "--failures", &failures]).expect(code, text)
    };
    // Counts the model file, the expected outputs, and the computed values.
    run("10", 0, "1 pass");
    run("7", 1, "unexpected: out-of-memory zeros\n    node for 'y' (Neg)");
}
