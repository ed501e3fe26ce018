//! Values on the edges of a graph: tensors, sparse tensors, sequences, optionals and maps.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::dtype::ElementType;
use crate::tensor::Tensor;
use crate::types::ValueType;

/// Value of any ONNX type. Cloning shares the elements.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A dense tensor.
    Tensor(Tensor),
    /// A tensor given by its nonzero elements.
    Sparse(Arc<SparseTensor>),
    /// A list of values of one type.
    Sequence(Sequence),
    /// A value that may be absent.
    Optional(Optional),
    /// A dictionary.
    Map(Map),
}

/// A tensor given by its nonzero elements in coordinate form.
#[derive(Clone, PartialEq, Debug)]
pub struct SparseTensor {
    /// The elements, `[nnz]`.
    pub values: Tensor,
    /// Positions of the elements: `int64`, `[nnz]` flat or `[nnz, rank]` coordinates, ascending.
    pub indices: Tensor,
    /// The shape of the dense tensor.
    pub shape: Vec<usize>,
}

/// List of values of one type. An empty list has a type, too.
#[derive(Clone, PartialEq, Debug)]
pub struct Sequence {
    /// The type of every item.
    pub item_type: ValueType,
    /// The items.
    pub items: Arc<Vec<Value>>,
}

/// A value that may be absent, and its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Optional {
    /// The type of the value, also if absent.
    pub item_type: ValueType,
    /// The value.
    pub item: Option<Arc<Value>>,
}

/// Dictionary with integer or string keys, in key order.
#[derive(Clone, PartialEq, Debug)]
pub struct Map {
    /// An integer type or `string`.
    pub key_type: ElementType,
    /// The type of every value.
    pub value_type: ValueType,
    /// The entries.
    pub entries: Arc<BTreeMap<MapKey, Value>>,
}

/// A key of a map.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MapKey {
    /// Key of any integer type.
    Integer(i128),
    /// Key of type `string`.
    String(Arc<str>),
}

impl fmt::Display for MapKey {
    /// Writes a number, or a string in quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapKey::Integer(key) => write!(f, "{key}"),
            MapKey::String(key) => write!(f, "{key:?}"),
        }
    }
}

impl Value {
    /// The type of the value.
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::Tensor(tensor) => ValueType::Tensor(tensor.element_type()),
            Value::Sparse(sparse) => ValueType::SparseTensor(sparse.values.element_type()),
            Value::Sequence(sequence) => ValueType::Sequence(Box::new(sequence.item_type.clone())),
            Value::Optional(optional) => ValueType::Optional(Box::new(optional.item_type.clone())),
            Value::Map(map) => ValueType::Map(map.key_type, Box::new(map.value_type.clone())),
        }
    }

    /// The approximate memory of the value in bytes.
    pub fn size(&self) -> usize {
        let total_size =
            |values: &mut dyn Iterator<Item = &Value>| values.map(|item| size_of::<Value>() + item.size()).sum();
        match self {
            Value::Tensor(tensor) => tensor.size(),
            Value::Sparse(sparse) => sparse.values.size() + sparse.indices.size(),
            Value::Sequence(sequence) => total_size(&mut sequence.items.iter()),
            Value::Optional(optional) => optional.item.as_ref().map_or(0, |item| item.size()),
            Value::Map(map) => total_size(&mut map.entries.values()),
        }
    }

    /// The tensor, if the value is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}

impl Sequence {
    /// Creates a sequence of values of `item_type`.
    pub fn new(item_type: ValueType, items: Vec<Value>) -> Sequence {
        Sequence { item_type, items: Arc::new(items) }
    }
}

impl fmt::Display for Value {
    /// Writes the type and, for tensors, the shape: `tensor(float)[2, 3]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value_type())?;
        match self {
            Value::Tensor(tensor) => write!(f, "{:?}", tensor.shape()),
            Value::Sparse(sparse) => write!(f, "{:?}", sparse.shape),
            Value::Sequence(sequence) => write!(f, " of {} items", sequence.items.len()),
            Value::Optional(optional) => f.write_str(if optional.item.is_some() { " present" } else { " absent" }),
            Value::Map(map) => write!(f, " of {} entries", map.entries.len()),
        }
    }
}
