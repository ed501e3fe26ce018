//! Search for the nodes that stay in float, and the comparison of both models.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::half::{HalfError, HalfModel, HalfNode, HalfRequest, to_half};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{Message as _, ModelProto, NodeProto};
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::Request;

use super::difference::{Difference, rounded};
use super::single::{NamedValues, SingleNode, Values, Weights, weights};
use crate::models::comparison::draws;
use crate::models::proof::{OverLimit, Proof, RunFailure, TrialInputs};
use crate::models::single_node::names_read;
use crate::models::trace::{Reference, Seen, TraceError};

/// Maximum error of one node on its own, in unit roundoffs of the largest element of its output. Rounding the operands and the
/// result takes 3 of a product. The roundings of a sum of products have random signs, so they grow with the square root of its
/// length, as the sum itself does.
const NODE_ROUNDOFFS: f64 = 8.0;

/// Maximum number of models to compare: keeping a node in float may show an overflow behind it, or an error before it.
const MAX_ROUNDS: usize = 8;

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

/// Converted model with its comparison.
#[derive(Debug)]
pub struct HalfAnswer {
    /// The converted model.
    pub half: HalfModel,
    /// The comparison of the outputs.
    pub proof: Proof,
    /// The values of the main graph that nodes compute in half precision, the largest error first.
    pub nodes: Vec<NodeError>,
}

/// Error of a value in half precision.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeError {
    /// The node that computes it.
    pub node: String,
    /// Its name in the original model.
    pub value: String,
    /// Largest error of an element, as a fraction of the largest element.
    pub error: f64,
    /// Number of finite elements that became infinite or NaN.
    pub overflows: usize,
    /// Number of nonzero elements that became zero.
    pub underflows: usize,
}

/// Error of a conversion to half precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HalfPrecisionError {
    /// The model cannot be converted.
    #[error(transparent)]
    Half(#[from] HalfError),
    /// The time or memory limit is exceeded.
    #[error(transparent)]
    Limit(#[from] OverLimit),
}

/// Converts a model to half precision. Nodes that lose too much on the inputs stay in float.
pub fn half_precision(question: &HalfQuestion<'_>) -> Result<HalfAnswer, HalfPrecisionError> {
    let mut request = question.request.clone();
    let mut half = to_half(question.model, &request, question.limits)?;
    let unproved = |half, why: &str| Ok(HalfAnswer { half, proof: Proof::not_verified(why), nodes: Vec::new() });
    if question.count == 0 {
        return unproved(half, "no inputs were requested");
    }
    let runs = match Runs::new(question)? {
        Ok(runs) => runs,
        Err(why) => return unproved(half, &format!("the model does not run on the inputs: {why}")),
    };
    let alone = runs.errors_alone(&half)?;
    let producers = producers(question.model);
    let kept = kept_alone(&half, question.model, &alone, request.element);
    if !kept.is_empty() {
        request.measured.extend(kept);
        half = to_half(question.model, &request, question.limits)?;
    }
    for round in 1.. {
        let compared = match runs.compare(&half)? {
            Ok(compared) => compared,
            Err(why) => return Ok(HalfAnswer { half, proof: Proof::Differs(why), nodes: Vec::new() }),
        };
        let mut kept = compared.overflowing(&half, question.model, request.element);
        kept.extend(compared.before_sensitive(&half, question.model, &alone, &producers));
        if kept.is_empty() || round == MAX_ROUNDS {
            let nodes = compared.nodes(&half, question.model);
            return Ok(HalfAnswer { proof: compared.proof(question.count), half, nodes });
        }
        request.measured.extend(kept);
        half = to_half(question.model, &request, question.limits)?;
    }
    unproved(half, "no round was run")
}

/// Runs of the original model on its inputs.
struct Runs<'a> {
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
    fn new(question: &'a HalfQuestion<'a>) -> Result<Result<Runs<'a>, String>, OverLimit> {
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
    fn errors_alone(&self, half: &HalfModel) -> Result<BTreeMap<usize, Alone>, OverLimit> {
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
            worst.is_by_inputs = wide
                .is_some_and(|difference| Alone { difference, ..worst.clone() }.exceeds());
        }
        Some(worst)
    }

    /// Runs the half model on all inputs and compares every value. The inner error is a difference that no tolerance allows.
    fn compare(&self, half: &HalfModel) -> Result<Result<Compared, String>, OverLimit> {
        let bytes = Bytes::from(half.model.encode_to_vec());
        let mut compared = Compared { runs: self.fitting.len(), ..Compared::default() };
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
                    let worst = compared.values.entry((original.clone(), *element)).or_default();
                    *worst = worst.max(difference);
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

fn main_node(model: &ModelProto, index: usize) -> Option<&NodeProto> {
    model.graph.as_ref()?.node.get(index)
}

/// Returns the node of the main graph that produces each value.
fn producers(model: &ModelProto) -> BTreeMap<&str, usize> {
    let nodes = model.graph.iter().flat_map(|graph| &graph.node).enumerate();
    nodes.flat_map(|(index, node)| node.output.iter().map(move |name| (name.as_str(), index))).collect()
}

/// Returns the maximum error of a node on its own.
fn bound(element: ElementType) -> f64 {
    element.float_format().map_or(0.0, |format| NODE_ROUNDOFFS * format.unit_roundoff())
}

/// Error that a node makes on its own.
#[derive(Clone, Debug)]
struct Alone {
    /// The output.
    value: String,
    difference: Difference,
    /// The largest error that it may have.
    bound: f64,
    /// True if rounding its inputs alone is an error beyond the bound.
    is_by_inputs: bool,
}

impl Alone {
    fn is_worse_than(&self, other: &Alone) -> bool {
        let key = |alone: &Alone| (alone.difference.overflows, alone.difference.error);
        key(self) > key(other)
    }

    fn exceeds(&self) -> bool {
        self.difference.overflows > 0 || self.difference.error > self.bound
    }

    /// Describes the error.
    fn reason(&self, element: ElementType) -> String {
        match self.difference.overflows {
            0 => format!(
                "alone it changes '{}' by {} of its largest element, more than {}",
                self.value,
                fraction(self.difference.error),
                fraction(self.bound)
            ),
            count => overflow(&self.value, count, element),
        }
    }
}

fn overflow(value: &str, count: usize, element: ElementType) -> String {
    match count {
        1 => format!("1 element of '{value}' exceeds the range of {element}"),
        count => format!("{count} elements of '{value}' exceed the range of {element}"),
    }
}

/// Formats a fraction with two digits.
fn fraction(value: f64) -> String {
    format!("{value:.1e}")
}

/// Returns the nodes that stay in float because of their own errors, with the reasons. If rounded inputs are the error, the nodes
/// that compute these stay in float, too.
fn kept_alone(
    half: &HalfModel,
    model: &ModelProto,
    alone: &BTreeMap<usize, Alone>,
    element: ElementType,
) -> BTreeMap<usize, String> {
    let mut kept = BTreeMap::new();
    for node in &half.nodes {
        let Some(found) = alone.get(&node.index).filter(|found| found.exceeds()) else { continue };
        kept.insert(node.index, found.reason(element));
    }
    for node in &half.nodes {
        let found = alone.get(&node.index).filter(|found| found.exceeds() && found.is_by_inputs);
        for producer in node.producers.iter().filter(|_| found.is_some()) {
            let output = main_node(model, *producer).and_then(|node| node.output.first()).map_or("", String::as_str);
            kept.entry(*producer).or_insert_with(|| format!("{} needs '{output}' in float", node.place));
        }
    }
    kept
}

/// Comparison of both models.
#[derive(Debug, Default)]
struct Compared {
    runs: usize,
    /// Differences of the values of the main graph, by original name and new type.
    values: BTreeMap<(String, ElementType), Difference>,
    outputs: Difference,
    /// Number of outputs that are not floats and differ, in all runs.
    changed: usize,
}

impl Compared {
    /// Compares an output. Fails if its shape differs, or its type other than in precision.
    fn add_output(&mut self, before: &Value, after: &Value) -> Result<(), String> {
        if let Some(difference) = Difference::new(before, after) {
            self.outputs = self.outputs.max(difference);
            return Ok(());
        }
        let shape = |value: &Value| value.as_tensor().map(|tensor| tensor.shape().to_vec());
        if shape(before) != shape(after) {
            return Err(format!(
                "has shape {:?}, not {:?}",
                shape(after).unwrap_or_default(),
                shape(before).unwrap_or_default()
            ));
        }
        self.changed += usize::from(before != after);
        Ok(())
    }

    /// Returns the nodes of the main graph whose values exceed the range in the converted model.
    fn overflowing(&self, half: &HalfModel, model: &ModelProto, element: ElementType) -> BTreeMap<usize, String> {
        let mut kept = BTreeMap::new();
        for node in &half.nodes {
            let outputs = main_node(model, node.index).map_or(&[][..], |node| &node.output);
            let over = outputs.iter().find_map(|name| {
                let difference = self.values.get(&(name.clone(), element))?;
                (difference.overflows > 0).then(|| overflow(name, difference.overflows, element))
            });
            kept.extend(over.map(|reason| (node.index, reason)));
        }
        kept
    }

    /// Returns the nodes in half precision before the nodes that stay in float because of their inputs, if the outputs of these
    /// still have too large an error. A difference of near values needs all that computes them.
    fn before_sensitive(
        &self,
        half: &HalfModel,
        model: &ModelProto,
        alone: &BTreeMap<usize, Alone>,
        producers: &BTreeMap<&str, usize>,
    ) -> BTreeMap<usize, String> {
        let halves: BTreeMap<usize, &HalfNode> = half.nodes.iter().map(|node| (node.index, node)).collect();
        let mut kept = BTreeMap::new();
        for found in alone.values().filter(|found| found.is_by_inputs) {
            let error = self.values.get(&(found.value.clone(), ElementType::Float)).map_or(0.0, |it| it.error);
            let Some(index) = producers.get(found.value.as_str()).filter(|_| error > found.bound) else { continue };
            let (mut open, mut seen) = (vec![*index], BTreeSet::new());
            while let Some(index) = open.pop() {
                if halves.contains_key(&index) {
                    kept.entry(index).or_insert_with(|| format!("'{}' depends on it and needs float", found.value));
                } else if seen.insert(index) {
                    let names = main_node(model, index).map(names_read).unwrap_or_default();
                    open.extend(names.iter().filter_map(|name| producers.get(name.as_str())));
                }
            }
        }
        kept
    }

    /// Returns the errors of the values that nodes compute in half precision, the largest first.
    fn nodes(&self, half: &HalfModel, model: &ModelProto) -> Vec<NodeError> {
        let mut seen = BTreeSet::new();
        let mut errors = Vec::new();
        for node in &half.nodes {
            let outputs = main_node(model, node.index).map_or(&[][..], |node| &node.output);
            for value in outputs.iter().filter(|name| seen.insert((*name).clone())) {
                let found =
                    self.values.iter().find(|((name, element), _)| name == value && *element != ElementType::Float);
                errors.extend(found.map(|(_, difference)| NodeError {
                    node: node.place.clone(),
                    value: value.clone(),
                    error: difference.error,
                    overflows: difference.overflows,
                    underflows: difference.underflows,
                }));
            }
        }
        errors.sort_by(|one, other| other.error.total_cmp(&one.error));
        errors
    }

    /// Returns the result for the outputs.
    fn proof(&self, count: usize) -> Proof {
        if self.outputs.overflows > 0 {
            let text = format!("{} elements of an output are infinite or NaN that were finite", self.outputs.overflows);
            return Proof::Differs(text);
        }
        let change = match self.outputs.error {
            0.0 => "outputs do not change".to_owned(),
            error => format!("outputs change by at most {} of their largest element", fraction(error)),
        };
        let changed = match self.changed {
            0 => String::new(),
            1 => "; an output that is no float tensor differs".to_owned(),
            count => format!("; outputs that are no float tensors differ {count} times"),
        };
        Proof::Same(format!("verified: {change} on {} of {count} inputs{changed}", self.runs))
    }
}
