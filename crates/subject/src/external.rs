//! Detection of external data in a model.

use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, Message as _, ModelProto, SparseTensorProto, TensorProto,
};

/// Returns true if a tensor of a serialized model is stored in an external file. False for bytes that are not a model.
pub fn has_external_data(model: &[u8]) -> bool {
    let Ok(model) = ModelProto::decode(model) else { return false };
    let training = model.training_info.iter().flat_map(|info| info.initialization.iter().chain(&info.algorithm));
    let mut graphs: Vec<&GraphProto> = model.graph.iter().chain(training).collect();
    for node in model.functions.iter().flat_map(|function| &function.node) {
        if node.attribute.iter().any(|attribute| visit(attribute, &mut graphs)) {
            return true;
        }
    }
    while let Some(graph) = graphs.pop() {
        let attributes = graph.node.iter().flat_map(|node| &node.attribute);
        let is_external = graph.initializer.iter().any(is_external)
            || graph.sparse_initializer.iter().any(is_sparse_external)
            || attributes.into_iter().any(|attribute| visit(attribute, &mut graphs));
        if is_external {
            return true;
        }
    }
    false
}

/// Returns true if a tensor of an attribute is external, and adds the attribute's graphs to `graphs`.
fn visit<'a>(attribute: &'a AttributeProto, graphs: &mut Vec<&'a GraphProto>) -> bool {
    graphs.extend(attribute.all_graphs());
    attribute.all_tensors().any(is_external) || attribute.all_sparse_tensors().any(is_sparse_external)
}

fn is_external(tensor: &TensorProto) -> bool {
    tensor.data_location() == DataLocation::External
}

fn is_sparse_external(tensor: &SparseTensorProto) -> bool {
    tensor.values.iter().chain(&tensor.indices).any(is_external)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::proto::NodeProto;

    #[test]
    fn data_in_a_branch_of_a_branch_is_found() {
        let graph = |tensor: Option<TensorProto>| {
            let inner = GraphProto { initializer: tensor.into_iter().collect(), ..GraphProto::default() };
            let attribute = AttributeProto { g: Some(Box::new(inner)), ..AttributeProto::default() };
            GraphProto {
                node: vec![NodeProto { attribute: vec![attribute], ..NodeProto::default() }],
                ..GraphProto::default()
            }
        };
        let check = |tensor: TensorProto, expected: bool| {
            let model = ModelProto { graph: Some(graph(Some(tensor))), ..ModelProto::default() };
            assert_eq!(has_external_data(&model.encode_to_vec()), expected);
        };
        check(TensorProto { data_location: Some(DataLocation::External.into()), ..TensorProto::default() }, true);
        check(TensorProto::default(), false);
        assert!(!has_external_data(b"no model"));
    }
}
