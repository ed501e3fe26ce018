//! Known facts about a value before a model runs.

use crate::dtype::ElementType;
use crate::infer::size::Size;
use crate::model::graph::Dim;
use crate::proto::TensorProto;
use crate::proto::decode::{self, NoExternalData};
use crate::tensor::Tensor;
use crate::types::ValueType;
use crate::value::Value;

/// Maximum rank of a tracked shape; a tensor of higher rank has unknown dimensions.
pub const MAX_RANK: usize = 1024;

/// Maximum number of elements of a constant to keep.
pub const MAX_CONSTANT: usize = 1024;

/// Known facts about a value before the model runs. A fact that is unknown excludes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueFact {
    /// The type.
    pub value_type: Option<ValueType>,
    /// The dimensions of a tensor, if its rank is known.
    pub shape: Option<Vec<Dim>>,
    /// The value itself: a constant of at most [`MAX_CONSTANT`] elements.
    pub constant: Option<Value>,
    /// The elements of a scalar or vector of integers that is not a constant, such as the shape of a tensor with named
    /// dimensions; `None` for an unknown element.
    pub elements: Option<Vec<Option<Size>>>,
}

impl ValueFact {
    /// A fact with only the type.
    pub fn from_type(value_type: ValueType) -> ValueFact {
        ValueFact { value_type: Some(value_type), ..ValueFact::default() }
    }

    /// A fact with the value itself.
    pub fn from_value(value: Value) -> ValueFact {
        let shape = value.as_tensor().map(|tensor| tensor.shape().iter().map(|&size| Dim::Size(size)).collect());
        ValueFact { value_type: Some(value.value_type()), shape, constant: Some(value), elements: None }
    }

    /// The rank of a tensor.
    pub fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(Vec::len)
    }

    /// The memory of shape, constant and elements in bytes.
    pub fn size(&self) -> usize {
        let dims = self.shape.as_ref().map_or(0, Vec::len);
        let elements = self.elements.as_ref().map_or(0, Vec::len);
        dims.saturating_mul(size_of::<Dim>())
            .saturating_add(elements.saturating_mul(size_of::<Option<Size>>()))
            .saturating_add(self.constant.as_ref().map_or(0, Value::size))
    }

    /// The dimensions of a tensor, if all sizes are known.
    pub fn sizes(&self) -> Option<Vec<usize>> {
        self.shape.as_ref()?.iter().map(Dim::size).collect()
    }

    /// The elements of an integer constant.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let tensor = self.constant.as_ref()?.as_tensor()?;
        tensor.element_type().is_integer().then(|| tensor.indices())
    }

    /// The elements of an integer tensor, as far as they are known; `None` if even their number is unknown.
    pub fn symbolic_elements(&self) -> Option<Vec<Option<Size>>> {
        if let Some(integers) = self.integers() {
            return Some(integers.into_iter().map(|value| Some(Size::constant(value))).collect());
        }
        if let Some(elements) = &self.elements {
            return Some(elements.clone());
        }
        match self.shape.as_deref()? {
            // bounded: by the size of a constant.
            [Dim::Size(length)] if *length <= MAX_CONSTANT => Some(std::iter::repeat_n(None, *length).collect()),
            [] => Some(vec![None]),
            _ => None,
        }
    }

    /// Sets the elements of a vector or scalar of integers; the value itself if all are numbers.
    pub(crate) fn set_elements(&mut self, elements: Vec<Option<Size>>) {
        if self.constant.is_some() || elements.len() > MAX_CONSTANT || elements.iter().all(Option::is_none) {
            return;
        }
        let numbers: Option<Vec<i128>> =
            elements.iter().map(|size| Some(i128::from(size.as_ref()?.value()?))).collect();
        match (numbers, &self.value_type, self.sizes()) {
            (Some(numbers), Some(ValueType::Tensor(element)), Some(shape)) if element.is_integer() => {
                self.constant = Tensor::of_integers(*element, &shape, &numbers).ok().map(Value::Tensor);
            }
            _ => self.elements = Some(elements),
        }
    }

    /// The join of the facts of two calls or branches: everything that holds in both.
    #[must_use]
    pub fn join(&self, other: &ValueFact) -> ValueFact {
        let both = |one: &Dim, two: &Dim| if one == two { one.clone() } else { Dim::Unknown };
        let shape = match (&self.shape, &other.shape) {
            (Some(one), Some(two)) if one.len() == two.len() => {
                Some(one.iter().zip(two).map(|(one, two)| both(one, two)).collect())
            }
            _ => None,
        };
        ValueFact {
            value_type: self.value_type.clone().filter(|_| self.value_type == other.value_type),
            shape,
            constant: self.constant.clone().filter(|_| self.constant == other.constant),
            elements: self.elements.clone().filter(|_| self.elements == other.elements),
        }
    }
}

/// The facts about a tensor in the model; the value itself if it is small.
pub fn tensor_fact(tensor: &TensorProto) -> ValueFact {
    let element = ElementType::from_code(tensor.data_type());
    let shape: Option<Vec<usize>> = tensor.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let count = shape.as_ref().and_then(|shape| shape.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim)));
    let is_small = count.is_some_and(|count| count <= MAX_CONSTANT) && tensor.segment.is_none();
    if is_small && let Ok(tensor) = decode::tensor(tensor, &NoExternalData) {
        return ValueFact::from_value(Value::Tensor(tensor));
    }
    ValueFact {
        value_type: element.map(ValueType::Tensor),
        shape: shape.map(|shape| shape.into_iter().map(Dim::Size).collect()),
        ..ValueFact::default()
    }
}
