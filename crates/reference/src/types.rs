//! Types of values: `tensor(float)`, `seq(tensor(int64))`, `optional(...)`, `map(string, float)`.

use std::fmt;
use std::str::FromStr;

use crate::dtype::{ElementType, UnknownElementType};

/// The type of a value without its shape, spelt as in ONNX's operator schemas.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueType {
    /// `tensor(T)`.
    Tensor(ElementType),
    /// `sparse_tensor(T)`.
    SparseTensor(ElementType),
    /// `seq(...)`.
    Sequence(Box<ValueType>),
    /// `optional(...)`.
    Optional(Box<ValueType>),
    /// `map(K, V)`: the key is an integer type or `string`; a bare element name as `V` means a scalar tensor of it.
    Map(ElementType, Box<ValueType>),
}

impl ValueType {
    /// The innermost element type: of the tensor, of a sequence's tensors, or of a map's values.
    pub fn element_type(&self) -> ElementType {
        match self {
            ValueType::Tensor(element) | ValueType::SparseTensor(element) => *element,
            ValueType::Sequence(inner) | ValueType::Optional(inner) | ValueType::Map(_, inner) => inner.element_type(),
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueType::Tensor(element) => write!(f, "tensor({element})"),
            ValueType::SparseTensor(element) => write!(f, "sparse_tensor({element})"),
            ValueType::Sequence(inner) => write!(f, "seq({inner})"),
            ValueType::Optional(inner) => write!(f, "optional({inner})"),
            ValueType::Map(key, value) => match **value {
                ValueType::Tensor(element) => write!(f, "map({key}, {element})"),
                ref other => write!(f, "map({key}, {other})"),
            },
        }
    }
}

/// Maximum nesting depth of a type as text.
const DEEPEST: usize = 64;

/// Error: a text that is not an ONNX value type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypeError {
    /// The innermost name is not an element type.
    #[error(transparent)]
    Element(#[from] UnknownElementType),
    /// The text is not of the form `constructor(...)`.
    #[error("'{0}' is not a type; write tensor(T), sparse_tensor(T), seq(TYPE), optional(TYPE) or map(KEY, TYPE)")]
    Form(String),
    /// Types nest too deeply.
    #[error("types nest deeper than {DEEPEST}")]
    Depth,
}

impl FromStr for ValueType {
    type Err = TypeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.matches('(').count() > DEEPEST {
            return Err(TypeError::Depth);
        }
        let form = || TypeError::Form(text.to_owned());
        let (constructor, rest) = text.split_once('(').ok_or_else(form)?;
        let inner = rest.strip_suffix(')').ok_or_else(form)?;
        Ok(match constructor.trim() {
            "tensor" => ValueType::Tensor(inner.trim().parse()?),
            "sparse_tensor" => ValueType::SparseTensor(inner.trim().parse()?),
            "seq" => ValueType::Sequence(Box::new(inner.trim().parse()?)),
            "optional" => ValueType::Optional(Box::new(inner.trim().parse()?)),
            "map" => {
                let (key, value) = inner.split_once(',').ok_or_else(form)?;
                let value = value.trim();
                let value = if value.contains('(') { value.parse()? } else { ValueType::Tensor(value.parse()?) };
                ValueType::Map(key.trim().parse()?, Box::new(value))
            }
            _ => return Err(form()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_reads_back() {
        for text in
            ["tensor(float8e4m3fn)", "seq(tensor(string))", "optional(seq(tensor(int4)))", "seq(map(string, float))"]
        {
            assert_eq!(text.parse::<ValueType>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn types_that_nest_too_deeply_are_refused() {
        let nested = |depth: usize| format!("{}tensor(float){}", "seq(".repeat(depth), ")".repeat(depth));
        assert_eq!(nested(63).parse::<ValueType>().unwrap().to_string(), nested(63));
        assert!(matches!(nested(100_000).parse::<ValueType>(), Err(TypeError::Depth)));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["float", "tensor(float", "tensor(flaot)", "list(tensor(float))", "map(int64)", ""] {
            assert!(text.parse::<ValueType>().is_err(), "{text} was taken");
        }
    }
}
