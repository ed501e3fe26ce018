//! Draft of a conversion: a node, the known facts about its inputs and outputs, and the nodes added before and after it.

use std::collections::{BTreeMap, HashMap, HashSet};

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto, TensorProto, Text, Texts, encode, texts};
use onnx_conformance_reference::spec::{FormalParameter, OpSpec, Specs};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use super::answer::{Fragment, Step, impossible, unknown};
use super::attributes;
use super::metadata::NodeMetadata;
use super::silent::NodeFactsRef;
use crate::facts::{NodeFacts, ValueFact};

/// The names in use in a model, for generating new ones.
#[derive(Clone, Debug, Default)]
pub struct Names {
    taken: HashSet<String>,
    /// The last number used for each stem, so that a frequent stem is not counted from the start each time.
    numbers: HashMap<String, u64>,
}

impl Names {
    /// Marks a name as used.
    pub fn take(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// Returns an unused name that begins with `stem`.
    pub fn fresh(&mut self, stem: &str) -> String {
        if !stem.is_empty() && self.taken.insert(stem.to_owned()) {
            return stem.to_owned();
        }
        let number = self.numbers.entry(stem.to_owned()).or_insert(1);
        loop {
            *number += 1;
            let name = format!("{stem}_{number}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Reason why an input must be a constant: a version has it as an attribute.
pub(crate) fn as_attribute(name: &str, to: &OpSpec) -> String {
    format!("{} has it as attribute {name}", to.version)
}

/// New rank of an input whose elements are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewRank {
    Scalar,
    Vector,
}

/// Node of ai.onnx to add before or after the converted one.
pub(crate) struct NewNode<'a> {
    /// The operator.
    pub(crate) op: &'a str,
    pub(crate) inputs: &'a [&'a str],
    pub(crate) attributes: Vec<AttributeProto>,
    /// The element type of the first input, if known.
    pub(crate) element: Option<ElementType>,
}

/// Node of ai.onnx in the function body of the node, at the opset before the node's first version. It is converted to the target
/// on its own.
pub(crate) struct BodyNode {
    pub(crate) node: NodeProto,
    pub(crate) inputs: Vec<Option<ValueFact>>,
    pub(crate) outputs: Vec<Option<ValueFact>>,
}

/// Node during conversion. `node` is at an opset between the model's and the target; nodes added before and after it already use
/// the target opset.
pub(crate) struct Draft<'a> {
    /// The node.
    pub(crate) node: NodeProto,
    /// Known facts about its inputs, by position.
    pub(crate) inputs: Vec<Option<ValueFact>>,
    /// Known facts about its outputs, by position.
    pub(crate) outputs: Vec<Option<ValueFact>>,
    /// Known facts about the outputs of its subgraphs, by attribute.
    subgraph_outputs: BTreeMap<String, Vec<ValueFact>>,
    /// Nodes of a function body that are not converted yet; the node itself is the last one of the body.
    body: Vec<BodyNode>,
    before: Vec<NodeProto>,
    after: Vec<NodeProto>,
    constants: Vec<TensorProto>,
    /// The outputs of the unconverted node.
    results: Texts,
    edits: Vec<String>,
    /// Attributes that, if omitted, mean the same in both versions of a pair, even if the defaults differ.
    same_defaults: Vec<String>,
    /// True if a rule has preserved the meaning of the node, even if conditions of a silent change still hold.
    is_equivalent: bool,
    onnx_opset: i64,
    names: &'a mut Names,
}

impl<'a> Draft<'a> {
    /// Creates a draft of the unchanged node; `onnx_opset` is the opset of ai.onnx for new nodes.
    pub(crate) fn new(facts: &NodeFacts, onnx_opset: i64, names: &'a mut Names) -> Draft<'a> {
        Draft {
            node: facts.node.clone(),
            inputs: facts.inputs.clone(),
            outputs: facts.outputs.clone(),
            subgraph_outputs: facts.subgraph_outputs.clone(),
            body: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            constants: Vec::new(),
            results: facts.node.output.clone(),
            edits: Vec::new(),
            same_defaults: Vec::new(),
            is_equivalent: false,
            onnx_opset,
            names,
        }
    }

    /// The opset of ai.onnx for new nodes.
    pub(crate) fn onnx_opset(&self) -> i64 {
        self.onnx_opset
    }

    /// Records that an attribute, if omitted, means the same in both versions of the pair.
    pub(crate) fn same_default(&mut self, name: &str) {
        self.same_defaults.push(name.to_owned());
    }

    /// Records that the node keeps its meaning between the two versions, even if conditions of a silent change hold.
    pub(crate) fn mark_equivalent(&mut self) {
        self.is_equivalent = true;
    }

    /// Returns and resets the flag that the node keeps its meaning between the two versions.
    pub(crate) fn take_equivalent(&mut self) -> bool {
        std::mem::take(&mut self.is_equivalent)
    }

    /// Returns and clears the attributes that mean the same if omitted, for this pair.
    pub(crate) fn take_same_defaults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.same_defaults)
    }

    /// Records an edit for display.
    pub(crate) fn edit(&mut self, sentence: impl Into<String>) {
        self.edits.push(sentence.into());
    }

    /// The current node with the known facts about it.
    pub(crate) fn known_facts(&self) -> NodeFactsRef<'_> {
        NodeFactsRef { node: &self.node, inputs: &self.inputs, outputs: &self.outputs }
    }

    /// True if the input is present.
    pub(crate) fn has_input(&self, position: usize) -> bool {
        self.node.input.get(position).is_some_and(|name| !name.is_empty())
    }

    /// True if the output is used.
    pub(crate) fn has_output(&self, position: usize) -> bool {
        self.node.output.get(position).is_some_and(|name| !name.is_empty())
    }

    /// The known facts about an input.
    pub(crate) fn fact(&self, position: usize) -> ValueFact {
        self.inputs.get(position).cloned().flatten().unwrap_or_default()
    }

    /// The known facts about an output of the subgraph in an attribute.
    pub(crate) fn subgraph_output(&self, attribute: &str, position: usize) -> ValueFact {
        self.subgraph_outputs.get(attribute).and_then(|facts| facts.get(position)).cloned().unwrap_or_default()
    }

    /// The name of an input.
    pub(crate) fn input(&self, position: usize) -> String {
        self.node.input.get(position).map_or_else(String::new, ToString::to_string)
    }

    /// The rank of an input; fails if it is unknown.
    pub(crate) fn rank(&self, position: usize) -> Step<usize> {
        match self.fact(position).rank() {
            Some(rank) => Ok(rank),
            None => self.unknown_fact("rank", position),
        }
    }

    /// The dimensions of an input; fails if its rank is unknown.
    pub(crate) fn shape(&self, position: usize) -> Step<Vec<Dim>> {
        match self.fact(position).shape {
            Some(shape) => Ok(shape),
            None => self.unknown_fact("shape", position),
        }
    }

    /// The element type of an input; fails if it is unknown.
    pub(crate) fn element(&self, position: usize) -> Step<ElementType> {
        match self.fact(position).value_type {
            Some(ValueType::Tensor(element)) => Ok(element),
            Some(other) => impossible(format!("input {position} is {other}, not a tensor")),
            None => self.unknown_fact("type", position),
        }
    }

    /// Fails because a fact about an input is unknown: after a node of another domain, or a value that a model
    /// computes.
    pub(crate) fn unknown_fact<T>(&self, what: &str, position: usize) -> Step<T> {
        let name = self.input(position);
        unknown(format!("the {what} of input {position} '{name}' is unknown; declare it (value_info)"))
    }

    /// The value of an input if it is a constant tensor.
    pub(crate) fn constant(&self, position: usize) -> Option<Tensor> {
        match self.fact(position).constant {
            Some(Value::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// The value of an input that an edit depends on, for the reason `why`; fails if it is computed at run time.
    pub(crate) fn known(&self, position: usize, what: &str, why: &str) -> Step<Tensor> {
        match self.constant(position) {
            Some(tensor) => Ok(tensor),
            None => unknown(format!(
                "input {position} '{what}' is computed at run time, but must be a constant, since {why}"
            )),
        }
    }

    /// The integers of an input that an edit depends on, for the reason `why`.
    pub(crate) fn known_ints(&self, position: usize, what: &str, why: &str) -> Step<Vec<i64>> {
        Ok(self.known(position, what, why)?.indices())
    }

    /// Replaces an input by a constant, or adds it.
    pub(crate) fn set_constant(&mut self, position: usize, what: &str, tensor: &Tensor) {
        let stem = self.stem(what);
        let name = self.add_constant(&stem, tensor);
        let fact = ValueFact::from_value(Value::Tensor(tensor.clone()));
        self.set_input(position, name, Some(fact));
    }

    /// Gives an input another rank: a constant itself, and a computed value by the node that `add_node` adds. Returns true if there is
    /// a new node.
    pub(crate) fn change_rank(
        &mut self,
        (position, what): (usize, &str),
        rank: NewRank,
        add_node: impl FnOnce(&mut Draft<'a>) -> Step<String>,
    ) -> Step<bool> {
        if let Some(tensor) = self.constant(position) {
            let sizes = if rank == NewRank::Scalar { Vec::new() } else { vec![tensor.len()] };
            let reshaped = tensor.with_shape(sizes).or_else(|error| impossible(error.to_string()))?;
            self.set_constant(position, what, &reshaped);
            return Ok(false);
        }
        let dims = if rank == NewRank::Scalar { Vec::new() } else { vec![Dim::Unknown] };
        let fact = ValueFact { shape: Some(dims), elements: None, ..self.fact(position) };
        let name = add_node(self)?;
        self.set_input(position, name, Some(fact));
        Ok(true)
    }

    /// Renames an input and sets the known facts about it; an empty name removes it.
    pub(crate) fn set_input(&mut self, position: usize, name: String, fact: Option<ValueFact>) {
        let length = self.node.input.len().max(position + 1);
        // bounded: by the inputs of the operator version, which include this one.
        self.node.input.resize(length, Text::new());
        // bounded: by the inputs of the node.
        self.inputs.resize(self.inputs.len().max(length), None);
        if let Some(place) = self.node.input.get_mut(position) {
            *place = name.into();
        }
        if let Some(place) = self.inputs.get_mut(position) {
            *place = fact;
        }
        self.trim_inputs();
    }

    /// Removes the input at a position; later inputs keep their positions.
    pub(crate) fn clear_input(&mut self, position: usize) {
        if position < self.node.input.len() {
            self.set_input(position, String::new(), None);
        }
    }

    /// Removes trailing empty names from the inputs.
    fn trim_inputs(&mut self) {
        while self.node.input.last().is_some_and(Text::is_empty) {
            self.node.input.pop();
        }
        self.inputs.truncate(self.node.input.len());
    }

    /// Removes trailing empty names from the outputs.
    pub(crate) fn trim_outputs(&mut self) {
        while self.node.output.last().is_some_and(Text::is_empty) {
            self.node.output.pop();
        }
        self.outputs.truncate(self.node.output.len());
    }

    /// Removes trailing empty names of inputs and outputs without a parameter in a version. Others remain, because some
    /// operators count them.
    pub(crate) fn trim_to_signature(&mut self, to: &OpSpec) {
        let trim = |names: &mut Texts, formals: &[FormalParameter]| {
            let is_bounded = !formals.last().is_some_and(FormalParameter::is_variadic);
            while is_bounded && names.len() > formals.len() && names.last().is_some_and(Text::is_empty) {
                names.pop();
            }
        };
        trim(&mut self.node.input, &to.inputs);
        trim(&mut self.node.output, &to.outputs);
        self.inputs.truncate(self.node.input.len());
        self.outputs.truncate(self.node.output.len());
    }

    /// Reorders all inputs; `order` lists their old positions, `None` for an absent input.
    pub(crate) fn arrange_inputs(&mut self, order: &[Option<usize>]) {
        let place = |at: &Option<usize>| at.and_then(|at| self.node.input.get(at)).cloned().unwrap_or_default();
        let fact = |at: &Option<usize>| at.and_then(|at| self.inputs.get(at)).cloned().flatten();
        let (names, facts) = (order.iter().map(place).collect(), order.iter().map(fact).collect());
        self.node.input = names;
        self.inputs = facts;
        self.trim_inputs();
    }

    /// Adds a tensor to the model and returns its name.
    pub(crate) fn add_constant(&mut self, stem: &str, tensor: &Tensor) -> String {
        let name = self.names.fresh(stem);
        self.constants.push(encode::tensor(tensor, &name));
        name
    }

    /// Name stem that identifies the node.
    pub(crate) fn stem(&self, what: &str) -> String {
        let node = self.node.output.iter().find(|name| !name.is_empty()).or(self.node.name.as_ref());
        format!("{}_{what}", node.map_or("node", Text::as_str))
    }

    /// Returns an unused name for a value.
    pub(crate) fn fresh(&mut self, what: &str) -> String {
        let stem = self.stem(what);
        self.names.fresh(&stem)
    }

    /// Adds a node before this one, and returns the name of its output.
    pub(crate) fn before(&mut self, node: NewNode<'_>) -> Step<String> {
        let output = self.fresh(&node.op.to_lowercase());
        let node = self.build(node, &output)?;
        self.before.push(node);
        Ok(output)
    }

    /// Adds a node of the function body, to be converted.
    pub(crate) fn push_body(&mut self, node: BodyNode) {
        self.body.push(node);
    }

    /// Returns and clears the nodes of the function body.
    pub(crate) fn take_body(&mut self) -> Vec<BodyNode> {
        std::mem::take(&mut self.body)
    }

    /// Adds the converted nodes of a function body before this one.
    pub(crate) fn before_fragment(&mut self, fragment: Fragment) {
        self.before.extend(fragment.nodes);
        self.constants.extend(fragment.initializers);
    }

    /// The names in use, for the nodes of a function body.
    pub(crate) fn names(&mut self) -> &mut Names {
        self.names
    }

    /// Adds a node directly after this one; it computes the value named `output`.
    pub(crate) fn after(&mut self, output: &str, node: NewNode<'_>) -> Step {
        let node = self.build(node, output)?;
        self.after.insert(0, node);
        Ok(())
    }

    /// Adds a node after all nodes added so far; it computes the value named `output`.
    pub(crate) fn after_all(&mut self, output: &str, node: NewNode<'_>) -> Step {
        let node = self.build(node, output)?;
        self.after.push(node);
        Ok(())
    }

    /// Renames an output of the node. Returns the new name and the old one, which a node after it must produce.
    pub(crate) fn redirect_output(&mut self, position: usize) -> Step<(String, String)> {
        let inner = self.fresh("inner");
        match self.node.output.get_mut(position) {
            Some(name) if !name.is_empty() => Ok((inner.clone(), std::mem::replace(name, inner.into()).to_string())),
            _ => impossible(format!("the node has no output {position}")),
        }
    }

    /// Builds a new node; fails if the opset for new nodes does not have it.
    fn build(&self, node: NewNode<'_>, output: &str) -> Step<NodeProto> {
        let NewNode { op, inputs, attributes, element } = node;
        let spec = match Specs::embedded().find("", op, self.onnx_opset) {
            Ok(spec) => spec,
            Err(error) => return impossible(format!("an edit needs {op}: {error}")),
        };
        if let Some(attribute) = attributes.iter().find(|attribute| !spec.attributes.contains_key(attribute.name())) {
            return impossible(format!(
                "an edit needs {op} with attribute {}, which {} does not have",
                attribute.name(),
                spec.version
            ));
        }
        let first = spec.input_at(0).filter(|_| !inputs.is_empty());
        if let (Some(formal), Some(element)) = (first, element)
            && !spec.allowed(&formal.kind).contains(&ValueType::Tensor(element))
        {
            return impossible(format!(
                "an edit needs {op} for tensor({element}), which {} does not support",
                spec.version
            ));
        }
        Ok(NodeProto {
            op_type: Some(op.into()),
            input: texts(inputs.iter().copied()),
            output: texts([output]),
            attribute: attributes,
            ..NodeProto::default()
        })
    }

    /// Returns the fragment that replaces the node. Added nodes get the documentation and entries of the node.
    pub(crate) fn finish(mut self) -> Fragment {
        let metadata = NodeMetadata::of(&self.node);
        let of_later = self.after.iter().flat_map(|node| &node.input);
        let mut nodes = without_unused(self.before, self.node.input.iter().chain(of_later).chain(&self.results));
        let before = nodes.len();
        nodes.push(self.node);
        nodes.extend(self.after);
        let used: HashSet<&str> = nodes.iter().flat_map(|node| &node.input).map(Text::as_str).collect();
        self.constants.retain(|tensor| used.contains(tensor.name()));
        let mut all = Vec::new();
        let mut initializers = Vec::new();
        for tensor in self.constants {
            if is_supported_by_constant(&tensor, self.onnx_opset) {
                all.push(constant_node(tensor));
            } else {
                initializers.push(tensor);
            }
        }
        let node_position = all.len() + before;
        all.extend(nodes);
        if let Some(metadata) = metadata {
            for node in &mut all {
                metadata.describe(node);
            }
        }
        Fragment { nodes: all, node_position, initializers, edits: self.edits }
    }
}

/// Removes nodes whose outputs are not among the needed names, and that no remaining node reads.
fn without_unused<'a>(nodes: Vec<NodeProto>, needed: impl Iterator<Item = &'a Text>) -> Vec<NodeProto> {
    let mut needed: HashSet<Text> = needed.cloned().collect();
    let mut kept = Vec::new();
    for node in nodes.into_iter().rev() {
        if node.output.iter().any(|name| needed.contains(name)) {
            needed.extend(node.input.iter().cloned());
            kept.push(node);
        }
    }
    kept.reverse();
    kept
}

/// True if `Constant` of an opset supports the tensor's type.
fn is_supported_by_constant(tensor: &TensorProto, opset: i64) -> bool {
    let Some(element) = ElementType::from_code(tensor.data_type()) else { return false };
    let Ok(spec) = Specs::embedded().find("", "Constant", opset) else { return false };
    spec.output_at(0).is_some_and(|formal| spec.allowed(&formal.kind).contains(&ValueType::Tensor(element)))
}

fn constant_node(tensor: TensorProto) -> NodeProto {
    let name = tensor.name().to_owned();
    NodeProto {
        op_type: Some("Constant".into()),
        output: texts([name]),
        attribute: vec![attributes::tensor("value", TensorProto { name: None, ..tensor })],
        ..NodeProto::default()
    }
}
