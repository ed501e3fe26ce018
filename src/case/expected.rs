//! What an output must be, and whether it is.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::compare::statistics::Distribution;
use crate::compare::{
    Accuracy, Agreement, Difference, DifferenceKind, compare, compare_bounded, statistics, unordered,
};

/// What an output must be.
#[derive(Clone, Debug)]
pub enum Expected {
    /// This value, as exactly as the accuracy says.
    Value(Value, Accuracy),
    /// This value within a bound for each element.
    Bounded(Tensor, Tensor),
    /// One of these values, exactly.
    AnyOf(Vec<Value>),
    /// These slices along the first axis of a tensor, or these items of a sequence, in any order.
    Set(Value),
    /// In each lane along the axis these elements, in any order.
    PermutedAlongAxis(Tensor, i64),
    /// A draw from a known distribution, as far as chance lets it be known.
    SampledFrom {
        /// The element type.
        element: ElementType,
        /// The shape.
        shape: Vec<usize>,
        /// The distribution.
        law: Distribution,
    },
    /// Any value of this type and, for tensors, this shape.
    Unspecified(ValueType, Option<Vec<usize>>),
    /// A draw from the distribution that this is a sample of: type and shape, and the mean as chance allows.
    SameMeanAs(Tensor),
    /// Each element of the source is 0 or scaled by 1 / (1 - ratio), as many as chance allows.
    DropoutOf {
        /// What went into the dropout.
        source: Tensor,
        /// The probability of 0.
        ratio: f64,
    },
    /// A `bool` tensor that is false with this probability, as many as chance allows.
    Mask {
        /// The shape.
        shape: Vec<usize>,
        /// The probability of false.
        ratio: f64,
    },
}

impl Expected {
    /// The type that the output has and, for a tensor, its shape.
    pub fn declared(&self) -> (ValueType, Option<Vec<usize>>) {
        let of_tensor = |tensor: &Tensor| (ValueType::Tensor(tensor.element_type()), Some(tensor.shape().to_vec()));
        let of_value = |value: &Value| (value.value_type(), value.as_tensor().map(|tensor| tensor.shape().to_vec()));
        match self {
            Expected::Value(value, _) | Expected::Set(value) => of_value(value),
            Expected::Bounded(tensor, _)
            | Expected::PermutedAlongAxis(tensor, _)
            | Expected::SameMeanAs(tensor)
            | Expected::DropoutOf { source: tensor, .. } => of_tensor(tensor),
            Expected::SampledFrom { element, shape, .. } => (ValueType::Tensor(*element), Some(shape.clone())),
            Expected::AnyOf(values) => values.first().map_or((ValueType::Tensor(ElementType::Float), None), of_value),
            Expected::Unspecified(value_type, shape) => (value_type.clone(), shape.clone()),
            Expected::Mask { shape, .. } => (ValueType::Tensor(ElementType::Bool), Some(shape.clone())),
        }
    }

    /// About how many bytes the output has, for a bound on what is read of one.
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

    /// Whether an output is what it must be, and how closely.
    pub fn check(&self, actual: &Value) -> Result<Agreement, Difference> {
        match self {
            Expected::Value(expected, accuracy) => compare(expected, actual, accuracy),
            Expected::Bounded(expected, bound) => compare_bounded(expected, bound, actual),
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
            return Err(Difference { kind: DifferenceKind::Type, message });
        }
        match (shape, actual.as_tensor()) {
            (Some(shape), Some(tensor)) if tensor.shape() != shape => {
                let message = format!("expected shape {shape:?}, got {:?}", tensor.shape());
                Err(Difference { kind: DifferenceKind::Shape, message })
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
    let mut last = Difference { kind: DifferenceKind::Values, message: "no value is allowed".to_owned() };
    for value in values {
        match compare(value, actual, &Accuracy::Exact) {
            Ok(agreement) => return Ok(agreement),
            Err(difference) => last = difference,
        }
    }
    Err(Difference { message: format!("none of {} allowed values: {}", values.len(), last.message), ..last })
}
