//! Selecting many cases, and accidentally none.

use crate::models::Folder;
use crate::program::{call, call_with_input};

#[test]
fn filters_are_read_from_a_file() {
    let folder = Folder::new();
    let text = "# what failed\n\nai.onnx/Abs-13/known_values/T=float\r\n  ai.onnx/{Neg,Sign}-13/**  \n!**/T=double\n";
    let file = folder.write("filters", text);
    let listed = call(&["list", "--from", &file]).expect(0, "ai.onnx/Abs-13/known_values/T=float\nai.onnx/Neg-13/");
    let direct = ["list", "ai.onnx/Abs-13/known_values/T=float", "ai.onnx/{Neg,Sign}-13/**", "!**/T=double"];
    assert_eq!(listed.out, call(&direct).out);
    assert_eq!(call_with_input(&["list", "--from", "-"], text).out, listed.out);
    let both = call(&["list", "ai.onnx/Abs-13/known_values/T=int8", "--from", &file]).expect(0, "");
    assert_eq!(both.out.lines().count(), listed.out.lines().count() + 1);
    let count = listed.out.lines().count();
    call(&["run", "--from", &file]).expect(0, &format!("{count} cases"));
    call(&["export", &folder.file("suite"), "--from", &file]).expect(0, &format!("wrote {count} cases to "));
}

#[test]
fn ten_thousand_ids_choose_ten_thousand_cases() {
    let all = call(&["list"]).expect(0, "ai.onnx/").out;
    let ids: Vec<&str> = all.lines().step_by(3).take(10_000).collect();
    assert_eq!(ids.len(), 10_000);
    let listed = call_with_input(&["list", "--from", "-"], ids.join("\n")).expect(0, "ai.onnx/");
    assert_eq!(listed.out.lines().collect::<Vec<_>>(), ids);
}

#[test]
fn a_file_of_filters_that_is_wrong_is_named_with_its_line() {
    let folder = Folder::new();
    let file = folder.write("filters", "# one\nai.onnx/Abs-13\na[b\n");
    call(&["list", "--from", &file]).expect(64, "filters:3: 'a[b' is not a pattern");
    call(&["list", "--from", &folder.file("none")]).expect(4, "none: No such file");
    for command in ["list", "run"] {
        call_with_input(&[command, "--from", "-"], "# nothing\n").expect(3, "the file has no filters");
    }
    let variants = "ai.onnx/Sum-13/**@constants\nai.onnx/Abs-13\nai.onnx/Reshape-13/**@initializers\n";
    call_with_input(&["run", "--from", "-"], variants).expect(64, "one variant at a time");
}

#[test]
fn an_operator_selects_its_cases() {
    let list = |filters: &[&str]| call(&[&["list"], filters].concat());
    for (named, pattern) in [
        ("Sum", "ai.onnx/Sum-*/**"),
        ("sum", "ai.onnx/Sum-*/**"),
        ("ai.onnx/Sum", "ai.onnx/Sum-*/**"),
        ("Sum@14", "ai.onnx/Sum-13/**"),
        ("Sum-13", "ai.onnx/Sum-13/**"),
        ("ai.onnx/Sum@13", "ai.onnx/Sum-13/**"),
        ("Scaler", "ai.onnx.ml/Scaler-*/**"),
    ] {
        let called = list(&[named]).expect(0, &format!("'{named}' is read as '{pattern}'\n"));
        assert_eq!(called.out, list(&[pattern]).expect(0, "").out, "{named}");
    }
    let others = list(&["ai.onnx/S*-13/**", "!Sum"]).expect(0, "'!Sum' is read as '!ai.onnx/Sum-*/**'\n").out;
    assert!(others.contains("ai.onnx/Sign-13/") && !others.contains("ai.onnx/Sum-13/"), "{}", others.len());
    assert_eq!(list(&["ai.onnx/Sum-13"]).expect(0, "").err, "");
    for unknown in ["Sun", "Sum@999", "Sum@x"] {
        list(&[unknown]).expect(3, "no case matches");
    }
    call(&["run", "Abs@13"]).expect(0, "'Abs@13' is read as 'ai.onnx/Abs-13/**'");
    // A case of a folder may have the name of an operator.
    let folder = Folder::with_identity("Sum");
    assert_eq!(list(&["Sum", "--suite", &folder.argument()]).expect(0, "Sum\n").err, "");
}

#[test]
fn an_empty_filter_is_bad_usage() {
    for empty in ["!", "", "/", "!/"] {
        let called = call(&["run", "ai.onnx/Abs-13", empty]).expect(64, "selects no case");
        assert!(called.err.contains(&format!("'{empty}'")), "{called:?}");
    }
}
