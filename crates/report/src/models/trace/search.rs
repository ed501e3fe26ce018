//! The search: the shortest sequence of nodes with a different result on a runtime, given the reference's values.
//!
//! The nodes `from..to` show the difference if the runtime, given the reference's values before `from`, has the same
//! result as on the whole model. Each step runs the first half. If the difference shows, the search continues in that
//! half, otherwise in the second one. So each node runs about twice on the runtime, and on the reference if it has too
//! many values to store. If the last node alone does not show the difference, the nodes before it are added again.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use onnx_conformance_cases::case::{Named, external_locations};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::models::trace::accuracy::OwnBound;
use crate::models::trace::answer::{Fault, Trace, TraceOutcome, Traced};
use crate::models::trace::divided::{DividedModel, PartModel, Values};
use crate::models::trace::error::TraceError;
use crate::models::trace::reference::Seen;
use crate::models::trace::runs::{Ending, Expected, Failure, Runs, TraceQuestion};

/// Maximum bytes of values that are kept between nodes, to go back without another run.
const MAX_KEPT: usize = 256 << 20;

/// Maximum number of nodes that are tried alone, if a difference shows only with several nodes.
const MAX_ALONE: usize = 64;

/// A part of the model that was run on both.
struct Examined {
    nodes: Vec<usize>,
    model: PartModel,
    outputs: Vec<String>,
    expected: Vec<Value>,
    ending: Ending,
}

/// Finds the first nodes of a model that a runtime computes differently.
pub fn trace_model(question: &TraceQuestion<'_>) -> Result<Trace, TraceError> {
    let model = decode::model(question.model.clone()).map_err(|error| TraceError::NotAModel(error.to_string()))?;
    let divided = DividedModel::new(&model).ok_or(TraceError::NoNodes)?;
    let mut search = Search {
        question,
        divided: &divided,
        runs: Runs {
            question,
            divided: &divided,
            seen: Seen { types: question.types.clone(), values: None, inner: None, bytes: MAX_KEPT },
            counts: [0; 2],
        },
        points: BTreeMap::new(),
        kept: None,
        whole: Ending::Agrees(Vec::new()),
        whole_text: String::new(),
    };
    let inputs = question.inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
    search.points.insert(0, inputs);
    let outcome = search.outcome(&model)?;
    let random = divided.random().iter().filter_map(|at| divided.place(*at)).collect();
    let declaration = question.runtime.declaration();
    Ok(Trace {
        runtime: format!("{} {}", declaration.name, declaration.version),
        reference: question.reference.name(),
        nodes: divided.len(),
        runs: search.runs.counts,
        random,
        outcome,
    })
}

struct Search<'a> {
    question: &'a TraceQuestion<'a>,
    divided: &'a DividedModel<'a>,
    runs: Runs<'a>,
    /// The reference's values before some nodes, as far as later nodes read them. The inputs are those before node 0.
    points: BTreeMap<usize, Values>,
    /// All values of the reference, if they are few.
    kept: Option<Values>,
    /// End of the whole model.
    whole: Ending,
    /// Description of that end.
    whole_text: String,
}

impl Search<'_> {
    fn outcome(&mut self, model: &ModelProto) -> Result<TraceOutcome, TraceError> {
        let Some(graph) = &model.graph else { return Err(TraceError::NoNodes) };
        let names: Vec<String> = graph.output.iter().map(|output| output.name().to_owned()).collect();
        for output in &graph.output {
            let declared = output.r#type.as_ref().and_then(|declared| decode::value_type(declared).ok());
            self.runs.seen.types.extend(declared.map(|declared| (output.name().to_owned(), declared)));
        }
        let all: Vec<usize> = (0..self.divided.len()).collect();
        let whole = PartModel {
            bytes: self.question.model.clone(),
            inputs: self.question.inputs.to_vec(),
            has_external_data: !external_locations(model).is_empty(),
        };
        self.runs.seen.values = Some(Values::new());
        let computed = self.runs.reference(&whole, &names);
        let kept = self.runs.seen.values.take();
        let expected = computed?;
        self.kept = kept.filter(|kept| !kept.is_empty());
        let ending = self.runs.runtime(&whole, &Expected { nodes: &all, outputs: &names, values: &expected })?;
        self.whole_text = ending.describe(&names);
        self.whole = ending;
        if let Ending::Agrees(_) = self.whole {
            return match self.behind_random_nodes()? {
                Some(found) => Ok(found),
                None => Ok(TraceOutcome::Same { outputs: names.len() }),
            };
        }
        if let Ending::Fails(failure, message) = self.whole.clone()
            && failure != Failure::Run
            && self.copying_fails(failure)?
        {
            return Ok(TraceOutcome::EveryModel { message });
        }
        match self.narrow(0..self.divided.len())? {
            Some(found) => self.found(found),
            None => Ok(TraceOutcome::OnlyWhole { message: self.whole_text.clone() }),
        }
    }

    /// Searches between random nodes, each time with the reference's values, since outputs after a random node cannot
    /// be compared.
    fn behind_random_nodes(&mut self) -> Result<Option<TraceOutcome>, TraceError> {
        let random: Vec<usize> = self.divided.random().iter().copied().collect();
        if random.is_empty() {
            return Ok(None);
        }
        let mut from = 0;
        for to in random.into_iter().chain([self.divided.len()]) {
            if from < to {
                let examined = self.examine(from..to)?;
                if !matches!(examined.ending, Ending::Agrees(_)) {
                    self.whole_text = format!("{} up to random nodes", self.whole_text);
                    self.whole = examined.ending;
                    if let Some(found) = self.narrow(from..to)? {
                        return self.found(found).map(Some);
                    }
                }
            }
            from = to + 1;
        }
        Ok(None)
    }

    /// Returns true if the runtime also fails on a model with the same versions that only copies its input.
    fn copying_fails(&mut self, failure: Failure) -> Result<bool, TraceError> {
        let bytes: Bytes = self.divided.copying_model().encode_to_vec().into();
        let value = Tensor::of_floats(ElementType::Float, &[1], &[1.0]).map(Value::Tensor);
        let Ok(value) = value else { return Ok(false) };
        let inputs = vec![Named { name: "x".to_owned(), value: value.clone() }];
        let model = PartModel { bytes, inputs, has_external_data: false };
        let ending =
            self.runs.runtime(&model, &Expected { nodes: &[], outputs: &["y".to_owned()], values: &[value] })?;
        Ok(ending.failure() == Some(failure))
    }

    /// Returns the shortest part of the range with the same result as the whole model; `None` if not even the range
    /// does.
    fn narrow(&mut self, range: Range<usize>) -> Result<Option<Examined>, TraceError> {
        let (mut from, mut to) = (range.start, range.end);
        let mut starts = Vec::new();
        while to - from > 1 {
            let middle = from + (to - from) / 2;
            if self.shows(from..middle)?.is_some() {
                to = middle;
            } else {
                starts.push(from);
                from = middle;
            }
        }
        let mut found = self.shows(from..to)?;
        let mut silent = from;
        while found.is_none() {
            let Some(start) = starts.pop() else { break };
            silent = from;
            from = start;
            found = self.shows(from..to)?;
        }
        let Some(mut found) = found else { return Ok(None) };
        // From `from` on it shows, from `silent` on it does not.
        while silent > from + 1 {
            let middle = from + (silent - from) / 2;
            match self.shows(middle..to)? {
                Some(shorter) => (from, found) = (middle, shorter),
                None => silent = middle,
            }
        }
        let mut silent = from;
        while to > silent + 1 {
            let middle = silent + (to - silent) / 2;
            match self.shows(from..middle)? {
                Some(shorter) => (to, found) = (middle, shorter),
                None => silent = middle,
            }
        }
        Ok(Some(self.pruned(from..to, found)?))
    }

    /// Removes the nodes that the different output does not depend on, if it stays different.
    fn pruned(&mut self, range: Range<usize>, found: Examined) -> Result<Examined, TraceError> {
        let Ending::Differs { output, .. } = &found.ending else { return Ok(found) };
        let Some(name) = found.outputs.get(*output).cloned() else { return Ok(found) };
        let nodes = self.divided.ancestors(range.clone(), &name);
        if nodes.len() == found.nodes.len() {
            return Ok(found);
        }
        let fewer = self.examine_nodes(range.start, nodes, vec![name])?;
        Ok(if fewer.ending.is_like(&self.whole) { fewer } else { found })
    }

    /// Examines a range, and returns it if it has the same result as the whole model.
    fn shows(&mut self, range: Range<usize>) -> Result<Option<Examined>, TraceError> {
        let examined = self.examine(range)?;
        Ok(examined.ending.is_like(&self.whole).then_some(examined))
    }

    /// Runs the nodes of a range on both, with the reference's values before it.
    fn examine(&mut self, range: Range<usize>) -> Result<Examined, TraceError> {
        let nodes: Vec<usize> = range.clone().collect();
        let outputs = self.divided.outputs_of(&nodes);
        let examined = self.examine_nodes(range.start, nodes, outputs)?;
        if self.kept.is_none() {
            self.store_values(range, &examined.outputs, &examined.expected);
        }
        Ok(examined)
    }

    fn examine_nodes(&mut self, from: usize, nodes: Vec<usize>, outputs: Vec<String>) -> Result<Examined, TraceError> {
        let mut known = self.values_before(from)?;
        let kept = self.kept.as_ref().and_then(|kept| outputs.iter().map(|name| kept.get(name).cloned()).collect());
        let expected = match kept {
            Some(expected) => expected,
            None if outputs.is_empty() => Vec::new(),
            None => {
                let part = self.divided.part(&nodes, &outputs, &known, &self.runs.seen.types)?;
                self.runs.reference_on_part(&part, &nodes, &outputs)?
            }
        };
        known.extend(outputs.iter().cloned().zip(expected.iter().cloned()));
        let part = self.divided.part(&nodes, &outputs, &known, &self.runs.seen.types)?;
        let ending = if outputs.is_empty() {
            Ending::Agrees(Vec::new())
        } else {
            self.runs.runtime(&part, &Expected { nodes: &nodes, outputs: &outputs, values: &expected })?
        };
        Ok(Examined { nodes, model: part, outputs, expected, ending })
    }

    /// Returns the reference's values that the nodes from this one on read. It runs from the nearest kept values.
    fn values_before(&mut self, position: usize) -> Result<Values, TraceError> {
        if let Some(kept) = &self.kept {
            let inputs = self.question.inputs.iter().map(|input| (input.name.clone(), input.value.clone()));
            let is_read = |(name, _): &(&String, &Value)| self.divided.is_read_from(name, position);
            let computed = kept.iter().filter(is_read).map(|(name, value)| (name.clone(), value.clone()));
            return Ok(computed.chain(inputs).collect());
        }
        let nearest = self.points.range(..=position).next_back().map(|(at, values)| (*at, values.clone()));
        let Some((at, values)) = nearest else { return Ok(Values::new()) };
        if at == position {
            return Ok(values);
        }
        let nodes: Vec<usize> = (at..position).collect();
        let outputs = self.divided.outputs_of(&nodes);
        if outputs.is_empty() {
            self.points.insert(position, values);
        } else {
            let part = self.divided.part(&nodes, &outputs, &values, &self.runs.seen.types)?;
            let computed = self.runs.reference_on_part(&part, &nodes, &outputs)?;
            self.store_values(at..position, &outputs, &computed);
        }
        Ok(self.points.get(&position).cloned().unwrap_or_default())
    }

    /// Stores the values before the end of a range, and drops others if all take too much memory.
    fn store_values(&mut self, range: Range<usize>, outputs: &[String], computed: &[Value]) {
        let before = self.points.get(&range.start).into_iter().flatten();
        let is_read = |(name, _): &(&String, &Value)| {
            self.divided.is_read_from(name, range.end) || self.question.inputs.iter().any(|it| it.name == **name)
        };
        let mut values: Values = before.filter(is_read).map(|(name, value)| (name.clone(), value.clone())).collect();
        values.extend(outputs.iter().cloned().zip(computed.iter().cloned()));
        self.points.insert(range.end, values);
        let size = |values: &Values| values.values().map(Value::size).sum::<usize>();
        while self.points.values().map(size).sum::<usize>() > MAX_KEPT {
            let is_spare = |at: &&usize| **at != 0 && **at != range.start && **at != range.end;
            let Some(spare) = self.points.keys().find(is_spare).copied() else { break };
            self.points.remove(&spare);
        }
    }

    /// Describes a part that shows the difference, or a single node of it that exceeds its own bound.
    fn found(&mut self, found: Examined) -> Result<TraceOutcome, TraceError> {
        if found.nodes.len() > 1 {
            if let Some((alone, message)) = self.beyond_own_bound(&found)? {
                let grows = found.nodes.len();
                return Ok(self.traced(alone, Fault::Grows { nodes: grows }, Some(message)));
            }
            return Ok(self.traced(found, Fault::Graph, None));
        }
        Ok(self.traced(found, Fault::Node, None))
    }

    /// Returns the first node of a part that exceeds the bound of its operator when it runs alone.
    fn beyond_own_bound(&mut self, part: &Examined) -> Result<Option<(Examined, String)>, TraceError> {
        if !matches!(part.ending, Ending::Differs { .. }) {
            return Ok(None);
        }
        for node in part.nodes.iter().copied().take(MAX_ALONE) {
            let mut alone = self.examine(node..node + 1)?;
            let Ending::Agrees(actual) = &alone.ending else { continue };
            let request = self.question.request(&alone.model, &[]);
            if let OwnBound::Beyond(output, message) = self.runs.own_bound(&request, node, &alone.expected, actual) {
                alone.ending = Ending::Differs { output, message: message.clone(), actual: actual.clone() };
                return Ok(Some((alone, message)));
            }
        }
        Ok(None)
    }

    fn traced(&self, part: Examined, fault: Fault, message: Option<String>) -> TraceOutcome {
        let named = |values: Vec<Value>| {
            let names = part.outputs.iter().cloned();
            names.zip(values).map(|(name, value)| Named { name, value }).collect::<Vec<_>>()
        };
        let shown = match (&part.ending, message) {
            (Ending::Differs { output, .. }, Some(message)) => {
                format!("output '{}': {message}", part.outputs.get(*output).cloned().unwrap_or_default())
            }
            (ending, _) => ending.describe(&part.outputs),
        };
        let actual = match &part.ending {
            Ending::Differs { actual, .. } | Ending::Agrees(actual) => Some(named(actual.clone())),
            Ending::Fails(..) => None,
        };
        TraceOutcome::Found(Box::new(Traced {
            fault,
            places: part.nodes.iter().filter_map(|at| self.divided.place(*at)).collect(),
            whole: self.whole_text.clone(),
            shown,
            expected: named(part.expected.clone()),
            actual,
            model: part.model.bytes,
            inputs: part.model.inputs,
        }))
    }
}
