//! Error reports for mistakes in an op.yaml.

mod changes;
mod text;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use onnx_conformance_reference::spec::OperatorVersion;

use crate::case::RuleRef;
use crate::generate::{GenerateError, OperatorCatalog, cases, ids};

const SUM: &str = "\
op: Sum
summary: The sum.
constraints:
  C1: shapes broadcast
cases:
  - name: same
    inputs: {data_0: [{shape: [2], fill: ones}]}
  - name: same_shape
    let: {N: 2}
    inputs: {data_0: [{shape: [N]}, {shape: [N]}]}
refuse:
  - name: shapes
    level: required
    control: same_shape
    inputs: {data_0: [{shape: [2]}, {shape: [3]}]}
";

/// Returns the ids of Sum-13 from an op.yaml.
fn sum(text: &str) -> Result<Vec<String>, GenerateError> {
    let operators = OperatorCatalog::new("specs", [("ai.onnx/Sum/op.yaml".to_owned(), text.to_owned())]);
    ids(&operators, &OperatorVersion::new("", "Sum", 13))
}

/// Returns the error report for the file with `from` replaced by `to`.
fn mistake(from: &str, to: &str) -> String {
    assert!(SUM.contains(from));
    report(&sum(&SUM.replacen(from, to, 1)).unwrap_err())
}

fn report(error: &GenerateError) -> String {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(100);
    handler.render_report(&mut text, error as &dyn Diagnostic).unwrap();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns the report up to the list of keys, which grows with the format.
fn without_keys(report: &str) -> &str {
    report.split_once("\n  help: the keys here are `").unwrap().0
}

#[test]
fn without_a_mistake_there_are_cases() {
    assert!(sum(SUM).unwrap().contains(&"ai.onnx/Sum-13/same_shape/T=float".to_owned()));
}

#[test]
fn an_unknown_key_is_shown() {
    assert_eq!(
        without_keys(&mistake("let:", "lets:")),
        "\
× specs/ai.onnx/Sum/op.yaml:9: cases[1]: unknown key `lets`
    ╭─[specs/ai.onnx/Sum/op.yaml:9:5]
  8 │   - name: same_shape
  9 │     lets: {N: 2}
    ·     ──┬─
    ·       ╰── here
 10 │     inputs: {data_0: [{shape: [N]}, {shape: [N]}]}
    ╰────"
    );
}

#[test]
fn an_unknown_fill_is_shown() {
    assert_eq!(
        mistake("fill: ones", "fill: twos"),
        "\
× specs/ai.onnx/Sum/op.yaml:7: cases[0].inputs.data_0[0]: not a fill
   ╭─[specs/ai.onnx/Sum/op.yaml:7:23]
 6 │   - name: same
 7 │     inputs: {data_0: [{shape: [2], fill: twos}]}
   ·                       ───┬──
   ·                          ╰── here
 8 │   - name: same_shape
   ╰────
  help: write uniform, positive, nonzero, open_unit, non_ties, distinct, special, position,
        counted, ones, zeros, {range: [LOW, HIGH]}, {eighths: [LOW, HIGH]}, {indices: SIZE},
        {addends: COUNT}, {factors: COUNT} or {texts: [LOW, HIGH]}"
    );
}

#[test]
fn an_unknown_key_of_an_input_is_shown() {
    assert_eq!(
        without_keys(&mistake("fill: ones", "filled: ones")),
        "\
× specs/ai.onnx/Sum/op.yaml:7: cases[0].inputs.data_0[0]: unknown key `filled`
   ╭─[specs/ai.onnx/Sum/op.yaml:7:36]
 6 │   - name: same
 7 │     inputs: {data_0: [{shape: [2], filled: ones}]}
   ·                                    ───┬──
   ·                                       ╰── here
 8 │   - name: same_shape
   ╰────"
    );
}

#[test]
fn an_expression_that_does_not_parse_is_shown() {
    assert_eq!(
        mistake("shape: [N]}, ", "shape: [2 * (N]}, "),
        "\
× specs/ai.onnx/Sum/op.yaml:8: expression '2 * (N' cannot be parsed at character 7; expected a
  │ closing parenthesis
   ╭─[specs/ai.onnx/Sum/op.yaml:8:11]
 7 │     inputs: {data_0: [{shape: [2], fill: ones}]}
 8 │   - name: same_shape
   ·           ─────┬────
   ·                ╰── here
 9 │     let: {N: 2}
   ╰────"
    );
}

#[test]
fn a_negative_shape_is_shown() {
    assert_eq!(
        mistake("let: {N: 2}", "let: {N: -2}"),
        "\
× specs/ai.onnx/Sum/op.yaml:8: 'N' is -2, which is not a dimension
   ╭─[specs/ai.onnx/Sum/op.yaml:8:11]
 7 │     inputs: {data_0: [{shape: [2], fill: ones}]}
 8 │   - name: same_shape
   ·           ─────┬────
   ·                ╰── here
 9 │     let: {N: -2}
   ╰────"
    );
}

#[test]
fn ids_that_collide_are_shown() {
    assert_eq!(
        mistake("{shape: [2], fill: ones}", "{shape: {each: [[2], [2]]}}"),
        "\
× specs/ai.onnx/Sum/op.yaml:6: two cases have the id ai.onnx/Sum-13/same/data_0.0=2/T=float
   ╭─[specs/ai.onnx/Sum/op.yaml:6:11]
 5 │ cases:
 6 │   - name: same
   ·           ──┬─
   ·             ╰── here
 7 │     inputs: {data_0: [{shape: {each: [[2], [2]]}}]}
   ╰────
  help: alternatives enter ids by value; write them as `each: {NAME: VALUE, ...}`"
    );
    assert_eq!(
        mistake("name: same_shape", "name: same"),
        "\
× specs/ai.onnx/Sum/op.yaml:8: duplicate case 'same'
   ╭─[specs/ai.onnx/Sum/op.yaml:8:11]
 7 │     inputs: {data_0: [{shape: [2], fill: ones}]}
 8 │   - name: same
   ·           ──┬─
   ·             ╰── here
 9 │     let: {N: 2}
   ╰────
  help: names become part of ids, so each must be unique"
    );
}

#[test]
fn a_case_that_fits_no_version_is_shown() {
    assert_eq!(
        mistake("data_0: [{shape: [N]}, ", "data: [{shape: [N]}, "),
        "\
× specs/ai.onnx/Sum/op.yaml:8: the case 'same_shape' applies to no version of Sum
   ╭─[specs/ai.onnx/Sum/op.yaml:8:11]
 7 │     inputs: {data_0: [{shape: [2], fill: ones}]}
 8 │   - name: same_shape
   ·           ─────┬────
   ·                ╰── here
 9 │     let: {N: 2}
   ╰────
  help: Sum-13 has no input 'data'"
    );
    assert_eq!(
        mistake("let: {N: 2}\n    inputs", "let: {N: 2}\n    since: 14\n    inputs"),
        "\
× specs/ai.onnx/Sum/op.yaml:8: the case 'same_shape' applies to no version of Sum
   ╭─[specs/ai.onnx/Sum/op.yaml:8:11]
 7 │     inputs: {data_0: [{shape: [2], fill: ones}]}
 8 │   - name: same_shape
   ·           ─────┬────
   ·                ╰── here
 9 │     let: {N: 2}
   ╰────
  help: since and until exclude all versions: [1, 6, 8, 13]"
    );
}

#[test]
fn values_that_no_type_holds_are_shown() {
    assert_eq!(
        mistake(
            "let: {N: 2}\n    inputs: {data_0: [{shape: [N]}",
            "only: {T: ['tensor(float16)']}\n    let: {N: 2}\n    inputs: {data_0: [{values: {each: [[1, 2], [1, 2049]]}}"
        ),
        "\
× specs/ai.onnx/Sum/op.yaml:8: no type can represent the values of 'same_shape/data_0.0=1:2049'
   ╭─[specs/ai.onnx/Sum/op.yaml:8:11]
 7 │     inputs: {data_0: [{shape: [2], fill: ones}]}
 8 │   - name: same_shape
   ·           ─────┬────
   ·                ╰── here
 9 │     only: {T: ['tensor(float16)']}
   ╰────
  help: no version has a case of it; correct the values or the types"
    );
}

#[test]
fn a_type_from_rows_that_do_not_fit_is_put_into_a_row_that_does() {
    let text = "\
op: Pow
summary: The power.
constraints: {C1: a rule}
cases:
  - name: square
    only: {T: ['tensor(float)', 'tensor(int32)'], T1: ['tensor(float)', 'tensor(int32)']}
    inputs: {X: {values: [0.5]}, Y: {values: [2]}}
";
    let operators = OperatorCatalog::new("specs", [("ai.onnx/Pow/op.yaml".to_owned(), text.to_owned())]);
    let ids = ids(&operators, &OperatorVersion::new("", "Pow", 13)).unwrap();
    let squares: Vec<&str> = ids.iter().filter_map(|id| id.strip_prefix("ai.onnx/Pow-13/square/")).collect();
    assert_eq!(
        squares,
        ["T=float,T1=float", "T=float,T1=int32", "T=float,T1=float@opset=last", "T=float,T1=int32@opset=last"]
    );
}

#[test]
fn a_refusal_without_its_control_is_shown() {
    assert_eq!(
        mistake("control: same_shape", "control: other"),
        "\
× specs/ai.onnx/Sum/op.yaml:12: the control 'other' does not exist
    ╭─[specs/ai.onnx/Sum/op.yaml:12:11]
 11 │ refuse:
 12 │   - name: shapes
    ·           ───┬──
    ·              ╰── here
 13 │     level: required
    ╰────
  help: a control is a case that runs and differs only in the violation"
    );
}

#[test]
fn the_file_of_another_operator_is_shown() {
    assert_eq!(
        mistake("op: Sum", "op: Max"),
        "\
× specs/ai.onnx/Sum/op.yaml:1: the folder does not have the name of the operator Max
   ╭─[specs/ai.onnx/Sum/op.yaml:1:5]
 1 │ op: Max
   ·     ─┬─
   ·      ╰── here
 2 │ summary: The sum.
   ╰────
  help: correct the line, or move the file to a folder named Max"
    );
}

/// Returns the ids of the refusals of an operator version, made from these cases and refusals.
fn refusals(operator: &str, since: u32, text: &str) -> Vec<String> {
    let text = format!("op: {operator}\nsummary: A test.\nconstraints: {{C1: a rule}}\n{text}");
    let operators = OperatorCatalog::new("specs", [(format!("ai.onnx/{operator}/op.yaml"), text)]);
    let version = OperatorVersion::new("", operator, since);
    let prefix = format!("ai.onnx/{operator}-{since}/refuse/");
    let ids = ids(&operators, &version).unwrap();
    ids.iter().filter_map(|id| id.strip_prefix(&prefix)).map(str::to_owned).collect()
}

#[test]
fn refusals_follow_from_the_signature() {
    let sum = "cases: [{name: one, inputs: {data_0: [{shape: [2]}, {shape: [2]}]}}]";
    assert_eq!(
        refusals("Sum", 8, sum),
        [
            "T=uint8",
            "T=bfloat16",
            "too-few-inputs",
            "mixed=data_0",
            "surplus-output",
            "attribute=consumed_inputs",
            "attribute=no_such_attribute"
        ]
    );
    let gather = "cases: [{name: one, inputs: {data: {shape: [2]}, indices: {values: [1]}}}]";
    let refused = refusals("Gather", 13, gather);
    for expected in
        ["missing=data", "missing=indices", "too-few-inputs", "surplus-input", "surplus-output", "attribute-type=axis"]
    {
        assert!(refused.iter().any(|id| id == expected), "{expected} is not among {refused:?}");
    }
    assert!(refused.contains(&"Tind=float".to_owned()), "{refused:?}");
}

#[test]
fn an_input_missing_in_the_first_case_is_violated_in_a_case_that_has_it() {
    let erase = "cases:\n  - {name: plain, inputs: {input_sequence: {shape: [2]}}}\n  - {name: at, inputs: {input_sequence: {shape: [2]}, position: {values: 0}}}";
    let refused = refusals("SequenceErase", 11, erase);
    assert!(refused.contains(&"I=float".to_owned()), "{refused:?}");
    assert!(refused.contains(&"S=float".to_owned()), "a tensor is no sequence: {refused:?}");
}

#[test]
fn a_written_refusal_may_leave_out_and_have_alternatives() {
    let text = "\
cases: [{name: one, inputs: {data: {values: [1, 2]}, indices: {values: [1]}}}]
refuse:
  - {name: out, control: one, inputs: {indices: {values: {each: [[2], [-3]]}}}}
  - {name: none, control: one, without: [indices]}
";
    let refused = refusals("Gather", 13, text);
    for expected in ["out/indices=2", "out/indices=-3", "none"] {
        assert!(refused.iter().any(|id| id == expected), "{expected} is not among {refused:?}");
    }
}

#[test]
fn a_refusal_that_fits_no_version_is_shown() {
    assert_eq!(
        mistake("inputs: {data_0: [{shape: [2]}, {shape: [3]}]}", "without: [data]"),
        "\
× specs/ai.onnx/Sum/op.yaml:12: the refusal 'shapes' applies to no version of Sum
    ╭─[specs/ai.onnx/Sum/op.yaml:12:11]
 11 │ refuse:
 12 │   - name: shapes
    ·           ───┬──
    ·              ╰── here
 13 │     level: required
    ╰────
  help: its control has no 'data' to omit"
    );
}

const RECIPES: &str = "\
recipes:
  pair:
    summary: Two of a kind.
    cases:
      - name: pair
        inputs: {$0: [{shape: [2]}, {shape: [2]}]}
      - name: second
        inputs: {$1: {shape: [2]}}
";

/// Returns the ids of Sum-13 with a file of recipes.
fn with_recipes(text: &str, recipes: &str) -> Result<Vec<String>, GenerateError> {
    let files = [("ai.onnx/Sum/op.yaml", text), ("recipes.yaml", recipes)];
    let operators = OperatorCatalog::new("specs", files.map(|(path, text)| (path.to_owned(), text.to_owned())));
    ids(&operators, &OperatorVersion::new("", "Sum", 13))
}

#[test]
fn a_recipe_names_inputs_by_position() {
    let recipes = RECIPES.split("      - name: second").next().unwrap();
    let ids = with_recipes(&SUM.replacen("- name: same\n", "- use: [pair]\n  - name: same\n", 1), recipes).unwrap();
    assert!(ids.contains(&"ai.onnx/Sum-13/pair/T=float".to_owned()), "{ids:?}");
    assert_eq!(ids.first().map(String::as_str), Some("ai.onnx/Sum-13/pair/T=float"));
}

#[test]
fn a_recipe_that_does_not_suit_is_shown_where_it_is_used() {
    let text = SUM.replacen("- name: same\n", "- use: [pair]\n  - name: same\n", 1);
    let shown = |recipes: &str| report(&with_recipes(&text, recipes).unwrap_err());
    let missing = shown(RECIPES);
    assert!(missing.contains("Sum-13 has no input at the position '$1' of the recipe"), "{missing}");
    assert!(missing.contains("specs/ai.onnx/Sum/op.yaml:6:"), "{missing}");
    let clashing = shown(&RECIPES.split("      - name: second").next().unwrap().replace("name: pair", "name: same"));
    for part in ["duplicate case 'same'", "specs/ai.onnx/Sum/op.yaml:6:", "specs/recipes.yaml:5:"] {
        assert!(clashing.contains(part), "{part} is not in {clashing}");
    }
    let unknown = shown("recipes: {}\n");
    assert!(unknown.contains("there is no recipe 'pair'"), "{unknown}");
}

#[test]
fn a_use_has_no_other_keys() {
    let text = SUM.replacen("- name: same\n", "- use: [pair]\n", 1);
    let shown = report(&with_recipes(&text, RECIPES).unwrap_err());
    assert!(shown.contains("a case that uses 'pair' has other keys"), "{shown}");
}

#[test]
fn a_large_case_has_a_group_of_its_own_and_runs_once_a_row_of_types() {
    let large = SUM.replacen(
        "  - name: same_shape\n    let: {N: 2}\n    inputs: {data_0: [{shape: [N]}, {shape: [N]}]}",
        "  - name: same_shape\n    size: large\n    inputs: {data_0: [{shape: {each: [[2000], [3000]]}}]}",
        1,
    );
    let large = large.split("refuse:").next().unwrap_or_default();
    let ids = sum(large).unwrap();
    let of_double: Vec<&String> =
        ids.iter().filter(|id| id.contains("/large/same_shape/") && id.ends_with("T=double")).collect();
    assert_eq!(of_double.len(), 1, "{ids:?}");
    let all = ids.iter().filter(|id| id.contains("/large/same_shape/")).count();
    // Four types, and the alternatives with the plainest type.
    assert!((4..=6).contains(&all), "{ids:?}");
}

#[test]
fn a_second_run_has_other_shapes_and_the_model_has_names_for_dimensions() {
    let text = SUM.replacen(
        "inputs: {data_0: [{shape: [N]}, {shape: [N]}]}",
        "inputs: {data_0: [{shape: [N]}, {shape: [N]}]}\n    again: {data_0: [{shape: [3, 1]}, {shape: [4]}]}",
        1,
    );
    let refused = text.clone();
    let operators = OperatorCatalog::new("specs", [("ai.onnx/Sum/op.yaml".to_owned(), text)]);
    let version = OperatorVersion::new("", "Sum", 13);
    let made = cases(&operators, &version, &|id| id == "ai.onnx/Sum-13/same_shape/T=float");
    // The two runs of one model must have the same ranks.
    assert!(made.is_err(), "{made:?}");
    let text = refused.replace("[{shape: [3, 1]}, {shape: [4]}]", "[{shape: [5]}, {shape: [5]}]");
    let operators = OperatorCatalog::new("specs", [("ai.onnx/Sum/op.yaml".to_owned(), text)]);
    let made = cases(&operators, &version, &|id| id == "ai.onnx/Sum-13/same_shape/T=float").unwrap();
    let shapes: Vec<Vec<Option<Vec<usize>>>> = made[0]
        .data
        .iter()
        .map(|data| data.outputs.iter().map(|output| output.expected.declared().1).collect())
        .collect();
    assert_eq!(shapes, [[Some(vec![2])], [Some(vec![5])]]);
}

/// Returns the ids of Sum-13, with the rules of its cases, from an op.yaml with this text after the summary.
fn rules(text: &str) -> Vec<(String, Option<RuleRef>)> {
    let text = format!("op: Sum\nsummary: The sum.\n{text}");
    let operators = OperatorCatalog::new("specs", [("ai.onnx/Sum/op.yaml".to_owned(), text)]);
    let is_shown = |id: &str| id.contains("T=float") || id.contains("/refuse/narrow");
    let made = cases(&operators, &OperatorVersion::new("", "Sum", 13), &is_shown).unwrap();
    let short = |id: &str| id.strip_prefix("ai.onnx/Sum-13/").unwrap_or(id).to_owned();
    made.into_iter().map(|case| (short(&case.id), case.rule)).collect()
}

#[test]
fn a_constraint_contains_its_cases_and_refusals() {
    let made = rules(
        "\
cases:
  - {name: free, only: {T: float}, inputs: {data_0: [{shape: [2]}]}}
constraints:
  C1: a sum of one is a copy
  C2:
    says: shapes broadcast
    cases:
      - {name: wide, only: {T: float}, inputs: {data_0: [{shape: [2, 1]}, {shape: [3]}]}}
    refuse:
      - {name: narrow, control: wide, inputs: {data_0: [{shape: [2]}, {shape: [3]}]}}
",
    );
    let place = "specs/ai.onnx/Sum/op.yaml:7".to_owned();
    let rule = Some(RuleRef { id: "C2".to_owned(), says: "shapes broadcast".to_owned(), place });
    let formula = RuleRef {
        id: "formula".to_owned(),
        says: "The sum.".to_owned(),
        place: "specs/ai.onnx/Sum/op.yaml:2".to_owned(),
    };
    assert_eq!(made[0], ("free/T=float".to_owned(), Some(formula)));
    for id in ["wide/T=float", "refuse/narrow"] {
        assert!(made.contains(&(id.to_owned(), rule.clone())), "{id} is not in {made:?}");
    }
}

#[test]
fn an_error_in_a_part_names_its_file_and_line() {
    let case = "  - {name: same, inputs: {data_0: [{shape: [2]}]}}";
    let file = format!("op: Sum\nsummary: The sum.\ncases:\n{case}\nconstraints:\n  C8: sizes are equal\n");
    let part = "constraints:\n  C9:\n    says: shapes broadcast\n    cases:\n      - {name: wide, lets: {}}\n";
    let files = [("ai.onnx/Sum/op.yaml", file.as_str()), ("ai.onnx/Sum/cases/wide.yaml", part)];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let error = OperatorCatalog::new("specs", files).get(&OperatorVersion::new("", "Sum", 13)).unwrap_err();
    assert!(error.to_string().starts_with("specs/ai.onnx/Sum/cases/wide.yaml:5: "), "{error}");
}

#[test]
fn first_puts_cases_before_the_others() {
    let text = "\
first: [second]
cases:
  - {name: one, only: {T: float}, inputs: {data_0: [{shape: [2]}]}}
  - {name: second, only: {T: float}, inputs: {data_0: [{shape: [3]}]}}
";
    assert_eq!(rules(text)[0].0, "second/T=float");
    let text = text.replace("first: [second]", "first: [third]");
    let error = report(&sum(&format!("op: Sum\nsummary: The sum.\n{text}")).unwrap_err());
    assert!(
        error.contains("specs/ai.onnx/Sum/op.yaml:3: `first` names the case 'third', which does not exist"),
        "{error}"
    );
}

#[test]
fn given_entries_precede_those_of_the_case() {
    let text = "\
given:
  pair: {inputs: {data_0: [{shape: [2]}, {shape: [2]}]}, only: {T: float}}
cases:
  - {name: of_float, given: pair}
  - {name: of_double, given: [pair], only: {T: double}}
";
    let text = format!("op: Sum\nsummary: The sum.\n{text}");
    let ids = sum(&text).unwrap();
    for id in ["ai.onnx/Sum-13/of_float/T=float", "ai.onnx/Sum-13/of_double/T=double"] {
        assert!(ids.contains(&id.to_owned()), "{id} is not in {ids:?}");
    }
    let error = |from: &str, to: &str| report(&sum(&text.replace(from, to)).unwrap_err());
    let unknown = error("given: [pair]", "given: [pairs]");
    assert!(unknown.contains("op.yaml:7: `given` has no 'pairs', only pair"), "{unknown}");
    let unused = error("cases:", "  three: {set: {axis: 1}}\ncases:");
    assert!(unused.contains("op.yaml:5: no case uses 'three' of `given`"), "{unused}");
}

#[test]
fn an_anchor_is_refused() {
    let shown =
        mistake("inputs: {data_0: [{shape: [2], fill: ones}]}", "inputs: &two {data_0: [{shape: [2], fill: ones}]}");
    for part in [
        "specs/ai.onnx/Sum/op.yaml:7: YAML anchors and aliases are not supported here",
        "[specs/ai.onnx/Sum/op.yaml:7:13]",
        "help: write shared parts under `given`, and `given: NAME` in the cases",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
}

#[test]
fn a_group_of_types_is_one_word() {
    let text = SUM.replacen("- name: same\n", "- name: same\n    only: {T: wide}\n", 1);
    let files = [("ai.onnx/Sum/op.yaml", text.as_str()), ("types.yaml", "groups: {wide: [float, double]}\n")];
    let operators = OperatorCatalog::new("specs", files.map(|(path, text)| (path.to_owned(), text.to_owned())));
    let ids = ids(&operators, &OperatorVersion::new("", "Sum", 13)).unwrap();
    let same: Vec<&str> = ids.iter().filter_map(|id| id.strip_prefix("ai.onnx/Sum-13/same/")).collect();
    let at_opsets = |id: &str| ["@opset=17", "@opset=21", "@opset=last"].map(|opset| format!("{id}{opset}"));
    let later: Vec<String> = ["T=float", "T=double"].into_iter().flat_map(at_opsets).collect();
    assert_eq!(same[..2], ["T=float", "T=double"]);
    assert_eq!(same[2..], later);
    let unknown = report(&sum(&text).unwrap_err());
    assert!(unknown.contains("op.yaml:6: 'wide' is neither a type nor a group"), "{unknown}");
}

/// Returns the ids of a version of `QuantizeLinear` whose type parameters have other names in the newest version.
fn quantized(since: u32, case: &str) -> Vec<String> {
    let text = format!(
        "op: QuantizeLinear\nsummary: A test.\nrename_types: {{T3: [T2]}}\ncases:\n  - {{name: one, {case}}}\n"
    );
    let operators = OperatorCatalog::new("specs", [("ai.onnx/QuantizeLinear/op.yaml".to_owned(), text)]);
    let version = OperatorVersion::new("", "QuantizeLinear", since);
    let ids = ids(&operators, &version).unwrap();
    let prefix = format!("ai.onnx/QuantizeLinear-{since}/one/");
    ids.iter().filter_map(|id| id.strip_prefix(&prefix)).filter(|id| !id.contains('@')).map(str::to_owned).collect()
}

#[test]
fn a_type_parameter_has_another_name_in_other_versions() {
    let case = "only: {T1: float, T2: float, T3: int8}, inputs: {x: {shape: [2], all: 4}, y_scale: {values: 2}, y_zero_point: {values: 0}}, outputs: {y: {shape: [2], all: 2}}";
    assert_eq!(quantized(13, case), ["T1=float,T2=int8"]);
    assert_eq!(quantized(23, case), ["T1=float,T2=float,T3=int8"]);
    let ranges = format!("since: [[10, 10], [23]], {case}");
    assert_eq!(quantized(13, &ranges), [""; 0]);
    assert_eq!(quantized(10, &ranges).len(), 1);
}

#[test]
fn a_condition_does_not_hold_for_a_version_without_its_parameter() {
    let case = "where: T1 == T2, only: {T2: float, T3: int8}, inputs: {x: {shape: [2], all: 4}, y_scale: {values: 2}, y_zero_point: {values: 0}}, outputs: {y: {shape: [2], all: 2}}";
    assert_eq!(quantized(13, case), ["T1=float,T2=int8", "T1=int32,T2=int8"]);
    assert_eq!(quantized(23, case), ["T1=float,T2=float,T3=int8"]);
}
