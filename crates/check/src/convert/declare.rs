//! Declarations of inferred types and shapes.

use std::collections::{BTreeSet, HashSet};

use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::{TensorShapeProto, type_proto};
use onnx_conformance_reference::proto::{ModelProto, TypeProto, ValueInfoProto, encode};

use super::file_edits::dimension_names;
use super::graph_edits::{GraphEdits, GraphPath, ModelEdits};
use crate::facts::ValueFact;
use crate::infer::{BodyId, Inferred, infer_facts};
use crate::limits::Limits;

/// Returns the edits that declare the inferred type and shape of each value of the main graph without a declaration, and the number
/// of these values.
pub fn missing_declarations(inferred: &Inferred<'_>) -> (ModelEdits, usize) {
    let mut edits = ModelEdits::default();
    let Some(graph) = &inferred.bodies.model.graph else { return (edits, 0) };
    let names = dimension_names(inferred.bodies.model);
    let infos = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
    let mut declared: HashSet<&str> = infos.map(ValueInfoProto::name).collect();
    let outputs = graph.node.iter().flat_map(|node| &node.output).filter(|name| !name.is_empty());
    let values: Vec<ValueInfoProto> = outputs
        .filter(|name| declared.insert(name))
        .filter_map(|name| {
            let declared = declaration(inferred.value(BodyId::MAIN, name)?, &names)?;
            Some(ValueInfoProto { name: Some(name.to_string()), r#type: Some(declared), ..ValueInfoProto::default() })
        })
        .collect();
    let count = values.len();
    edits.graphs.insert(GraphPath::new(), GraphEdits { values, ..GraphEdits::default() });
    (edits, count)
}

/// Returns a model that declares the inferred type and shape of each output and each other value of its main graph.
pub fn declare_values(model: &ModelProto, limits: &Limits) -> ModelProto {
    let inferred = infer_facts(model, limits);
    let names = dimension_names(model);
    let declared = |name: &str| declaration(inferred.value(BodyId::MAIN, name)?, &names);
    let mut annotated = model.clone();
    let Some(graph) = &mut annotated.graph else { return annotated };
    for output in &mut graph.output {
        output.r#type = declared(output.name()).or(output.r#type.take());
    }
    let known: HashSet<&str> = graph.output.iter().chain(&graph.value_info).map(ValueInfoProto::name).collect();
    let inner =
        graph.node.iter().flat_map(|node| &node.output).filter(|name| !name.is_empty() && !known.contains(&***name));
    let infos: Vec<ValueInfoProto> = inner
        .filter_map(|name| {
            let r#type = Some(declared(name)?);
            Some(ValueInfoProto { name: Some(name.to_string()), r#type, ..ValueInfoProto::default() })
        })
        .collect();
    graph.value_info.extend(infos);
    annotated
}

/// Returns the type of a value with its shape; `None` if the type is not known. A dimension keeps a name of the model. One that
/// follows from others, such as `2*N`, has no name, so it is left open.
pub(super) fn declaration(fact: &ValueFact, names: &BTreeSet<&str>) -> Option<TypeProto> {
    let mut declared = encode::value_type(fact.value_type.as_ref()?, None);
    if let (Some(type_proto::Value::TensorType(tensor)), Some(shape)) = (&mut declared.value, &fact.shape) {
        let dim = shape.iter().map(|dim| {
            let value = match dim {
                Dim::Size(size) => i64::try_from(*size).ok().map(dimension::Value::DimValue),
                Dim::Name(name) if names.contains(&**name) => Some(dimension::Value::DimParam(name.to_string())),
                Dim::Name(_) | Dim::Sum(_) | Dim::Unknown => None,
            };
            Dimension { denotation: None, value }
        });
        tensor.shape = Some(TensorShapeProto { dim: dim.collect() });
    }
    Some(declared)
}
