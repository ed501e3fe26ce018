//! The outcome of shape inference: inferred types and shapes must not contradict those of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use onnx_conformance_cases::case::{Case, DataSet, Expected};
use onnx_conformance_check::convert::declare_values;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{Message as _, ModelProto, TypeProto, ValueInfoProto, decode};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_subject::{Ask, Builtin, Ended, Host as _, Request, Response};

use crate::questions::answer::{about_model, encoded};
use crate::questions::completeness::Completeness;
use crate::questions::handling::{Handling, Judgement};
use crate::run::{CaseResult, Outcome};

/// Judgement and answer.
pub(super) const HANDLING: Handling = Handling { judgement: Judgement::Model(judge), answer: Some(answer) };

/// Time limit of the built-in executor for the values inside a model.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A value of a run: its name, its type and, for a tensor, its shape.
struct Actual {
    name: String,
    value_type: ValueType,
    shape: Option<Vec<usize>>,
}

/// Compares the inferred types and shapes in a model with the values of the case.
fn judge(case: &Case, _ask: Ask, annotated: &Bytes, result: &mut CaseResult) {
    let model = match decode::model(annotated.clone()) {
        Ok(model) if model.graph.is_some() => model,
        Ok(_) => return fail(result, Outcome::InvalidModel, "the result is a model without a graph".to_owned()),
        Err(error) => return fail(result, Outcome::InvalidModel, format!("the result is not a model: {error}")),
    };
    let declared = declared(&model);
    let mut completeness = Completeness::Shape;
    for data in &case.data {
        let mut sizes = sizes_of_inputs(&model, data);
        let outputs = outputs(data);
        for actual in &outputs {
            completeness = completeness.min(known(declared.get(actual.name.as_str()).copied(), actual));
        }
        for actual in outputs.iter().chain(&inner_values(case, data, &declared)) {
            let Some(inferred) = declared.get(actual.name.as_str()) else { continue };
            if let Err((outcome, message)) = contradiction(inferred, actual, &mut sizes) {
                return fail(result, outcome, message);
            }
        }
    }
    result.completeness = Some(completeness);
}

/// Infers the types and shapes of the values.
fn answer(request: &Request<'_>) -> Response {
    about_model(request, |model, limits| encoded(&declare_values(model, limits)))
}

fn fail(result: &mut CaseResult, outcome: Outcome, message: String) {
    (result.outcome, result.message) = (outcome, message);
}

/// Returns the types in a graph's outputs and other declarations, by name.
fn declared(model: &ModelProto) -> BTreeMap<&str, &TypeProto> {
    let infos = model.graph.iter().flat_map(|graph| graph.value_info.iter().chain(&graph.output));
    infos.filter_map(|info| Some((info.name(), info.r#type.as_ref()?))).collect()
}

/// Returns the expected outputs whose type is certain.
fn outputs(data: &DataSet) -> Vec<Actual> {
    let certain = data.outputs.iter().filter(|output| !matches!(output.expected, Expected::AnyOf(_)));
    let actual = certain.map(|output| {
        let (value_type, shape) = output.expected.declared();
        Actual { name: output.name.clone(), value_type, shape }
    });
    actual.collect()
}

/// Runs the model of a case, and returns the values inside it about which something is inferred.
fn inner_values(case: &Case, data: &DataSet, declared: &BTreeMap<&str, &TypeProto>) -> Vec<Actual> {
    let Ok(mut model) = decode::model(case.model.clone()) else { return Vec::new() };
    let Some(graph) = model.graph.as_mut().filter(|graph| graph.node.len() > 1) else { return Vec::new() };
    let outputs: BTreeSet<String> = graph.output.iter().map(|output| output.name().to_owned()).collect();
    let inner: Vec<String> = graph.node.iter().flat_map(|node| &node.output).map(ToString::to_string).collect();
    let inner = inner.into_iter().filter(|name| declared.contains_key(name.as_str()) && !outputs.contains(name));
    let named: Vec<ValueInfoProto> =
        inner.map(|name| ValueInfoProto { name: Some(name), ..ValueInfoProto::default() }).collect();
    if named.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = named.iter().map(|info| info.name().to_owned()).collect();
    graph.output = named;
    let bytes = Bytes::from(model.encode_to_vec());
    let request = Request {
        id: &case.id,
        model: &bytes,
        folder: case.folder.as_deref(),
        inputs: &data.inputs,
        outputs: &[],
        ask: Ask::RUN,
    };
    let Ended::Answered(Response::Outputs { values, .. }) = Builtin::new(TIMEOUT).run(&request).ended else {
        return Vec::new();
    };
    let actual = names.into_iter().zip(values).map(|(name, value)| {
        let shape = value.as_tensor().map(|tensor| tensor.shape().to_vec());
        Actual { name, value_type: value.value_type(), shape }
    });
    actual.collect()
}

/// Returns the sizes that the names of dimensions stand for, by the inputs.
fn sizes_of_inputs(model: &ModelProto, data: &DataSet) -> BTreeMap<String, usize> {
    let mut sizes = BTreeMap::new();
    for info in model.graph.iter().flat_map(|graph| &graph.input) {
        let given = data.inputs.iter().find(|input| input.name == info.name());
        let shape = given.and_then(|input| input.value.as_tensor()).map(|tensor| tensor.shape().to_vec());
        let (Some(shape), Some(inferred)) = (shape, info.r#type.as_ref()) else { continue };
        for (dim, size) in dims(inferred).unwrap_or_default().into_iter().zip(shape) {
            if let Some(dimension::Value::DimParam(name)) = dim {
                sizes.entry(name).or_insert(size);
            }
        }
    }
    sizes
}

/// Returns the dimensions of a tensor type; `None` if its rank is unknown.
fn dims(inferred: &TypeProto) -> Option<Vec<Option<dimension::Value>>> {
    let Some(type_proto::Value::TensorType(tensor)) = &inferred.value else { return None };
    Some(tensor.shape.as_ref()?.dim.iter().map(|dim| dim.value.clone()).collect())
}

/// Returns the known facts about a value.
fn known(inferred: Option<&TypeProto>, actual: &Actual) -> Completeness {
    let Some(inferred) = inferred.filter(|inferred| decode::value_type(inferred).is_ok()) else {
        return Completeness::Nothing;
    };
    if actual.shape.is_none() {
        // A sequence, a map or an optional has no more than a type.
        return Completeness::Shape;
    }
    let is_size = |dim: &Option<dimension::Value>| match dim {
        Some(dimension::Value::DimValue(_)) => true,
        Some(dimension::Value::DimParam(name)) => !name.is_empty(),
        None => false,
    };
    match dims(inferred) {
        None => Completeness::Type,
        Some(dims) if dims.iter().all(is_size) => Completeness::Shape,
        Some(_) => Completeness::Rank,
    }
}

/// Returns an error if an inferred type contradicts a value. A name stands for one size in a run.
fn contradiction(
    inferred: &TypeProto,
    actual: &Actual,
    sizes: &mut BTreeMap<String, usize>,
) -> Result<(), (Outcome, String)> {
    let name = &actual.name;
    // A type without its element is unknown.
    let Ok(value_type) = decode::value_type(inferred) else { return Ok(()) };
    if value_type != actual.value_type {
        let message = format!("'{name}' is inferred as {value_type}, and is {}", actual.value_type);
        return Err((Outcome::WrongType, message));
    }
    let (Some(dims), Some(shape)) = (dims(inferred), &actual.shape) else { return Ok(()) };
    let wrong_shape =
        |inferred: String| (Outcome::WrongShape, format!("'{name}' is inferred as {inferred}, and is {shape:?}"));
    if dims.len() != shape.len() {
        return Err(wrong_shape(format!("of rank {}", dims.len())));
    }
    for (axis, (dim, size)) in dims.into_iter().zip(shape).enumerate() {
        match dim {
            Some(dimension::Value::DimValue(value)) if usize::try_from(value) != Ok(*size) => {
                return Err(wrong_shape(format!("of size {value} along axis {axis}")));
            }
            Some(dimension::Value::DimParam(parameter)) if !parameter.is_empty() => {
                let known = *sizes.entry(parameter.clone()).or_insert(*size);
                if known != *size {
                    return Err(wrong_shape(format!("of size {parameter}, which is {known}, along axis {axis}")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::case::Variant;

    use super::*;
    use crate::questions;
    use crate::questions::test_tools::{Tool, answered, case, model, outcome};

    #[test]
    fn what_is_inferred_contradicts_no_run() {
        let inferred = |outputs: &str| {
            let text = format!("(float[2] a, float[2] b) => ({outputs} y) {{ y = Sub (a, b) }}");
            answered(Variant::Infer, &Ended::Answered(Response::Model(model(13, &text))))
        };
        for (outputs, known) in [("float[2]", Completeness::Shape), ("float[N]", Completeness::Shape)] {
            let result = inferred(outputs);
            assert_eq!((result.outcome, result.completeness), (Outcome::Pass, Some(known)), "{outputs}");
        }
        assert_eq!(inferred("float[?]").completeness, Some(Completeness::Rank));
        assert_eq!(inferred("float[]").completeness, Some(Completeness::Type));
        assert_eq!(inferred("int32[2]").outcome, Outcome::WrongType);
        assert_eq!(inferred("float[3]").outcome, Outcome::WrongShape);
        assert_eq!(inferred("float[2, 1]").outcome, Outcome::WrongShape);
        let named = "(float[N] a, float[2] b) => (float[M] y) { y = Sub (a, b) }";
        assert_eq!(outcome(Variant::Infer, model(13, named)), Outcome::Pass);
        // The tool gets no types of outputs, and gives none.
        let echo = Tool(|request: &Request<'_>| Ended::Answered(Response::Model(request.model.clone())));
        let result = questions::judge(&case(Variant::Infer), &echo);
        assert_eq!((result.outcome, result.completeness), (Outcome::Pass, Some(Completeness::Nothing)));
    }
}
