//! The expectation for an output, and its check.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use serde::{Deserialize, Serialize};

use crate::compare::statistics::Distribution;
use crate::compare::{Accuracy, Agreement, Difference, DifferenceKind, Distance, compare, statistics, unordered};

/// The rule that judges an output, with its values.
///
/// In a case it holds values. In the manifest of an exported case it holds their types, and the values are in files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expected<V = Value, T = Tensor> {
    /// This value, within the accuracy.
    Value(V, Accuracy<T>),
    /// One of these values, exactly.
    AnyOf(Vec<V>),
    /// These slices along the first axis of a tensor, or these items of a sequence, in any order.
    Set(V),
    /// These elements in each lane along the axis, in any order.
    PermutedAlongAxis(T, i64),
    /// A sample from a known distribution, tested statistically.
    SampledFrom {
        /// The element type.
        #[serde(with = "crate::compare::element_name")]
        element: ElementType,
        /// The shape.
        shape: Vec<usize>,
        /// The distribution.
        law: Distribution<T>,
    },
    /// Any value of this type and, if it is a tensor, of this shape.
    Unspecified(ValueType, Option<Vec<usize>>),
    /// A sample from the same distribution as this one. Type, shape and, within chance, the mean must agree.
    SameMeanAs(T),
    /// Each element is 0 or the source's element times 1 / (1 - ratio). The number of zeros is tested statistically.
    DropoutOf {
        /// The input of the dropout.
        source: T,
        /// The probability of 0.
        ratio: f64,
    },
    /// A `bool` tensor, each element false with this probability. The number of false elements is tested statistically.
    Mask {
        /// The shape.
        shape: Vec<usize>,
        /// The probability of false.
        ratio: f64,
    },
}

/// Role of a value within an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The output, or the allowed output of this index.
    Output(usize),
    /// The bound of each element.
    Bound,
    /// The probabilities or weights of a distribution.
    Law,
    /// The input of a dropout.
    Source,
}

impl<V, T> Expected<V, T> {
    /// Converts the values of the expectation.
    pub fn try_map<W, U, Error>(
        &self,
        value: impl Fn(Part, &V) -> Result<W, Error>,
        tensor: impl Fn(Part, &T) -> Result<U, Error>,
    ) -> Result<Expected<W, U>, Error> {
        const OUTPUT: Part = Part::Output(0);
        Ok(match self {
            Expected::Value(expected, accuracy) => {
                let accuracy = accuracy.try_map_bound(|bound| tensor(Part::Bound, bound));
                Expected::Value(value(OUTPUT, expected)?, accuracy?)
            }
            Expected::AnyOf(values) => {
                let values = values.iter().enumerate().map(|(number, one)| value(Part::Output(number), one));
                Expected::AnyOf(values.collect::<Result<_, Error>>()?)
            }
            Expected::Set(expected) => Expected::Set(value(OUTPUT, expected)?),
            Expected::PermutedAlongAxis(expected, axis) => {
                Expected::PermutedAlongAxis(tensor(OUTPUT, expected)?, *axis)
            }
            Expected::SampledFrom { element, shape, law } => {
                let law = law.try_map(|given| tensor(Part::Law, given))?;
                Expected::SampledFrom { element: *element, shape: shape.clone(), law }
            }
            Expected::Unspecified(value_type, shape) => Expected::Unspecified(value_type.clone(), shape.clone()),
            Expected::SameMeanAs(sample) => Expected::SameMeanAs(tensor(OUTPUT, sample)?),
            Expected::DropoutOf { source, ratio } => {
                Expected::DropoutOf { source: tensor(Part::Source, source)?, ratio: *ratio }
            }
            Expected::Mask { shape, ratio } => Expected::Mask { shape: shape.clone(), ratio: *ratio },
        })
    }
}

impl Expected {
    /// Returns the type of the output and, for a tensor, its shape.
    pub fn declared(&self) -> (ValueType, Option<Vec<usize>>) {
        let of_tensor = |tensor: &Tensor| (ValueType::Tensor(tensor.element_type()), Some(tensor.shape().to_vec()));
        let of_value = |value: &Value| (value.value_type(), value.as_tensor().map(|tensor| tensor.shape().to_vec()));
        match self {
            Expected::Value(value, _) | Expected::Set(value) => of_value(value),
            Expected::PermutedAlongAxis(tensor, _)
            | Expected::SameMeanAs(tensor)
            | Expected::DropoutOf { source: tensor, .. } => of_tensor(tensor),
            Expected::SampledFrom { element, shape, .. } => (ValueType::Tensor(*element), Some(shape.clone())),
            Expected::AnyOf(values) => values.first().map_or((ValueType::Tensor(ElementType::Float), None), of_value),
            Expected::Unspecified(value_type, shape) => (value_type.clone(), shape.clone()),
            Expected::Mask { shape, .. } => (ValueType::Tensor(ElementType::Bool), Some(shape.clone())),
        }
    }

    /// Returns the values of the expectation, in the order of their files in a test folder.
    pub fn parts(&self) -> Vec<(Part, Value)> {
        let of_tensor = |part: Part, tensor: &Tensor| vec![(part, Value::Tensor(tensor.clone()))];
        match self {
            Expected::Value(value, accuracy) => {
                let mut parts = vec![(Part::Output(0), value.clone())];
                if let Accuracy::Bounded(bound) = accuracy {
                    parts.extend(of_tensor(Part::Bound, bound));
                }
                parts
            }
            Expected::AnyOf(values) => {
                values.iter().enumerate().map(|(number, value)| (Part::Output(number), value.clone())).collect()
            }
            Expected::Set(value) => vec![(Part::Output(0), value.clone())],
            Expected::PermutedAlongAxis(tensor, _) | Expected::SameMeanAs(tensor) => of_tensor(Part::Output(0), tensor),
            Expected::SampledFrom { law, .. } => {
                law.tensor().map_or_else(Vec::new, |tensor| of_tensor(Part::Law, tensor))
            }
            Expected::DropoutOf { source, .. } => of_tensor(Part::Source, source),
            Expected::Unspecified(..) | Expected::Mask { .. } => Vec::new(),
        }
    }

    /// Describes the rule that judges an output.
    pub fn rule(&self) -> String {
        match self {
            Expected::Value(_, accuracy) => accuracy.to_string(),
            Expected::AnyOf(_) => "one of several values".to_owned(),
            Expected::Set(_) => "in any order".to_owned(),
            Expected::PermutedAlongAxis(_, axis) => format!("in any order along axis {axis}"),
            Expected::SampledFrom { law, .. } => law.to_string(),
            Expected::Unspecified(..) => "any values".to_owned(),
            Expected::SameMeanAs(_) => "random values; the mean within chance".to_owned(),
            Expected::DropoutOf { ratio, .. } => format!("each element dropped with probability {ratio}, or scaled"),
            Expected::Mask { ratio, .. } => format!("each element false with probability {ratio}"),
        }
    }

    /// Returns the approximate size of the output in bytes, which limits how much of an output is read.
    pub fn bytes(&self) -> u64 {
        match self {
            Expected::Value(value, _) | Expected::Set(value) => bytes_of(value),
            Expected::AnyOf(values) => values.iter().map(bytes_of).max().unwrap_or(0),
            other => {
                let (value_type, shape) = other.declared();
                bytes_of_shape(value_type.element_type(), &shape.unwrap_or_default())
            }
        }
    }

    /// Compares an output with the expectation and returns how closely they agree.
    pub fn check(&self, actual: &Value) -> Result<Agreement, Difference> {
        match self {
            Expected::Value(expected, accuracy) => compare(expected, actual, accuracy),
            Expected::AnyOf(values) => any_of(values, actual),
            Expected::Set(expected) => self.in_some_order(actual, |actual| unordered::same_set(expected, actual)),
            Expected::PermutedAlongAxis(expected, axis) => {
                self.in_some_order(actual, |actual| unordered::same_lanes(expected, *axis, actual))
            }
            Expected::SampledFrom { law, .. } => self.by_chance(actual, |actual| statistics::drawn(law, actual)),
            Expected::Unspecified(..) => self.check_declared(actual),
            Expected::SameMeanAs(sample) => self.by_chance(actual, |actual| statistics::same_mean(sample, actual)),
            Expected::DropoutOf { source, ratio } => {
                self.by_chance(actual, |actual| statistics::dropped(source, *ratio, actual))
            }
            Expected::Mask { ratio, .. } => self.by_chance(actual, |actual| statistics::mask(*ratio, actual)),
        }
    }

    fn in_some_order(
        &self,
        actual: &Value,
        check: impl Fn(&Value) -> Result<(), Difference>,
    ) -> Result<Agreement, Difference> {
        let agreement = self.check_declared(actual)?;
        check(actual)?;
        Ok(agreement)
    }

    fn by_chance(
        &self,
        actual: &Value,
        check: impl Fn(&Tensor) -> Result<(), Difference>,
    ) -> Result<Agreement, Difference> {
        let agreement = self.check_declared(actual)?;
        actual.as_tensor().map_or(Ok(()), check)?;
        Ok(agreement)
    }

    fn check_declared(&self, actual: &Value) -> Result<Agreement, Difference> {
        let (value_type, shape) = self.declared();
        if actual.value_type() != value_type {
            let message = format!("expected {value_type}, got {}", actual.value_type());
            return Err(Difference { kind: DifferenceKind::Type, message, ulps: None, bound: None });
        }
        match (shape, actual.as_tensor()) {
            (Some(shape), Some(tensor)) if tensor.shape() != shape => {
                let message = format!("expected shape {shape:?}, got {:?}", tensor.shape());
                Err(Difference { kind: DifferenceKind::Shape, message, ulps: None, bound: None })
            }
            _ => Ok(Agreement::default()),
        }
    }
}

fn bytes_of(value: &Value) -> u64 {
    match value {
        Value::Tensor(tensor) if tensor.element_type() == ElementType::String => {
            tensor.strings().iter().map(|text| count(text.len()).saturating_add(8)).sum()
        }
        Value::Tensor(tensor) => bytes_of_shape(tensor.element_type(), tensor.shape()),
        Value::Sparse(sparse) => [&sparse.values, &sparse.indices]
            .map(|tensor| bytes_of_shape(tensor.element_type(), tensor.shape()))
            .iter()
            .sum(),
        Value::Sequence(sequence) => sequence.items.iter().map(bytes_of).sum(),
        Value::Optional(optional) => optional.item.iter().map(|item| bytes_of(item)).sum(),
        Value::Map(map) => map.entries.values().map(|value| bytes_of(value).saturating_add(64)).sum(),
    }
}

fn bytes_of_shape(element: ElementType, shape: &[usize]) -> u64 {
    shape.iter().fold(count(element.size()), |bytes, size| bytes.saturating_mul(count(*size)))
}

fn count(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

fn any_of(values: &[Value], actual: &Value) -> Result<Agreement, Difference> {
    let message = "no value is allowed".to_owned();
    let mut last = Difference { kind: DifferenceKind::Values(Distance::Far), message, ulps: None, bound: None };
    for value in values {
        match compare(value, actual, &Accuracy::Exact) {
            Ok(agreement) => return Ok(agreement),
            // The distance is that from the nearest value.
            Err(difference) => {
                let ulps = difference.ulps.into_iter().chain(last.ulps).min();
                last = Difference { ulps, ..difference };
            }
        }
    }
    Err(Difference { message: format!("none of {} allowed values: {}", values.len(), last.message), ..last })
}
