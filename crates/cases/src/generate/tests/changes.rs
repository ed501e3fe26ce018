//! Error reports for mistakes in the changes of an op.yaml.

use super::{SUM, report, sum};

/// Returns the error report for the file with a change, in which `from` is replaced by `to`.
fn mistake_of_a_change(from: &str, to: &str) -> String {
    let outputs =
        "    inputs: {data_0: [{shape: [2], fill: ones}]}\n    since: 8\n    outputs: {sum: {all: 1, shape: [2]}}\n";
    let text = SUM.replacen("    inputs: {data_0: [{shape: [2], fill: ones}]}\n", outputs, 1).replacen(
        "cases:\n",
        "changes:\n  8:\n    - says: One is the sum.\n      cases: [same]\ncases:\n",
        1,
    );
    assert!(sum(&text).is_ok() && text.contains(from));
    report(&sum(&text.replacen(from, to, 1)).unwrap_err())
}

#[test]
fn a_mistake_in_a_change_is_shown() {
    assert_eq!(
        mistake_of_a_change("    - says: One is the sum.\n      cases: [same]\n", "    - says: One is the sum.\n"),
        "\
× specs/ai.onnx/Sum/op.yaml:7: no case shows the change in Sum-8
   ╭─[specs/ai.onnx/Sum/op.yaml:7:7]
 6 │   8:
 7 │     - says: One is the sum.
   ·       ──┬─
   ·         ╰── here
 8 │ cases:
   ╰────
  help: name a case of Sum-8 under `cases`, or the example of a silent change"
    );
    for (from, to, said) in [
        ("[same]", "[some]", "op.yaml:8: the change names the case 'some', which does not exist"),
        ("[same]", "[same, same_shape]", "op.yaml:8: the case 'same_shape' has no outputs written by hand"),
        ("  8:\n", "  6:\n", "op.yaml:8: the case 'same' applies to neither Sum-1 and Sum-6"),
        ("  8:\n", "  9:\n", "op.yaml:7: Sum has no such version with one before it"),
        ("  8:\n", "  1:\n", "op.yaml:7: Sum has no such version with one before it"),
        ("says: One", "say: One", "unknown key `say`"),
        (
            "cases: [same]\ncases",
            "silent: [{example: ai.onnx/Sum-13/same/T=float}]\ncases",
            "op.yaml:8: the example 'ai.onnx/Sum-13/same/T=float' is no case of the two",
        ),
    ] {
        let shown = mistake_of_a_change(from, to);
        assert!(shown.contains(said), "{said} is not in {shown}");
    }
}

/// Returns the report for the file whose rule is the change of a version.
fn mistake_of_a_rule(key: &str) -> Result<Vec<String>, String> {
    let change =
        "changes:\n  8:\n    - says: The inputs broadcast.\n      was: all had one shape\n      cases: [both]\n";
    let case = "      - name: both\n        since: 8\n        inputs: {data_0: [{values: [1]}]}\n        outputs: {sum: {values: [1]}}\n";
    let rule = format!("{change}constraints:\n  C1:\n    {key}\n    cases:\n{case}");
    let text = SUM.replacen("constraints:\n  C1: shapes broadcast\n", &rule, 1);
    sum(&text).map_err(|error| report(&error))
}

#[test]
fn a_rule_is_a_change_of_an_existing_version() {
    for key in ["says: the inputs broadcast", "change: 8", "before: 8"] {
        assert!(mistake_of_a_rule(key).is_ok(), "{:?}", mistake_of_a_rule(key));
    }
    for (key, said) in [
        ("change: 13", "C1: `changes` has no such change at version 13"),
        ("before: 6", "C1: `changes` has no such change at version 6"),
        ("change: 8\n    says: one", "op.yaml:10: constraints.C1: a rule has exactly one of `says`, `change` and"),
    ] {
        let shown = mistake_of_a_rule(key).unwrap_err();
        assert!(shown.contains(said), "{said} is not in {shown}");
    }
}
