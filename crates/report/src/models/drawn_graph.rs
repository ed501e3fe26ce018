//! Graphs of a model for a drawing: nodes with their attributes and kinds, and the types of values, without weights.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_check::Limits;
use onnx_conformance_check::infer::{BodyId, Inferred, NodeId, infer_facts};
use onnx_conformance_reference::proto::onnx::attribute_proto::AttributeType;
use onnx_conformance_reference::proto::{AttributeProto, ModelProto, NodeProto, TensorProto, Text};
use onnx_conformance_reference::types::ValueType;
use serde::Serialize;

use crate::describe_case::attribute_text;
use crate::models::runtimes::{KindLabel, kind_label};

/// Maximum number of nodes of all graphs.
const MAX_NODES: usize = 20_000;
/// Maximum number of graphs.
const MAX_GRAPHS: usize = 200;
/// Maximum number of characters of an attribute.
const MAX_TEXT: usize = 200;

/// Graphs of a model.
#[derive(Clone, Debug, Serialize)]
pub struct DrawnModel {
    /// Kinds of nodes: the operator version with its types, and the settings, as in reports on runtimes.
    kinds: Vec<KindLabel>,
    /// The graphs, the main graph first.
    graphs: Vec<DrawnGraph>,
}

/// A graph, or the body of a function.
#[derive(Clone, Debug, Serialize)]
struct DrawnGraph {
    title: String,
    /// Number of nodes, including those beyond the limit.
    total: usize,
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// Types of initializers, by name.
    weights: BTreeMap<String, String>,
    /// Known types of other values, by name.
    values: BTreeMap<String, String>,
    nodes: Vec<DrawnNode>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
struct DrawnNode {
    name: String,
    /// The operator version, such as `ai.onnx/Softmax-13`.
    #[serde(rename = "op")]
    operator: String,
    #[serde(rename = "in")]
    inputs: Vec<String>,
    #[serde(rename = "out")]
    outputs: Vec<String>,
    /// Names and values.
    attributes: Vec<(String, String)>,
    /// Position of the kind; `None` for a call of a function.
    kind: Option<usize>,
    /// The place, as findings have it.
    place: String,
}

/// Positions of kinds.
type Kinds = BTreeMap<KindLabel, usize>;

impl DrawnModel {
    /// Creates the graphs of a model, with the types that are known before it runs.
    pub fn new(model: &ModelProto, limits: &Limits) -> DrawnModel {
        let inferred = infer_facts(model, limits);
        let (mut kinds, mut left, mut graphs) = (Kinds::new(), MAX_NODES, Vec::new());
        for body in inferred.bodies.ids().take(MAX_GRAPHS) {
            let graph = DrawnGraph::new(&inferred, body, left, &mut kinds);
            left -= graph.nodes.len();
            graphs.push(graph);
        }
        let mut kinds: Vec<(KindLabel, usize)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, position)| *position);
        DrawnModel { kinds: kinds.into_iter().map(|(label, _)| label).collect(), graphs }
    }
}

impl DrawnGraph {
    /// Creates a graph with at most `most` nodes. New kinds of nodes are added to `kinds`.
    fn new(inferred: &Inferred<'_>, id: BodyId, most: usize, kinds: &mut Kinds) -> DrawnGraph {
        let body = inferred.bodies.body(id);
        let initializers = body.graph().map(|graph| graph.initializer.as_slice()).unwrap_or_default();
        let weights: BTreeMap<String, String> =
            initializers.iter().map(TensorProto::name).map(owned(inferred, id)).collect();
        let is_weight = |name: &&str| weights.contains_key(*name);
        let nodes: Vec<DrawnNode> = body
            .nodes()
            .iter()
            .enumerate()
            .take(most)
            .map(|(index, node)| DrawnNode::new(inferred, NodeId { body: id, index }, node, kinds))
            .collect();
        let named = nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs)).map(String::as_str);
        let names: BTreeSet<&str> = named.chain(body.inputs()).filter(|name| !name.is_empty()).collect();
        let values = names.into_iter().filter(|name| !is_weight(name)).map(owned(inferred, id)).collect();
        DrawnGraph {
            title: if id == BodyId::MAIN { "main graph".to_owned() } else { inferred.bodies.place(id).to_string() },
            total: body.nodes().len(),
            inputs: body.inputs().into_iter().filter(|name| !is_weight(name)).map(str::to_owned).collect(),
            outputs: body.outputs().into_iter().map(str::to_owned).collect(),
            weights,
            values,
            nodes,
        }
    }
}

/// Returns a function from a name to the name with its type: `float[2, ?]`. An unknown type is empty.
fn owned<'a>(inferred: &'a Inferred<'_>, body: BodyId) -> impl Fn(&str) -> (String, String) + 'a {
    move |name| {
        let fact = inferred.value(body, name);
        let value_type = fact.and_then(|fact| fact.value_type.as_ref()).map(|value_type| match value_type {
            ValueType::Tensor(element) => element.to_string(),
            other => other.to_string(),
        });
        let shape = fact.and_then(|fact| fact.shape.as_ref());
        let shape = shape.map(|shape| {
            let dimensions: Vec<String> = shape.iter().map(ToString::to_string).collect();
            format!("[{}]", dimensions.join(", "))
        });
        (name.to_owned(), format!("{}{}", value_type.unwrap_or_default(), shape.unwrap_or_default()))
    }
}

impl DrawnNode {
    fn new(inferred: &Inferred<'_>, id: NodeId, node: &NodeProto, kinds: &mut Kinds) -> DrawnNode {
        let texts = |names: &[Text]| names.iter().map(|name| name.as_str().to_owned()).collect();
        let next = kinds.len();
        let place = inferred.bodies.place_of(id);
        DrawnNode {
            name: node.name().to_owned(),
            operator: place.node.as_ref().map(|place| place.operator.clone()).unwrap_or_default(),
            inputs: texts(&node.input),
            outputs: texts(&node.output),
            attributes: node.attribute.iter().map(|it| (it.name().to_owned(), short_text(it))).collect(),
            kind: kind_label(inferred, id).map(|label| *kinds.entry(label).or_insert(next)),
            place: place.to_string(),
        }
    }
}

/// Formats an attribute in a few words. The elements of tensors are omitted, since large tensors are not read.
fn short_text(attribute: &AttributeProto) -> String {
    if attribute.ref_attr_name.is_none() && attribute.r#type() == AttributeType::Tensor {
        let dims = attribute.t.as_deref().map(|tensor| tensor.dims.as_slice()).unwrap_or_default();
        return format!("a tensor of shape {dims:?}");
    }
    let text = attribute_text(attribute);
    if text.chars().count() <= MAX_TEXT {
        return text;
    }
    text.chars().take(MAX_TEXT).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::model::text::parse_model;
    use serde_json::{Value, json};

    fn drawn(model: &str) -> Value {
        serde_json::to_value(DrawnModel::new(&parse_model(model).unwrap(), &Limits::default())).unwrap()
    }

    #[test]
    fn nodes_have_their_operator_version_kind_and_types() {
        let drawn = drawn(
            "<ir_version: 8, opset_import: [\"\" : 13]> g (float[2,3] x) => (float[2,3] z) <float[3] w = {1, 2, 3}> { y = Softmax <axis = 1> (x) z = Add (y, w) }",
        );
        let graph = &drawn["graphs"][0];
        assert_eq!((&graph["title"], &graph["total"]), (&json!("main graph"), &json!(2)));
        let node = &graph["nodes"][0];
        assert_eq!(
            (&node["op"], &node["in"], &node["out"]),
            (&json!("ai.onnx/Softmax-13"), &json!(["x"]), &json!(["y"]))
        );
        assert_eq!(node["attributes"], json!([["axis", "1"]]));
        assert_eq!((&graph["values"]["y"], &graph["weights"]["w"]), (&json!("float[2, 3]"), &json!("float[3]")));
        let kind = usize::try_from(node["kind"].as_u64().unwrap()).unwrap();
        assert_eq!(drawn["kinds"][kind][0], "Softmax-13 T=float");
        assert_eq!(graph["inputs"], json!(["x"]));
    }

    #[test]
    fn subgraphs_are_graphs_of_their_own() {
        let drawn = drawn(
            "<ir_version: 8, opset_import: [\"\" : 13]> g (bool c, float x) => (float y) { y = If (c) <then_branch = t () => (float a) { a = Neg (x) }, else_branch = e () => (float b) { b = Abs (x) }> }",
        );
        let graphs = drawn["graphs"].as_array().unwrap();
        assert_eq!(graphs.len(), 3);
        assert!(graphs[1]["title"].as_str().unwrap().contains("then_branch"), "{}", graphs[1]["title"]);
        assert_eq!(graphs[2]["nodes"][0]["op"], "ai.onnx/Abs-13");
        let outer = graphs[1]["values"]["x"].as_str().unwrap();
        assert!(outer.starts_with("float"), "a value of the enclosing graph: {outer}");
    }

    #[test]
    fn long_attributes_are_truncated() {
        let numbers = vec!["7"; 500].join(", ");
        let drawn = drawn(&format!(
            "<ir_version: 8, opset_import: [\"\" : 13]> g () => (int64[500] y) {{ y = Constant <value_ints = [{numbers}]> () }}"
        ));
        let text = drawn["graphs"][0]["nodes"][0]["attributes"][0][1].as_str().unwrap();
        assert!(text.ends_with('…') && text.chars().count() == MAX_TEXT + 1, "{text}");
    }
}
