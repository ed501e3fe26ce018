//! Accumulation in the element type, term by term.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::kernels::framework::call::{Call, Result};
use onnx_conformance_reference::kernels::framework::registry::Kernel;
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder};
use onnx_conformance_reference::value::Value;

use crate::call::{copy, not_applicable};

/// Summation axis of the first input, counted from the front or the back.
#[derive(Clone, Copy, Debug)]
pub enum Linear {
    /// The operator is linear in the first input and sums over this axis.
    Axis(isize),
    /// The operator may sum over any axis.
    Everything,
}

/// Maximum number of terms times elements of the input; larger calls are left unchanged.
const MAX_WORK: usize = 1 << 25;

/// Runs the kernel with each term rounded to the element type when it is added. The operator is linear in its first input, so a
/// term is its result for that input with all but one slice set to 0. Inputs after the second, such as a bias, are added once.
pub(crate) fn accumulate(linear: Linear, call: &Call<'_>, kernel: &Kernel) -> Result {
    let input = call.tensor(0)?;
    let element = input.element_type();
    let is_narrow = matches!(element, ElementType::Float16 | ElementType::Bfloat16);
    let (length, inner) = match linear {
        Linear::Axis(axis) => {
            let at = if axis < 0 { input.rank().checked_add_signed(axis) } else { usize::try_from(axis).ok() };
            let Some(at) = at.filter(|at| *at < input.rank()) else { return kernel.run(call) };
            (input.shape()[at], input.shape()[at + 1..].iter().product())
        }
        Linear::Everything => (input.len(), 1),
    };
    if !is_narrow || length < 2 || length.saturating_mul(input.len()) > MAX_WORK {
        return kernel.run(call);
    }
    let zero = Tensor::zero(element).map_err(|_| not_applicable())?;
    let mut sum: Option<Tensor> = None;
    for slice in 0..length {
        let places = (0..input.len()).map(|at| if at / inner % length == slice { (0, at) } else { (1, 0) });
        let output = TensorBuilder::unlimited(element, input.shape().to_vec()).map_err(|_| not_applicable())?;
        let part = output.gather_from(&[input, &zero], places).map_err(|_| not_applicable())?;
        let mut inputs = call.inputs.to_vec();
        inputs[0] = Some(Value::Tensor(part));
        if slice > 0 {
            inputs.truncate(2);
        }
        let outputs = kernel.run(&Call { inputs: &inputs, ..copy(call) })?;
        let Some(Some(Value::Tensor(term))) = outputs.0.into_iter().next() else { return kernel.run(call) };
        sum = Some(match sum {
            None => term,
            Some(sum) => {
                let pairs = sum.floats().into_iter().zip(term.floats());
                let values: Vec<f64> = pairs.map(|(a, b)| a + b).collect();
                Tensor::of_floats(element, sum.shape(), &values).map_err(|_| not_applicable())?
            }
        });
    }
    Ok(sum.ok_or_else(not_applicable)?.into())
}
