//! The outcome of a conversion to a 16-bit float.
//!
//! The result computes in the 16-bit type, so the rule of the case does not apply. It is compared with the original model on the same
//! inputs, rounded to that type. A difference beyond the tolerance is not due to rounding, since a model of one or a few operators
//! rounds only a few times. A case is not judged if rounding each of its values loses the result, since no tool can keep it in that
//! type.

use std::collections::BTreeSet;

use bytes::Bytes;
use onnx_conformance_cases::case::{Case, Named};
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::declare_values;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{
    AttributeProto, Message as _, ModelProto, NodeProto, ValueInfoProto, decode, encode, texts,
};
use onnx_conformance_reference::spec::{AttributeType, DEFAULT_DOMAIN, canonical_domain};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Ask, Builtin, Ended, Host as _, Request, Response};

use crate::run::{CaseResult, Outcome, failure};

/// A 16-bit float, and the accuracy of a conversion to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    /// The type.
    pub(super) element: ElementType,
    /// Largest difference, as a part of the largest element of an output.
    pub(super) tolerance: f64,
    /// The largest finite value.
    pub(super) largest: f64,
    /// The smallest normal value. Below it, precision is lost step by step.
    pub(super) smallest_normal: f64,
}

/// Compares the converted model of a case with the original one.
pub(super) fn compare_converted(half: Half, case: &Case, converted: &Bytes, host: &Builtin) -> CaseResult {
    let mut result = CaseResult::for_case(case);
    let Some(data) = case.data.first() else { return result };
    let rounded: Vec<Named> = data.inputs.iter().map(|input| cast(input, half.element)).collect();
    let run = |model: &Bytes, inputs: &[Named]| {
        let request =
            Request { id: &case.id, model, folder: case.folder.as_deref(), inputs, outputs: &[], ask: Ask::RUN };
        host.run(&request).ended
    };
    let Ok(model) = decode::model(converted.clone()) else { return result };
    // The same numbers for both, in the type that each declares.
    let back: Vec<Named> =
        rounded.iter().zip(&data.inputs).map(|(narrow, own)| cast(narrow, element_of(own))).collect();
    let own: Vec<Named> = rounded
        .iter()
        .zip(&back)
        .map(|(narrow, wide)| if takes(&model, &narrow.name, half.element) { narrow } else { wide }.clone())
        .collect();
    let Ended::Answered(Response::Outputs { values: expected, .. }) = run(&case.model, &back) else {
        result.outcome = Outcome::NotApplicable;
        "the original model does not run on inputs in half precision".clone_into(&mut result.message);
        return result;
    };
    if let Some(rounded) = with_rounded_values(&case.model, half.element) {
        let holds = |values: &[Value]| {
            expected.iter().zip(values).all(|(expected, value)| compare(half, expected, value).is_ok())
        };
        if !matches!(run(&rounded, &back), Ended::Answered(Response::Outputs { values, .. }) if holds(&values)) {
            result.outcome = Outcome::NotApplicable;
            "the result is lost if the values of the model are rounded to half precision"
                .clone_into(&mut result.message);
            return result;
        }
    }
    match run(converted, &own) {
        Ended::Answered(Response::Outputs { values, .. }) => {
            let names = data.outputs.iter().map(|output| output.name.as_str());
            for ((name, expected), actual) in names.zip(&expected).zip(&values) {
                if let Err((outcome, message)) = compare(half, expected, actual) {
                    // Values inside subgraphs are not rounded above, so they may be out of range of half precision.
                    let is_certain = outcome != Outcome::Mismatch || !has_subgraphs(&case.model);
                    let outcome = if is_certain { outcome } else { Outcome::NotApplicable };
                    (result.outcome, result.message) = (outcome, format!("output '{name}': {message}"));
                    break;
                }
            }
        }
        other => (result.outcome, result.message) = failure(other, &mut result.missing),
    }
    result
}

/// Returns true if a node of a model has a graph.
fn has_subgraphs(bytes: &Bytes) -> bool {
    let model = decode::model(bytes.clone()).unwrap_or_default();
    let nodes = model.graph.iter().flat_map(|graph| &graph.node);
    nodes.flat_map(|node| &node.attribute).any(|attribute| attribute.all_graphs().next().is_some())
}

/// Returns a model that rounds each float value of its main graph to a type; `None` if there is none to round.
fn with_rounded_values(bytes: &Bytes, element: ElementType) -> Option<Bytes> {
    let mut model = decode::model(bytes.clone()).ok()?;
    let inferred = declare_values(&model, &Limits::default());
    let infos = inferred.graph.iter().flat_map(|graph| graph.value_info.iter().chain(&graph.output));
    let is_float = |info: &&ValueInfoProto| {
        let declared = info.r#type.as_ref().and_then(|declared| decode::value_type(declared).ok());
        declared == Some(ValueType::Tensor(ElementType::Float))
    };
    let floats: BTreeSet<&str> = infos.filter(is_float).map(ValueInfoProto::name).collect();
    let import = model.opset_import.iter().find(|import| canonical_domain(import.domain()) == DEFAULT_DOMAIN)?;
    // Before version 6, Cast names the type.
    let is_named = import.version() < 6;
    let graph = model.graph.as_mut()?;
    let mut nodes = Vec::new();
    for mut node in std::mem::take(&mut graph.node) {
        let mut casts = Vec::new();
        for output in node.output.iter_mut().filter(|output| floats.contains(&***output)) {
            let (wide, half) = (format!("{output}_before_rounding"), format!("{output}_in_half_precision"));
            casts.push(cast_node(&wide, &half, element, is_named));
            casts.push(cast_node(&half, output, ElementType::Float, is_named));
            *output = wide.as_str().into();
        }
        nodes.push(node);
        nodes.extend(casts);
    }
    graph.node = nodes;
    for tensor in &mut graph.initializer {
        let Ok(value) = decode::tensor(tensor, &decode::NoExternalData) else { continue };
        if value.element_type() == ElementType::Float {
            let half = Tensor::of_floats(element, value.shape(), &value.floats()).ok()?;
            let rounded = Tensor::of_floats(ElementType::Float, value.shape(), &half.floats()).ok()?;
            *tensor = encode::tensor(&rounded, tensor.name());
        }
    }
    Some(model.encode_to_vec().into())
}

fn cast_node(input: &str, output: &str, element: ElementType, is_named: bool) -> NodeProto {
    let to = AttributeProto { name: Some("to".to_owned()), ..AttributeProto::default() };
    let to = if is_named {
        let s = Some(element.name().to_uppercase().into_bytes().into());
        AttributeProto { r#type: Some(AttributeType::String.code()), s, ..to }
    } else {
        AttributeProto { r#type: Some(AttributeType::Int.code()), i: Some(element.code().into()), ..to }
    };
    NodeProto {
        op_type: Some("Cast".into()),
        input: texts([input]),
        output: texts([output]),
        attribute: vec![to],
        ..NodeProto::default()
    }
}

fn element_of(input: &Named) -> ElementType {
    input.value.as_tensor().map_or(ElementType::Float, Tensor::element_type)
}

/// Converts a tensor of floats to a type; others stay as they are.
fn cast(input: &Named, element: ElementType) -> Named {
    let converted = input.value.as_tensor().filter(|tensor| tensor.element_type().is_float() && element.is_float());
    let converted = converted.and_then(|tensor| Tensor::of_floats(element, tensor.shape(), &tensor.floats()).ok());
    converted.map_or_else(|| input.clone(), |tensor| Named { name: input.name.clone(), value: Value::Tensor(tensor) })
}

/// Returns true if an input of a model is declared as a tensor of a type.
fn takes(model: &ModelProto, name: &str, element: ElementType) -> bool {
    let declared = |info: &ValueInfoProto| decode::value_type(info.r#type.as_ref()?).ok();
    let inputs = model.graph.iter().flat_map(|graph| &graph.input);
    let found = inputs.filter(|input| input.name() == name).find_map(declared);
    found == Some(ValueType::Tensor(element))
}

/// Compares an output in half precision with that of the original model. Values out of range of half precision are not
/// judged. Neither are values of other types, such as indices, since a tie may be resolved differently.
fn compare(half: Half, expected: &Value, actual: &Value) -> Result<(), (Outcome, String)> {
    let (Some(expected), Some(actual)) = (expected.as_tensor(), actual.as_tensor()) else { return Ok(()) };
    if expected.shape() != actual.shape() {
        let message = format!("expected shape {:?}, got {:?}", expected.shape(), actual.shape());
        return Err((Outcome::WrongShape, message));
    }
    let is_same_kind = expected.element_type() == actual.element_type()
        || expected.element_type().is_float() && actual.element_type().is_float();
    if !is_same_kind {
        let (expected, actual) = (expected.element_type(), actual.element_type());
        return Err((Outcome::WrongType, format!("expected {expected} or {}, got {actual}", half.element)));
    }
    if !expected.element_type().is_float() {
        return Ok(());
    }
    let (expected, actual) = (expected.floats(), actual.floats());
    let largest = expected.iter().fold(0.0, |largest: f64, it| largest.max(it.abs()));
    // Beyond the largest value of the type, or with special values, differences say nothing about the conversion.
    if !largest.is_finite() || largest > half.largest || expected.iter().any(|it| it.is_nan()) {
        return Ok(());
    }
    let bound = half.tolerance * largest.max(half.smallest_normal);
    let differs = |(expected, actual): &(&f64, &f64)| (*expected - *actual).abs() > bound || actual.is_nan();
    match expected.iter().zip(&actual).enumerate().find(|(_, pair)| differs(pair)) {
        Some((index, (expected, actual))) => {
            let message = format!("element {index}: expected about {expected}, got {actual}; the largest is {largest}");
            Err((Outcome::Mismatch, message))
        }
        None => Ok(()),
    }
}
