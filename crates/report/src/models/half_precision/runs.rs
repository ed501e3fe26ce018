//! Runs of both models, and of single nodes.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_check::convert::half::{HalfModel, HalfNode};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::Message as _;
use onnx_conformance_subject::{Ask, Request};

use super::alone::{Alone, bound, main_node};
use super::compared::{Compared, HalfReference};
use super::difference::Difference;
use super::question::{HalfQuestion, Ran};
use super::single::{NamedValues, SingleNode, Values, Weights, weights};
use super::wide::{Wide, departure, typed};
use crate::models::comparison::{draws, is_degenerate};
use crate::models::fit::Fit;
use crate::models::proof::{OverLimit, RunFailure};
use crate::models::trace::{Reference, Seen, TraceError};

/// Runs of the original model on its inputs.
pub(super) struct Runs<'a> {
    question: &'a HalfQuestion<'a>,
    bytes: Bytes,
    /// The inputs on which it runs: the number, and the way to give them.
    fitting: Vec<(usize, usize)>,
    /// The model in double, if it is the reference.
    wide: Option<Wide>,
    /// The reference.
    pub(super) reference: HalfReference,
}

impl<'a> Runs<'a> {
    /// Finds inputs that the model runs on, or the reason why there are none.
    pub(super) fn new(question: &'a HalfQuestion<'a>) -> Result<Result<Runs<'a>, String>, OverLimit> {
        let bytes = Bytes::from(question.model.encode_to_vec());
        let (wide, reference) = match Wide::new(question)? {
            Ok(wide) => (Some(wide), HalfReference::Double),
            Err(why) => (None, HalfReference::Float(why)),
        };
        let mut runs = Runs { question, bytes, fitting: Vec::new(), wide, reference };
        let (mut fit, mut why) = (Fit::default(), String::new());
        for number in 0..question.count {
            let ways = (question.ways)(number);
            for way in fit.ways(ways) {
                let ran = runs.original(number, way);
                fit.add(way, ways, ran.is_ok());
                match ran {
                    // Other sizes may be too small.
                    Ok(ran) if way >= ways && is_degenerate(&ran.outputs) => {}
                    Ok(ran) => {
                        runs.check_double(number, way, &ran)?;
                        runs.fitting.push((number, way));
                        break;
                    }
                    // Other sizes may be larger.
                    Err(RunFailure::Limit(_)) if way >= ways => {}
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
        self.run(&self.bytes, &inputs, &mut std::iter::empty())
    }

    /// Selects float as the reference if the model does not run in double, or computes something different there.
    fn check_double(&mut self, number: usize, way: usize, float: &Ran) -> Result<(), OverLimit> {
        let Some(wide) = &self.wide else { return Ok(()) };
        let (_, inputs) = (self.question.inputs)(number, way).map_err(over_limit)?;
        let why = match self.in_double(wide, &inputs) {
            Ok(double) => departure(self.question.model, &float.values, &double.values),
            Err(RunFailure::Limit(why)) if self.question.limits.deadline.is_over() => return Err(OverLimit(why)),
            Err(RunFailure::Limit(why) | RunFailure::Model(why) | RunFailure::Never(why)) => {
                Some(format!("in double the model does not run: {why}"))
            }
        };
        if let Some(why) = why {
            (self.wide, self.reference) = (None, HalfReference::Float(why));
        }
        Ok(())
    }

    fn in_double(&self, wide: &Wide, inputs: &[Named]) -> Result<Ran, RunFailure> {
        let ran = self.run(&wide.bytes, &wide.inputs(inputs), &mut wide.inner_names())?;
        Ok(wide.renamed(ran, self.question.model))
    }

    /// Runs the reference on inputs. The names are those of values in subgraphs.
    fn expected(&self, inputs: &[Named], inner: &mut dyn Iterator<Item = &String>) -> Result<Ran, RunFailure> {
        match &self.wide {
            Some(wide) => self.in_double(wide, inputs),
            None => self.run(&self.bytes, inputs, inner),
        }
    }

    /// Runs a model and records all values of the main graph, and the values of subgraphs with these names.
    fn run(
        &self,
        bytes: &Bytes,
        inputs: &[Named],
        inner: &mut dyn Iterator<Item = &String>,
    ) -> Result<Ran, RunFailure> {
        let limits = self.question.limits;
        let request =
            Request { id: "", model: bytes, folder: self.question.folder, inputs, outputs: &[], ask: Ask::RUN };
        let inner = inner.map(|name| (name.clone(), Vec::new())).collect();
        let mut seen =
            Seen { values: Some(BTreeMap::new()), inner: Some(inner), bytes: limits.bytes, ..Seen::default() };
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
        Ok(Ran { outputs, values, inner: seen.inner })
    }

    /// Returns the loss of precision of each node of the main graph alone, by its position in the original graph.
    pub(super) fn errors_alone(&self, half: &HalfModel) -> Result<BTreeMap<usize, Alone>, OverLimit> {
        let (before, after) = (weights(self.question.model), weights(&half.model));
        let mut worst: BTreeMap<usize, Alone> = BTreeMap::new();
        for (number, way) in &self.fitting {
            let (_, inputs) = (self.question.inputs)(*number, *way).map_err(over_limit)?;
            let ran = self.expected(&inputs, &mut std::iter::empty()).map_err(over_limit)?;
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

    /// Returns the loss of precision of a node on the values of a run; `None` if it cannot be compared.
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
        for (name, expected) in original.output.iter().filter_map(|name| Some((name, values.get(name.as_str())?))) {
            let position = original.output.iter().position(|output| output == name)?;
            let actual = new.output.get(position).and_then(|name| outputs.get(name.as_str()))?;
            let Some(difference) = Difference::new(expected, actual) else { continue };
            let bound = bound(self.question.request.element);
            let found = Alone { value: name.to_string(), difference, bound, is_by_inputs: false };
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
            let mut inner = half.inner_values.values().map(|(original, _)| original);
            let before = self.expected(&inputs, &mut inner).map_err(over_limit)?;
            let after = match self.run(&bytes, &typed(&inputs, half), &mut half.inner_values.keys()) {
                Ok(after) => after,
                Err(RunFailure::Limit(why)) => return Err(OverLimit(why)),
                Err(RunFailure::Model(why) | RunFailure::Never(why)) => {
                    return Ok(Err(format!("on {name}, the model runs but the converted model does not: {why}")));
                }
            };
            for (new, (original, element)) in &half.values {
                let pair = before.values.get(original).zip(after.values.get(new));
                if let Some((before, after)) = pair.filter(|_| *element != ElementType::Float || new == original) {
                    compared.add_value(original, *element, Difference::new(before, after));
                }
            }
            compared.add_inner(half, before.inner.as_ref(), after.inner.as_ref());
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
