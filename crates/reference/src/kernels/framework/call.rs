//! What a kernel is given: a node whose signature the spec has validated, its inputs and its attributes.

use std::sync::Arc;

use std::collections::BTreeMap;

use crate::dtype::ElementType;
use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::error::{KernelError, invalid};
use crate::model::{Attribute, Graph, Node};
use crate::spec::{DefaultValue, OpSpec};
use crate::tensor::{Tensor, TensorBuilder};
use crate::types::ValueType;
use crate::value::{Sequence, Value};

/// The result of a kernel.
pub type Result<T = Outputs, E = KernelError> = std::result::Result<T, E>;

/// The outputs of a kernel by position; one that was not asked for may be left out.
#[derive(Debug, Default)]
pub struct Outputs(pub Vec<Option<Value>>);

impl From<Tensor> for Outputs {
    fn from(tensor: Tensor) -> Outputs {
        Outputs(vec![Some(Value::Tensor(tensor))])
    }
}

impl From<Value> for Outputs {
    fn from(value: Value) -> Outputs {
        Outputs(vec![Some(value)])
    }
}

impl From<Vec<Value>> for Outputs {
    fn from(values: Vec<Value>) -> Outputs {
        Outputs(values.into_iter().map(Some).collect())
    }
}

impl From<Vec<Tensor>> for Outputs {
    fn from(tensors: Vec<Tensor>) -> Outputs {
        Outputs(tensors.into_iter().map(|tensor| Some(Value::Tensor(tensor))).collect())
    }
}

/// The scope in which a node stands: runs the node's subgraphs, and shows the graph around it.
pub trait Subgraphs: Sync {
    /// The outputs of `graph` given its inputs by position.
    fn run(&self, graph: &Graph, inputs: Vec<Value>) -> Result<Vec<Value>>;

    /// The graph that the node stands in.
    fn enclosing(&self) -> &Graph;

    /// The outputs of a node of the enclosing graph given other inputs than its own.
    fn apply(&self, node: &Node, inputs: Vec<Option<Value>>) -> Result;
}

/// One application of an operator.
pub struct Call<'a> {
    /// The operator version.
    pub spec: &'a OpSpec,
    /// The opset that the model imports of the operator's domain.
    pub opset: i64,
    /// The inputs by position; one left out is `None`, trailing ones may be missing.
    pub inputs: &'a [Option<Value>],
    /// The attributes that the node sets; [`Call::int`] and its kin add the defaults.
    pub attributes: &'a BTreeMap<String, Attribute>,
    /// For each output of the node, whether anything may use it.
    pub wanted: &'a [bool],
    /// The types that the inputs bind.
    pub types: &'a BTreeMap<String, ValueType>,
    /// Runs subgraphs.
    pub subgraphs: &'a dyn Subgraphs,
    /// What the run may use.
    pub budget: &'a Budget,
}

impl<'a> Call<'a> {
    // Inputs.

    /// The input at `index`, or nothing where it is left out.
    pub fn optional_value(&self, index: usize) -> Option<&'a Value> {
        self.inputs.get(index).and_then(Option::as_ref)
    }

    /// The input at `index`, which the signature requires.
    pub fn value(&self, index: usize) -> Result<&'a Value> {
        self.optional_value(index).ok_or_else(|| KernelError::Internal(format!("input {index} is missing")))
    }

    /// The tensor at `index`, which the signature requires.
    pub fn tensor(&self, index: usize) -> Result<&'a Tensor> {
        as_tensor(self.value(index)?, index)
    }

    /// The tensor at `index`, or nothing where it is left out.
    pub fn optional_tensor(&self, index: usize) -> Result<Option<&'a Tensor>> {
        self.optional_value(index).map(|value| as_tensor(value, index)).transpose()
    }

    /// The tensors from `from` on, none left out: a variadic input.
    pub fn tensors(&self, from: usize) -> Result<Vec<&'a Tensor>> {
        (from..self.inputs.len()).map(|index| self.tensor(index)).collect()
    }

    /// The sequence at `index`, which the signature requires.
    pub fn sequence(&self, index: usize) -> Result<&'a Sequence> {
        match self.value(index)? {
            Value::Sequence(sequence) => Ok(sequence),
            other => Err(KernelError::Internal(format!("input {index} is {other}, not a sequence"))),
        }
    }

    /// The type that the inputs bind a type parameter to.
    pub fn bound(&self, parameter: &str) -> Option<&'a ValueType> {
        self.types.get(parameter)
    }

    // Attributes, with the spec's default where the node sets none.

    fn default(&self, name: &str) -> Option<&'a DefaultValue> {
        self.spec.attributes.get(name).and_then(|attribute| attribute.default.as_ref())
    }

    /// Whether the node sets the attribute.
    pub fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    /// An integer attribute, or nothing where it is neither set nor has a default.
    pub fn optional_int(&self, name: &str) -> Option<i64> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Int(value)), _) | (None, Some(DefaultValue::Int(value))) => Some(*value),
            _ => None,
        }
    }

    /// An integer attribute that is required or has a default.
    pub fn int(&self, name: &str) -> Result<i64> {
        self.optional_int(name).ok_or_else(|| self.missing(name))
    }

    /// An integer attribute read as a truth value.
    pub fn flag(&self, name: &str) -> Result<bool> {
        self.int(name).map(|value| value != 0)
    }

    /// A float attribute, or nothing where it is neither set nor has a default.
    pub fn optional_float(&self, name: &str) -> Option<f64> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Float(value)), _) | (None, Some(DefaultValue::Float(value))) => Some(f64::from(*value)),
            _ => None,
        }
    }

    /// A float attribute that is required or has a default.
    pub fn float(&self, name: &str) -> Result<f64> {
        self.optional_float(name).ok_or_else(|| self.missing(name))
    }

    /// A string attribute, or nothing where it is neither set nor has a default.
    pub fn optional_string(&self, name: &str) -> Option<&'a str> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::String(value)), _) => Some(value),
            (None, Some(DefaultValue::String(value))) => Some(value),
            _ => None,
        }
    }

    /// A string attribute that is required or has a default.
    pub fn string(&self, name: &str) -> Result<&'a str> {
        self.optional_string(name).ok_or_else(|| self.missing(name))
    }

    /// The value that belongs to a string attribute or its default, in a table of every name that the version knows.
    pub fn one_of<T: Copy>(&self, name: &str, table: &[(&str, T)]) -> Result<T> {
        self.optional_one_of(name, table)?.ok_or_else(|| self.missing(name))
    }

    /// The same, or nothing where the attribute is neither set nor has a default.
    pub fn optional_one_of<T: Copy>(&self, name: &str, table: &[(&str, T)]) -> Result<Option<T>> {
        let Some(actual) = self.optional_string(name) else { return Ok(None) };
        let found = table.iter().find(|(known, _)| *known == actual).map(|(_, value)| *value);
        found.map(Some).ok_or_else(|| {
            let known: Vec<&str> = table.iter().map(|(known, _)| *known).collect();
            invalid(format!("attribute {name} is '{actual}'; {} takes {}", self.spec.version, known.join(", ")))
        })
    }

    /// A list of integers, or nothing where it is neither set nor has a default.
    pub fn optional_ints(&self, name: &str) -> Option<&'a [i64]> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Ints(values)), _) => Some(values),
            (None, Some(DefaultValue::Ints(values))) => Some(values),
            _ => None,
        }
    }

    /// A list of integers that is required or has a default.
    pub fn ints(&self, name: &str) -> Result<&'a [i64]> {
        self.optional_ints(name).ok_or_else(|| self.missing(name))
    }

    /// A list of floats, or nothing where it is neither set nor has a default.
    pub fn optional_floats(&self, name: &str) -> Option<Vec<f64>> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Floats(values)), _) => Some(values.iter().map(|&value| f64::from(value)).collect()),
            (None, Some(DefaultValue::Floats(values))) => Some(values.iter().map(|&value| f64::from(value)).collect()),
            _ => None,
        }
    }

    /// A list of strings, or nothing where it is neither set nor has a default.
    pub fn optional_strings(&self, name: &str) -> Option<Vec<Arc<str>>> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Strings(values)), _) => Some(values.to_vec()),
            (None, Some(DefaultValue::Strings(values))) => {
                Some(values.iter().map(|value| Arc::from(value.as_str())).collect())
            }
            _ => None,
        }
    }

    /// A tensor attribute, where the node sets it.
    pub fn tensor_attribute(&self, name: &str) -> Option<&'a Tensor> {
        match self.attributes.get(name) {
            Some(Attribute::Tensor(Value::Tensor(tensor))) => Some(tensor),
            _ => None,
        }
    }

    /// A subgraph, which the signature requires.
    pub fn graph(&self, name: &str) -> Result<&'a Graph> {
        match self.attributes.get(name) {
            Some(Attribute::Graph(graph)) => Ok(graph),
            _ => Err(self.missing(name)),
        }
    }

    /// An integer attribute as an element type: `to`, `dtype`.
    pub fn element_type(&self, name: &str) -> Result<Option<ElementType>> {
        let Some(code) = self.optional_int(name) else { return Ok(None) };
        i32::try_from(code)
            .ok()
            .and_then(ElementType::from_code)
            .map(Some)
            .ok_or_else(|| invalid(format!("attribute {name} is {code}, which is no element type")))
    }

    fn missing(&self, name: &str) -> KernelError {
        invalid(format!("attribute {name} is not set and has no default in {}", self.spec.version))
    }

    // Outputs.

    /// How many outputs the node names.
    pub fn output_count(&self) -> usize {
        self.wanted.len()
    }

    /// Whether anything may use the output at `index`.
    pub fn wants(&self, index: usize) -> bool {
        self.wanted.get(index).copied().unwrap_or(false)
    }

    /// Refuses a type that the signature does not allow for the output at `index`: for types that an attribute decides.
    pub fn check_output_type(&self, index: usize, found: &ValueType) -> Result<()> {
        let allowed = self.spec.output_at(index).is_none_or(|formal| self.spec.allowed(&formal.kind).contains(found));
        if allowed { Ok(()) } else { Err(invalid(format!("{} gives no output of type {found}", self.spec.version))) }
    }

    /// The outputs, refused where the signature does not allow their types: for types that a subgraph decides.
    pub fn outputs_of_body(&self, outputs: Outputs) -> Result {
        for (index, value) in outputs.0.iter().enumerate() {
            value.as_ref().map_or(Ok(()), |value| self.check_output_type(index, &value.value_type()))?;
        }
        Ok(outputs)
    }

    /// The element type where the signature allows it for the output at `index`.
    pub fn output_element(&self, index: usize, element: ElementType) -> Result<ElementType> {
        self.check_output_type(index, &ValueType::Tensor(element)).map(|()| element)
    }

    /// The element type that an attribute names, where the signature allows it for the output at `index`.
    pub fn output_type(&self, name: &str, index: usize) -> Result<Option<ElementType>> {
        self.element_type(name)?.map(|element| self.output_element(index, element)).transpose()
    }

    /// Room for an output.
    pub fn allocate(&self, element: ElementType, shape: &[usize]) -> Result<TensorBuilder> {
        self.budget.allocate(element, shape)
    }

    /// A tensor of numbers, each rounded once.
    pub fn floats(
        &self,
        element: ElementType,
        shape: &[usize],
        values: impl IntoIterator<Item = f64>,
    ) -> Result<Tensor> {
        Ok(self.allocate(element, shape)?.floats(values)?)
    }

    /// A tensor of integers, each wrapped.
    pub fn integers(
        &self,
        element: ElementType,
        shape: &[usize],
        values: impl IntoIterator<Item = i128>,
    ) -> Result<Tensor> {
        Ok(self.allocate(element, shape)?.integers(values)?)
    }

    /// A tensor of elements of `source` at the positions given.
    pub fn gather(
        &self,
        source: &Tensor,
        shape: &[usize],
        positions: impl IntoIterator<Item = usize>,
    ) -> Result<Tensor> {
        Ok(self.allocate(source.element_type(), shape)?.gather(source, positions)?)
    }

    /// Runs a subgraph.
    pub fn run(&self, graph: &Graph, inputs: Vec<Value>) -> Result<Vec<Value>> {
        self.subgraphs.run(graph, inputs)
    }
}

fn as_tensor(value: &Value, index: usize) -> Result<&Tensor> {
    value.as_tensor().ok_or_else(|| KernelError::Internal(format!("input {index} is {value}, not a tensor")))
}
