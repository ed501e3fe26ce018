//! Findings: listed, joined with cases, and the history of cases.

use onnx_conformance_harness::measure::Measurements;

use crate::program::call;

#[test]
fn findings_are_listed_and_explain_the_failures_of_cases() {
    call(&["list", "findings", "--runtime", "onnxruntime"]).expect(0, "onnxruntime/gather-strings");
    let sample = "ai.onnx/Gather-13/every_axis/indices=2x2,axis=0/T=string,Tind=int32";
    call(&["show", sample])
        .expect(0, ": mismatch, finding onnxruntime/gather-strings: Gather of strings gives empty strings");
    let saturating = "ai.onnx/MatMulInteger-10/unsigned_by_signed/T1=uint8,T2=int8";
    call(&["show", saturating]).expect(0, "onnxruntime 1.32.0: mismatch on processors without avx512_vnni, avx_vnni");
    call(&["show", "ai.onnx/Abs-13/known_values/T=float"]).expect(0, "case ai.onnx/Abs-13/known_values/T=float");
    call(&["list", "findings", "--unexplained"]).expect(64, "--runtime");
    let noted = call(&["list", "findings", "--runtime", "onxruntime"]).expect(0, "onnxruntime/gather-strings ");
    assert_eq!(noted.err, "'onxruntime' is read as onnxruntime; no other name is that similar\n");
    call(&["list", "findings", "--runtime", "onxruntim"]).expect(64, "the nearest name is onnxruntime; ");
    call(&["list", "findings", "--runtime", "none", "--unexplained"])
        .expect(64, "no version of none has been measured");
}

#[test]
fn a_runtime_is_named_in_one_way() {
    let same = |one: &[&str], other: &[&str]| {
        let [one, other] = [one, other].map(|arguments| call(arguments).expect(0, ""));
        assert_eq!((one.out, one.err), (other.out, other.err));
    };
    same(&["list", "findings", "--runtime", "ort"], &["list", "findings", "--runtime", "onnxruntime"]);
    same(&["list", "measured", "ort==1.32.0"], &["list", "measured", "onnxruntime@1.32.0"]);
    same(&["show", "Sum", "--runtime", "ort"], &["show", "Sum", "--runtime", "onnxruntime"]);
    same(&["show", "Sum", "--runtime", "ort==1.20.1"], &["show", "Sum", "--runtime", "onnxruntime@1.20.1"]);
    let one = call(&["list", "measured", "onnxruntime@1.20.1"]).expect(0, "\nonnxruntime  1.20.1 ").out;
    assert!(!one.contains("\nonnxruntime  1.32.0 "), "{one}");
    let old = call(&["list", "findings", "--runtime", "onnxruntime@1.15.1"]).expect(0, "onnxruntime/gather-strings");
    let all = call(&["list", "findings", "--runtime", "onnxruntime"]).expect(0, "");
    assert!(old.out.lines().count() < all.out.lines().count(), "{}", old.out);
    let unknown = "onnxruntime 0.1 has not been measured; measured versions: 1.15.1";
    for command in [&["show", "Sum", "--runtime", "ort@0.1"][..], &["list", "measured", "onnxruntime==0.1"]] {
        call(command).expect(64, unknown);
    }
    call(&["list", "findings", "--runtime", "ort@0.1"]).expect(64, unknown);
    let history = ["list", "findings", "--runtime", "ort@1.32.0", "--history", "ai.onnx/Abs-13/**"];
    call(&history).expect(64, "--runtime: --history is about all versions; omit @1.32.0");
    call(&["run", "--runtime", "no-such-adapter@1", "ai.onnx/Abs-13/known_values"]).expect(4, "no-such-adapter");
}

#[test]
fn findings_are_listed_by_operator() {
    let list = |operators: &[&str]| call(&[&["list", "findings"], operators].concat());
    let gather = list(&["Gather"]).expect(0, "onnxruntime/gather-strings ").out;
    assert!(gather.lines().count() < list(&[]).expect(0, "").out.lines().count(), "{gather}");
    assert_eq!(list(&["gather"]).expect(0, "'gather' is read as Gather").out, gather);
    list(&["Gather@13"]).expect(0, "onnxruntime/gather-strings ");
    list(&["Hardmax", "--runtime", "onnx-version-converter"]).expect(0, "onnx-version-converter/");
    assert_eq!(list(&["Gathr"]).expect(0, "'Gathr' is read as Gather; no other name is that similar").out, gather);
    list(&["Gthr"]).expect(64, "there is no operator 'Gthr'");
    list(&["Gather", "--runtime", "onnxslim"]).expect(3, "there are no findings about Gather");
    list(&["Gather", "--runtime", "onnxruntime", "--unexplained"]).expect(64, "cannot be used with");
}

#[test]
fn a_history_says_since_which_version_cases_pass() {
    let history =
        |patterns: &[&str]| call(&[&["list", "findings", "--runtime", "onnxruntime", "--history"], patterns].concat());
    history(&["ai.onnx/Gemm-13/nothing_to_add/T=float"]).expect(0, "onnxruntime: right ");
    history(&["ai.onnx/Gather-13/every_axis/**/T=string,*"]).expect(0, "onnxruntime: not right; ");
    history(&["ai.onnx/NoSuchOperator-1/**"]).expect(3, "the patterns select no measured required case");
    history(&["ai.onnx/{"]).expect(64, "ai.onnx/{");
}

#[test]
fn what_was_measured_is_listed_with_what_it_came_to() {
    let listed = call(&["list", "measured", "onnxruntime"]).expect(0, "operators of ai.onnx at opset 21 whose");
    let newest = listed.out.lines().rfind(|line| line.starts_with("onnxruntime")).unwrap();
    let cells: Vec<&str> = newest.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let [_, version, released, date, platform, passed, .., right] = cells[..] else { panic!("{newest}") };
    let (right, operators) = right.split_once(" of ").unwrap();
    assert!(Measurements::embedded().get("onnxruntime", version).unwrap().unwrap().date() == Some(date), "{newest}");
    assert!(Some(released) == onnx_conformance_harness::runtimes::released("onnxruntime", version), "{newest}");
    assert!(platform.starts_with("linux-x86_64"), "{newest}");
    let said = "only on processors without avx512_vnni, avx_vnni: 9 of the failures of onnxruntime 1.32.0";
    assert!(listed.out.contains(said), "{}", listed.out);
    let number = |cell: &str| cell.parse::<usize>().unwrap();
    assert!(number(passed) > 50_000 && number(right) <= number(operators), "{newest}");
    let json = call(&["list", "measured", "openvino", "--opset", "13", "--format", "json"]).expect(0, "\"not_taken\"");
    let rows: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let is_counted = |row: &serde_json::Value| row["runtime"] == "openvino" && row["passed"].as_u64() > Some(0);
    assert!(rows.as_array().is_some_and(|rows| !rows.is_empty() && rows.iter().all(is_counted)));
    call(&["list", "measured", "none"]).expect(64, "no version of none has been measured; measured runtimes: ");
    call(&["list", "measured", "--opset", "99"]).expect(64, "ai.onnx has no opset 99; its opsets are 1 to ");
}

#[test]
fn the_measured_tools_are_listed_with_what_has_changed_since() {
    let listed = call(&["list", "measured", "--tools"]).expect(0, "onnx-checker-full ");
    assert!(
        listed.out.lines().any(|line| line.starts_with("builtin ") && line.contains("check, check-refusals, ")),
        "{}",
        listed.out
    );
    let json = call(&["list", "measured", "--tools", "--format", "json"]).expect(0, "\"stale\"");
    let rows: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let is_whole = |row: &serde_json::Value| {
        let stale = row["stale"].as_array().map_or(0, Vec::len);
        row["parts"].as_u64().is_some_and(|parts| parts > 100 && stale as u64 <= parts)
    };
    assert!(rows.as_array().is_some_and(|rows| !rows.is_empty() && rows.iter().all(is_whole)), "{}", json.out);
    call(&["list", "measured", "onnxruntime", "--tools"]).expect(64, "--tools");
}
