//! Mistakes in topics, and forms that the files in the tree do not have.

use std::path::Path;

use onnx_conformance_reference::proto::decode;
use onnx_conformance_reference::spec::canonical_domain;

use crate::generate::make::topics::{
    Family, Topic, embedded_topics, planned_graphs, read_topic, topic_cases, topic_ids,
};

const TRANSPOSES: &str = "\
summary: Transposes.
patterns:
  - name: pair
    says: two Transposes are removed
    good:
      types: {T: [float, int64]}
      inputs: {x: {type: T, shape: [2, 3], fill: uniform}}
      set: {first: [1, 0], second: [1, 0]}
      nodes: |
        t = Transpose <perm = $first> (x)
        y = Transpose <perm = $second> (t)
    near:
      one:
        why: there is only one
        nodes: |
          y = Transpose <perm = $first> (x)
    refused:
      cycle:
        why: a node reads its own output
        replace: {(x): (t)}
";

const FORMAT: &str = "\
summary: Functions.
patterns:
  - name: call
    says: a node calls a function
    level: recommended
    good:
      opsets: [21]
      inputs: {x: {values: [1.0, 2.0]}}
      weights: {w: {values: [10.0, 20.0]}}
      nodes: y = local.f (x, w)
      functions: ['f (a, b) => (c) { c = Add (a, b) }']
      outputs: {y: {values: [11.0, 22.0]}}
    refused:
      no-function:
        why: there must be such a function
        level: open
        replace: {local.f: local.g}
  - name: scalar
    says: a shape without dimensions is that of a scalar
    good:
      model: '<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { y = Neg (x) }'
      inputs: {x: {values: 3.0}}
      outputs: {y: {values: -3.0}}
";

#[test]
fn what_is_planned_of_a_graph_is_true_of_its_case() {
    let named = ["graph/functions", "graph/transposes", "graph/casts"];
    for (name, text) in embedded_topics(Family::Graphs).filter(|(name, _)| named.contains(&name.as_str())) {
        let topic = read_topic(Family::Graphs, name.trim_start_matches("graph/"), text).unwrap();
        let (planned, made) = (planned_graphs(&topic).unwrap(), cases_of(&topic).unwrap());
        assert_eq!(planned.len(), made.len());
        for (planned, case) in planned.iter().zip(&made) {
            assert_eq!(
                (&planned.id, planned.level, planned.is_edge, &planned.note),
                (&case.id, case.level, case.is_edge, &case.note)
            );
            let Some((opset, ir)) = planned.versions else { continue };
            let model = decode::model(case.model.clone()).unwrap();
            let mut imports = model.opset_import.iter();
            let import = imports.find(|import| canonical_domain(import.domain()) == "ai.onnx").unwrap();
            assert_eq!((i64::from(opset), i64::from(ir)), (import.version(), model.ir_version()), "{}", case.id);
        }
        assert!(planned.iter().filter(|graph| graph.versions.is_some()).count() > 10, "{name}");
    }
}

fn cases_of(topic: &Topic) -> Result<Vec<crate::case::Case>, String> {
    topic_cases(topic, Path::new(""), &|_| true).map_err(|error| error.to_string())
}

/// Returns the error of the cases of a file with `from` replaced by `to`.
fn mistake(family: Family, text: &str, from: &str, to: &str) -> Option<String> {
    assert!(text.contains(from), "{from}");
    match read_topic(family, "a", &text.replacen(from, to, 1)) {
        Ok(topic) => cases_of(&topic).err(),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn a_mistake_names_its_line() {
    let of_graphs = |from: &str, to: &str| mistake(Family::Graphs, TRANSPOSES, from, to);
    assert_eq!(of_graphs("good:", "good:"), None);
    let rows = [
        ("summary: Transposes.", "summary: ''", "1: the summary is empty"),
        ("[1, 0], second: [1, 0]}", "[1, 0]}", "3: pair: '$second' has no value"),
        ("second: [1, 0]}", "second: [1, 0], third: 1}", "3: pair: 'third' is given, but no text has '$third'"),
        ("Transpose <perm = $second> (t)", "Transpose <perm = $second> t", "11: pair: nodes: "),
        ("y = Transpose <perm = $first> (x)", "y = Transpose <perm = $first> x", "16: pair: near miss 'one': nodes: "),
        ("{x: {type: T", "{z: {}, x: {type: T", "3: pair: no node reads 'z'"),
        ("{(x): (t)}", "{(z): (t)}", "18: pair: refused 'cycle': '(z)' must occur exactly once"),
        ("    near:", "    without: {nowhere: never}\n    near:", "3: pair: there is no context 'nowhere'"),
        ("    near:", "    near:\n      two: {request: [z]}", "13: pair: near miss 'two': no node has the output 'z'"),
        ("      types:", "      outputs: {z: {all: 1, shape: []}}\n      types:", "3: pair: the graph has no 'z'"),
    ];
    for (from, to, expected) in rows {
        let message = of_graphs(from, to).unwrap_or_else(|| panic!("{to} is not refused"));
        assert!(message.starts_with(&format!("specs/graphs/a.yaml:{expected}")), "{to}: {message}");
    }
}

#[test]
fn a_mistake_in_a_case_of_the_format_names_its_line() {
    let of_format = |from: &str, to: &str| mistake(Family::Format, FORMAT, from, to);
    assert_eq!(of_format("good:", "good:"), None);
    let rows = [
        ("      outputs: {y: {values: [11.0, 22.0]}}\n", "", "3: call: the output 'y' needs a value"),
        ("name: scalar", "name: call", "3: call: another pattern of the file has this name"),
        ("=> (float y)", "=> float y)", "21: scalar: model: "),
        ("      inputs: {x: {values: 3.0}}", "      inputs: {z: {values: 3.0}}", "18: scalar: the graph has no 'z'"),
        ("      model:", "      nodes: y = Neg (x)\n      model:", "18: scalar: `nodes` does not go with `model`"),
        ("replace: {local.f: local.g}", "replace: {}", "14: call: refused 'no-function': it violates nothing"),
        (
            "replace: {local.f: local.g}",
            "without: attribute-name",
            "14: call: refused 'no-function': the model does not",
        ),
    ];
    for (from, to, expected) in rows {
        let message = of_format(from, to).unwrap_or_else(|| panic!("{to} is not refused"));
        assert!(message.starts_with(&format!("specs/ir/a.yaml:{expected}")), "{to}: {message}");
    }
}

#[test]
fn a_context_that_does_not_apply_is_a_mistake() {
    let sequence = "y = SequenceConstruct (x, x)";
    let text = TRANSPOSES.replacen(
        "y = Transpose <perm = $second> (t)",
        &format!("{sequence}\n        z = Transpose <perm = $second> (t)"),
        1,
    );
    let topic = read_topic(Family::Graphs, "a", &text).unwrap();
    let error = cases_of(&topic).unwrap_err();
    assert!(error.contains("the context in_branch does not apply: the output 'y' is no tensor of numbers"), "{error}");
    let text = text.replacen("    near:", "    without: {in_branch: a sequence}\n    near:", 1);
    let topic = read_topic(Family::Graphs, "a", &text).unwrap();
    assert!(cases_of(&topic).is_ok());
}

#[test]
fn a_near_miss_requests_the_outputs_of_its_good_form() {
    let with_request = TRANSPOSES.replacen("      set:", "      request: [y, t]\n      set:", 1);
    let error = cases_of(&read_topic(Family::Graphs, "a", &with_request).unwrap()).unwrap_err();
    assert!(error.contains("near miss 'one': no node has the output 't'"), "{error}");
    let near = "    near:\n      two:\n        why: the permutations differ\n        set: {second: [0, 1]}\n";
    let text = with_request.replacen("    near:\n", near, 1).replacen(
        "        nodes: |\n          y =",
        "        request: [y]\n        nodes: |\n          y =",
        1,
    );
    let cases = cases_of(&read_topic(Family::Graphs, "a", &text).unwrap()).unwrap();
    let outputs = |id: &str| -> Vec<String> {
        let case = cases.iter().find(|case| case.id == id).unwrap();
        let graph = decode::model(case.model.clone()).unwrap().graph.unwrap();
        graph.output.iter().map(|output| output.name().to_owned()).collect()
    };
    assert_eq!(outputs("graph/a/pair/good/T=float"), ["y", "t"]);
    assert_eq!(outputs("graph/a/pair/near/two/T=float"), ["y", "t"]);
    assert_eq!(outputs("graph/a/pair/near/one/T=float"), ["y"]);
}

#[test]
fn refusals_have_the_good_form_as_control() {
    let topic = read_topic(Family::Graphs, "a", TRANSPOSES).unwrap();
    let ids = topic_ids(&topic).unwrap();
    assert!(ids.contains(&"graph/a/pair/refused/cycle".to_owned()), "{ids:?}");
    let cases = cases_of(&topic).unwrap();
    let refused = cases.iter().find(|case| case.id == "graph/a/pair/refused/cycle").unwrap();
    let refusal = refused.refusal.as_ref().unwrap();
    assert_eq!(
        (refusal.control.id.as_str(), refusal.rule.as_str()),
        ("graph/a/pair/good/T=float", "a node reads its own output")
    );
    assert_eq!(cases.len(), ids.len());
}

#[test]
fn nodes_and_models_make_cases_of_the_format() {
    let topic = read_topic(Family::Format, "a", FORMAT).unwrap();
    assert_eq!(topic_ids(&topic).unwrap(), ["ir/a/call", "ir/a/refuse/no-function", "ir/a/scalar"]);
    let cases = cases_of(&topic).unwrap();
    let models: Vec<_> = cases.iter().map(|case| decode::model(case.model.clone()).unwrap()).collect();
    let [call, scalar, refused] = models.as_slice() else { panic!("{cases:?}") };
    assert_eq!((call.ir_version, call.doc_string()), (Some(10), "a node calls a function"));
    assert_eq!(call.graph.as_ref().unwrap().initializer.len(), 1);
    assert_eq!(scalar.graph.as_ref().unwrap().name(), "g");
    assert_eq!(refused.graph.as_ref().unwrap().node[0].op_type(), "g");
    let levels: Vec<String> = cases.iter().map(|case| case.level.to_string()).collect();
    assert_eq!(levels, ["recommended", "required", "open"]);
}
