//! Parts of a model.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use crate::infer::size::Dim;
use crate::types::ValueType;
use crate::value::Value;

/// Model: a graph, the operator sets it imports, and its functions.
#[derive(Debug)]
pub struct Model {
    /// The version of the format.
    pub ir_version: i64,
    /// The operator sets that the graph's nodes belong to.
    pub opsets: Opsets,
    /// The functions that nodes may call, by name.
    pub functions: BTreeMap<FunctionKey, Function>,
    /// The main graph.
    pub graph: Graph,
    /// Memory use of the model in bytes, as counted by the loader.
    pub bytes: usize,
}

/// The imported version of each domain; ONNX's own domain is `""`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opsets(pub BTreeMap<String, i64>);

impl Opsets {
    /// The imported version of a domain; `ai.onnx` and `""` are the same domain.
    pub fn version(&self, domain: &str) -> Option<i64> {
        self.0.get(plain_domain(domain)).copied()
    }
}

/// Normalizes a domain name: ONNX's own is `""`, not `ai.onnx`.
pub fn plain_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// Function identifier in a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionKey {
    /// The domain.
    pub domain: String,
    /// The name.
    pub name: String,
    /// Distinguishes functions of the same name; usually empty.
    pub overload: String,
}

impl fmt::Display for FunctionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let domain = if self.domain.is_empty() { "ai.onnx" } else { &self.domain };
        write!(f, "{domain}/{}", self.name)?;
        if self.overload.is_empty() { Ok(()) } else { write!(f, ":{}", self.overload) }
    }
}

/// Function: a graph without types, whose nodes may refer to the caller's attributes.
#[derive(Debug)]
pub struct Function {
    /// The operator sets that the body's nodes belong to.
    pub opsets: Opsets,
    /// Attributes without a default.
    pub attributes: Vec<String>,
    /// Attributes with a default.
    pub defaults: BTreeMap<String, Attribute>,
    /// The body; its parameters have no types.
    pub body: Graph,
}

/// List of nodes; each uses values from earlier nodes or from the enclosing graph.
#[derive(Debug, Default)]
pub struct Graph {
    /// The name.
    pub name: String,
    /// Parameters passed by the caller.
    pub inputs: Vec<Parameter>,
    /// Results returned to the caller.
    pub outputs: Vec<Parameter>,
    /// Constants, which are also the default values of inputs of the same name.
    pub initializers: BTreeMap<String, Value>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The names that have their last use at each node; their values can be dropped after it.
    pub(crate) last_uses: Vec<Vec<String>>,
}

/// A named input or output of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// The declared type; functions and some subgraphs declare none.
    pub value_type: Option<ValueType>,
    /// The declared shape of a tensor.
    pub shape: Option<Vec<Dim>>,
}

/// Call of an operator or a function.
#[derive(Debug)]
pub struct Node {
    /// The name, which may be empty.
    pub name: String,
    /// The operator or function.
    pub op_type: String,
    /// Its domain; ONNX's own is `""`.
    pub domain: String,
    /// Distinguishes functions of the same name; usually empty.
    pub overload: String,
    /// Names of values; `""` omits an optional input.
    pub inputs: Vec<String>,
    /// Names of values; `""` omits an optional output.
    pub outputs: Vec<String>,
    /// The attributes that the node sets.
    pub attributes: BTreeMap<String, Attribute>,
}

impl fmt::Display for Node {
    /// Formats the node for errors: `node 'conv1' (Conv)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.as_str(), self.outputs.first()) {
            ("", Some(output)) => write!(f, "node for '{output}' ({})", self.op_type),
            ("", None) => write!(f, "node without outputs ({})", self.op_type),
            (name, _) => write!(f, "node '{name}' ({})", self.op_type),
        }
    }
}

/// The value of an attribute.
#[derive(Debug, Clone)]
pub enum Attribute {
    /// A number.
    Float(f32),
    /// An integer.
    Int(i64),
    /// A text.
    String(Arc<str>),
    /// A tensor.
    Tensor(Value),
    /// A sparse tensor.
    SparseTensor(Value),
    /// A subgraph.
    Graph(Arc<Graph>),
    /// A type.
    Type(ValueType),
    /// Numbers.
    Floats(Arc<[f32]>),
    /// Integers.
    Ints(Arc<[i64]>),
    /// Texts.
    Strings(Arc<[Arc<str>]>),
    /// Tensors.
    Tensors(Arc<[Value]>),
    /// Sparse tensors.
    SparseTensors(Arc<[Value]>),
    /// Subgraphs.
    Graphs(Arc<[Arc<Graph>]>),
    /// Types.
    Types(Arc<[ValueType]>),
    /// Reference, in a function, to the caller's attribute of this name and type.
    Reference(String, AttributeType),
}

/// The types of attributes, as in `AttributeProto.AttributeType`.
pub use crate::spec::AttributeType;

impl Attribute {
    /// The type of the value.
    pub fn attribute_type(&self) -> AttributeType {
        match self {
            Attribute::Float(_) => AttributeType::Float,
            Attribute::Int(_) => AttributeType::Int,
            Attribute::String(_) => AttributeType::String,
            Attribute::Tensor(_) => AttributeType::Tensor,
            Attribute::SparseTensor(_) => AttributeType::SparseTensor,
            Attribute::Graph(_) => AttributeType::Graph,
            Attribute::Type(_) => AttributeType::TypeProto,
            Attribute::Floats(_) => AttributeType::Floats,
            Attribute::Ints(_) => AttributeType::Ints,
            Attribute::Strings(_) => AttributeType::Strings,
            Attribute::Tensors(_) => AttributeType::Tensors,
            Attribute::SparseTensors(_) => AttributeType::SparseTensors,
            Attribute::Graphs(_) => AttributeType::Graphs,
            Attribute::Types(_) => AttributeType::TypeProtos,
            Attribute::Reference(_, attribute_type) => *attribute_type,
        }
    }

    /// The subgraphs in the attribute.
    pub fn graphs(&self) -> &[Arc<Graph>] {
        match self {
            Attribute::Graph(graph) => std::slice::from_ref(graph),
            Attribute::Graphs(graphs) => graphs,
            _ => &[],
        }
    }
}
