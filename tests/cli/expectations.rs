//! Comparison of a run with expectations.

use onnx_conformance::reference::proto::Message;

use crate::models::{Folder, identity, model, node};
use crate::program::{Called, call};

/// Runs a folder with an expectation file.
fn run(folder: &Folder, expectations: &str) -> Called {
    let file = folder.write("expectations.yaml", format!("runtime: builtin\nexpect:\n{expectations}"));
    call(&["run", "--suite", &folder.argument(), "--expectations", &file])
}

fn with_failure() -> Folder {
    let folder = Folder::with_identity("good");
    folder.add("bad", &model(99, vec![node("Identity", &["x"], &["y"])]).encode_to_vec());
    folder
}

#[test]
fn an_expected_failure_is_as_expected() {
    run(&with_failure(), "  - {cases: bad, outcome: error}\n").expect(0, "1 failures expected");
}

#[test]
fn a_worse_outcome_than_expected_is_a_regression() {
    run(&with_failure(), "  - {cases: bad, outcome: unsupported}\n").expect(1, "unexpected: error bad");
}

#[test]
fn a_pass_that_is_not_expected_is_stale() {
    let expectations = "  - {cases: bad, outcome: error}\n  - {cases: good, outcome: error}\n";
    run(&with_failure(), expectations).expect(2, "better than expected: pass good");
}

#[test]
fn an_expectation_that_matches_nothing_is_stale() {
    let expectations = "  - {cases: bad, outcome: error}\n  - {cases: gone, outcome: error}\n";
    run(&with_failure(), expectations).expect(2, "expectation that matches nothing").expect(2, "gone");
}

#[test]
fn an_unknown_key_is_shown_with_its_line() {
    let called = run(&with_failure(), "  - {cases: bad, outcom: error}\n").expect(4, "unknown key `outcom`");
    assert!(called.err.contains("expectations.yaml:3"), "{}", called.err);
    assert!(called.err.contains("─┬─") && !called.err.contains('\u{1b}'), "{}", called.err);
}

#[test]
fn an_entry_that_contradicts_itself_is_named() {
    run(&with_failure(), "  - {cases: bad}\n").expect(4, "expectations.yaml: entry 1: has no outcome");
    run(&with_failure(), "  - {cases: bad, outcome: pass}\n").expect(4, "entry 1: expects a pass");
    run(&with_failure(), "  - {cases: bad, outcome: fine}\n").expect(4, "expectations.yaml:3");
}

#[test]
fn the_file_of_another_runtime_is_refused() {
    let folder = with_failure();
    let file = folder.write("expectations.yaml", "runtime: other\n");
    let called = call(&["run", "--suite", &folder.argument(), "--expectations", &file]);
    called.expect(4, "expectations.yaml: is about 'other', not 'builtin'");
    let missing = folder.file("missing.yaml");
    call(&["run", "--suite", &folder.argument(), "--expectations", &missing]).expect(4, "no such file");
}

#[test]
fn an_updated_file_holds() {
    let folder = with_failure();
    let file = folder.file("expectations.yaml");
    let arguments = ["run", "--suite", &folder.argument(), "--expectations", &file];
    call(&[&arguments[..], &["--update-expectations"]].concat()).expect(0, "wrote");
    call(&arguments).expect(0, "1 failures expected");
    folder.add("bad", &identity().encode_to_vec());
    call(&arguments).expect(2, "better than expected: pass bad");
}

#[test]
fn a_glob_over_cases_of_all_sorts_is_noted_with_its_line() {
    let called = run(&with_failure(), "  - {cases: '*', outcome: error}\n").expect(2, "different outcomes");
    assert!(called.out.contains("(1 pass, 1 error): "), "{}", called.out);
    assert!(called.out.contains("expectations.yaml:3: cases: *"), "{}", called.out);
}

#[test]
fn a_glob_over_several_operators_has_to_say_so() {
    let folder = Folder::new();
    folder.add("a", &model(99, vec![node("Abs", &["x"], &["y"])]).encode_to_vec());
    folder.add("b", &model(13, vec![node("Sum", &["x", "z"], &["y"])]).encode_to_vec());
    folder.add("c", &model(13, vec![node("Neg", &["z"], &["y"])]).encode_to_vec());
    let glob = "cases: '{b,c}', outcome: error";
    let rest = "  - {cases: a, outcome: error}\n";
    run(&folder, &format!("  - {{{glob}}}\n{rest}")).expect(2, "covers 2 operators without `spans_operators: true`");
    run(&folder, &format!("  - {{{glob}, spans_operators: true}}\n{rest}")).expect(0, "3 failures expected");
}

#[test]
fn a_condition_decides_whether_an_entry_applies() {
    let entry = |when: &str| format!("  - {{cases: bad, outcome: error, when: {{{when}}}}}\n");
    let here = std::env::consts::OS;
    run(&with_failure(), &entry(&format!("platform: {here}, version: '>=0.0.1'"))).expect(0, "1 failures expected");
    run(&with_failure(), &entry("platform: none-such")).expect(1, "unexpected: error bad");
    run(&with_failure(), &entry("version: '<0.0.1'")).expect(1, "unexpected: error bad");
    run(&with_failure(), &entry("version: newest")).expect(4, "is not a version condition");
}

#[test]
fn an_entry_for_one_case_is_judged_where_the_filter_reaches_it() {
    let folder = with_failure();
    let text = "runtime: builtin\nexpect:\n  - {cases: bad, outcome: error}\n  - {cases: gone, outcome: error}\n";
    let file = folder.write("expectations.yaml", text);
    let arguments = |filter: &'static str| {
        let arguments = ["run", filter, "--suite", &folder.argument(), "--expectations", &file];
        arguments.map(str::to_owned).to_vec()
    };
    call(&arguments("good")).expect(0, "1 cases, 1 pass");
    call(&arguments("{good,gone}")).expect(2, "matches nothing");
}

#[test]
fn an_update_keeps_what_people_wrote() {
    let folder = with_failure();
    folder.add("new", b"no model");
    let text = "# ours\nruntime: builtin\nexpect:\n  # an old model\n  - {cases: bad, outcome: unsupported, reason: old}\n  \
                # not any more\n  - {cases: good, outcome: error}\n# the end\n";
    let file = folder.write("expectations.yaml", text);
    let arguments = ["run", "--suite", &folder.argument(), "--expectations", &file];
    let printed = call(&arguments).expect(1, "to accept these results: onnx-conformance run --suite");
    assert!(printed.err.trim_end().ends_with("--update-expectations"), "{}", printed.err);
    call(&[&arguments[..], &["--update-expectations"]].concat()).expect(0, "wrote");
    let expected = "# ours\nruntime: builtin\nexpect:\n  # an old model\n  - {cases: bad, outcome: error, reason: old}\n  \
                    - {cases: new, outcome: error}\n# the end\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    call(&arguments).expect(0, "2 failures expected");
}

#[test]
fn only_a_whole_run_rewrites_expectations() {
    let folder = with_failure();
    let results = folder.file("results.jsonl");
    let suite = folder.argument();
    let base = ["run", "--suite", &suite, "--update-expectations"];
    for part in [&["good"][..], &["--shard", "1/2"], &["--resume", &results]] {
        call(&[&base[..], part].concat()).expect(64, "needs a run of the whole suite");
    }
}

#[test]
fn a_first_file_holds_and_is_not_overwritten() {
    let folder = with_failure();
    let file = folder.file("new/builtin.yaml");
    let init = ["run", "--init", "--suite", &folder.argument(), "--expectations", &file];
    call(&init).expect(0, "1 entries");
    call(&init).expect(4, "the file already exists");
    call(&["run", "--suite", &folder.argument(), "--expectations", &file]).expect(0, "1 failures expected");
}

#[test]
fn a_scope_is_what_is_run_without_filters() {
    let folder = with_failure();
    let text = "runtime: builtin\nexact: true\nscope: [good]\nexpect: []\n";
    let file = folder.write("expectations.yaml", text);
    let arguments = |rest: &[&'static str]| {
        let base = ["run", "--suite", &folder.argument(), "--expectations", &file].map(str::to_owned);
        [base.to_vec(), rest.iter().map(|&word| word.to_owned()).collect()].concat()
    };
    call(&arguments(&[])).expect(0, "1 cases, 1 pass").expect(0, "running 1 of 2 cases, the scope of ");
    call(&arguments(&["bad"])).expect(1, "unexpected: error bad");
    call(&arguments(&["--update-expectations"])).expect(0, "wrote");
    let updated = std::fs::read_to_string(&file).unwrap();
    assert!(updated.ends_with("exact: true\nscope: [good]\nexpect: []\n"), "{updated}");
    assert!(
        ["\nversion: ", "\ndate: ", "\nplatform: ", "\nsuite: "].iter().all(|key| updated.contains(key)),
        "{updated}"
    );
    assert!(!folder.path().join("expectations.digests").exists(), "a folder of test folders has no record");
    folder.write("expectations.yaml", text.replace("exact: true\n", ""));
    call(&arguments(&[])).expect(0, "running 1 of 2 cases, the scope of ");
    call(&arguments(&["--update-expectations"])).expect(0, "wrote");
    let updated = std::fs::read_to_string(&file).unwrap();
    assert_eq!(updated, text.replace("exact: true\n", ""));
}

#[test]
fn filters_that_select_the_scope_update_the_file() {
    let folder = with_failure();
    folder.add("other", b"no model");
    let text = "runtime: builtin\nscope: ['{good,bad}']\nexpect: []\n";
    let file = folder.write("expectations.yaml", text);
    let update = |filters: &[&'static str]| {
        let base = ["run", "--suite", &folder.argument(), "--expectations", &file, "--update-expectations"];
        call(&[base.map(str::to_owned).to_vec(), filters.iter().map(|&word| word.to_owned()).collect()].concat())
    };
    for other in [&["good"][..], &["good", "bad", "other"], &["good", "other"]] {
        let refused = update(other).expect(64, "expectations.yaml, since an entry may cover cases that are not run");
        assert!(refused.err.trim_end().ends_with("select what `scope` selects: {good,bad}"), "{}", refused.err);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    update(&["bad", "good"]).expect(0, "wrote");
    let expected = text.replace("expect: []\n", "expect:\n  - {cases: bad, outcome: error}\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    // The filter of the file and no filter are the same run.
    update(&["{good,bad}"]).expect(0, "wrote");
    update(&[]).expect(0, "wrote");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    // So are their results.
    let (other, suite) = (Folder::new(), folder.argument());
    let (results, all) = (other.file("results.jsonl"), other.file("all.jsonl"));
    let common = ["--suite", suite.as_str(), "--expectations", file.as_str()];
    let part = "needs the results of the whole suite";
    for (filters, code, said, after) in
        [(&["bad", "good"][..], 0, "wrote", &expected), (&["bad"][..], 4, part, &text.to_owned())]
    {
        folder.write("expectations.yaml", text);
        call(&[&["run", "--results", &results], &common[..], filters].concat()).expect(1, "unexpected: error bad");
        let merge = ["merge", results.as_str(), "-o", &all, "--update-expectations"];
        call(&[&merge[..], &common].concat()).expect(code, said);
        assert_eq!(&std::fs::read_to_string(&file).unwrap(), after);
    }
}

#[test]
fn a_measurement_of_a_part_says_what_was_measured() {
    let folder = Folder::new();
    let file = folder.file("builtin.yaml");
    call(&["run", "--init", "--exact", "ai.onnx/Abs-13", "--expectations", &file]).expect(0, "0 entries");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("exact: true\nscope: [ai.onnx/Abs-13]\nexpect: []\n"), "{text}");
    let digests = std::fs::read_to_string(folder.path().join("builtin.digests")).unwrap();
    let lines: Vec<&str> = digests.lines().filter(|line| !line.starts_with('#')).collect();
    let [measured, opsets] = lines[..] else { panic!("{digests}") };
    assert!(measured.starts_with("ai.onnx/Abs-13 ") && opsets.starts_with("opsets ai.onnx="), "{digests}");
    assert!(!folder.path().join("builtin.accuracy").exists(), "the outputs of Abs are exact");
    call(&["run", "--expectations", &file]).expect(0, " cases, the scope of ");
}

#[test]
fn a_measurement_counts_cases_by_the_share_of_their_bound() {
    let folder = Folder::new();
    let file = folder.file("builtin.yaml");
    call(&["init", "--exact", "--scope", "ai.onnx/Exp-13", "-o", &file]).expect(0, "builtin.accuracy");
    let beside = folder.path().join("builtin.accuracy");
    let written = std::fs::read_to_string(&beside).unwrap();
    let float = written.lines().find(|line| line.starts_with("ai.onnx/Exp-13 float 4 ")).unwrap();
    assert!(float.ends_with(" 0 0") && float.split(' ').count() == 11, "{written}");
    let update = ["run", "--expectations", &file, "--update-expectations"];
    call(&update).expect(0, "wrote");
    assert_eq!(std::fs::read_to_string(&beside).unwrap(), written);
    std::fs::write(&beside, "ai.onnx/Exp-13 float four\n").unwrap();
    call(&update).expect(4, "builtin.accuracy:1: 'four' is neither a number");
}

#[test]
fn yaml_that_nests_too_deeply_is_refused_before_it_is_parsed() {
    run(&with_failure(), &format!("  - {}\n", "[".repeat(200_000))).expect(4, "nest deeper than 64");
    let specs = Folder::new();
    std::fs::create_dir_all(specs.path().join("ai.onnx/Abs")).unwrap();
    specs.write("ai.onnx/Abs/op.yaml", "{a: ".repeat(50_000));
    call(&["run", "ai.onnx/Abs-13/**", "--specs", &specs.argument()]).expect(4, "nest deeper than 64");
}
