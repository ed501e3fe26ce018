//! External data files of a model.

use std::collections::BTreeSet;

use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;
use onnx_conformance_reference::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto};

/// Returns the locations that a model's tensors name, as they are spelled.
pub fn external_locations(model: &ModelProto) -> BTreeSet<String> {
    let mut locations = BTreeSet::new();
    let mut graphs: Vec<&GraphProto> = model.graph.iter().collect();
    for training in &model.training_info {
        graphs.extend(training.initialization.iter().chain(&training.algorithm));
    }
    for function in &model.functions {
        visit_attributes(&function.attribute_proto, &mut graphs, &mut locations);
        visit_nodes(&function.node, &mut graphs, &mut locations);
    }
    while let Some(graph) = graphs.pop() {
        let sparse = graph.sparse_initializer.iter().flat_map(|sparse| sparse.values.iter().chain(&sparse.indices));
        locations.extend(graph.initializer.iter().chain(sparse).filter_map(location));
        visit_nodes(&graph.node, &mut graphs, &mut locations);
    }
    locations
}

fn visit_nodes<'a>(nodes: &'a [NodeProto], graphs: &mut Vec<&'a GraphProto>, locations: &mut BTreeSet<String>) {
    for node in nodes {
        visit_attributes(&node.attribute, graphs, locations);
    }
}

fn visit_attributes<'a>(
    attributes: &'a [AttributeProto],
    graphs: &mut Vec<&'a GraphProto>,
    locations: &mut BTreeSet<String>,
) {
    for attribute in attributes {
        graphs.extend(attribute.all_graphs());
        let sparse = attribute.all_sparse_tensors();
        let sparse = sparse.flat_map(|sparse| sparse.values.iter().chain(&sparse.indices));
        locations.extend(attribute.all_tensors().chain(sparse).filter_map(location));
    }
}

fn location(tensor: &TensorProto) -> Option<String> {
    let entry = tensor.external_data.iter().find(|entry| entry.key() == "location");
    entry.filter(|_| tensor.data_location() == DataLocation::External).map(|entry| entry.value().to_owned())
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::proto::onnx::{FunctionProto, SparseTensorProto, StringStringEntryProto};

    use super::*;

    fn tensor(location: &str) -> TensorProto {
        let entry = StringStringEntryProto { key: Some("location".to_owned()), value: Some(location.to_owned()) };
        TensorProto {
            data_location: Some(DataLocation::External.into()),
            external_data: vec![entry],
            ..TensorProto::default()
        }
    }

    fn node(attribute: AttributeProto) -> NodeProto {
        NodeProto { attribute: vec![attribute], ..NodeProto::default() }
    }

    #[test]
    fn a_tensor_is_found_wherever_a_model_has_it() {
        let sparse = SparseTensorProto { values: Some(tensor("b")), indices: Some(tensor("c")), ..Default::default() };
        let inner = GraphProto {
            node: vec![node(AttributeProto { t: Some(Box::new(tensor("d/e"))), ..AttributeProto::default() })],
            ..GraphProto::default()
        };
        let graph = GraphProto {
            initializer: vec![tensor("a"), TensorProto { data_location: None, ..tensor("none") }],
            sparse_initializer: vec![sparse],
            node: vec![node(AttributeProto { g: Some(Box::new(inner)), ..AttributeProto::default() })],
            ..GraphProto::default()
        };
        let tensors = AttributeProto { tensors: vec![tensor("f")], ..AttributeProto::default() };
        let function = FunctionProto { node: vec![node(tensors)], ..FunctionProto::default() };
        let model = ModelProto { graph: Some(graph), functions: vec![function], ..ModelProto::default() };
        let locations = external_locations(&model);
        assert_eq!(locations.iter().map(String::as_str).collect::<Vec<_>>(), ["a", "b", "c", "d/e", "f"]);
    }
}
