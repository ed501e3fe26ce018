//! Runs of both models, and of single nodes.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::half::{HalfModel, HalfNode, HalfRequest};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{Message as _, ModelProto};
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::Request;

use super::alone::{Alone, bound, main_node};
use super::compared::Compared;
use super::difference::{Difference, rounded};
use super::single::{NamedValues, SingleNode, Values, Weights, weights};
use crate::models::comparison::draws;
use crate::models::proof::{OverLimit, RunFailure, TrialInputs};
use crate::models::trace::{Reference, Seen, TraceError};

/// Conversion to half precision that is to be compared on inputs.
pub struct HalfQuestion<'a> {
    /// The original model, complete with its weights.
    pub model: &'a ModelProto,
    /// The requested conversion.
    pub request: &'a HalfRequest,
    /// The folder of the model's external data.
    pub folder: Option<&'a Path>,
    /// Time and memory of all runs.
    pub limits: &'a Limits,
    /// Number of inputs.
    pub count: usize,
    /// Returns the number of ways to give the inputs of a run, by its number.
    pub ways: &'a dyn Fn(usize) -> usize,
    /// Returns the inputs of a run by its number and the way.
    pub inputs: &'a dyn Fn(usize, usize) -> Result<TrialInputs, RunFailure>,
}

/// Runs of the original model on its inputs.
pub(super) struct Runs<'a> {
    question: &'a HalfQuestion<'a>,
    bytes: Bytes,
    /// The inputs on which it runs: the number, and the way to give them.
    fitting: Vec<(usize, usize)>,
}

/// Result of a run of a model.
struct Ran {
    outputs: Vec<Value>,
    /// All values of the main graph, with the inputs.
    values: Values,
}

impl<'a> Runs<'a> {
    /// Finds the inputs on which the model runs, or the reason why there are none.
    pub(super) fn new(question: &'a HalfQuestion<'a>) -> Result<Result<Runs<'a>, String>, OverLimit> {
        let bytes = Bytes::from(question.model.encode_to_vec());
        let mut runs = Runs { question, bytes, fitting: Vec::new() };
        let (mut first, mut why) = (0, String::new());
        for number in 0..question.count {
            let ways = (question.ways)(number);
            for way in first.min(ways.saturating_sub(1))..ways {
                match runs.original(number, way) {
                    Ok(_) => {
                        // A model accepts the same sizes in every run.
                        first = if ways > 1 { way } else { first };
                        runs.fitting.push((number, way));
                        break;
                    }
                    Err(RunFailure::Limit(why)) => return Err(OverLimit(why)),
                    Err(RunFailure::Never(error)) => return Ok(Err(error)),
                    Err(RunFailure::Model(error)) => why = if why.is_empty() { error } else { why },
                }
            }
        }
        Ok(if runs.fitting.is_empty() { Err(why) } else { Ok(runs) })
    }

    /// Runs the original model.
    fn original(&self, number: usize, way: usize) -> Result<Ran, RunFailure> {
        let (_, inputs) = (self.question.inputs)(number, way)?;
        self.run(&self.bytes, &inputs)
    }

    fn run(&self, bytes: &Bytes, inputs: &[Named]) -> Result<Ran, RunFailure> {
        let limits = self.question.limits;
        let request = Request { id: "", model: bytes, folder: self.question.folder, inputs, outputs: &[] };
        let mut seen = Seen { values: Some(BTreeMap::new()), bytes: limits.bytes, ..Seen::default() };
        let ran = Reference::Builtin(limits.bytes).run(&request, &limits.deadline, &mut seen);
        let outputs = ran.map_err(|error| match error {
            TraceError::Late | TraceError::Memory(_) => RunFailure::Limit(error.to_string()),
            TraceError::NotLoaded(why) => RunFailure::Never(why),
            TraceError::Reference { message, .. } => RunFailure::Model(message),
            other => RunFailure::Model(other.to_string()),
        })?;
        let values =
            seen.values.ok_or_else(|| RunFailure::Limit("the values of a run need too much memory".to_owned()));
        let mut values = values?;
        values.extend(inputs.iter().map(|input| (input.name.clone(), input.value.clone())));
        Ok(Ran { outputs, values })
    }

    /// Returns what each node of the main graph loses on its own, by its position in the original graph.
    pub(super) fn errors_alone(&self, half: &HalfModel) -> Result<BTreeMap<usize, Alone>, OverLimit> {
        let (before, after) = (weights(self.question.model), weights(&half.model));
        let mut worst: BTreeMap<usize, Alone> = BTreeMap::new();
        for (number, way) in &self.fitting {
            let ran = self.original(*number, *way).map_err(over_limit)?;
            for node in &half.nodes {
                if self.question.limits.deadline.is_over() {
                    return Err(OverLimit(TraceError::Late.to_string()));
                }
                let Some(found) = self.alone(half, node, &ran.values, (&before, &after)) else { continue };
                match worst.get(&node.index) {
                    Some(known) if !found.is_worse_than(known) => {}
                    _ => drop(worst.insert(node.index, found)),
                }
            }
        }
        Ok(worst)
    }

    /// Returns what a node loses on the values of a run; `None` if it cannot be compared.
    fn alone(
        &self,
        half: &HalfModel,
        node: &HalfNode,
        values: &Values,
        (before, after): (&Weights<'_>, &Weights<'_>),
    ) -> Option<Alone> {
        let original = main_node(self.question.model, node.index)?;
        let new = main_node(&half.model, node.new_index)?;
        if draws(original) {
            return None;
        }
        let limits = self.question.limits;
        let single = SingleNode { model: &half.model, weights: after, node: new };
        let outputs = single.run(&NamedValues::of_half(half, new), values, limits)?;
        let mut worst: Option<Alone> = None;
        for (name, expected) in original.output.iter().filter_map(|name| Some((name, values.get(name)?))) {
            let position = original.output.iter().position(|output| output == name)?;
            let actual = new.output.get(position).and_then(|name| outputs.get(name))?;
            let Some(difference) = Difference::new(expected, actual) else { continue };
            let bound = bound(self.question.request.element);
            let found = Alone { value: name.clone(), difference, bound, is_by_inputs: false };
            if worst.as_ref().is_none_or(|worst| found.is_worse_than(worst)) {
                worst = Some(found);
            }
        }
        let mut worst = worst?;
        if worst.exceeds() {
            let single = SingleNode { model: self.question.model, weights: before, node: original };
            let outputs = single.run(&NamedValues::of_original(half, new, original), values, limits);
            let wide =
                outputs.and_then(|outputs| Difference::new(values.get(&worst.value)?, outputs.get(&worst.value)?));
            worst.is_by_inputs = wide.is_some_and(|difference| Alone { difference, ..worst.clone() }.exceeds());
        }
        Some(worst)
    }

    /// Runs the half model on all inputs and compares every value. The inner error is a difference that no tolerance allows.
    pub(super) fn compare(&self, half: &HalfModel) -> Result<Result<Compared, String>, OverLimit> {
        let bytes = Bytes::from(half.model.encode_to_vec());
        let mut compared = Compared::new(self.fitting.len());
        for (number, way) in &self.fitting {
            let (name, inputs) = (self.question.inputs)(*number, *way).map_err(over_limit)?;
            let before = self.run(&self.bytes, &inputs).map_err(over_limit)?;
            let cast = |input: &Named| {
                let element = half.values.get(&input.name).map(|(_, element)| *element);
                let value = element.map_or_else(|| input.value.clone(), |element| rounded(&input.value, element));
                Named { name: input.name.clone(), value }
            };
            let inputs: Vec<Named> = inputs.iter().map(cast).collect();
            let after = match self.run(&bytes, &inputs) {
                Ok(after) => after,
                Err(RunFailure::Limit(why)) => return Err(OverLimit(why)),
                Err(RunFailure::Model(why) | RunFailure::Never(why)) => {
                    return Ok(Err(format!("on {name}, the model runs but the converted model does not: {why}")));
                }
            };
            for (new, (original, element)) in &half.values {
                let pair = before.values.get(original).zip(after.values.get(new));
                if let Some(difference) = pair.and_then(|(before, after)| Difference::new(before, after))
                    && (*element != ElementType::Float || new == original)
                {
                    compared.add_value(original, *element, difference);
                }
            }
            for (position, (before, after)) in before.outputs.iter().zip(&after.outputs).enumerate() {
                if let Err(why) = compared.add_output(before, after) {
                    return Ok(Err(format!("on {name}, output {position} {why}")));
                }
            }
        }
        Ok(Ok(compared))
    }
}

fn over_limit(failure: RunFailure) -> OverLimit {
    match failure {
        RunFailure::Limit(why) | RunFailure::Model(why) | RunFailure::Never(why) => OverLimit(why),
    }
}
