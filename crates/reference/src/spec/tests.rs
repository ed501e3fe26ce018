//! The embedded specs as a whole, lookup, and error messages of broken files.

use std::borrow::Cow;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

use super::{CaseFileKind, LookupError, OperatorVersion, SpecError, Specs, case_file};
use crate::dtype::ElementType;

const SUM_13: &str = "\
op: Sum
domain: ai.onnx
since: 13
inputs:
  - {name: data_0, type: T, option: variadic}
outputs:
  - {name: sum, type: T}
types:
  T:
    - tensor(bfloat16)
    - tensor(double)
";

fn specs(files: &[(&str, &str)]) -> Result<Specs, SpecError> {
    let owned = |text: &str| Cow::Owned(text.to_owned());
    Specs::new("specs", files.iter().map(|(path, text)| (owned(path), owned(text))))
}

fn render(error: &dyn Diagnostic) -> String {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(100);
    handler.render_report(&mut text, error).unwrap();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Renders the error of a Sum-13 file in which `from` is replaced by `to`.
fn mistake(from: &str, to: &str) -> String {
    assert!(SUM_13.contains(from));
    let specs = specs(&[("ai.onnx/Sum/13.yaml", &SUM_13.replacen(from, to, 1))]).unwrap();
    render(&specs.get(&OperatorVersion::new("", "Sum", 13)).unwrap_err())
}

#[test]
fn every_embedded_version_reads() {
    let specs = Specs::embedded();
    for version in specs.all() {
        assert_eq!(specs.get(&version).unwrap().version, version);
    }
}

#[test]
fn an_opset_means_the_greatest_version_up_to_it() {
    let specs = Specs::embedded();
    let newest = specs.newest_opset("").unwrap();
    for (opset, since) in [(1, 1), (5, 1), (6, 6), (7, 6), (8, 8), (12, 8), (13, 13), (newest, 13)] {
        assert_eq!(specs.find("", "Sum", opset).unwrap().version.since, since);
    }
    let range = |name, since| specs.opsets(&OperatorVersion::new("", name, since)).unwrap();
    assert_eq!((range("Sum", 8), range("Sum", 13)), (8..=12, 13..=newest));
    assert!(specs.find("", "Upsample", newest).unwrap().deprecated);
}

#[test]
fn the_next_release_does_not_prolong_a_version_of_a_release() {
    let specs = Specs::embedded();
    let newest = *specs.releases().unwrap().newest().unwrap().opsets.get("ai.onnx").unwrap();
    for version in specs.all() {
        let (opsets, released) = (specs.opsets(&version).unwrap(), specs.released_opsets(&version).unwrap());
        assert!(opsets.start() == released.start() && !released.is_empty(), "{version}");
        let is_cut = opsets != released;
        assert!(!is_cut || (cfg!(feature = "next") && *released.end() == newest), "{version}: {released:?}");
    }
    let sum = specs.released_opsets(&OperatorVersion::new("", "Sum", 13)).unwrap();
    assert_eq!(sum, 13..=newest);
    let next: Vec<OperatorVersion> = specs.all().filter(Specs::is_next).collect();
    assert!(next.iter().all(|version| *specs.released_opsets(version).unwrap().end() > newest), "{next:?}");
}

#[test]
fn a_failed_lookup_lists_the_alternatives() {
    let message = |domain, name, opset| Specs::embedded().find(domain, name, opset).unwrap_err().to_string();
    assert_eq!(
        message("com.microsoft", "Sum", 1),
        "domain 'com.microsoft' is unknown; \
         the domains are ai.onnx, ai.onnx.ml, ai.onnx.preview, ai.onnx.preview.training"
    );
    assert_eq!(message("", "sum", 13), "ai.onnx has no operator 'sum'; it has 'Sum'");
    assert_eq!(message("", "Scaler", 13), "ai.onnx has no operator 'Scaler'; ai.onnx.ml has 'Scaler'");
    assert_eq!(message("", "Nonsense", 13), "ai.onnx has no operator 'Nonsense'");
    assert_eq!(message("", "Mish", 17), "ai.onnx 17 has no operator 'Mish'; it was added in opset 18");
    let newest = i64::from(Specs::embedded().newest_opset("").unwrap());
    let next = newest + 1;
    let unknown = format!("opset {next} of ai.onnx is unknown; the newest known is {newest}");
    assert_eq!(message("", "Sum", next), unknown);
    assert_eq!(message("", "Sum", -1), "ai.onnx -1 has no operator 'Sum'; it was added in opset 1");
    let exact = Specs::embedded().get(&OperatorVersion::new("", "Sum", 9)).unwrap_err();
    assert!(matches!(exact, LookupError::NoSuchVersion { .. }));
    assert_eq!(exact.to_string(), "Sum-9 is not a version of the operator; ai.onnx has Sum-1, Sum-6, Sum-8, Sum-13");
}

#[test]
fn an_unknown_key_is_shown() {
    assert_eq!(
        mistake("outputs:", "output:"),
        "\
× specs/ai.onnx/Sum/13.yaml:6: unknown key `output`
   ╭─[specs/ai.onnx/Sum/13.yaml:6:1]
 5 │   - {name: data_0, type: T, option: variadic}
 6 │ output:
   · ───┬──
   ·    ╰── here
 7 │   - {name: sum, type: T}
   ╰────
  help: the keys here are `op`, `domain`, `since`, `deprecated`, `experimental`, `function`,
        `shape_inference`, `attributes`, `inputs`, `outputs`, `types`"
    );
}

#[test]
fn a_key_of_a_parameter_is_shown() {
    assert_eq!(
        mistake("type: T, option", "type: T, presence"),
        "\
× specs/ai.onnx/Sum/13.yaml:5: inputs[0]: unknown key `presence`
   ╭─[specs/ai.onnx/Sum/13.yaml:5:29]
 4 │ inputs:
 5 │   - {name: data_0, type: T, presence: variadic}
   ·                             ────┬───
   ·                                 ╰── here
 6 │ outputs:
   ╰────
  help: the keys here are `name`, `type`, `option`, `min`, `heterogeneous`"
    );
}

#[test]
fn a_wrong_type_name_is_shown() {
    let message = mistake("tensor(double)", "tensor(duoble)");
    let (place, help) = message.split_once("\n  help: ").unwrap();
    assert_eq!(
        place,
        "\
× specs/ai.onnx/Sum/13.yaml:11: types.T[1]: 'duoble' is not an element type
    ╭─[specs/ai.onnx/Sum/13.yaml:11:7]
 10 │     - tensor(bfloat16)
 11 │     - tensor(duoble)
    ·       ───────┬──────
    ·              ╰── here
    ╰────"
    );
    let help: Vec<&str> = help.split_whitespace().collect();
    assert_eq!(help.join(" "), format!("ONNX has {}", ElementType::ALL.map(ElementType::name).join(", ")));
}

#[test]
fn a_type_out_of_order_is_shown() {
    assert_eq!(
        mistake("tensor(bfloat16)", "tensor(float)"),
        "\
× specs/ai.onnx/Sum/13.yaml:11: types.T[1]: tensor(double) is listed after tensor(float)
    ╭─[specs/ai.onnx/Sum/13.yaml:11:7]
 10 │     - tensor(float)
 11 │     - tensor(double)
    ·       ───────┬──────
    ·              ╰── here
    ╰────
  help: sort the types by spelling, without duplicates"
    );
}

#[test]
fn a_key_written_twice_is_shown() {
    assert_eq!(
        mistake("types:\n", "types:\n  T: [tensor(float)]\n"),
        "\
× specs/ai.onnx/Sum/13.yaml:10: types: 'T' appears twice
    ╭─[specs/ai.onnx/Sum/13.yaml:10:3]
  9 │   T: [tensor(float)]
 10 │   T:
    ·   ┬
    ·   ╰── here
 11 │     - tensor(bfloat16)
    ╰────"
    );
}

#[test]
fn an_undeclared_type_parameter_is_shown() {
    assert_eq!(
        mistake("{name: sum, type: T}", "{name: sum, type: T9}"),
        "\
× specs/ai.onnx/Sum/13.yaml:1: output 'sum' has type T9, which is not under types
   ╭─[specs/ai.onnx/Sum/13.yaml:1:1]
 1 │ op: Sum
   · ─┬
   ·  ╰── here
 2 │ domain: ai.onnx
   ╰────
  help: add it there"
    );
}

#[test]
fn two_files_that_claim_one_version_are_named() {
    let error = specs(&[("ai.onnx/Sum/13.yaml", SUM_13), ("ai.onnx/Sum/013.yaml", SUM_13)]).unwrap_err();
    assert_eq!(
        render(&error),
        "\
× specs/ai.onnx/Sum/13.yaml and specs/ai.onnx/Sum/013.yaml both claim Sum-13
  help: keep one of the two; a version file is called <domain>/<operator>/<since>.yaml"
    );
}

#[test]
fn a_copy_that_claims_the_version_it_was_copied_from_is_shown() {
    let specs = specs(&[("ai.onnx/Sum/13.yaml", SUM_13), ("ai.onnx/Sum/14.yaml", SUM_13)]).unwrap();
    assert_eq!(
        render(&specs.find("", "Sum", 14).unwrap_err()),
        "\
× specs/ai.onnx/Sum/14.yaml:3: the path is that of Sum-14, but the file describes Sum-13
   ╭─[specs/ai.onnx/Sum/14.yaml:3:8]
 2 │ domain: ai.onnx
 3 │ since: 13
   ·        ─┬
   ·         ╰── here
 4 │ inputs:
   ╰────
  help: Sum-13 is already in specs/ai.onnx/Sum/13.yaml; correct the line or remove this file"
    );
}

#[test]
fn a_version_file_in_the_wrong_folder_is_shown() {
    let specs = specs(&[("ai.onnx/Mean/13.yaml", SUM_13)]).unwrap();
    assert_eq!(
        render(&specs.find("", "Mean", 13).unwrap_err()),
        "\
× specs/ai.onnx/Mean/13.yaml:1: the path is that of Mean-13, but the file describes Sum-13
   ╭─[specs/ai.onnx/Mean/13.yaml:1:5]
 1 │ op: Sum
   ·     ─┬─
   ·      ╰── here
 2 │ domain: ai.onnx
   ╰────
  help: correct the line, or move the file to specs/ai.onnx/Sum/13.yaml"
    );
}

#[test]
fn an_unexpected_file_is_named() {
    assert_eq!(
        render(&specs(&[("ai.onnx/Sum/thirteen.yaml", SUM_13)]).unwrap_err()),
        "\
× specs/ai.onnx/Sum/thirteen.yaml: no file is expected here
  help: specs contains <domain>/<operator>/<since>.yaml, op.yaml and text.yaml beside it, and
        releases.yaml, recipes.yaml, texts.yaml, types.yaml and exclusions.yaml"
    );
}

/// Returns the changes of Sum-13 by an op.yaml with these lines, or the error.
fn changes(lines: &str) -> Result<String, String> {
    let op = format!("op: Sum\n# About the sum.\n{lines}cases: []\n");
    let sum_8 = SUM_13.replace("since: 13", "since: 8");
    let files = [("ai.onnx/Sum/13.yaml", SUM_13), ("ai.onnx/Sum/8.yaml", &sum_8), ("ai.onnx/Sum/op.yaml", &op)];
    let specs = specs(&files).unwrap();
    let spec = specs.get(&OperatorVersion::new("", "Sum", 13)).map_err(|error| render(&error))?;
    Ok(spec.changes.iter().fold(String::new(), |text, change| text + &change.to_string() + "\n"))
}

#[test]
fn changes_are_read_from_op_yaml() {
    assert_eq!(changes("").unwrap(), "");
    let two = "changes:\n  13:\n    - says: One.\n      was: none\n    - says: Two.\n      silent: [{example: Sum-8/a, ranks: {data_0: [1]}}]\n";
    let written = "One. Before, none.\nTwo. Silent (the model stays valid) where the rank of data_0 is 1: Sum-8/a\n";
    assert_eq!(changes(two).unwrap(), written);
}

#[test]
fn a_mistake_in_a_change_is_shown_in_op_yaml() {
    assert_eq!(
        changes("changes:\n  9:\n    - says: One.\n").unwrap_err(),
        "\
× specs/ai.onnx/Sum/op.yaml:5: Sum has no version 9 with one before it
   ╭─[specs/ai.onnx/Sum/op.yaml:5:7]
 4 │   9:
 5 │     - says: One.
   ·       ──┬─
   ·         ╰── here
 6 │ cases: []
   ╰────
  help: the versions that can have changes are [13]"
    );
    for (lines, said) in [
        ("changes:\n  8:\n    - says: One.\n", "op.yaml:5: Sum has no version 8 with one before it"),
        ("changes:\n  13:\n    - say: One.\n", "op.yaml:5: "),
        ("changes:\n  13:\n    - say: One.\n", "unknown key `say`"),
        ("changes:\n  13: []\n  13: []\n", "op.yaml:5: "),
        (
            "changes:\n  13:\n    - says: One.\n      silent: [{example: a, given: [B]}]\n",
            "op.yaml:6: a condition names 'B', which Sum-13 does not have",
        ),
    ] {
        let shown = changes(lines).unwrap_err();
        assert!(shown.contains(said), "{said} is not in {shown}");
    }
}

#[test]
fn files_of_cases_are_known_by_their_paths() {
    let cases: &[(&str, Option<(&str, CaseFileKind)>)] = &[
        ("ai.onnx/Relu/op.yaml", Some(("ai.onnx/Relu", CaseFileKind::Main))),
        ("ai.onnx/Cast/cases/wide.yaml", Some(("ai.onnx/Cast", CaseFileKind::Part))),
        ("ai.onnx/Relu/14.yaml", None),
        ("ai.onnx/Cast/cases/notes.md", None),
        ("ai.onnx/Cast/cases/deep/wide.yaml", None),
        ("ai.onnx/cases/wide.yaml", None),
        ("ai.onnx/op.yaml", None),
        ("ir/graph.yaml", None),
        ("recipes.yaml", None),
        ("op.yaml", None),
    ];
    for (path, expected) in cases {
        assert_eq!(case_file(path), *expected, "{path}");
    }
}
