//! Parts of a model: some nodes of its main graph as a separate model, with known values as inputs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use bytes::Bytes;
use onnx_conformance_cases::case::{Named, external_locations};
use onnx_conformance_check::finding::NodePlace;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::Dimension;
use onnx_conformance_reference::proto::onnx::{TensorShapeProto, type_proto};
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, Message as _, ModelProto, NodeProto, TensorProto, Text, TypeProto,
    ValueInfoProto, encode, texts,
};
use onnx_conformance_reference::spec::{Draws, DrawsIf, OpSpec, Specs, canonical_domain};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::models::comparison::draws;
use crate::models::input_hints::{MAX_STEPS, keeps_elements};
use crate::models::single_node::names_read;
use crate::models::trace::accuracy::BoundAtZero;
use crate::models::trace::error::TraceError;
use crate::models::trace::reference::Types;

/// First IR version in which initializers need not be inputs.
const PLAIN_INITIALIZERS: i64 = 4;

/// Values by name.
pub(super) type Values = BTreeMap<String, Value>;

/// A model whose main graph is divided between nodes.
pub(super) struct DividedModel<'a> {
    model: &'a ModelProto,
    graph: &'a GraphProto,
    /// Names that each node reads, those captured by its subgraphs included.
    reads: Vec<Vec<String>>,
    /// The node that computes each value.
    makers: HashMap<&'a str, usize>,
    /// The last node that reads each value; `usize::MAX` for outputs of the graph.
    last_reads: HashMap<String, usize>,
    initializers: HashMap<&'a str, usize>,
    sparse: HashMap<&'a str, usize>,
    inputs: HashMap<&'a str, &'a ValueInfoProto>,
    outputs: HashMap<&'a str, &'a ValueInfoProto>,
    /// The nodes whose outputs are random.
    random: BTreeSet<usize>,
    /// The nodes whose outputs depend on no input of the model and are not random.
    constant: HashSet<usize>,
}

/// A part of a model, with its inputs.
#[derive(Clone, Debug)]
pub(super) struct PartModel {
    pub(super) bytes: Bytes,
    pub(super) inputs: Vec<Named>,
    /// True if it reads files of the model's folder.
    pub(super) has_external_data: bool,
}

impl<'a> DividedModel<'a> {
    /// Divides a model. Returns `None` if it has no nodes.
    pub(super) fn new(model: &'a ModelProto) -> Option<DividedModel<'a>> {
        let graph = model.graph.as_ref().filter(|graph| !graph.node.is_empty())?;
        let reads: Vec<Vec<String>> = graph.node.iter().map(names_read).collect();
        let mut last_reads = HashMap::new();
        for (position, names) in reads.iter().enumerate() {
            last_reads.extend(names.iter().map(|name| (name.clone(), position)));
        }
        last_reads.extend(graph.output.iter().map(|output| (output.name().to_owned(), usize::MAX)));
        let outputs_of = |(position, node): (usize, &'a NodeProto)| {
            node.output.iter().filter(|name| !name.is_empty()).map(move |name| (name.as_str(), position))
        };
        let mut divided = DividedModel {
            model,
            graph,
            reads,
            makers: graph.node.iter().enumerate().flat_map(outputs_of).collect(),
            last_reads,
            initializers: graph.initializer.iter().enumerate().map(|(at, tensor)| (tensor.name(), at)).collect(),
            sparse: graph
                .sparse_initializer
                .iter()
                .enumerate()
                .filter_map(|(at, tensor)| Some((tensor.values.as_ref()?.name(), at)))
                .collect(),
            inputs: graph.input.iter().map(|input| (input.name(), input)).collect(),
            outputs: graph.output.iter().map(|output| (output.name(), output)).collect(),
            random: BTreeSet::new(),
            constant: HashSet::new(),
        };
        for (position, node) in graph.node.iter().enumerate() {
            if divided.is_random(node) {
                divided.random.insert(position);
            } else if divided.reads.get(position).is_some_and(|names| names.iter().all(|it| divided.is_constant(it))) {
                divided.constant.insert(position);
            }
        }
        Some(divided)
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.graph.node.len()
    }

    pub(super) fn node(&self, position: usize) -> Option<&'a NodeProto> {
        self.graph.node.get(position)
    }

    /// Positions of the nodes whose outputs are random.
    pub(super) fn random(&self) -> &BTreeSet<usize> {
        &self.random
    }

    /// Returns the operator version of a node; `None` for functions and operators that ONNX does not have.
    pub(super) fn spec(&self, node: &NodeProto) -> Option<&'static OpSpec> {
        if self.function(node).is_some() {
            return None;
        }
        let imports = &self.model.opset_import;
        let import = imports.iter().find(|it| canonical_domain(it.domain()) == canonical_domain(node.domain()))?;
        Specs::embedded().find(node.domain(), node.op_type(), import.version()).ok()
    }

    /// Returns the function of the model that a node calls.
    fn function(&self, node: &NodeProto) -> Option<&'a FunctionProto> {
        let is_called = |function: &&FunctionProto| {
            function.name() == node.op_type() && canonical_domain(function.domain()) == canonical_domain(node.domain())
        };
        self.model.functions.iter().find(is_called)
    }

    /// Returns the place of a node.
    pub(super) fn place(&self, position: usize) -> Option<NodePlace> {
        let node = self.node(position)?;
        let operator = self.spec(node).map_or_else(
            || format!("{}/{}", canonical_domain(node.domain()), node.op_type()),
            |spec| spec.version.qualified(),
        );
        let output = node.output.iter().find(|name| !name.is_empty()).map_or_else(String::new, ToString::to_string);
        Some(NodePlace { index: position, name: node.name().to_owned(), operator, output })
    }

    /// Returns the distance from 0 that the accuracy of the operator that computes a value allows. Operators that only
    /// move elements are skipped.
    pub(super) fn absolute_bound(&self, name: &str, element: ElementType, bound: BoundAtZero) -> f64 {
        let mut name = name;
        for _ in 0..MAX_STEPS {
            let Some(node) = self.makers.get(name).and_then(|at| self.node(*at)) else { return 0.0 };
            if !keeps_elements(node.op_type()) {
                return self.spec(node).map_or(0.0, |spec| bound(spec, element));
            }
            name = node.input.first().map_or("", Text::as_str);
        }
        0.0
    }

    /// Returns true if the outputs of a node are random. A condition that is not known before the run counts as met.
    fn is_random(&self, node: &NodeProto) -> bool {
        if let Some(function) = self.function(node) {
            return function.node.iter().any(draws);
        }
        let Some(spec) = self.spec(node) else { return draws(node) };
        match &spec.facts.draws {
            Draws::Always => true,
            Draws::Never => {
                let mut graphs = node.attribute.iter().flat_map(AttributeProto::all_graphs);
                graphs.any(|graph| graph.node.iter().any(|node| self.is_random(node)))
            }
            Draws::Sometimes(DrawsIf { when, unless }) => {
                let is_false = |name: &String| self.is_false(node, spec, name);
                let is_true = |name: &String| {
                    node.attribute.iter().any(|it| it.name() == name && it.i() != 0)
                        || (spec.inputs.iter().any(|input| input.name == *name) && !is_false(name))
                };
                !when.as_ref().is_some_and(is_false) && !unless.as_ref().is_some_and(is_true)
            }
        }
    }

    /// Returns true if the input or attribute of this name is false or absent.
    fn is_false(&self, node: &NodeProto, spec: &OpSpec, name: &str) -> bool {
        let Some(at) = spec.inputs.iter().position(|input| input.name == name) else {
            return !node.attribute.iter().any(|it| it.name() == name && it.i() != 0);
        };
        let Some(given) = node.input.get(at).filter(|given| !given.is_empty()) else { return true };
        let is_zero = |tensor: &TensorProto| {
            tensor.int32_data.iter().all(|it| *it == 0)
                && tensor.raw_data.as_ref().is_none_or(|raw| raw.iter().all(|it| *it == 0))
        };
        if let Some(tensor) = self.initializers.get(given.as_str()).and_then(|at| self.graph.initializer.get(*at)) {
            return !self.inputs.contains_key(given.as_str()) && is_zero(tensor);
        }
        let maker = self.makers.get(given.as_str()).and_then(|at| self.node(*at));
        let maker = maker.filter(|node| node.op_type() == "Constant");
        maker.is_some_and(|node| node.attribute.iter().filter_map(|it| it.t.as_deref()).all(is_zero))
    }

    fn is_constant(&self, name: &str) -> bool {
        match self.makers.get(name) {
            Some(maker) => self.constant.contains(maker),
            None => !self.inputs.contains_key(name),
        }
    }

    /// Returns the values that the nodes compute and that others, outside of them, or the graph's outputs read.
    pub(super) fn outputs_of(&self, nodes: &[usize]) -> Vec<String> {
        let inside: HashSet<usize> = nodes.iter().copied().collect();
        let names = nodes.iter().filter_map(|at| self.node(*at)).flat_map(|node| &node.output);
        let is_read_outside = |name: &&Text| {
            self.outputs.contains_key(name.as_str())
                || self.last_reads.get(name.as_str()).is_some_and(|last| !inside.contains(last))
        };
        names.filter(|name| !name.is_empty()).filter(is_read_outside).map(ToString::to_string).collect()
    }

    /// Returns true if nodes from this position on, or the graph's outputs, read the value.
    pub(super) fn is_read_from(&self, name: &str, position: usize) -> bool {
        self.last_reads.get(name).is_some_and(|last| *last >= position)
    }

    /// Returns the nodes of a range that a value is computed from.
    pub(super) fn ancestors(&self, range: Range<usize>, name: &str) -> Vec<usize> {
        let mut found = BTreeSet::new();
        let mut names: Vec<&str> = vec![name];
        while let Some(name) = names.pop() {
            if let Some(maker) = self.makers.get(name).copied().filter(|maker| range.contains(maker))
                && found.insert(maker)
            {
                names.extend(self.reads.get(maker).into_iter().flatten().map(String::as_str));
            }
        }
        found.into_iter().collect()
    }

    /// Returns the outputs of the nodes that depend on a random node among them.
    pub(super) fn random_values(&self, nodes: &[usize]) -> HashSet<&'a str> {
        let mut random: HashSet<&str> = HashSet::new();
        for (at, node) in nodes.iter().filter_map(|at| Some((*at, self.node(*at)?))) {
            let reads = self.reads.get(at).into_iter().flatten();
            if self.random.contains(&at) || reads.into_iter().any(|name| random.contains(name.as_str())) {
                random.extend(node.output.iter().map(Text::as_str));
            }
        }
        random
    }

    /// Returns the model of these nodes with these outputs. A value that it reads is an input with its value in `known`, or an
    /// initializer if it depends on no input. `Constant` nodes are repeated. External data stays where it is.
    pub(super) fn part(
        &self,
        nodes: &[usize],
        outputs: &[String],
        known: &Values,
        types: &Types,
    ) -> Result<PartModel, TraceError> {
        let mut parts = PartBuilder { divided: self, known, graph: GraphProto::default(), inputs: Vec::new() };
        let inside: HashSet<usize> = nodes.iter().copied().collect();
        let mut seen = HashSet::new();
        let mut constants = BTreeSet::new();
        for name in nodes.iter().filter_map(|at| self.reads.get(*at)).flatten() {
            let maker = self.makers.get(name.as_str()).copied();
            if !seen.insert(name.as_str()) || maker.is_some_and(|maker| inside.contains(&maker)) {
                continue;
            }
            match maker.filter(|maker| self.node(*maker).is_some_and(|node| node.op_type() == "Constant")) {
                Some(maker) => drop(constants.insert(maker)),
                None => parts.add(name)?,
            }
        }
        let all = constants.into_iter().chain(nodes.iter().copied());
        let mut graph = parts.graph;
        graph.name = Some(self.graph.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| "part".to_owned()));
        graph.node = all.filter_map(|at| self.node(at)).cloned().collect();
        let output = |name: &String| self.output(name, known, types);
        graph.output = outputs.iter().map(output).collect::<Result<_, _>>()?;
        let model = ModelProto {
            ir_version: self.model.ir_version,
            producer_name: Some("onnx-conformance".to_owned()),
            opset_import: self.model.opset_import.clone(),
            functions: self.model.functions.clone(),
            graph: Some(graph),
            ..ModelProto::default()
        };
        Ok(PartModel {
            has_external_data: !external_locations(&model).is_empty(),
            bytes: model.encode_to_vec().into(),
            inputs: parts.inputs,
        })
    }

    /// Declares an output as the model does, or else with its type, and its rank if its value is known.
    fn output(&self, name: &str, known: &Values, types: &Types) -> Result<ValueInfoProto, TraceError> {
        if let Some(declared) = self.outputs.get(name) {
            return Ok((*declared).clone());
        }
        let value = known.get(name);
        let known_type = value.map(Value::value_type).or_else(|| types.get(name).cloned());
        let known_type = known_type.ok_or_else(|| TraceError::UnknownType(name.to_owned()))?;
        let rank = value.and_then(Value::as_tensor).map(|tensor| tensor.shape().len());
        Ok(info(name, with_rank(&known_type, rank)))
    }

    /// Returns a model with the versions of this one that copies its input.
    pub(super) fn copying_model(&self) -> ModelProto {
        let float = ValueType::Tensor(ElementType::Float);
        let value = |name: &str| info(name, encode::value_type(&float, Some(&[1])));
        let node = NodeProto {
            op_type: Some("Identity".into()),
            input: texts(["x"]),
            output: texts(["y"]),
            ..NodeProto::default()
        };
        let graph = GraphProto {
            name: Some("copy".to_owned()),
            node: vec![node],
            input: vec![value("x")],
            output: vec![value("y")],
            ..GraphProto::default()
        };
        ModelProto {
            ir_version: self.model.ir_version,
            opset_import: self.model.opset_import.clone(),
            graph: Some(graph),
            ..ModelProto::default()
        }
    }
}

/// Graph of a part while its inputs are added.
struct PartBuilder<'a> {
    divided: &'a DividedModel<'a>,
    known: &'a Values,
    graph: GraphProto,
    inputs: Vec<Named>,
}

impl PartBuilder<'_> {
    /// Adds a value that the part reads and does not compute.
    fn add(&mut self, name: &str) -> Result<(), TraceError> {
        let divided = self.divided;
        let declared = divided.inputs.get(name);
        let tensor = divided.initializers.get(name).and_then(|at| divided.graph.initializer.get(*at));
        let sparse = divided.sparse.get(name).and_then(|at| divided.graph.sparse_initializer.get(*at));
        self.graph.initializer.extend(tensor.cloned());
        self.graph.sparse_initializer.extend(sparse.cloned());
        self.graph.input.extend(declared.map(|declared| (*declared).clone()));
        let value = self.known.get(name);
        if tensor.is_some() || sparse.is_some() {
            // An input whose default is replaced.
            self.inputs.extend(value.map(|value| Named { name: name.to_owned(), value: value.clone() }));
            return Ok(());
        }
        let value = value.ok_or_else(|| TraceError::NoValue(name.to_owned()))?;
        let shape = value.as_tensor().map(|tensor| tensor.shape().to_vec());
        let known_type = encode::value_type(&value.value_type(), shape.as_deref());
        if declared.is_none()
            && divided.is_constant(name)
            && let Some(tensor) = value.as_tensor()
        {
            self.graph.initializer.push(encode::tensor(tensor, name));
            if divided.model.ir_version() < PLAIN_INITIALIZERS {
                self.graph.input.push(info(name, known_type));
            }
            return Ok(());
        }
        if declared.is_none() {
            self.graph.input.push(info(name, known_type));
        }
        self.inputs.push(Named { name: name.to_owned(), value: value.clone() });
        Ok(())
    }
}

fn info(name: &str, value_type: TypeProto) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.to_owned()), r#type: Some(value_type), ..ValueInfoProto::default() }
}

/// Returns a type with this many unknown dimensions, if it is a tensor's.
fn with_rank(value_type: &ValueType, rank: Option<usize>) -> TypeProto {
    let mut proto = encode::value_type(value_type, None);
    if let (Some(rank), Some(type_proto::Value::TensorType(tensor))) = (rank, &mut proto.value) {
        tensor.shape = Some(TensorShapeProto { dim: vec![Dimension::default(); rank] });
    }
    proto
}
