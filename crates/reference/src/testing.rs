//! Helpers for kernel tests: a one-node model, run through the executor.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dtype::ElementType;
use crate::executor::{RunError, run};
use crate::kernels::framework::budget::ExecutionLimits;
use crate::model::text::parse_model;
use crate::model::{Attribute, Graph, LoadLimits, Model, Node, Opsets, Parameter, read_model};
use crate::proto::Message;
use crate::proto::decode::NoExternalData;
use crate::tensor::Tensor;
use crate::value::Value;

/// A node to run: its operator, inputs, attributes and number of outputs.
pub(crate) struct OneNode {
    opset: i64,
    node: Node,
    inputs: BTreeMap<String, Value>,
    limits: ExecutionLimits,
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

    /// Returns the message of the error that the node must give.
    pub(crate) fn error(self) -> String {
        self.run().expect_err("the node must be refused").to_string()
    }
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
