//! Variants: the same case with inputs supplied differently.

use std::collections::HashSet;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
    decode, encode, texts,
};
use onnx_conformance_reference::spec::{AttributeType, DEFAULT_DOMAIN, Release, Specs, canonical_domain};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use onnx_conformance_subject::Question;

use crate::case::question::ask;
use crate::case::wrapped::wrap;
use crate::case::{Case, Named, Variant};

/// Converts a case to a variant; its id ends with `@<variant>`. Returns `None` if the result would be the same, or for
/// a refusal, a hostile model, a model with several data sets, or one without an input to move.
///
/// `constants` and `initializers` move every tensor input but the first. So the data stays an input, while shapes, axes and
/// the like are known when the model is loaded. `all-constants` moves the first, too: the shape of `ConstantOfShape` and the start
/// of `Range` are then known, and the runtime may compute everything before it runs. `wrapped` puts exact no-ops around inputs and
/// outputs, which the runtime may remove. The other variants are questions about the model.
pub fn vary(case: &Case, variant: Variant) -> Option<Case> {
    if variant.question() != Question::Run {
        return ask(case, variant);
    }
    let [data] = case.data.as_slice() else { return None };
    if case.refusal.is_some() || case.is_hostile {
        return None;
    }
    let mut model = decode::model(case.model.clone()).ok()?;
    let mut data = data.clone();
    match variant {
        Variant::DynamicShapes => {
            let graph = model.graph.as_mut()?;
            let infos = graph.input.iter_mut().chain(&mut graph.output);
            let named = infos.map(name_dimensions).filter(|named| *named).count();
            if named == 0 {
                return None;
            }
        }
        Variant::Wrapped => {
            let opset = import_onnx_of_its_time(&mut model)?;
            wrap(&mut model, &mut data, &case.id, opset)?;
        }
        Variant::Constants | Variant::Initializers | Variant::AllConstants => {
            let first = usize::from(variant != Variant::AllConstants);
            let is_movable = |(at, input): &(usize, &Named)| *at >= first && matches!(input.value, Value::Tensor(_));
            let moved: Vec<Named> =
                data.inputs.iter().enumerate().filter(is_movable).map(|(_, input)| input.clone()).collect();
            let tensors: Vec<TensorProto> = moved.iter().filter_map(message).collect();
            if tensors.is_empty() {
                return None;
            }
            let names: HashSet<&str> = moved.iter().map(|input| input.name.as_str()).collect();
            data.inputs.retain(|input| !names.contains(input.name.as_str()));
            match variant {
                Variant::Initializers => initializers(&mut model, tensors)?,
                _ => constants(&mut model, tensors)?,
            }
        }
        // The case itself. The questions are above.
        _ => return None,
    }
    let id = variant.id(&case.id);
    Some(Case { id, model: model.encode_to_vec().into(), data: vec![data], ..case.clone() })
}

fn message(input: &Named) -> Option<TensorProto> {
    Some(encode::tensor(input.value.as_tensor()?, &input.name))
}

/// Inserts tensors as `Constant` nodes before all others.
fn constants(model: &mut ModelProto, tensors: Vec<TensorProto>) -> Option<()> {
    let opset = import_onnx(model)?;
    let spec = Specs::embedded().find("", "Constant", i64::from(opset)).ok()?;
    let graph = model.graph.as_mut()?;
    remove_inputs(graph, &tensors);
    let mut nodes = Vec::new();
    for tensor in tensors {
        let element = ElementType::from_code(tensor.data_type())?;
        // Older versions of Constant do not support every type.
        if !spec.types.values().any(|types| types.contains(&ValueType::Tensor(element))) {
            return None;
        }
        let name = tensor.name().to_owned();
        let value = AttributeProto {
            name: Some("value".to_owned()),
            r#type: Some(AttributeType::Tensor.code()),
            t: Some(Box::new(TensorProto { name: None, ..tensor })),
            ..AttributeProto::default()
        };
        let node = NodeProto {
            op_type: Some("Constant".into()),
            output: texts([name]),
            attribute: vec![value],
            ..NodeProto::default()
        };
        nodes.push(node);
    }
    graph.node.splice(0..0, nodes);
    Some(())
}

/// Returns the opset of ONNX's own domain. A model that does not import it gets the newest one.
fn import_onnx(model: &mut ModelProto) -> Option<u32> {
    let newest = || Specs::embedded().newest_released_opset("").ok();
    imported_onnx(model).or_else(|| add_import(model, newest()?))
}

/// Returns the opset of ONNX's own domain. A model that does not import it gets its opset in the first release with the
/// model's opsets, so a new release does not change the model.
fn import_onnx_of_its_time(model: &mut ModelProto) -> Option<u32> {
    let has = |release: &Release, import: &OperatorSetIdProto| {
        let newest = release.opsets.get(canonical_domain(import.domain()));
        newest.is_some_and(|newest| i64::from(*newest) >= import.version())
    };
    let of_its_time = || {
        let all = &Specs::embedded().releases().ok()?.releases;
        let first = all.iter().find(|release| model.opset_import.iter().all(|import| has(release, import)));
        first.or(all.last())?.opsets.get(DEFAULT_DOMAIN).copied()
    };
    let opset = of_its_time();
    imported_onnx(model).or_else(|| add_import(model, opset?))
}

/// Returns the opset of ONNX's own domain that a model imports.
fn imported_onnx(model: &ModelProto) -> Option<u32> {
    let import = model.opset_import.iter().find(|import| canonical_domain(import.domain()) == DEFAULT_DOMAIN)?;
    u32::try_from(import.version()).ok()
}

/// Adds the import of an opset of ONNX's own domain, and returns the opset.
fn add_import(model: &mut ModelProto, opset: u32) -> Option<u32> {
    let lowest = Specs::embedded().releases().ok()?.lowest_ir("", opset)?;
    model.ir_version = Some(model.ir_version().max(lowest.into()));
    model.opset_import.push(OperatorSetIdProto { domain: Some(String::new()), version: Some(opset.into()) });
    Some(opset)
}

/// Adds tensors as initializers. Before IR version 4 an initializer must also be an input.
fn initializers(model: &mut ModelProto, tensors: Vec<TensorProto>) -> Option<()> {
    let is_old = model.ir_version() < 4;
    let graph = model.graph.as_mut()?;
    if !is_old {
        remove_inputs(graph, &tensors);
    }
    graph.initializer.extend(tensors);
    Some(())
}

fn remove_inputs(graph: &mut GraphProto, tensors: &[TensorProto]) {
    let names: HashSet<&str> = tensors.iter().map(TensorProto::name).collect();
    graph.input.retain(|info| !names.contains(info.name()));
}

/// Replaces each size of a tensor's dimensions by a separate name.
pub(crate) fn name_dimensions(info: &mut ValueInfoProto) -> bool {
    let name = info.name().to_owned();
    let Some(type_proto::Value::TensorType(tensor)) = info.r#type.as_mut().and_then(|t| t.value.as_mut()) else {
        return false;
    };
    let dims = tensor.shape.iter_mut().flat_map(|shape| shape.dim.iter_mut()).enumerate();
    let named = dims.map(|(at, dim)| {
        let value = Some(dimension::Value::DimParam(format!("{name}_{at}")));
        *dim = Dimension { value, ..Dimension::default() };
    });
    named.count() > 0
}
