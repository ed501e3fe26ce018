//! Subgraphs: the facts passed into them, and the facts about their outputs.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::{NodeProto, Text};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OpSpec};
use onnx_conformance_reference::types::ValueType;

use crate::facts::ValueFact;
use crate::finding::{Finding, Place};
use crate::infer::bodies::{BodyId, NodeId};
use crate::infer::declared::{Contradiction, contradiction, declared};
use crate::infer::walk::{Visit, Walk};
use crate::rules::RuleId;
use onnx_conformance_reference::infer::Attributes;
use onnx_conformance_reference::infer::axis_of;
use onnx_conformance_reference::infer::graphs_of;
use onnx_conformance_reference::infer::rules;

/// The first opset in which the branches of If may return different shapes.
const BRANCHES_OF_ANY_SHAPE: i64 = 11;

/// Number of inputs and outputs that a node requires of a subgraph.
struct Expected {
    inputs: usize,
    /// The roles of the inputs, in order, for messages: `: the iteration number, ...`. Empty if they have none.
    roles: &'static str,
    /// The minimum, and the maximum if there is one.
    outputs: (usize, Option<usize>),
}

/// Subgraph in an attribute of a node.
#[derive(Clone, Copy)]
struct Subgraph<'a> {
    node: NodeId,
    attribute: &'a str,
    body: BodyId,
}

impl<'m> Walk<'_, 'm> {
    /// Returns the facts about the outputs of a node that runs subgraphs; `None` for other nodes.
    pub(super) fn subgraphs(&mut self, visit: Visit<'_, 'm>, spec: &'static OpSpec) -> Option<Vec<ValueFact>> {
        let name = (spec.version.domain == DEFAULT_DOMAIN).then_some(spec.version.name.as_str());
        match name {
            Some("If") => Some(self.branches(visit)),
            Some("Loop") => Some(self.loop_body(visit)),
            Some("Scan") => Some(self.scan_body(visit, spec)),
            Some("SequenceMap") => Some(self.map_body(visit)),
            _ => {
                self.unknown_subgraphs(visit);
                None
            }
        }
    }

    /// Walks the subgraphs of a node with unknown semantics.
    pub(super) fn unknown_subgraphs(&mut self, visit: Visit<'_, 'm>) {
        let Visit { id, node, call } = visit;
        for (attribute, at) in node.attribute.iter().zip(0..) {
            // bounded: by the graphs that there are.
            for position in 0..graphs_of(attribute) {
                if let Some(body) = self.bodies.subgraph(id, at, position) {
                    let outputs = self.body(body, None, call);
                    if node.op_type() == "FlexAttention" {
                        self.check_modifier(Subgraph { node: id, attribute: attribute.name(), body }, &outputs);
                    }
                }
            }
        }
    }

    /// Checks that a subgraph that modifies scores or probabilities preserves the type and shape of its input.
    fn check_modifier(&mut self, subgraph: Subgraph<'_>, outputs: &[ValueFact]) {
        let Subgraph { node, attribute, body } = subgraph;
        let given = self.bodies.body(body).inputs().first().map(|name| self.fact_of(body, name)).unwrap_or_default();
        let message = match outputs.first().and_then(|output| contradiction(&given, output)) {
            Some(Contradiction::Type(given, output)) => {
                format!("the input of {attribute} is {given}, but its output is {output}")
            }
            Some(Contradiction::Shape(given, output)) => {
                format!("the input of {attribute} has shape {given}, but its output {output}")
            }
            None => return,
        };
        self.push(node, Finding::new(RuleId::SubgraphType, Place::default(), message));
    }

    /// The subgraph in the attribute of this name.
    fn subgraph<'a>(&self, visit: Visit<'_, 'm>, attribute: &'a str) -> Option<Subgraph<'a>> {
        let at = visit.node.attribute.iter().position(|found| found.name() == attribute)?;
        Some(Subgraph { node: visit.id, attribute, body: self.bodies.subgraph(visit.id, at, 0)? })
    }

    fn branches(&mut self, visit: Visit<'_, 'm>) -> Vec<ValueFact> {
        let Visit { id, node, call } = visit;
        let count = node.output.len();
        self.check_single(visit, 0, "the condition");
        let mut known: Vec<Vec<ValueFact>> = Vec::new();
        // A branch may handle shapes that never occur.
        self.branches += 1;
        for name in ["then_branch", "else_branch"] {
            let Some(subgraph) = self.subgraph(visit, name) else { continue };
            let outputs = self.body(subgraph.body, None, call);
            self.check_counts(subgraph, &Expected { inputs: 0, roles: "", outputs: (count, Some(count)) });
            known.push(outputs);
        }
        self.branches -= 1;
        let [one, two] = known.as_slice() else { return Vec::new() };
        for ((one, two), (name, at)) in one.iter().zip(two).zip(node.output.iter().zip(0..)) {
            if let (Some(one), Some(two)) = (&one.value_type, &two.value_type)
                && one != two
            {
                let message = format!("output {at} '{name}' is {one} in then_branch, but {two} in else_branch");
                let edit = "make both branches return the same type";
                self.push(id, Finding::new(RuleId::SubgraphType, Place::default(), message).with_edit(edit));
            } else if let Some(Contradiction::Shape(one, two)) = contradiction(one, two)
                && self.bodies.opset(id.body, node.domain()).is_some_and(|opset| opset < BRANCHES_OF_ANY_SHAPE)
            {
                let message = format!(
                    "output {at} '{name}' has shape {one} in then_branch, but {two} in else_branch; If-1 requires one shape"
                );
                let edit = format!("import opset {BRANCHES_OF_ANY_SHAPE} or newer");
                self.push(id, Finding::new(RuleId::SubgraphType, Place::default(), message).with_edit(edit));
            }
        }
        one.iter().zip(two).map(|(one, two)| ValueFact { constant: None, ..one.join(two) }).collect()
    }

    fn loop_body(&mut self, visit: Visit<'_, 'm>) -> Vec<ValueFact> {
        let Visit { id, node, call } = visit;
        let Some(subgraph) = self.subgraph(visit, "body") else { return Vec::new() };
        self.check_single(visit, 0, "the trip count");
        self.check_single(visit, 1, "the condition");
        let initial: Vec<ValueFact> =
            inputs_given(node).iter().skip(2).map(|name| self.fact_of(id.body, name)).collect();
        let carried: Vec<ValueFact> = initial.iter().map(type_only).collect();
        let count = carried.len();
        let scalar =
            |element| ValueFact { shape: Some(Vec::new()), ..ValueFact::from_type(ValueType::Tensor(element)) };
        let mut given = vec![scalar(ElementType::Int64), type_only(&scalar(ElementType::Bool))];
        given.extend(carried.iter().cloned());
        // Models also declare iteration number and condition as tensors of one element instead of scalars.
        given.iter_mut().take(2).for_each(|fact| fact.shape = None);
        // With other numbers of inputs, no position shows which value an input receives.
        let has_inputs = self.bodies.passed_inputs(subgraph.body) == given.len();
        let outputs = self.body(subgraph.body, has_inputs.then_some(given), call);
        let scans = node.output.len().saturating_sub(count);
        let roles = ": the iteration number, the condition, and one for each carried value";
        self.check_counts(subgraph, &Expected { inputs: 2 + count, roles, outputs: (1 + count + scans, None) });
        if has_inputs {
            self.check_first_trip(subgraph.body, &initial);
            self.check_carried(subgraph, &carried, outputs.get(1..).unwrap_or_default());
            self.check_condition(id, outputs.first());
        }
        let mut facts: Vec<ValueFact> = outputs.iter().skip(1).take(count).map(type_only).collect();
        facts.extend(outputs.iter().skip(1 + count).map(|fact| stacked(fact, Dim::Unknown, 0)));
        // With zero iterations, the initial values become the outputs.
        for (fact, carried) in facts.iter_mut().zip(&carried) {
            fact.value_type = fact.value_type.take().or_else(|| carried.value_type.clone());
        }
        facts
    }

    /// Checks that the declared shapes of a loop's body hold for its first trip, which gets the initial values. Later trips may
    /// have other shapes.
    fn check_first_trip(&mut self, body: BodyId, initial: &[ValueFact]) {
        let Some(graph) = self.bodies.body(body).graph() else { return };
        for (at, (info, given)) in graph.input.iter().skip(2).zip(initial).enumerate() {
            self.check_subgraph_input(body, 2 + at, &declared(info), &shape_only(given));
        }
    }

    /// Checks that an input has exactly one element.
    fn check_single(&mut self, visit: Visit<'_, 'm>, position: usize, what: &str) {
        let Visit { id, node, .. } = visit;
        let Some(name) = node.input.get(position).filter(|name| !name.is_empty()) else { return };
        let sizes = self.fact_of(id.body, name).sizes().filter(|sizes| sizes.iter().any(|size| *size != 1));
        if let Some(sizes) = sizes {
            let message = format!("{what} '{name}' must have one element, but has shape {sizes:?}");
            self.push(id, Finding::new(RuleId::NodeConstraint, Place::default(), message));
        }
    }

    fn check_condition(&mut self, id: NodeId, condition: Option<&ValueFact>) {
        let Some(actual) = condition.and_then(|fact| fact.value_type.as_ref()) else { return };
        if *actual != ValueType::Tensor(ElementType::Bool) {
            let message = format!("output 0 of the body, the condition, is {actual}, not tensor(bool)");
            self.push(id, Finding::new(RuleId::SubgraphType, Place::default(), message));
        }
    }

    fn scan_body(&mut self, visit: Visit<'_, 'm>, spec: &'static OpSpec) -> Vec<ValueFact> {
        let Visit { id, node, call } = visit;
        let Some(subgraph) = self.subgraph(visit, "body") else { return Vec::new() };
        // Version 8 has the lengths first, and a batch axis before the sequence axis.
        let (first, batch) = if spec.version.since < 9 { (1, 1) } else { (0, 0) };
        let attributes = visit.attributes();
        let scanned = attributes.int("num_scan_inputs");
        let given = inputs_given(node).len().saturating_sub(first);
        let states = scanned.and_then(|scanned| given.checked_sub(usize::try_from(scanned).ok()?));
        let Some(states) = states else {
            if let Some(scanned) = scanned {
                let message = format!("num_scan_inputs is {scanned}, but the node has {given} states and scan inputs");
                self.push(id, Finding::new(RuleId::SubgraphArity, Place::default(), message));
            }
            self.body(subgraph.body, None, call);
            return Vec::new();
        };
        let facts: Vec<ValueFact> =
            inputs_given(node).iter().skip(first).map(|name| self.fact_of(id.body, name)).collect();
        let axes = attributes.ints("scan_input_axes").unwrap_or_default();
        self.check_scan_lists(visit, given - states, node.output.len().saturating_sub(states));
        let inner = facts.iter().enumerate().map(|(at, fact)| match at.checked_sub(states) {
            None => ValueFact { shape: without_first(fact.shape.as_ref(), batch), ..type_only(fact) },
            Some(at) => {
                let axis = axes.get(at).copied().unwrap_or(0);
                let axis = if batch == 1 { Some(0) } else { axis_of(axis, fact.rank()) };
                ValueFact { shape: slice_of(fact.shape.as_ref(), batch, axis), ..type_only(fact) }
            }
        });
        let inner: Vec<ValueFact> = inner.collect();
        if batch == 0 {
            self.check_slices(visit, facts.get(states..).unwrap_or_default(), axes);
        }
        let has_inputs = self.bodies.passed_inputs(subgraph.body) == given;
        let outputs = self.body(subgraph.body, has_inputs.then(|| inner.clone()), call);
        let roles = ": one for each state and each scan input";
        let expected = Expected { inputs: given, roles, outputs: (node.output.len(), None) };
        self.check_counts(subgraph, &expected);
        if has_inputs {
            self.check_carried(subgraph, inner.get(..states).unwrap_or_default(), &outputs);
            self.check_state_shapes(subgraph, inner.get(..states).unwrap_or_default(), &outputs);
        }
        if batch == 1 {
            self.check_batch(visit, facts.first());
            self.check_batches(visit, &facts, states);
        }
        Scanned { facts: &facts, states, has_batches: batch == 1 }.results(attributes, &outputs)
    }

    /// Checks that the number of sequence lengths equals the batch size.
    fn check_batch(&mut self, visit: Visit<'_, 'm>, first: Option<&ValueFact>) {
        let Visit { id, node, .. } = visit;
        let lengths = node.input.first().filter(|name| !name.is_empty());
        let lengths = lengths.and_then(|name| self.fact_of(id.body, name).shape);
        let batch = first.and_then(|fact| fact.shape.as_ref()?.first().cloned());
        if let (Some([Dim::Size(lengths)]), Some(Dim::Size(batch))) = (lengths.as_deref(), batch)
            && *lengths != batch
        {
            let message = format!("sequence_lens has {lengths} elements, but the batch has {batch} sequences");
            self.push(id, Finding::new(RuleId::NodeConstraint, Place::default(), message));
        }
    }

    /// Checks that all states and scan inputs have the same batch size, and all scan inputs the same length.
    fn check_batches(&mut self, visit: Visit<'_, 'm>, facts: &[ValueFact], states: usize) {
        for (axis, from, what) in [(0, 0, "batches"), (1, states, "slices")] {
            let size = |fact: &ValueFact| match fact.shape.as_ref()?.get(axis)? {
                Dim::Size(size) => Some(*size),
                _ => None,
            };
            let mut sizes = facts.iter().skip(from).filter_map(size);
            let Some(first) = sizes.next() else { continue };
            if let Some(other) = sizes.find(|other| *other != first) {
                let message = format!("an input has {first} {what}, and another one {other}");
                self.push(visit.id, Finding::new(RuleId::NodeConstraint, Place::default(), message));
            }
        }
    }

    /// Checks that lists of axes and directions have an entry for each scan input or output.
    fn check_scan_lists(&mut self, visit: Visit<'_, 'm>, inputs: usize, outputs: usize) {
        let lists = [
            ("scan_input_axes", inputs),
            ("scan_input_directions", inputs),
            ("directions", inputs),
            ("scan_output_axes", outputs),
            ("scan_output_directions", outputs),
        ];
        for (name, count) in lists {
            let Some(list) = visit.attributes().ints(name) else { continue };
            let other = list.iter().find(|value| name.ends_with("directions") && !(0..=1).contains(*value));
            let message = match other {
                _ if list.len() != count => format!("{name} has {} entries instead of {count}", list.len()),
                Some(other) => format!("{name} contains {other}; 0 is forward, and 1 is backward"),
                None => continue,
            };
            self.push(visit.id, Finding::new(RuleId::NodeConstraint, Place::default(), message));
        }
    }

    /// Checks that all scan inputs have the same number of slices.
    fn check_slices(&mut self, visit: Visit<'_, 'm>, scanned: &[ValueFact], axes: &[i64]) {
        let Visit { id, node, .. } = visit;
        let first = inputs_given(node).len().saturating_sub(scanned.len());
        let mut lengths: Vec<(usize, &str)> = Vec::new();
        for (at, fact) in scanned.iter().enumerate() {
            let name = node.input.get(first + at).map_or("", Text::as_str);
            let Some(shape) = &fact.shape else { continue };
            let axis = axes.get(at).copied().unwrap_or(0);
            match axis_of(axis, Some(shape.len())).map(|axis| shape.get(axis)) {
                None => {
                    let message = format!("'{name}' has no axis {axis} to scan along");
                    self.push(id, Finding::new(RuleId::NodeConstraint, Place::default(), message));
                }
                Some(Some(Dim::Size(length))) => lengths.push((*length, name)),
                Some(_) => {}
            }
        }
        let Some((one, first)) = lengths.first() else { return };
        if let Some((two, second)) = lengths.iter().find(|(two, _)| two != one) {
            let message = format!("'{first}' has {one} elements along its scan axis, but '{second}' has {two}");
            self.push(id, Finding::new(RuleId::NodeConstraint, Place::default(), message));
        }
    }

    fn map_body(&mut self, visit: Visit<'_, 'm>) -> Vec<ValueFact> {
        let Visit { id, node, call } = visit;
        let Some(subgraph) = self.subgraph(visit, "body") else { return Vec::new() };
        let item = |fact: &ValueFact| match &fact.value_type {
            Some(ValueType::Sequence(item)) => ValueFact::from_type((**item).clone()),
            _ => without_constant(fact),
        };
        let given: Vec<ValueFact> = inputs_given(node).iter().map(|name| item(&self.fact_of(id.body, name))).collect();
        let inputs = given.len();
        let has_inputs = self.bodies.passed_inputs(subgraph.body) == inputs;
        let outputs = self.body(subgraph.body, has_inputs.then_some(given), call);
        let count = node.output.len();
        self.check_counts(subgraph, &Expected { inputs, roles: "", outputs: (count, Some(count)) });
        let sequence = |fact: &ValueFact| ValueFact {
            value_type: fact.value_type.clone().map(|item| ValueType::Sequence(Box::new(item))),
            ..ValueFact::default()
        };
        outputs.iter().map(sequence).collect()
    }

    fn check_counts(&mut self, subgraph: Subgraph<'_>, expected: &Expected) {
        let Subgraph { node, attribute, body } = subgraph;
        let graph = self.bodies.body(body);
        let (inputs, outputs) = (self.bodies.passed_inputs(body), graph.outputs().len());
        let (min, max) = expected.outputs;
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let mut push = |message: String, edit: String| {
            self.push(node, Finding::new(RuleId::SubgraphArity, Place::default(), message).with_edit(edit));
        };
        if inputs != expected.inputs {
            let (has, must) = (counted(inputs, "input"), counted(expected.inputs, "input"));
            let message = format!("{attribute} has {has}, but must have {}{}", expected.inputs, expected.roles);
            push(message, format!("declare {must} of {attribute}"));
        }
        if outputs < min || max.is_some_and(|max| outputs > max) {
            let (has, must) = (counted(outputs, "output"), counted(min, "output"));
            let message = format!("{attribute} has {has}, but the node requires {min}");
            push(message, format!("declare {must} of {attribute}"));
        }
    }

    /// Checks that the values carried to the next iteration keep their types.
    fn check_carried(&mut self, subgraph: Subgraph<'_>, given: &[ValueFact], outputs: &[ValueFact]) {
        let names = self.bodies.body(subgraph.body).outputs();
        let first = names.len().saturating_sub(outputs.len());
        for ((given, output), at) in given.iter().zip(outputs).zip(0usize..) {
            // An optional may be passed in, and its content returned.
            let is_item =
                |given: &ValueType, output: &ValueType| matches!(given, ValueType::Optional(item) if **item == *output);
            if let (Some(given), Some(output)) = (&given.value_type, &output.value_type)
                && given != output
                && !is_item(given, output)
            {
                let name = names.get(first + at).copied().unwrap_or_default();
                let message = format!(
                    "the carried value '{name}' is {given} at the start of an iteration, but {output} at its end"
                );
                self.push(subgraph.node, Finding::new(RuleId::SubgraphType, Place::default(), message));
            }
        }
    }

    /// Checks that the states of a scan keep their shapes.
    fn check_state_shapes(&mut self, subgraph: Subgraph<'_>, given: &[ValueFact], outputs: &[ValueFact]) {
        let names = self.bodies.body(subgraph.body).outputs();
        for ((given, output), name) in given.iter().zip(outputs).zip(names) {
            if let Some(Contradiction::Shape(given, output)) = contradiction(&shape_only(given), &shape_only(output)) {
                let message = format!(
                    "the state '{name}' has shape {given} at the start of an iteration, but {output} at its end"
                );
                self.push(subgraph.node, Finding::new(RuleId::SubgraphType, Place::default(), message));
            }
        }
    }
}

fn type_only(fact: &ValueFact) -> ValueFact {
    ValueFact { value_type: fact.value_type.clone(), ..ValueFact::default() }
}

fn shape_only(fact: &ValueFact) -> ValueFact {
    ValueFact { shape: fact.shape.clone(), ..ValueFact::default() }
}

/// The inputs of a node without trailing omitted ones.
fn inputs_given(node: &NodeProto) -> &[Text] {
    let count = node.input.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
    node.input.get(..count).unwrap_or_default()
}

fn without_constant(fact: &ValueFact) -> ValueFact {
    ValueFact { constant: None, ..fact.clone() }
}

/// Inputs of a Scan.
struct Scanned<'a> {
    /// The states, then the scanned tensors.
    facts: &'a [ValueFact],
    states: usize,
    /// True in version 8, where every tensor has a batch axis before the sequence axis.
    has_batches: bool,
}

impl Scanned<'_> {
    /// Returns the facts about the outputs of the node, from those about the outputs of its body.
    fn results(&self, attributes: Attributes<'_, '_>, outputs: &[ValueFact]) -> Vec<ValueFact> {
        let input_axes = attributes.ints("scan_input_axes").unwrap_or_default();
        let output_axes = attributes.ints("scan_output_axes").unwrap_or_default();
        let is_open = attributes.is_open("scan_input_axes") || attributes.is_open("scan_output_axes");
        let mut results: Vec<ValueFact> = self.facts.iter().take(self.states).map(without_constant).collect();
        for (result, output) in results.iter_mut().zip(outputs) {
            result.value_type = result.value_type.take().or_else(|| output.value_type.clone());
        }
        let length = self.length(input_axes);
        let scans = outputs.iter().skip(self.states);
        if self.has_batches {
            // Without a batch the body does not run, and the outputs have the shapes that it declares.
            let first = self.facts.first().and_then(|fact| fact.shape.as_ref()?.first());
            let Some(batches) = first.filter(|batches| matches!(batches, Dim::Size(1..))) else {
                return results.iter().chain(scans).map(type_only).collect();
            };
            results.extend(scans.map(|fact| stacked(&stacked(fact, length.clone(), 0), batches.clone(), 0)));
            return results;
        }
        results.extend(scans.enumerate().map(|(at, fact)| {
            let stacked = stacked(fact, length.clone(), output_axes.get(at).copied().unwrap_or(0));
            let rank = stacked.rank().and_then(rules::unknown);
            if is_open { ValueFact { shape: rank, ..stacked } } else { stacked }
        }));
        results
    }

    /// Returns the number of iterations: the size of a scanned tensor along its axis. All are the same.
    fn length(&self, axes: &[i64]) -> Dim {
        let along = |(at, fact): (usize, &ValueFact)| {
            let axis = axis_of(axes.get(at).copied().unwrap_or(0), fact.rank());
            let axis = if self.has_batches { Some(1) } else { axis };
            fact.shape.as_ref()?.get(axis?).cloned()
        };
        let lengths: Vec<Dim> = self.facts.iter().skip(self.states).enumerate().filter_map(along).collect();
        let size = lengths.iter().find(|length| matches!(length, Dim::Size(_)));
        let known = || lengths.iter().find(|length| !matches!(length, Dim::Unknown));
        size.or_else(known).cloned().unwrap_or(Dim::Unknown)
    }
}

/// The stack of a tensor over all iterations, whose number is the size of the new axis.
fn stacked(fact: &ValueFact, length: Dim, axis: i64) -> ValueFact {
    let shape = fact.shape.as_ref().and_then(|shape| {
        // A known size is the same in every iteration; symbolic ones may differ.
        let same = |dim: &Dim| if let Dim::Size(size) = dim { Dim::Size(*size) } else { Dim::Unknown };
        let mut dims: Vec<Dim> = shape.iter().map(same).collect();
        dims.insert(axis_of(axis, Some(dims.len() + 1))?, length);
        Some(dims)
    });
    ValueFact { value_type: fact.value_type.clone(), shape, ..ValueFact::default() }
}

fn without_first(shape: Option<&Vec<Dim>>, count: usize) -> Option<Vec<Dim>> {
    shape?.get(count..).map(<[Dim]>::to_vec)
}

fn slice_of(shape: Option<&Vec<Dim>>, batch: usize, axis: Option<usize>) -> Option<Vec<Dim>> {
    let mut shape = without_first(shape, batch)?;
    let axis = axis.filter(|axis| *axis < shape.len())?;
    shape.remove(axis);
    Some(shape)
}
