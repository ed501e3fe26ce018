//! What a model is made of.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::types::ValueType;
use crate::value::Value;

/// A model: one graph, the operator sets it imports, and the functions it brings along.
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
    /// What the model takes in memory, as loading has counted it.
    pub bytes: usize,
}

/// The imported version of each domain; ONNX's own domain is `""`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opsets(pub BTreeMap<String, i64>);

impl Opsets {
    /// The version imported of a domain, where `ai.onnx` and `""` are one.
    pub fn version(&self, domain: &str) -> Option<i64> {
        self.0.get(plain_domain(domain)).copied()
    }
}

/// A domain as models spell it: ONNX's own is `""`, not `ai.onnx`.
pub fn plain_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// What a node names when it calls a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionKey {
    /// The domain.
    pub domain: String,
    /// The name.
    pub name: String,
    /// Tells functions of one name apart; usually empty.
    pub overload: String,
}

impl fmt::Display for FunctionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let domain = if self.domain.is_empty() { "ai.onnx" } else { &self.domain };
        write!(f, "{domain}/{}", self.name)?;
        if self.overload.is_empty() { Ok(()) } else { write!(f, ":{}", self.overload) }
    }
}

/// A function: a graph without types, whose nodes may refer to the caller's attributes.
#[derive(Debug)]
pub struct Function {
    /// The operator sets that the body's nodes belong to.
    pub opsets: Opsets,
    /// Attributes without a default.
    pub attributes: Vec<String>,
    /// Attributes with one.
    pub defaults: BTreeMap<String, Attribute>,
    /// The body; its parameters have no types.
    pub body: Graph,
}

/// A list of nodes, each using what stands before it or around it.
#[derive(Debug, Default)]
pub struct Graph {
    /// The name.
    pub name: String,
    /// What the caller gives.
    pub inputs: Vec<Parameter>,
    /// What the caller gets.
    pub outputs: Vec<Parameter>,
    /// Constants, which also are the default values of inputs of the same name.
    pub initializers: BTreeMap<String, Value>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// For each node, the names that no later node and no output uses: what can be dropped after it.
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

/// A declared dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dim {
    /// A fixed size.
    Size(usize),
    /// A name: any size, the same wherever the name stands.
    Name(Arc<str>),
    /// Any size.
    Unknown,
}

/// One application of an operator or function.
#[derive(Debug)]
pub struct Node {
    /// The name, which may be empty.
    pub name: String,
    /// The operator or function.
    pub op_type: String,
    /// Its domain; ONNX's own is `""`.
    pub domain: String,
    /// Tells functions of one name apart; usually empty.
    pub overload: String,
    /// Names of values; `""` is an optional input left out.
    pub inputs: Vec<String>,
    /// Names of values; `""` is an optional output left out.
    pub outputs: Vec<String>,
    /// The attributes that the node sets.
    pub attributes: BTreeMap<String, Attribute>,
}

impl fmt::Display for Node {
    /// How errors name a node: `node 'conv1' (Conv)`.
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
    /// Inside a function: the caller's attribute of this name and type.
    Reference(String, AttributeType),
}

/// The types of attributes, as `AttributeProto.AttributeType` has them.
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
