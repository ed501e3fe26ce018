//! Profiles: selections of cases with a name.

use std::fs::read_to_string;

use crate::models::Folder;
use crate::program::call;

#[test]
fn a_profile_selects_within_the_filters() {
    let all = call(&["list", "--profile", "float", "ai.onnx/Abs-13/**"]).expect(0, "ai.onnx/Abs-13/");
    assert!(!all.out.contains("T=double") && !all.out.contains("T=int8"), "{}", all.out);
    let same = call(&["list", "@float", "ai.onnx/Abs-13/**"]).expect(0, "");
    assert_eq!(all.out, same.out);
    let same = call(&["list", "--profile", "@float", "ai.onnx/Abs-13/**"]).expect(0, "");
    assert_eq!(all.out, same.out);
    call(&["list", "--profile", "values", "ai.onnx/Abs-13/**"]).expect(3, "no case matches");
}

#[test]
fn an_unknown_profile_is_refused_with_the_known_ones() {
    for arguments in [&["list", "--profile", "flaot"][..], &["run", "@flaot"]] {
        call(arguments).expect(64, "the profiles are @values, @pr, @float, @full");
    }
    let called = call(&["list", "--profile", "flaot"]).expect(64, "'--profile <NAME>': there is no such profile");
    assert!(!called.err.contains("pattern"), "{}", called.err);
}

#[test]
fn a_file_of_a_profile_is_a_gate_for_it() {
    let folder = Folder::new();
    let (file, results) = (folder.file("builtin.yaml"), folder.file("results.jsonl"));
    call(&["run", "--init", "--profile", "values", "--expectations", &file, "--results", &results])
        .expect(0, "entries");
    assert!(read_to_string(&file).unwrap().contains("@values"));
    assert!(read_to_string(&results).unwrap().lines().next().unwrap().contains("\"filters\":[\"@values\"]"));
    call(&["run", "--expectations", &file]).expect(0, "the scope of");
    call(&["run", "--profile", "values", "--expectations", &file]).expect(0, " pass");
    let parts: Vec<String> = ["@values", "ai.onnx/Abs-13/**"]
        .into_iter()
        .map(|filter| {
            let part = folder.file(&format!("{}.jsonl", filter.len()));
            call(&["run", filter, "--results", &part]).expect(0, " pass");
            part
        })
        .collect();
    call(&["merge", &parts[0], &parts[1], "-o", &folder.file("merged.jsonl")]).expect(4, &parts[1]);
}
