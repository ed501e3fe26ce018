//! Error reports for mistakes in the traps of an op.yaml.

use super::{SUM, report, sum};

/// Returns the error report for the file with a trap, in which `from` is replaced by `to`.
fn mistake_of_a_trap(from: &str, to: &str) -> String {
    let outputs =
        "    inputs: {data_0: [{shape: [2], fill: ones}]}\n    until: 8\n    outputs: {sum: {all: 1, shape: [2]}}\n";
    let text = SUM.replacen("    inputs: {data_0: [{shape: [2], fill: ones}]}\n", outputs, 1).replacen(
        "cases:\n",
        "traps:\n  - says: one is the sum\n    until: 8\n    cases: [same]\ncases:\n",
        1,
    );
    assert!(sum(&text).is_ok() && text.contains(from));
    report(&sum(&text.replacen(from, to, 1)).unwrap_err())
}

#[test]
fn a_mistake_in_a_trap_is_shown() {
    assert_eq!(
        mistake_of_a_trap("until: 8", "until: 13"),
        "\
× specs/ai.onnx/Sum/op.yaml:8: no case shows the trap in Sum-13
   ╭─[specs/ai.onnx/Sum/op.yaml:8:5]
 7 │     until: 13
 8 │     cases: [same]
   ·     ──┬──
   ·       ╰── here
 9 │ cases:
   ╰────
  help: name a case of that version, or correct since and until"
    );
    for (from, to, said) in [
        ("[same]", "[some]", "op.yaml:8: the trap names the case 'some', which does not exist"),
        ("[same]", "[same, same_shape]", "op.yaml:8: the case 'same_shape' has no outputs written by hand"),
        (
            "    until: 8\n    cases",
            "    since: 13\n    cases",
            "op.yaml:8: the case 'same' applies to no version of the trap",
        ),
        ("until: 8", "until: 0", "op.yaml:6: the trap applies to no version of Sum"),
        ("says: one", "say: one", "op.yaml:6: traps[0]: unknown key `say`"),
        (
            "    until: 8\n    cases",
            "    since: [[6]]\n    until: 8\n    cases",
            "op.yaml:8: `until` cannot be combined with ranges in `since`",
        ),
    ] {
        let shown = mistake_of_a_trap(from, to);
        assert!(shown.contains(said), "{said} is not in {shown}");
    }
}
