//! Any number of tensors to one: Sum, Mean, Max, Min.

use crate::dtype::ElementType;
use crate::kernels::call::{Call, Result};
use crate::kernels::error::invalid;
use crate::kernels::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::index::Walk;
use crate::tensor::shape::broadcast;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Sum", 1, |call| sum(call, Shapes::Same)),
    Kernel::new("Sum", 8, |call| sum(call, Shapes::Broadcast)),
];

/// How the shapes of the inputs may differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shapes {
    /// Not at all: versions below 8.
    Same,
    /// By multidirectional broadcasting.
    Broadcast,
}

/// The inputs and the shape of the output.
fn operands<'a>(call: &Call<'a>, shapes: Shapes) -> Result<(Vec<&'a Tensor>, ElementType, Vec<usize>)> {
    let inputs = call.tensors(0)?;
    let first = call.tensor(0)?;
    let mut shape = first.shape().to_vec();
    for input in &inputs[1..] {
        if shapes == Shapes::Same && input.shape() != shape {
            let since = call.since();
            return Err(invalid(format!(
                "shapes {shape:?} and {:?} differ; version {since} does not broadcast, 8 does",
                input.shape()
            )));
        }
        shape = broadcast(&shape, input.shape())?;
    }
    Ok((inputs, first.element_type(), shape))
}

/// The sum of all inputs, accumulated wide and rounded once.
fn sum(call: &Call<'_>, shapes: Shapes) -> Result {
    let (inputs, element, shape) = operands(call, shapes)?;
    let mut total: Vec<f64> = call.budget.scratch(shape.iter().product())?;
    for input in inputs {
        let values = input.floats();
        for (total, position) in total.iter_mut().zip(Walk::broadcast(input.shape(), &shape)) {
            *total += values[position];
        }
    }
    Ok(call.floats(element, &shape, total)?.into())
}
