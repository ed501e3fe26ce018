//! Cases in another form: the same computation, put to a runtime otherwise.

use std::collections::BTreeSet;

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::onnx::attribute_proto::AttributeType;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension::Value as Dimension;
use onnx_conformance_reference::proto::onnx::type_proto::Value as TypeValue;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, Message as _, ModelProto, NodeProto, ValueInfoProto, encode,
};
use onnx_conformance_reference::spec::canonical_domain;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet, Variant};

/// The first opset whose `Constant` holds integers.
const INTEGER_CONSTANTS: i64 = 9;

/// The first IR version in which an initializer need not be an input as well.
const INITIALIZERS_ALONE: i64 = 4;

/// The case in a variant, with the variant at the end of its id.
///
/// As constants or initializers stand the inputs that are like shapes: integers (`int32`, `int64`) of rank 0 or 1 that are
/// the same in every data set. An operator set whose `Constant` holds no integers (before 9) keeps them as inputs. With
/// dynamic shapes, every dimension of an input has a name instead of a size, and nothing else declares one. A case that has
/// nothing to change is run as it is. What must be refused changes together with its control.
pub fn in_variant(case: Case, variant: Variant) -> Case {
    if variant == Variant::Runtime {
        return case;
    }
    let id = variant.id(&case.id);
    let mut case = Case { id, ..case };
    if let Some(refusal) = &mut case.refusal {
        *refusal.control = in_variant((*refusal.control).clone(), variant);
    }
    // What is no model is the same in every form.
    let Ok(mut model) = ModelProto::decode(case.model.clone()) else { return case };
    match variant {
        Variant::Runtime => {}
        Variant::Constants => with_values(&mut case, &mut model, can_hold_constants, constant),
        Variant::Initializers => with_values(&mut case, &mut model, |_| true, initializer),
        Variant::DynamicShapes => model.graph.iter_mut().for_each(forget_sizes),
    }
    case.model = Bytes::from(model.encode_to_vec());
    case
}

/// Moves the inputs that are like shapes into the model.
fn with_values(
    case: &mut Case,
    model: &mut ModelProto,
    is_possible: fn(&ModelProto) -> bool,
    put: fn(&mut GraphProto, &str, &Tensor, bool),
) {
    let keeps_inputs = model.ir_version() < INITIALIZERS_ALONE;
    if !is_possible(model) {
        return;
    }
    let Some(graph) = &mut model.graph else { return };
    let declared: BTreeSet<&str> = graph.input.iter().map(ValueInfoProto::name).collect();
    let values: Vec<(String, Tensor)> =
        like_shapes(&case.data).into_iter().filter(|(name, _)| declared.contains(name.as_str())).collect();
    for (name, tensor) in &values {
        put(graph, name, tensor, keeps_inputs);
    }
    for data in &mut case.data {
        data.inputs.retain(|input| values.iter().all(|(name, _)| *name != input.name));
    }
}

/// The inputs that are like shapes, by name.
fn like_shapes(data: &[DataSet]) -> Vec<(String, Tensor)> {
    let Some((first, others)) = data.split_first() else { return Vec::new() };
    let integers = first.inputs.iter().filter_map(|input| {
        let tensor = input.value.as_tensor()?;
        let is_integer = matches!(tensor.element_type(), ElementType::Int32 | ElementType::Int64);
        (is_integer && tensor.shape().len() <= 1).then(|| (input.name.clone(), tensor.clone()))
    });
    let is_same = |(name, tensor): &(String, Tensor)| {
        let same = |value: &Value| {
            value.as_tensor().is_some_and(|other| {
                (other.element_type(), other.shape(), other.bytes())
                    == (tensor.element_type(), tensor.shape(), tensor.bytes())
            })
        };
        others.iter().all(|data| data.inputs.iter().any(|input| input.name == *name && same(&input.value)))
    };
    integers.filter(is_same).collect()
}

fn can_hold_constants(model: &ModelProto) -> bool {
    let of_onnx = |domain: &str| canonical_domain(domain) == canonical_domain("");
    model.opset_import.iter().any(|import| of_onnx(import.domain()) && import.version() >= INTEGER_CONSTANTS)
}

fn constant(graph: &mut GraphProto, name: &str, tensor: &Tensor, _: bool) {
    let value = AttributeProto {
        name: Some("value".to_owned()),
        r#type: Some(AttributeType::Tensor.into()),
        t: Some(encode::tensor(tensor, "")),
        ..AttributeProto::default()
    };
    let node = NodeProto {
        op_type: Some("Constant".to_owned()),
        output: vec![name.to_owned()],
        attribute: vec![value],
        ..NodeProto::default()
    };
    graph.node.insert(0, node);
    graph.input.retain(|input| input.name() != name);
    // An initializer of the same name was what the input was by default.
    graph.initializer.retain(|initializer| initializer.name() != name);
}

fn initializer(graph: &mut GraphProto, name: &str, tensor: &Tensor, keeps_input: bool) {
    graph.initializer.retain(|initializer| initializer.name() != name);
    graph.initializer.push(encode::tensor(tensor, name));
    if !keeps_input {
        graph.input.retain(|input| input.name() != name);
    }
}

/// Gives every dimension of the inputs a name of its own, and takes away what else says sizes.
fn forget_sizes(graph: &mut GraphProto) {
    let initializers: BTreeSet<&str> = graph.initializer.iter().map(|tensor| tensor.name()).collect();
    for input in
        graph.input.iter_mut().filter(|input| !initializers.contains(input.name.as_deref().unwrap_or_default()))
    {
        let name = input.name().to_owned();
        set_sizes(input, |axis| Some(Dimension::DimParam(format!("{name}_{axis}"))));
    }
    graph.output.iter_mut().for_each(|output| set_sizes(output, |_| None));
    graph.value_info.clear();
}

fn set_sizes(info: &mut ValueInfoProto, size: impl Fn(usize) -> Option<Dimension>) {
    let Some(TypeValue::TensorType(tensor)) = info.r#type.as_mut().and_then(|declared| declared.value.as_mut()) else {
        return;
    };
    let dimensions = tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim);
    dimensions.enumerate().for_each(|(axis, dimension)| dimension.value = size(axis));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Operators, cases};
    use crate::run::{Outcome, judge};
    use crate::runtime::{Builtin, Runtime as _};
    use std::time::Duration;

    fn loaded(version: &str) -> Vec<Case> {
        cases(&Operators::embedded(), &version.parse().unwrap(), &|_| true).unwrap()
    }

    fn graph(case: &Case) -> GraphProto {
        ModelProto::decode(case.model.clone()).unwrap().graph.unwrap()
    }

    #[test]
    fn what_passes_passes_in_every_variant() {
        let runtime = Builtin::new(Duration::from_mins(1));
        for version in ["ai.onnx/Reshape-14", "ai.onnx/Slice-13", "ai.onnx/Tile-1", "ai.onnx/Sum-13"] {
            for case in loaded(version) {
                for variant in Variant::ALL {
                    let case = in_variant(case.clone(), variant);
                    assert_eq!(Variant::of_id(&case.id).1, variant);
                    let result = judge(&case, &runtime, &runtime.declaration());
                    assert_eq!(result.outcome, Outcome::Pass, "{}: {}", result.id, result.message);
                }
            }
        }
    }

    #[test]
    fn a_shape_moves_into_the_model() {
        let case = loaded("ai.onnx/Reshape-14").into_iter().find(|case| case.refusal.is_none()).unwrap();
        let constants = in_variant(case.clone(), Variant::Constants);
        assert_eq!((graph(&constants).input.len(), constants.data[0].inputs.len()), (1, 1));
        assert_eq!(graph(&constants).node[0].op_type(), "Constant");
        let initializers = in_variant(case, Variant::Initializers);
        assert_eq!((graph(&initializers).input.len(), initializers.data[0].inputs.len()), (1, 1));
        assert_eq!(graph(&initializers).initializer[0].name(), "shape");
    }

    #[test]
    fn before_opset_9_constants_hold_no_integers_and_initializers_are_inputs() {
        let case = loaded("ai.onnx/Reshape-5").into_iter().find(|case| case.refusal.is_none()).unwrap();
        assert_eq!(graph(&in_variant(case.clone(), Variant::Constants)), graph(&case));
        let initializers = in_variant(case, Variant::Initializers);
        assert_eq!((graph(&initializers).input.len(), graph(&initializers).initializer.len()), (2, 1));
        assert_eq!(initializers.data[0].inputs.len(), 1);
    }

    #[test]
    fn sizes_become_names() {
        let case = loaded("ai.onnx/Abs-13").into_iter().find(|case| case.refusal.is_none()).unwrap();
        let dynamic = graph(&in_variant(case, Variant::DynamicShapes));
        let dimensions = |info: &ValueInfoProto| match info.r#type.as_ref().and_then(|declared| declared.value.clone())
        {
            Some(TypeValue::TensorType(tensor)) => tensor.shape.unwrap().dim,
            _ => Vec::new(),
        };
        let named =
            |(axis, value): (usize, &Option<Dimension>)| *value == Some(Dimension::DimParam(format!("X_{axis}")));
        let input: Vec<Option<Dimension>> = dimensions(&dynamic.input[0]).into_iter().map(|dim| dim.value).collect();
        assert!(!input.is_empty() && input.iter().enumerate().all(named), "{input:?}");
        assert!(dimensions(&dynamic.output[0]).iter().all(|dimension| dimension.value.is_none()));
    }
}
