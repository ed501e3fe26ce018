//! Helpers for kernel tests: a one-node model, run through the executor.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dtype::ElementType;
use crate::executor::{RunError, run};
use crate::infer::{Attributes, NodeView, Size, ValueFact, refine};
use crate::kernels::framework::budget::ExecutionLimits;
use crate::kernels::framework::registry;
use crate::model::graph::Dim;
use crate::model::text::parse_model;
use crate::model::{Attribute, Graph, LoadLimits, Model, Node, Opsets, Parameter, read_model};
use crate::proto::decode::NoExternalData;
use crate::proto::{AttributeProto, Message, NodeProto, encode, texts};
use crate::spec::Specs;
use crate::tensor::Tensor;
use crate::value::Value;

/// A node to run: its operator, inputs, attributes and number of outputs.
pub(crate) struct OneNode {
    opset: i64,
    node: Node,
    inputs: BTreeMap<String, Value>,
    limits: ExecutionLimits,
}

/// The newest opset of ONNX's own domain.
pub(crate) fn newest() -> i64 {
    i64::from(Specs::embedded().newest_opset("").unwrap())
}

/// Operator of ONNX's own domain at an opset, with one output.
pub(crate) fn node(op_type: &str, opset: i64) -> OneNode {
    node_of("", op_type, opset)
}

/// Operator of a domain at one of its opsets, with one output.
pub(crate) fn node_of(domain: &str, op_type: &str, opset: i64) -> OneNode {
    let node = Node {
        name: String::new(),
        op_type: op_type.to_owned(),
        domain: domain.to_owned(),
        overload: String::new(),
        inputs: Vec::new(),
        outputs: vec!["out0".to_owned()],
        attributes: BTreeMap::new(),
    };
    OneNode { opset, node, inputs: BTreeMap::new(), limits: ExecutionLimits::default() }
}

impl OneNode {
    /// Adds an input.
    pub(crate) fn input(mut self, value: impl Into<Value>) -> OneNode {
        let name = format!("in{}", self.inputs.len());
        self.node.inputs.push(name.clone());
        self.inputs.insert(name, value.into());
        self
    }

    /// Adds several inputs.
    pub(crate) fn inputs(self, tensors: impl IntoIterator<Item = Tensor>) -> OneNode {
        tensors.into_iter().fold(self, OneNode::input)
    }

    /// Omits an optional input.
    pub(crate) fn absent(mut self) -> OneNode {
        self.node.inputs.push(String::new());
        self
    }

    /// Sets an attribute.
    pub(crate) fn set(mut self, name: &str, value: impl Into<Attribute>) -> OneNode {
        self.node.attributes.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the number of outputs.
    pub(crate) fn outputs(mut self, count: usize) -> OneNode {
        self.node.outputs = (0..count).map(|index| format!("out{index}")).collect();
        self
    }

    /// Runs within these limits.
    pub(crate) fn limits(mut self, limits: ExecutionLimits) -> OneNode {
        self.limits = limits;
        self
    }

    /// Returns the outputs.
    pub(crate) fn run(self) -> Result<Vec<Value>, RunError> {
        let parameter = |name: &String, value_type| Parameter { name: name.clone(), value_type, shape: None };
        let last_uses = vec![Vec::new()];
        let opsets = BTreeMap::from([(self.node.domain.clone(), self.opset)]);
        let graph = Graph {
            name: "test".to_owned(),
            inputs: self.inputs.iter().map(|(name, value)| parameter(name, Some(value.value_type()))).collect(),
            outputs: self.node.outputs.iter().map(|name| parameter(name, None)).collect(),
            initializers: BTreeMap::new(),
            nodes: vec![self.node],
            last_uses,
        };
        let model = Model { ir_version: 10, opsets: Opsets(opsets), functions: BTreeMap::new(), graph, bytes: 0 };
        run(&model, self.inputs, self.limits)
    }

    /// Returns the first output, a tensor.
    pub(crate) fn tensor(self) -> Tensor {
        match self.run().unwrap().into_iter().next() {
            Some(Value::Tensor(tensor)) => tensor,
            other => panic!("the output is {other:?}"),
        }
    }

    /// Returns the facts that inference finds about the outputs from facts about the inputs by position.
    pub(crate) fn infer(&self, facts: &[ValueFact]) -> Vec<ValueFact> {
        let proto = NodeProto {
            op_type: Some(self.node.op_type.as_str().into()),
            input: texts(&self.node.inputs),
            output: texts(&self.node.outputs),
            attribute: self.node.attributes.iter().map(|(name, value)| attribute_proto(name, value)).collect(),
            ..NodeProto::default()
        };
        let spec = Specs::embedded().find(&self.node.domain, &self.node.op_type, self.opset).unwrap();
        let given = self.node.inputs.iter().zip(facts).map(|(name, fact)| (!name.is_empty()).then_some(fact));
        let view = NodeView {
            node: &proto,
            spec,
            opset: self.opset,
            attributes: Attributes::new(&proto, None),
            inputs: given.collect(),
        };
        let kernel = registry::find(&spec.version).unwrap();
        let fact = |position| ValueFact { value_type: kernel.output_type(&view, position), ..ValueFact::default() };
        let mut outputs: Vec<ValueFact> = (0..proto.output.len()).map(fact).collect();
        refine(&view, &mut outputs);
        outputs
    }

    /// Runs the node, and compares each output with what inference finds from the inputs, from their sizes alone, and
    /// from named sizes. Returns the shapes with names: `A` to `Z` is the input, a number the axis.
    pub(crate) fn inferred(self) -> Vec<String> {
        let value = |name: &String| self.inputs.get(name).cloned();
        let inputs: Vec<Option<Value>> = self.node.inputs.iter().map(value).collect();
        let of_values = self.infer(&inputs.iter().map(|value| value_fact(value.as_ref())).collect::<Vec<_>>());
        let of_sizes =
            self.infer(&inputs.iter().map(|value| without_value(value_fact(value.as_ref()))).collect::<Vec<_>>());
        let named: Vec<ValueFact> =
            ('A'..='Z').zip(&inputs).map(|(letter, value)| named_fact(letter, value.as_ref())).collect();
        let of_names = self.infer(&named);
        let mut sizes = BTreeMap::new();
        for (name, value) in named.iter().zip(&inputs) {
            let tensor = value.as_ref().and_then(Value::as_tensor);
            let dims = name.shape.iter().flatten().zip(tensor.map(Tensor::shape).unwrap_or_default());
            sizes.extend(dims.map(|(dim, size)| (dim.to_string(), *size)));
        }
        let label = format!("{} {}", self.node.op_type, self.opset);
        let outputs = self.run().unwrap();
        for (position, output) in outputs.iter().enumerate() {
            for facts in [&of_values, &of_sizes, &of_names] {
                assert_agrees(&label, &facts[position], output, &|name| sizes.get(name).copied());
            }
        }
        of_names.iter().map(|fact| shape_text(fact.shape.as_deref())).collect()
    }

    /// Returns the message of the error that the node must give.
    pub(crate) fn error(self) -> String {
        self.run().expect_err("the node must be refused").to_string()
    }
}

fn value_fact(value: Option<&Value>) -> ValueFact {
    value.cloned().map(ValueFact::from_value).unwrap_or_default()
}

fn without_value(fact: ValueFact) -> ValueFact {
    ValueFact { constant: None, ..fact }
}

/// A name for each dimension. Lists of integers, which give shapes and axes, stay known.
fn named_fact(letter: char, value: Option<&Value>) -> ValueFact {
    let fact = value_fact(value);
    match value.and_then(Value::as_tensor) {
        Some(tensor) if tensor.rank() > 1 || !tensor.element_type().is_integer() => {
            let name = |axis: usize| Dim::Name(Arc::from(format!("{letter}{axis}")));
            ValueFact { shape: Some((0..tensor.rank()).map(name).collect()), ..without_value(fact) }
        }
        _ => fact,
    }
}

/// Writes a shape: `[2*A0, ?]`; a `?` alone is an unknown rank.
pub(crate) fn shape_text(shape: Option<&[Dim]>) -> String {
    match shape {
        Some(shape) => format!("[{}]", shape.iter().map(Dim::to_string).collect::<Vec<_>>().join(", ")),
        None => "?".to_owned(),
    }
}

/// Compares a fact with a value, for these sizes of the names.
fn assert_agrees(label: &str, fact: &ValueFact, value: &Value, sizes: &dyn Fn(&str) -> Option<usize>) {
    if let Some(value_type) = &fact.value_type {
        assert_eq!(*value_type, value.value_type(), "{label}");
    }
    let Some(tensor) = value.as_tensor() else {
        assert_eq!(fact.shape, None, "{label}");
        return;
    };
    let known = |size: Option<Size>| size.map(|size| size.evaluate(sizes).unwrap());
    if let Some(shape) = &fact.shape {
        assert_eq!(shape.len(), tensor.rank(), "{label}: {shape:?} is not {:?}", tensor.shape());
        for (dim, &size) in shape.iter().zip(tensor.shape()) {
            if let Some(inferred) = known(Size::from_dim(dim)) {
                assert_eq!(usize::try_from(inferred), Ok(size), "{label}: {shape:?} is not {:?}", tensor.shape());
            }
        }
    }
    if fact.constant.is_some() || fact.elements.is_some() {
        let found = tensor.indices();
        let elements = fact.symbolic_elements().unwrap();
        assert_eq!(elements.len(), found.len(), "{label}");
        for (element, found) in elements.into_iter().zip(found) {
            assert_eq!(known(element).unwrap_or(found), found, "{label}");
        }
    }
}

fn attribute_proto(name: &str, value: &Attribute) -> AttributeProto {
    let mut proto = AttributeProto { name: Some(name.to_owned()), ..AttributeProto::default() };
    let bytes = |text: &Arc<str>| text.as_bytes().to_vec().into();
    match value {
        Attribute::Float(value) => proto.f = Some(*value),
        Attribute::Int(value) => proto.i = Some(*value),
        Attribute::String(text) => proto.s = Some(bytes(text)),
        Attribute::Tensor(Value::Tensor(tensor)) => proto.t = Some(Box::new(encode::tensor(tensor, ""))),
        Attribute::Type(value) => proto.tp = Some(Box::new(encode::value_type(value, None))),
        Attribute::Floats(values) => proto.floats = values.to_vec(),
        Attribute::Ints(values) => proto.ints = values.to_vec(),
        Attribute::Strings(texts) => proto.strings = texts.iter().map(bytes).collect(),
        other => panic!("no test needs {other:?}"),
    }
    proto
}

/// Returns the outputs of a model in ONNX's text syntax, which is checked like any model.
pub(crate) fn run_text(text: &str, inputs: &[(&str, Value)]) -> Result<Vec<Value>, RunError> {
    let proto = parse_model(text).unwrap_or_else(|error| panic!("{error} of {text}"));
    let model = read_model(proto.encode_to_vec().into(), &NoExternalData, &LoadLimits::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let inputs = inputs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    run(&model, inputs, ExecutionLimits { trips: 1000, ..ExecutionLimits::default() })
}

/// A `float` tensor.
pub(crate) fn floats(shape: &[usize], values: &[f64]) -> Tensor {
    typed(ElementType::Float, shape, values)
}

/// An `int64` tensor.
pub(crate) fn ints(shape: &[usize], values: &[i64]) -> Tensor {
    let values: Vec<i128> = values.iter().map(|&value| i128::from(value)).collect();
    Tensor::of_integers(ElementType::Int64, shape, &values).unwrap()
}

/// A tensor of any numeric type.
pub(crate) fn typed(element: ElementType, shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::of_floats(element, shape, values).unwrap()
}

/// A tensor of strings.
pub(crate) fn strings(shape: &[usize], values: &[&str]) -> Tensor {
    Tensor::of_strings(shape, values).unwrap()
}

impl From<i64> for Attribute {
    fn from(value: i64) -> Attribute {
        Attribute::Int(value)
    }
}

impl From<f32> for Attribute {
    fn from(value: f32) -> Attribute {
        Attribute::Float(value)
    }
}

impl From<&str> for Attribute {
    fn from(value: &str) -> Attribute {
        Attribute::String(Arc::from(value))
    }
}

impl From<&[i64]> for Attribute {
    fn from(values: &[i64]) -> Attribute {
        Attribute::Ints(values.into())
    }
}

impl From<&[f32]> for Attribute {
    fn from(values: &[f32]) -> Attribute {
        Attribute::Floats(values.into())
    }
}

impl From<&[&str]> for Attribute {
    fn from(values: &[&str]) -> Attribute {
        Attribute::Strings(values.iter().map(|&value| Arc::from(value)).collect())
    }
}

impl From<Tensor> for Attribute {
    fn from(value: Tensor) -> Attribute {
        Attribute::Tensor(Value::Tensor(value))
    }
}
