//! Settings of op.yaml as attributes and inputs, in the types of a case.

use std::sync::Arc;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::spec::AttributeType;
use onnx_conformance_reference::tensor::{Tensor, TensorError};
use onnx_conformance_reference::types::{TypeError, ValueType};
use onnx_conformance_reference::value::{SparseTensor, Value};

use crate::generate::file::literal::{Literal, LiteralError, repeated};
use crate::generate::file::op_file::{Setting, TypedFile};
use crate::generate::plan::types::Assignment;

/// Error of converting a setting to an attribute or an input.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingError {
    /// A graph is given for an input.
    #[error("a graph cannot be an input")]
    GraphAsInput,
    /// A graph is given for an attribute of another type.
    #[error("an attribute of type {kind} has the graph {graph} as its value")]
    Graph {
        /// The type of the attribute.
        kind: AttributeType,
        /// The text of the graph.
        graph: String,
    },
    /// A literal does not have the type of the attribute.
    #[error("an attribute of type {kind} has the value {literal:?}")]
    Literal {
        /// The type of the attribute.
        kind: AttributeType,
        /// The literal.
        literal: Literal,
    },
    /// A tensor or a type is given for an attribute of another type.
    #[error("an attribute of type {0} has a tensor or a type as its value")]
    Typed(AttributeType),
    /// A tensor has neither `values` nor `all`.
    #[error("a tensor needs its values")]
    NoValues,
    /// A type attribute has no type.
    #[error("a type attribute needs `type`")]
    NoType,
    /// An attribute with the code of a type has no type.
    #[error("an attribute with the code of a type needs `type`")]
    NoTypeOfCode,
    /// Elements are given twice.
    #[error("`all` needs only a shape; remove `values`")]
    AllWithValues,
    /// The number of equal elements is unknown.
    #[error("`all` needs a shape")]
    AllWithoutShape,
    /// A type is invalid.
    #[error(transparent)]
    Type(#[from] UnboundType),
    /// A literal is not a tensor.
    #[error(transparent)]
    Elements(#[from] LiteralError),
    /// A tensor cannot be created.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Error: a text that is neither a type nor a type parameter of the case.
#[derive(Debug, thiserror::Error)]
#[error("{0}, nor a type parameter of the case")]
pub(crate) struct UnboundType(TypeError);

/// Converts a setting to an input: its literal in the input's type, 1-D if it is a list.
pub(crate) fn input_setting(
    setting: &Setting,
    declared: Option<&ValueType>,
    types: &Assignment,
) -> Result<Option<Value>, SettingError> {
    let literal = match setting {
        Setting::Literal(literal) => literal,
        Setting::Moved(moved) => &moved.input,
        Setting::Typed(typed) => return typed_tensor(typed, types).map(|tensor| tensor.map(Value::Tensor)),
        Setting::Graph(_) => return Err(SettingError::GraphAsInput),
    };
    let element = declared.map_or(ElementType::Int64, ValueType::element_type);
    Ok(literal.tensor(element, None)?.map(Value::Tensor))
}

/// Resolves the type in a setting: a type parameter, `tensor(...)`, or the name of an element type.
pub(crate) fn named_type(name: &str, types: &Assignment) -> Result<ValueType, UnboundType> {
    match types.get(name) {
        Some(value_type) => Ok(value_type.clone()),
        None => match name.parse::<ElementType>() {
            Ok(element) => Ok(ValueType::Tensor(element)),
            Err(_) => name.parse().map_err(UnboundType),
        },
    }
}

fn typed_tensor(typed: &TypedFile, types: &Assignment) -> Result<Option<Tensor>, SettingError> {
    let name = typed.r#type.as_deref().unwrap_or("float");
    let all = all_of(typed)?;
    let values = typed.values.as_ref().or(all.as_ref()).ok_or(SettingError::NoValues)?;
    Ok(values.tensor(named_type(name, types)?.element_type(), typed.shape.as_deref())?)
}

/// Returns the elements of a setting with `all`, or `None` if it has no `all`.
fn all_of(typed: &TypedFile) -> Result<Option<Literal>, SettingError> {
    match (&typed.all, &typed.shape) {
        (Some(_), _) if typed.values.is_some() => Err(SettingError::AllWithValues),
        (Some(_), None) => Err(SettingError::AllWithoutShape),
        (Some(one), Some(shape)) => Ok(Some(repeated(one, shape)?)),
        (None, _) => Ok(None),
    }
}

/// Converts a setting to an attribute of a type. Returns `None` if the type cannot hold the values.
pub(crate) fn attribute(
    kind: AttributeType,
    setting: &Setting,
    types: &Assignment,
) -> Result<Option<Attribute>, SettingError> {
    let is_list = matches!(kind, AttributeType::Ints | AttributeType::Floats | AttributeType::Strings);
    let all = match setting {
        Setting::Typed(typed) if is_list => all_of(typed)?,
        _ => None,
    };
    let literal = match setting {
        Setting::Literal(literal) => literal,
        Setting::Moved(moved) => &moved.attribute,
        Setting::Typed(typed) => match &all {
            Some(all) => all,
            None => return typed_attribute(kind, typed, types),
        },
        Setting::Graph(graph) => return Err(SettingError::Graph { kind, graph: graph.graph.clone() }),
    };
    let error = || SettingError::Literal { kind, literal: literal.clone() };
    let items = literal.flat();
    #[expect(clippy::cast_possible_truncation, reason = "attributes are single floats")]
    let floats = || items.iter().map(|item| item.number().map(|value| value as f32)).collect::<Option<Vec<f32>>>();
    Ok(Some(match kind {
        AttributeType::Int => Attribute::Int(integer(literal).ok_or_else(error)?),
        AttributeType::Float => Attribute::Float(*floats().ok_or_else(error)?.first().ok_or_else(error)?),
        AttributeType::String => match literal {
            Literal::Text(text) => Attribute::String(Arc::from(text.as_str())),
            _ => return Err(error()),
        },
        AttributeType::Ints => {
            let values: Option<Vec<i64>> = items.iter().map(|item| integer(item)).collect();
            Attribute::Ints(values.ok_or_else(error)?.into())
        }
        AttributeType::Floats => Attribute::Floats(floats().ok_or_else(error)?.into()),
        AttributeType::Strings => {
            let text = |item: &&Literal| match item {
                Literal::Text(text) => Some(Arc::from(text.as_str())),
                _ => None,
            };
            Attribute::Strings(items.iter().map(text).collect::<Option<_>>().ok_or_else(error)?)
        }
        _ => return Err(error()),
    }))
}

/// Converts a literal to an integer: a bool is 1 or 0, and the name of an element type is its code.
fn integer(literal: &Literal) -> Option<i64> {
    match literal {
        Literal::Integer(value) => Some(*value),
        Literal::Bool(value) => Some(i64::from(*value)),
        Literal::Text(name) => name.parse::<ElementType>().ok().map(|element| i64::from(element.code())),
        _ => None,
    }
}

fn typed_attribute(
    kind: AttributeType,
    typed: &TypedFile,
    types: &Assignment,
) -> Result<Option<Attribute>, SettingError> {
    match kind {
        AttributeType::Tensor => Ok(typed_tensor(typed, types)?.map(|tensor| Attribute::Tensor(Value::Tensor(tensor)))),
        AttributeType::SparseTensor => {
            let plain = TypedFile { shape: None, ..typed.clone() };
            let (Some(values), Some(indices)) = (typed_tensor(&plain, types)?, &typed.sparse) else { return Ok(None) };
            let Some(indices) = indices.tensor(ElementType::Int64, None)? else { return Ok(None) };
            let shape = typed.shape.clone().unwrap_or_else(|| vec![8]);
            let count = values.len();
            let values = values.with_shape(vec![count])?;
            Ok(Some(Attribute::SparseTensor(Value::Sparse(Arc::new(SparseTensor { values, indices, shape })))))
        }
        AttributeType::TypeProto => {
            let name = typed.r#type.as_deref().ok_or(SettingError::NoType)?;
            Ok(Some(Attribute::Type(named_type(name, types)?)))
        }
        AttributeType::Int => {
            let name = typed.r#type.as_deref().ok_or(SettingError::NoTypeOfCode)?;
            Ok(Some(Attribute::Int(i64::from(named_type(name, types)?.element_type().code()))))
        }
        other => Err(SettingError::Typed(other)),
    }
}

/// Replaces `$T` in a text by the type of the type parameter T, and `$T.item` by that of its items if it is a sequence.
pub(crate) fn with_types(text: &str, types: &Assignment) -> String {
    // Longer names come first, so that $T1 is not read as $T and a 1.
    let mut names: Vec<&String> = types.keys().collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.into_iter().fold(text.to_owned(), |text, name| {
        let value_type = &types[name];
        let item = match value_type {
            ValueType::Sequence(item) => item,
            other => other,
        };
        text.replace(&format!("${name}.item"), &type_text(item)).replace(&format!("${name}"), &type_text(value_type))
    })
}

/// Formats a type in ONNX's text syntax. Tensors have any rank; an element type alone would declare a scalar.
pub(crate) fn type_text(value_type: &ValueType) -> String {
    match value_type {
        ValueType::Tensor(element) => format!("{element}[]"),
        ValueType::SparseTensor(element) => format!("sparse_tensor({element})"),
        ValueType::Sequence(inner) => format!("seq({})", type_text(inner)),
        ValueType::Optional(inner) => format!("optional({})", type_text(inner)),
        ValueType::Map(key, value) => format!("map({key}, {})", type_text(value)),
    }
}
