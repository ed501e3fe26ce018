//! Conversions of tree ensembles between versions 3 and 5 of ai.onnx.ml.

use std::collections::BTreeMap;

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{ModelProto, NodeProto};

use crate::convert::tests::support::{assert_near, outputs};
use crate::convert::{Target, convert};

fn ml(opset: i64) -> Target {
    Target { opsets: BTreeMap::from([("ai.onnx.ml".to_owned(), opset)]), ..Target::default() }
}

/// A model of two trees over `x`: `x <= -1` leads to leaf 1, else to leaf 2; and a tree of one leaf.
fn model(operator: &str, results: &str, output: &str, attributes: &str) -> ModelProto {
    let text = format!(
        r#"<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> g (float[4, 1] x) => ({output}) {{
            {results} = ai.onnx.ml.{operator} <
                nodes_treeids = [0, 0, 0, 7], nodes_nodeids = [0, 1, 2, 0], nodes_featureids = [0, 0, 0, 0],
                nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF", "LEAF"], nodes_values = [-1.0, 0.0, 0.0, 0.0],
                nodes_truenodeids = [1, 0, 0, 0], nodes_falsenodeids = [2, 0, 0, 0], {attributes}
            > (x)
        }}"#
    );
    parse_model(&text).unwrap()
}

/// Converts a model to version 5; compares the operators and the outputs of both models.
fn check(model: &ModelProto, operators: &[&str]) -> ModelProto {
    let converted = convert(model, &ml(5)).unwrap_or_else(|refusal| panic!("{refusal}")).model;
    let nodes = converted.graph.iter().flat_map(|graph| &graph.node);
    let names: Vec<&str> = nodes.map(NodeProto::op_type).filter(|name| *name != "Constant").collect();
    assert_eq!(names, operators);
    assert_near(&outputs(model, &[4, 1]), &outputs(&converted, &[4, 1]));
    converted
}

#[test]
fn a_regressor_becomes_an_ensemble_and_back() {
    let votes = "target_treeids = [0, 0, 0, 7], target_nodeids = [1, 1, 2, 0], target_ids = [0, 1, 0, 0], \
                 target_weights = [1.0, 5.0, 2.0, -3.0], n_targets = 2";
    let model = model("TreeEnsembleRegressor", "y", "float[4, 2] y", votes);
    let converted = check(&model, &["TreeEnsemble"]);
    let back = convert(&converted, &ml(4)).unwrap().model;
    assert_eq!(back.graph.as_ref().unwrap().node[0].op_type(), "TreeEnsembleRegressor");
    assert_near(&outputs(&model, &[4, 1]), &outputs(&back, &[4, 1]));
}

#[test]
fn base_values_and_averages_over_leaves_with_several_votes_follow_the_ensemble() {
    let votes = "target_treeids = [0, 0, 0, 7], target_nodeids = [1, 1, 2, 0], target_ids = [0, 1, 0, 0], \
                 target_weights = [1.0, 5.0, 2.0, -3.0], n_targets = 2, aggregate_function = ";
    let of = |rest: &str| model("TreeEnsembleRegressor", "y", "float[4, 2] y", &format!("{votes}{rest}"));
    check(&of(r#""AVERAGE""#), &["Cast", "TreeEnsemble", "Div", "Cast"]);
    check(&of(r#""SUM", base_values = [0.5, -1.0]"#), &["Cast", "TreeEnsemble", "Add", "Cast"]);
    check(
        &of(r#""SUM", base_values = [0.5, -1.0], post_transform = "SOFTMAX""#),
        &["Cast", "TreeEnsemble", "Add", "Softmax", "Cast"],
    );
    check(&of(r#""MAX""#), &["TreeEnsemble"]);
}

#[test]
fn the_largest_score_of_a_classifier_selects_its_label() {
    let votes = "class_treeids = [0, 0, 0, 7], class_nodeids = [1, 1, 2, 0], class_ids = [0, 1, 2, 1], \
                 class_weights = [1.0, 5.0, 2.0, 0.5], classlabels_int64s = [7, 3, 9]";
    let plain = model("TreeEnsembleClassifier", "l, z", "int64[4] l, float[4, 3] z", votes);
    check(&plain, &["Cast", "TreeEnsemble", "ArgMax", "Gather", "Cast"]);
    let transformed = format!("{votes}, post_transform = \"LOGISTIC\"");
    let transformed = model("TreeEnsembleClassifier", "l, z", "int64[4] l, float[4, 3] z", &transformed);
    check(&transformed, &["Cast", "TreeEnsemble", "ArgMax", "Gather", "Sigmoid", "Cast"]);
    let probit = format!("{votes}, post_transform = \"PROBIT\"");
    let probit = model("TreeEnsembleClassifier", "l, z", "int64[4] l, float[4, 3] z", &probit);
    let refusal = convert(&probit, &ml(5)).unwrap_err().to_string();
    assert!(
        refusal.contains("post_transform PROBIT is applied after the base values and the choice of the class"),
        "{refusal}"
    );
}

#[test]
fn votes_for_one_class_decide_between_two() {
    let votes = |weights: &str| {
        format!(
            "class_treeids = [0, 0, 7], class_nodeids = [1, 2, 0], class_ids = [1, 1, 1], class_weights = {weights}, \
             classlabels_int64s = [4, 5]"
        )
    };
    let of = |weights: &str| model("TreeEnsembleClassifier", "l, z", "int64[4] l, float[4, 2] z", &votes(weights));
    let label = ["Greater", "Cast", "Reshape", "Gather"];
    let operators = |rest: &[&'static str]| [&["Cast", "TreeEnsemble"], &label[..], rest, &["Concat", "Cast"]].concat();
    check(&of("[0.75, 0.25, 0.0]"), &operators(&["Sub"]));
    check(&of("[0.75, -0.25, 0.0]"), &operators(&["Neg"]));
    let transformed = |weights: &str, transform: &str| {
        let attributes = format!("{}, post_transform = \"{transform}\"", votes(weights));
        model("TreeEnsembleClassifier", "l, z", "int64[4] l, float[4, 2] z", &attributes)
    };
    let logistic = [&["Cast", "TreeEnsemble"], &label[..], &["Neg", "Concat", "Sigmoid", "Cast"]].concat();
    check(&transformed("[0.75, -0.25, 0.0]", "LOGISTIC"), &logistic);
    for (weights, transform) in [("[0.75, 0.25, 0.0]", "LOGISTIC"), ("[0.75, -0.25, 0.0]", "SOFTMAX")] {
        let refusal = convert(&transformed(weights, transform), &ml(5)).unwrap_err().to_string();
        assert!(refusal.contains("the standard does not say how one score becomes two"), "{refusal}");
    }
}

#[test]
fn trees_that_cannot_be_read_in_one_way_are_refused() {
    let votes = "target_treeids = [0, 7], target_nodeids = [1, 0], target_ids = [0, 0], target_weights = [1.0, 5.0]";
    let refusal = |from: &str, to: &str| {
        let mut model = model("TreeEnsembleRegressor", "y", "float[4, 1] y", votes);
        let node = &mut model.graph.as_mut().unwrap().node[0];
        let attribute = node.attribute.iter_mut().find(|attribute| attribute.name() == from).unwrap();
        attribute.ints = to.split(' ').map(|item| item.parse().unwrap()).collect();
        convert(&model, &ml(5)).unwrap_err().to_string()
    };
    for (attribute, value, reason) in [
        ("nodes_truenodeids", "0 0 0 0", "the first listed node of a tree is the child of another node"),
        ("nodes_truenodeids", "9 0 0 0", "node 0 of tree 0 leads to a node that the tree does not have"),
        ("nodes_nodeids", "0 1 1 0", "a pair of nodes_treeids and nodes_nodeids appears twice"),
        ("nodes_featureids", "0 0 0", "the lists nodes_* have different lengths"),
        ("target_ids", "0", "the lists target_* have different lengths"),
    ] {
        let found = refusal(attribute, value);
        assert!(found.ends_with(reason), "{attribute}={value}: {found}");
    }
}
