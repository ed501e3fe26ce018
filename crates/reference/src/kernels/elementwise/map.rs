//! Element-wise functions of one tensor, and of two that broadcast.

#![expect(clippy::indexing_slicing, reason = "the walks stay inside the shapes that they broadcast")]

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::parallel::for_each_block;
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::read::{self, Stream};
use crate::tensor::shape::{broadcast, normalize_axis, strides};

/// Minimum number of elements for a parallel map.
const PARALLEL: usize = 1 << 16;

/// Applies `function` to each number of the first input. The result is rounded once to its element type.
pub(super) fn map_floats(call: &Call<'_>, function: impl Fn(f64) -> f64 + Sync) -> Result {
    map_blocks(call, &|values| values.iter_mut().for_each(|value| *value = function(*value)))
}

/// Applies `function` to blocks of the first input, several at a time. It is compiled once for all functions.
fn map_blocks(call: &Call<'_>, function: &(dyn Fn(&mut [f64]) + Sync)) -> Result {
    let tensor = call.tensor(0)?;
    let values = (0..tensor.len()).step_by(PARALLEL).flat_map(|from| {
        // bounded: by the block.
        let mut values = tensor.part(from..from + PARALLEL).floats();
        if values.len() < PARALLEL {
            function(&mut values);
        } else {
            for_each_block(&mut values, PARALLEL / 64, function);
        }
        values
    });
    Ok(call.floats(tensor.element_type(), tensor.shape(), values)?.into())
}

/// Applies one function to a floating-point first input, or the other to an integer one, which wraps.
pub(super) fn map_numbers(
    call: &Call<'_>,
    float: impl Fn(f64) -> f64 + Sync,
    integer: impl Fn(i128) -> i128,
) -> Result {
    let tensor = call.tensor(0)?;
    if tensor.element_type().is_float() {
        return map_floats(call, float);
    }
    let values = tensor.stream(Tensor::integers).map(integer);
    Ok(call.integers(tensor.element_type(), tensor.shape(), values)?.into())
}

/// Returns a float attribute. If the version has a function body, the value is rounded to the input's element type, as
/// the body casts it.
pub(super) fn coefficient(call: &Call<'_>, name: &str, element: ElementType) -> Result<f64> {
    let value = call.float(name)?;
    Ok(if call.spec.function.is_some() { element.round(value) } else { value })
}

/// The first two inputs, aligned with an output.
pub(super) struct Pair<'c, 'a> {
    pub(super) call: &'c Call<'a>,
    pub(super) a: &'a Tensor,
    pub(super) b: &'a Tensor,
    shape: Vec<usize>,
    a_order: Order,
    b_order: Order,
}

/// Order of the elements of a tensor when they are combined with another.
#[derive(Clone)]
pub(super) enum Order {
    /// Storage order.
    Lying,
    Walked(StridedIter),
}

impl Order {
    /// Returns the order of a tensor of `shape` broadcast to `target`.
    pub(super) fn broadcast(shape: &[usize], target: &[usize]) -> Order {
        if shape == target { Order::Lying } else { Order::Walked(StridedIter::broadcast(shape, target)) }
    }
}

/// Elements of a tensor in an order. A walked tensor is read whole, any other is streamed.
pub(super) enum Elements<'a, T> {
    Lying(Stream<'a, T>),
    Walked(Vec<T>, StridedIter),
}

impl<'a, T> Elements<'a, T> {
    pub(super) fn new(
        call: &Call<'_>,
        tensor: &'a Tensor,
        order: &Order,
        read: fn(&Tensor) -> Vec<T>,
    ) -> Result<Elements<'a, T>> {
        Ok(match order {
            Order::Lying => {
                call.budget.count(tensor.len().min(read::BLOCK), size_of::<T>())?;
                Elements::Lying(tensor.stream(read))
            }
            Order::Walked(walk) => Elements::Walked(call.budget.read(tensor, read)?, walk.clone()),
        })
    }
}

impl<T: Copy> Iterator for Elements<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        match self {
            Elements::Lying(stream) => stream.next(),
            Elements::Walked(values, walk) => values.get(walk.next()?).copied(),
        }
    }
}

impl<'c, 'a> Pair<'c, 'a> {
    /// Broadcasts both inputs to each other.
    pub(super) fn broadcast(call: &'c Call<'a>) -> Result<Pair<'c, 'a>> {
        let (a, b) = (call.tensor(0)?, call.tensor(1)?);
        let shape = broadcast(a.shape(), b.shape())?;
        Ok(Pair::walking(call, a, b, shape))
    }

    /// Broadcasts the second input to the first, which has the output's shape.
    pub(super) fn unidirectional(call: &'c Call<'a>) -> Result<Pair<'c, 'a>> {
        let pair = Pair::broadcast(call).rule("C2")?;
        if pair.shape != pair.a.shape() {
            let (a, b) = (pair.a.shape(), pair.b.shape());
            return Err(broken("C2", format!("shape {b:?} does not broadcast to {a:?}, the shape of the first input")));
        }
        Ok(pair)
    }

    /// Aligns the second input with the first, as versions below 7 do. Without `broadcast`, the shapes are equal. With
    /// it, the second has one element, or its dimensions are those of the first from `axis` on (by default the last
    /// ones).
    pub(super) fn legacy_broadcast(call: &'c Call<'a>) -> Result<Pair<'c, 'a>> {
        let (a, b) = (call.tensor(0)?, call.tensor(1)?);
        if a.shape() == b.shape() {
            return Ok(Pair::walking(call, a, b, a.shape().to_vec()));
        }
        let strides =
            if call.flag("broadcast")? { legacy_strides(call, a.shape(), b.shape()).rule("C1")? } else { None };
        let strides = strides.ok_or_else(|| {
            broken(
                "C1",
                format!(
                    "shapes {:?} and {:?} do not fit in {}: the second must have one element, or be a run of \
                     the first's dimensions at 'axis', and 'broadcast' must be 1; version 7 broadcasts both ways",
                    a.shape(),
                    b.shape(),
                    call.spec.version
                ),
            )
        })?;
        Ok(Pair {
            call,
            a,
            b,
            shape: a.shape().to_vec(),
            a_order: Order::Lying,
            b_order: Order::Walked(StridedIter::new(a.shape(), &strides, 0)),
        })
    }

    /// Aligns the second input with one axis of the first, one value per index. Without an axis, its one value applies
    /// to every element.
    pub(super) fn along_axis(call: &'c Call<'a>, axis: Option<usize>) -> Result<Pair<'c, 'a>> {
        let (a, b) = (call.tensor(0)?, call.tensor(1)?);
        let strides: Vec<isize> = (0..a.rank()).map(|index| isize::from(Some(index) == axis)).collect();
        let b_order = Order::Walked(StridedIter::new(a.shape(), &strides, 0));
        Ok(Pair { call, a, b, shape: a.shape().to_vec(), a_order: Order::Lying, b_order })
    }

    fn walking(call: &'c Call<'a>, a: &'a Tensor, b: &'a Tensor, shape: Vec<usize>) -> Pair<'c, 'a> {
        let (a_order, b_order) = (Order::broadcast(a.shape(), &shape), Order::broadcast(b.shape(), &shape));
        Pair { call, a, b, shape, a_order, b_order }
    }

    /// Returns the element type of the first input.
    pub(super) fn element(&self) -> ElementType {
        self.a.element_type()
    }

    /// Returns the pairs of elements in the order of the output.
    fn zip_elements<A: Copy, B: Copy>(
        &self,
        a: fn(&Tensor) -> Vec<A>,
        b: fn(&Tensor) -> Vec<B>,
    ) -> Result<impl Iterator<Item = (A, B)>> {
        let a = Elements::new(self.call, self.a, &self.a_order, a)?;
        Ok(a.zip(Elements::new(self.call, self.b, &self.b_order, b)?))
    }

    /// Combines the pairs and rounds once to the first input's element type.
    pub(super) fn floats(&self, combine: impl Fn(f64, f64) -> f64) -> Result {
        let values = self.zip_elements(Tensor::floats, Tensor::floats)?.map(|(a, b)| combine(a, b));
        Ok(self.call.floats(self.element(), &self.shape, values)?.into())
    }

    /// Combines the integer pairs and wraps to the first input's element type.
    pub(super) fn integers(&self, combine: impl Fn(i128, i128) -> i128) -> Result {
        let values = self.zip_elements(Tensor::integers, Tensor::integers)?.map(|(a, b)| combine(a, b));
        Ok(self.call.integers(self.element(), &self.shape, values)?.into())
    }

    /// Combines the pairs with one function for floating-point types and another for integers.
    pub(super) fn numbers(&self, float: impl Fn(f64, f64) -> f64, integer: impl Fn(i128, i128) -> i128) -> Result {
        if self.element().is_float() { self.floats(float) } else { self.integers(integer) }
    }

    /// Combines a floating-point first input with an integer second one.
    pub(super) fn floats_with_integers(&self, combine: impl Fn(f64, i128) -> f64) -> Result {
        let values = self.zip_elements(Tensor::floats, Tensor::integers)?.map(|(a, b)| combine(a, b));
        Ok(self.call.floats(self.element(), &self.shape, values)?.into())
    }

    /// Combines an integer first input with a floating-point second one.
    pub(super) fn integers_with_floats(&self, combine: impl Fn(i128, f64) -> i128) -> Result {
        let values = self.zip_elements(Tensor::integers, Tensor::floats)?.map(|(a, b)| combine(a, b));
        Ok(self.call.integers(self.element(), &self.shape, values)?.into())
    }

    /// Tests the pairs, each element read with `read`.
    pub(super) fn test<T: Copy>(&self, read: fn(&Tensor) -> Vec<T>, holds: impl Fn(T, T) -> bool) -> Result {
        let values = self.zip_elements(read, read)?.map(|(a, b)| holds(a, b));
        Ok(self.call.allocate(ElementType::Bool, &self.shape)?.bools(values)?.into())
    }

    /// Tests the pairs of strings.
    pub(super) fn test_strings(&self, holds: impl Fn(&str, &str) -> bool) -> Result {
        let (a, b) = (self.a.strings(), self.b.strings());
        let walk = |tensor: &Tensor| StridedIter::broadcast(tensor.shape(), &self.shape);
        let values = walk(self.a).zip(walk(self.b)).map(|(i, j)| holds(&a[i], &b[j]));
        Ok(self.call.allocate(ElementType::Bool, &self.shape)?.bools(values)?.into())
    }
}

/// Returns the strides to read a second input of shape `b` along `a`, or `None` if it does not fit.
///
/// The text does not define the expansion of a dimension of 1. Exporters of that time relied on it, and it is
/// unambiguous.
fn legacy_strides(call: &Call<'_>, a: &[usize], b: &[usize]) -> Result<Option<Vec<isize>>> {
    let Some(spare) = a.len().checked_sub(b.len()) else { return Ok(None) };
    if b.iter().all(|&dim| dim == 1) {
        return Ok(Some(a.iter().map(|_| 0).collect()));
    }
    let from = match call.optional_int("axis") {
        Some(axis) => normalize_axis(axis, a.len())?,
        None => spare,
    };
    let Some(run) = a.get(from..from.saturating_add(b.len())) else { return Ok(None) };
    if run.iter().zip(b).any(|(&a, &b)| a != b && b != 1) {
        return Ok(None);
    }
    let own = strides(b);
    let stride = |axis: usize| match axis.checked_sub(from).map(|index| (b.get(index), own.get(index))) {
        Some((Some(&dim), Some(&stride))) if dim != 1 => stride.cast_signed(),
        _ => 0,
    };
    Ok(Some((0..a.len()).map(stride).collect()))
}
