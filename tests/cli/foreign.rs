//! The program in another project's repository.

use std::fs;
use std::process::Command;

use onnx_conformance_reference::spec::Specs;
use tempfile::TempDir;

/// Folders with the same names as ours do not replace ours.
#[test]
fn a_repository_with_folders_of_the_same_names_runs_the_suite() {
    let home = TempDir::new().unwrap();
    for file in ["testdata/onnx/model/model.onnx", "expectations/other.yaml", "adapters/README.md"] {
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "theirs").unwrap();
    }
    let call = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onnx-conformance"));
        command.args(arguments).current_dir(home.path()).env_remove("ONNX_CONFORMANCE_TESTDATA");
        let output = command.output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}");
        text
    };
    let abs = &format!("onnx-{}/node/test_abs", Specs::embedded().newest_release());
    let text = call(&["run", abs, "ai.onnx/Abs-13/known_values"]);
    assert!(text.contains(" pass"), "{text}");
    assert!(call(&["list", abs]).contains("test_abs"));
}
