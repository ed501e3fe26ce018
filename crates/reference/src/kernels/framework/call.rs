//! Arguments of a kernel: a node with a validated signature, its inputs and its attributes.

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

/// Result of a kernel.
pub type Result<T = Outputs, E = KernelError> = std::result::Result<T, E>;

/// Outputs of a kernel by position. An unused output may be `None` or missing.
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

/// Scope of a node. Runs the node's subgraphs and gives access to the enclosing graph.
pub trait Subgraphs: Sync {
    /// Runs `graph` on inputs by position and returns its outputs.
    fn run(&self, graph: &Graph, inputs: Vec<Value>) -> Result<Vec<Value>>;

    /// Returns the graph that contains the node.
    fn enclosing(&self) -> &Graph;

    /// Runs a node of the enclosing graph on other inputs and returns its outputs.
    fn apply(&self, node: &Node, inputs: Vec<Option<Value>>) -> Result;
}

/// One call of an operator.
pub struct Call<'a> {
    /// Operator version.
    pub spec: &'a OpSpec,
    /// Opset that the model imports for the operator's domain.
    pub opset: i64,
    /// Inputs by position. An omitted input is `None`; trailing ones may be missing.
    pub inputs: &'a [Option<Value>],
    /// Attributes that the node sets. [`Call::int`] and its siblings add the defaults.
    pub attributes: &'a BTreeMap<String, Attribute>,
    /// True for each output of the node that has a name.
    pub wanted: &'a [bool],
    /// Types that the inputs bind, by type parameter.
    pub types: &'a BTreeMap<String, ValueType>,
    /// Runs subgraphs.
    pub subgraphs: &'a dyn Subgraphs,
    /// Resources of the run.
    pub budget: &'a Budget,
}

impl<'a> Call<'a> {
    // Inputs.

    /// Returns the input at `index`, or `None` if it is omitted.
    pub fn optional_value(&self, index: usize) -> Option<&'a Value> {
        self.inputs.get(index).and_then(Option::as_ref)
    }

    /// Returns the input at `index`, which the signature requires.
    pub fn value(&self, index: usize) -> Result<&'a Value> {
        self.optional_value(index).ok_or_else(|| KernelError::Internal(format!("input {index} is missing")))
    }

    /// Returns the tensor at `index`, which the signature requires.
    pub fn tensor(&self, index: usize) -> Result<&'a Tensor> {
        as_tensor(self.value(index)?, index)
    }

    /// Returns the tensor at `index`, or `None` if it is omitted.
    pub fn optional_tensor(&self, index: usize) -> Result<Option<&'a Tensor>> {
        self.optional_value(index).map(|value| as_tensor(value, index)).transpose()
    }

    /// Returns the tensors of a variadic input that starts at `from`. None may be omitted.
    pub fn tensors(&self, from: usize) -> Result<Vec<&'a Tensor>> {
        (from..self.inputs.len()).map(|index| self.tensor(index)).collect()
    }

    /// Returns the sequence at `index`, which the signature requires.
    pub fn sequence(&self, index: usize) -> Result<&'a Sequence> {
        match self.value(index)? {
            Value::Sequence(sequence) => Ok(sequence),
            other => Err(KernelError::Internal(format!("input {index} is {other}, not a sequence"))),
        }
    }

    /// Returns the type that the inputs bind to a type parameter.
    pub fn bound(&self, parameter: &str) -> Option<&'a ValueType> {
        self.types.get(parameter)
    }

    // Attributes. An attribute that the node does not set has the spec's default.

    fn default(&self, name: &str) -> Option<&'a DefaultValue> {
        self.spec.attributes.get(name).and_then(|attribute| attribute.default.as_ref())
    }

    /// True if the node sets the attribute.
    pub fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    /// Returns an integer attribute, or `None` if it is not set and has no default.
    pub fn optional_int(&self, name: &str) -> Option<i64> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Int(value)), _) | (None, Some(DefaultValue::Int(value))) => Some(*value),
            _ => None,
        }
    }

    /// Returns an integer attribute that is required or has a default.
    pub fn int(&self, name: &str) -> Result<i64> {
        self.optional_int(name).ok_or_else(|| self.missing(name))
    }

    /// Returns an integer attribute as a boolean.
    pub fn flag(&self, name: &str) -> Result<bool> {
        self.int(name).map(|value| value != 0)
    }

    /// Returns a float attribute, or `None` if it is not set and has no default.
    pub fn optional_float(&self, name: &str) -> Option<f64> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Float(value)), _) | (None, Some(DefaultValue::Float(value))) => Some(f64::from(*value)),
            _ => None,
        }
    }

    /// Returns a float attribute that is required or has a default.
    pub fn float(&self, name: &str) -> Result<f64> {
        self.optional_float(name).ok_or_else(|| self.missing(name))
    }

    /// Returns a string attribute, or `None` if it is not set and has no default.
    pub fn optional_string(&self, name: &str) -> Option<&'a str> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::String(value)), _) => Some(value),
            (None, Some(DefaultValue::String(value))) => Some(value),
            _ => None,
        }
    }

    /// Returns a string attribute that is required or has a default.
    pub fn string(&self, name: &str) -> Result<&'a str> {
        self.optional_string(name).ok_or_else(|| self.missing(name))
    }

    /// Looks a string attribute up in a table with the meaning of each value.
    pub fn one_of<T: Copy>(&self, name: &str, table: &[(&str, T)]) -> Result<T> {
        self.optional_one_of(name, table)?.ok_or_else(|| self.missing(name))
    }

    /// Looks a string attribute up, or returns `None` if it is not set and has no default. op.yaml lists the values that
    /// a version allows; the table has the meaning of those of all versions.
    pub fn optional_one_of<T: Copy>(&self, name: &str, table: &[(&str, T)]) -> Result<Option<T>> {
        let Some(actual) = self.optional_string(name) else { return Ok(None) };
        if !self.spec.allows(name, actual) {
            let allowed = self.allowed(name);
            return Err(invalid(format!("attribute {name} is '{actual}'; {} takes {allowed}", self.spec.version)));
        }
        meaning(name, actual, table).map(Some)
    }

    /// Lists the values that op.yaml allows for a string attribute.
    pub fn allowed(&self, name: &str) -> String {
        self.spec.facts.values(name).join(", ")
    }

    /// Returns a list of integers, or `None` if it is not set and has no default.
    pub fn optional_ints(&self, name: &str) -> Option<&'a [i64]> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Ints(values)), _) => Some(values),
            (None, Some(DefaultValue::Ints(values))) => Some(values),
            _ => None,
        }
    }

    /// Returns a list of integers that is required or has a default.
    pub fn ints(&self, name: &str) -> Result<&'a [i64]> {
        self.optional_ints(name).ok_or_else(|| self.missing(name))
    }

    /// Returns a list of floats, or `None` if it is not set and has no default.
    pub fn optional_floats(&self, name: &str) -> Option<Vec<f64>> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Floats(values)), _) => Some(values.iter().map(|&value| f64::from(value)).collect()),
            (None, Some(DefaultValue::Floats(values))) => Some(values.iter().map(|&value| f64::from(value)).collect()),
            _ => None,
        }
    }

    /// Returns a list of strings, or `None` if it is not set and has no default.
    pub fn optional_strings(&self, name: &str) -> Option<Vec<Arc<str>>> {
        match (self.attributes.get(name), self.default(name)) {
            (Some(Attribute::Strings(values)), _) => Some(values.to_vec()),
            (None, Some(DefaultValue::Strings(values))) => {
                Some(values.iter().map(|value| Arc::from(value.as_str())).collect())
            }
            _ => None,
        }
    }

    /// Returns a tensor attribute, if the node sets it.
    pub fn tensor_attribute(&self, name: &str) -> Option<&'a Tensor> {
        match self.attributes.get(name) {
            Some(Attribute::Tensor(Value::Tensor(tensor))) => Some(tensor),
            _ => None,
        }
    }

    /// Returns a subgraph, which the signature requires.
    pub fn graph(&self, name: &str) -> Result<&'a Graph> {
        match self.attributes.get(name) {
            Some(Attribute::Graph(graph)) => Ok(graph),
            _ => Err(self.missing(name)),
        }
    }

    /// Returns an integer attribute such as `to` or `dtype` as an element type.
    pub fn element_type(&self, name: &str) -> Result<Option<ElementType>> {
        let Some(code) = self.optional_int(name) else { return Ok(None) };
        i32::try_from(code)
            .ok()
            .and_then(ElementType::from_code)
            .map(Some)
            .ok_or_else(|| invalid(format!("attribute {name} is {code}, which is not an element type")))
    }

    fn missing(&self, name: &str) -> KernelError {
        invalid(format!("attribute {name} is not set and has no default in {}", self.spec.version))
    }

    // Outputs.

    /// Returns the number of outputs that the node lists.
    pub fn output_count(&self) -> usize {
        self.wanted.len()
    }

    /// True if the node names the output at `index`.
    pub fn wants(&self, index: usize) -> bool {
        self.wanted.get(index).copied().unwrap_or(false)
    }

    /// Refuses a type that the signature does not allow for the output at `index`. For types that an attribute sets.
    pub fn check_output_type(&self, index: usize, found: &ValueType) -> Result<()> {
        let allowed = self.spec.output_at(index).is_none_or(|formal| self.spec.allowed(&formal.kind).contains(found));
        if allowed { Ok(()) } else { Err(invalid(format!("{} has no output of type {found}", self.spec.version))) }
    }

    /// Returns the outputs, or refuses types that the signature does not allow. For types that a subgraph sets.
    pub fn outputs_of_body(&self, outputs: Outputs) -> Result {
        for (index, value) in outputs.0.iter().enumerate() {
            value.as_ref().map_or(Ok(()), |value| self.check_output_type(index, &value.value_type()))?;
        }
        Ok(outputs)
    }

    /// Returns the element type if the signature allows it for the output at `index`.
    pub fn output_element(&self, index: usize, element: ElementType) -> Result<ElementType> {
        self.check_output_type(index, &ValueType::Tensor(element)).map(|()| element)
    }

    /// Returns the element type given by an attribute, if the signature allows it for the output at `index`.
    pub fn output_type(&self, name: &str, index: usize) -> Result<Option<ElementType>> {
        self.element_type(name)?.map(|element| self.output_element(index, element)).transpose()
    }

    /// Allocates an output.
    pub fn allocate(&self, element: ElementType, shape: &[usize]) -> Result<TensorBuilder> {
        self.budget.allocate(element, shape)
    }

    /// Builds a tensor of floats, each rounded once.
    pub fn floats(
        &self,
        element: ElementType,
        shape: &[usize],
        values: impl IntoIterator<Item = f64>,
    ) -> Result<Tensor> {
        Ok(self.allocate(element, shape)?.floats(values)?)
    }

    /// Builds a tensor of integers, each wrapped.
    pub fn integers(
        &self,
        element: ElementType,
        shape: &[usize],
        values: impl IntoIterator<Item = i128>,
    ) -> Result<Tensor> {
        Ok(self.allocate(element, shape)?.integers(values)?)
    }

    /// Builds a tensor of the elements of `source` at the given positions.
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

/// Returns the meaning of a value that op.yaml allows for a string attribute.
pub fn meaning<T: Copy>(name: &str, value: &str, table: &[(&str, T)]) -> Result<T> {
    let found = table.iter().find(|(known, _)| *known == value).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| {
        KernelError::Internal(format!(
            "op.yaml allows the value '{value}' of attribute {name}, but the kernel has no meaning for it"
        ))
    })
}

fn as_tensor(value: &Value, index: usize) -> Result<&Tensor> {
    value.as_tensor().ok_or_else(|| KernelError::Internal(format!("input {index} is {value}, not a tensor")))
}
