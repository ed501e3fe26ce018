//! Model in double, whose values have many more exact digits than half precision.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_check::convert::half::{FloatReason, HalfError, HalfModel, HalfRequest, to_half};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{Message as _, ModelProto, Text};
use onnx_conformance_reference::tensor::Tensor;

use super::difference::rounded;
use super::question::{HalfQuestion, Ran};
use super::single::Values;
use crate::models::comparison::draws;
use crate::models::proof::OverLimit;

/// The original model in double.
pub(super) struct Wide {
    model: HalfModel,
    /// The encoded model.
    pub(super) bytes: Bytes,
}

impl Wide {
    /// Converts the original model to double. The inner error is the reason why a node has to stay in float.
    pub(super) fn new(question: &HalfQuestion<'_>) -> Result<Result<Wide, String>, OverLimit> {
        let request = HalfRequest { half_io: true, ..HalfRequest::new(ElementType::Double) };
        let model = match to_half(question.model, &request, question.limits) {
            Ok(model) => model,
            Err(error @ HalfError::Late) => return Err(OverLimit(error.to_string())),
            Err(error) => return Ok(Err(error.to_string())),
        };
        // Sizes are exact in float, or they are part of what the model computes.
        if let Some(node) = model.float_nodes.iter().find(|node| node.reason != FloatReason::Size) {
            let reason = match &node.reason {
                FloatReason::Type { version, element, .. } => format!("{version} does not take {element}"),
                other => other.to_string(),
            };
            return Ok(Err(format!("{}: {reason}", node.place)));
        }
        Ok(Ok(Wide { bytes: Bytes::from(model.model.encode_to_vec()), model }))
    }

    /// Returns the inputs in the types of the model.
    pub(super) fn inputs(&self, inputs: &[Named]) -> Vec<Named> {
        typed(inputs, &self.model)
    }

    /// Names the values of a run as in the original model.
    pub(super) fn renamed(&self, ran: Ran, original: &ModelProto) -> Ran {
        let mut values = original_names(ran.values, &self.model.values);
        // A Cast between the two types is gone, and so is its output.
        for node in original.graph.iter().flat_map(|graph| &graph.node).filter(|node| node.op_type() == "Cast") {
            let (Some(input), Some(output)) = (node.input.first(), node.output.first()) else { continue };
            if let Some(value) = values.get(input.as_str()).filter(|_| !values.contains_key(output.as_str())).cloned() {
                values.insert(output.to_string(), value);
            }
        }
        Ran {
            outputs: ran.outputs,
            values,
            inner: ran.inner.map(|inner| original_names(inner, &self.model.inner_values)),
        }
    }

    /// Returns the names of values in subgraphs.
    pub(super) fn inner_names(&self) -> impl Iterator<Item = &String> {
        self.model.inner_values.keys()
    }
}

/// Rounds the inputs of a model to the types that they have in a converted one.
pub(super) fn typed(inputs: &[Named], converted: &HalfModel) -> Vec<Named> {
    let typed = |input: &Named| {
        let element = converted.values.get(&input.name).map(|(_, element)| *element);
        let value = element.map_or_else(|| input.value.clone(), |element| rounded(&input.value, element));
        Named { name: input.name.clone(), value }
    };
    inputs.iter().map(typed).collect()
}

/// Returns values by their names in the original model. One that exists in both types is the one in double.
fn original_names<T>(
    values: BTreeMap<String, T>,
    names: &BTreeMap<String, (String, ElementType)>,
) -> BTreeMap<String, T> {
    let is_double = |name: &String| names.get(name).is_some_and(|(_, element)| *element == ElementType::Double);
    let (wide, others): (Vec<_>, Vec<_>) = values.into_iter().partition(|(name, _)| is_double(name));
    let original = |(name, value)| (names.get(&name).map_or(name, |(original, _)| original.clone()), value);
    others.into_iter().chain(wide).map(original).collect()
}

/// Returns the reason why a run in double differs from the computation in float: a value has another shape, is random,
/// or is finite in only one of the two.
pub(super) fn departure(model: &ModelProto, float: &Values, double: &Values) -> Option<String> {
    let nodes = model.graph.iter().flat_map(|graph| &graph.node);
    let random: Vec<&str> = nodes.filter(|node| draws(node)).flat_map(|node| &node.output).map(Text::as_str).collect();
    float.iter().find_map(|(name, before)| {
        let after = double.get(name)?;
        if random.contains(&name.as_str()) && rounded(after, ElementType::Float) != *before {
            return Some(format!("'{name}' is random"));
        }
        let (before, after) = (before.as_tensor()?, after.as_tensor()?);
        if before.shape() != after.shape() {
            return Some(format!("'{name}' has another shape in double"));
        }
        if before.element_type() != ElementType::Float || after.element_type() != ElementType::Double {
            return None;
        }
        let end = f64::from(f32::MAX);
        let mut pairs = before.stream(Tensor::floats).zip(after.stream(Tensor::floats));
        let differs = pairs.any(|(before, after)| before.is_finite() != (after.abs() <= end));
        differs.then(|| format!("an element of '{name}' is finite in double and not in float, or the other way round"))
    })
}
