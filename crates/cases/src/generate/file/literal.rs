//! Literal values in YAML, and the tensors made of them.

use std::sync::Arc;

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::shape::element_count;
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder, TensorError};
use serde::{Deserialize, Serialize};

use crate::generate::file::alternatives::Label;

/// Error of making a tensor from a literal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiteralError {
    /// Nested lists do not give a shape.
    #[error("lists at the same level have different lengths")]
    Ragged,
    /// The shape has more elements than a case may have.
    #[error("shape {shape:?} has {count} elements; a tensor of a case may have at most {MAX_ELEMENTS}")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
        /// The number of its elements.
        count: usize,
    },
    /// The tensor cannot be created.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// A value, or a list of values. Nested lists give a shape.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "not a value; write a number, a truth value, a string, or a list of them")]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// An integer beyond 2^63.
    Large(u64),
    /// A float, including `.nan`, `.inf`, `-.inf` and `-0.0`.
    Float(f64),
    /// A text, or `1+2i` for complex types.
    Text(String),
    /// A list.
    List(Vec<Literal>),
}

impl Label for Literal {
    fn label(&self) -> String {
        match self {
            Literal::Bool(value) => value.to_string(),
            Literal::Integer(value) => value.to_string(),
            Literal::Large(value) => value.to_string(),
            Literal::Float(value) => format!("{value:?}"),
            Literal::Text(text) if text.is_empty() => "empty".to_owned(),
            Literal::Text(text) => {
                let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
                text.chars().map(plain).collect()
            }
            Literal::List(items) if items.is_empty() => "empty".to_owned(),
            Literal::List(items) => items.iter().map(Label::label).collect::<Vec<_>>().join(":"),
        }
    }
}

/// Largest number of elements of a tensor in a file of cases.
const MAX_ELEMENTS: usize = 1 << 24;

/// Repeats one value for every element of a shape.
pub(crate) fn repeated(value: &Literal, shape: &[usize]) -> Result<Literal, LiteralError> {
    Ok(Literal::List(vec![value.clone(); bounded_count(shape)?]))
}

/// Creates a builder for a tensor of a case.
pub(crate) fn tensor_builder(element: ElementType, shape: Vec<usize>) -> Result<TensorBuilder, LiteralError> {
    bounded_count(&shape)?;
    Ok(TensorBuilder::unlimited(element, shape)?)
}

/// Counts the elements of a shape, up to the limit of a case.
fn bounded_count(shape: &[usize]) -> Result<usize, LiteralError> {
    match element_count(shape)? {
        count if count <= MAX_ELEMENTS => Ok(count),
        count => Err(LiteralError::TooLarge { shape: shape.to_vec(), count }),
    }
}

impl Literal {
    /// Returns the shape that the nesting gives. Lists of one level must have the same length.
    pub fn shape(&self) -> Result<Vec<usize>, LiteralError> {
        let Literal::List(items) = self else { return Ok(Vec::new()) };
        // Each list is visited once. Two visits per level would take exponential time in deep lists.
        let Some((first, others)) = items.split_first() else { return Ok(vec![0]) };
        let inner = first.shape()?;
        for item in others {
            if item.shape()? != inner {
                return Err(LiteralError::Ragged);
            }
        }
        Ok([vec![items.len()], inner].concat())
    }

    /// Returns the values in row-major order.
    pub fn flat(&self) -> Vec<&Literal> {
        match self {
            Literal::List(items) => items.iter().flat_map(Literal::flat).collect(),
            other => vec![other],
        }
    }

    /// Makes a tensor of this type. The nesting gives the shape if none is given. Returns `None` if the type cannot
    /// hold the values: an integer type must hold all, a float type narrower than `float` must hold them exactly.
    pub fn tensor(&self, element: ElementType, shape: Option<&[usize]>) -> Result<Option<Tensor>, LiteralError> {
        let shape = match shape {
            Some(shape) => shape.to_vec(),
            None => self.shape()?,
        };
        let items = self.flat();
        let buffer = tensor_builder(element, shape)?;
        let tensor = match element.kind() {
            Kind::String => {
                let strings: Option<Vec<Arc<str>>> = items.iter().map(|item| item.text()).collect();
                strings.map(|strings| buffer.strings(strings))
            }
            Kind::Complex => {
                let numbers: Option<Vec<_>> = items.iter().map(|item| item.complex()).collect();
                numbers.map(|numbers| buffer.complexes(numbers))
            }
            Kind::Bool => {
                let values: Option<Vec<bool>> = items.iter().map(|item| item.truth()).collect();
                values.map(|values| buffer.bools(values))
            }
            Kind::Signed | Kind::Unsigned => {
                let values: Option<Vec<i128>> = items.iter().map(|item| item.integer_of(element)).collect();
                values.map(|values| buffer.integers(values))
            }
            Kind::Float => {
                let bits: Option<Vec<u64>> = items.iter().map(|item| item.float_of(element)).collect();
                bits.map(|bits| buffer.bits(bits))
            }
        };
        Ok(tensor.transpose()?)
    }

    fn text(&self) -> Option<Arc<str>> {
        match self {
            Literal::Text(text) => Some(Arc::from(text.as_str())),
            _ => None,
        }
    }

    fn truth(&self) -> Option<bool> {
        match self {
            Literal::Bool(value) => Some(*value),
            Literal::Integer(0) => Some(false),
            Literal::Integer(1) => Some(true),
            _ => None,
        }
    }

    /// Converts the literal to an integer that the type holds.
    fn integer_of(&self, element: ElementType) -> Option<i128> {
        let value = match self {
            Literal::Bool(value) => i128::from(*value),
            Literal::Integer(value) => i128::from(*value),
            Literal::Large(value) => i128::from(*value),
            _ => return None,
        };
        (element.decode_i128(element.wrap(value)) == value).then_some(value)
    }

    /// Converts the literal to a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Literal::Integer(value) => Some(*value as f64),
            Literal::Large(value) => Some(*value as f64),
            Literal::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Converts the literal to the bits of a float. `float` and `double` round; narrower types must hold the value
    /// exactly.
    fn float_of(&self, element: ElementType) -> Option<u64> {
        let value = self.number()?;
        let bits = element.encode(value);
        let back = element.decode_f64(bits);
        let same = back == value && (value != 0.0 || back.is_sign_negative() == value.is_sign_negative());
        (element.bits() >= 32 || same || (back.is_nan() && value.is_nan())).then_some(bits)
    }

    fn complex(&self) -> Option<num_complex::Complex<f64>> {
        match self {
            Literal::Text(text) => text.parse().ok(),
            other => other.number().map(|re| num_complex::Complex::new(re, 0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Literal {
        serde_yaml::from_str(text).unwrap()
    }

    #[test]
    fn lists_that_nest_deeply_have_a_shape() {
        let deep = (0..60).fold(Literal::Integer(1), |inner, _| Literal::List(vec![inner]));
        assert_eq!(deep.shape(), Ok(vec![1; 60]));
    }

    #[test]
    fn nesting_gives_the_shape() {
        assert_eq!(literal("[[1, 2, 3], [4, 5, 6]]").shape(), Ok(vec![2, 3]));
        assert_eq!(literal("7").shape(), Ok(vec![]));
        let error = literal("[1]").tensor(ElementType::Int8, Some(&[1 << 30])).unwrap_err();
        assert!(error.to_string().contains("a tensor of a case may have at most 16777216"), "{error}");
        assert_eq!(literal("[]").shape(), Ok(vec![0]));
        assert!(literal("[[1], [2, 3]]").shape().is_err());
    }

    #[test]
    fn a_type_that_cannot_hold_the_values_is_omitted() {
        let rows = [
            ("[1, -1]", ElementType::Int8, true),
            ("[1, -1]", ElementType::Uint8, false),
            ("[1.5]", ElementType::Int32, false),
            ("[0.1]", ElementType::Float, true),
            ("[0.1]", ElementType::Float16, false),
            ("[1.5]", ElementType::Float4e2m1, true),
            ("['a']", ElementType::Float, false),
            ("['1+2i']", ElementType::Complex64, true),
            ("[.nan]", ElementType::Float8e4m3fn, true),
            ("[-0.0]", ElementType::Float8e4m3fnuz, false),
        ];
        for (text, element, fits) in rows {
            assert_eq!(literal(text).tensor(element, None).unwrap().is_some(), fits, "{text} as {element}");
        }
    }
}
