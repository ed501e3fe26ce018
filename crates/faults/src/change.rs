//! Effect of a fault on a kernel call.

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::kernels::framework::call::{Call, Outputs, Result};
use onnx_conformance_reference::kernels::framework::registry::{self, Kernel};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::tensor::index::StridedIter;
use onnx_conformance_reference::tensor::shape::broadcast;
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder};
use onnx_conformance_reference::value::Value;

use crate::call::{copy, not_applicable};
use crate::linear::{Linear, accumulate};

/// Effect of a fault on a kernel call.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// `output = f(input)` on floating types.
    Unary(fn(f64) -> f64),
    /// `output = f(a, b)` on floating types, with broadcasting.
    Binary(fn(f64, f64) -> f64),
    /// `output = f(input)` on floating types of 16 bits.
    NarrowUnary(fn(f64) -> f64),
    /// The kernel ignores the attribute.
    WithoutAttribute(&'static str),
    /// The kernel ignores the input.
    WithoutInput(usize),
    /// The kernel follows the text of another version.
    AsVersion(u32),
    /// Inputs and outputs of the first type are converted to the second and back.
    Through(ElementType, ElementType),
    /// Floating-point outputs of at most 16 bits are too large by this fraction of their value.
    Larger(f64),
    /// The elements of an output after the last full block of this size repeat the start of that block.
    Tail(usize),
    /// The elements of an output beyond this number repeat the first ones.
    Repeats(usize),
    /// The elements along the last axis beyond this number are read as 0.
    Unseen(usize),
    /// Output positions are truncated to 16 bits.
    LowBits,
    /// A product or sum is accumulated in the element type, if that has 16 bits.
    Accumulates(Linear),
    /// Anything else.
    Custom(fn(&Call<'_>, &Kernel) -> Result),
}

impl Change {
    /// Runs the faulty kernel.
    pub fn run(self, call: &Call<'_>, kernel: &Kernel) -> Result {
        match self {
            Change::Unary(formula) => unary(formula, call, kernel),
            Change::NarrowUnary(formula) if call.tensor(0)?.element_type().bits() == 16 => unary(formula, call, kernel),
            Change::NarrowUnary(_) => kernel.run(call),
            Change::Custom(run) => run(call, kernel),
            Change::Binary(formula) => binary(formula, call, kernel),
            Change::WithoutAttribute(name) => {
                let mut attributes = call.attributes.clone();
                attributes.remove(name);
                kernel.run(&Call { attributes: &attributes, ..copy(call) })
            }
            Change::WithoutInput(at) => {
                let mut inputs = call.inputs.to_vec();
                inputs.iter_mut().skip(at).take(1).for_each(|input| *input = None);
                kernel.run(&Call { inputs: &inputs, ..copy(call) })
            }
            Change::AsVersion(since) => as_version(since, call),
            Change::Through(from, to) => {
                let inputs: Vec<Option<Value>> = call
                    .inputs
                    .iter()
                    .map(|input| each_tensor(input.as_ref(), |tensor| through(tensor, from, to)))
                    .collect();
                let outputs = kernel.run(&Call { inputs: &inputs, ..copy(call) })?;
                Ok(changed(&outputs, |tensor| through(tensor, from, to)))
            }
            Change::Larger(part) => Ok(changed(&kernel.run(call)?, |tensor| {
                let is_narrow = tensor.element_type().is_float() && tensor.element_type().bits() <= 16;
                is_narrow.then(|| mapped(tensor, |value| value * (1.0 + part)))?
            })),
            Change::Tail(block) => Ok(changed(&kernel.run(call)?, |tensor| {
                let full = tensor.len() - tensor.len() % block;
                let place = |at| if at < full { at } else { full - block + at % block };
                if full > 0 { gathered(tensor, place) } else { None }
            })),
            Change::Repeats(max) => {
                Ok(changed(
                    &kernel.run(call)?,
                    |tensor| {
                        if tensor.len() > max { gathered(tensor, |at| at % max) } else { None }
                    },
                ))
            }
            Change::Unseen(max) => {
                let inputs: Vec<Option<Value>> =
                    call.inputs.iter().map(|input| each_tensor(input.as_ref(), |tensor| unseen(tensor, max))).collect();
                kernel.run(&Call { inputs: &inputs, ..copy(call) })
            }
            Change::LowBits => Ok(changed(&kernel.run(call)?, |tensor| {
                let is_position = tensor.element_type() == ElementType::Int64;
                let values: Vec<i128> = is_position.then(|| tensor.integers())?;
                let low: Vec<i128> = values.iter().map(|value| value & 0xFFFF).collect();
                Tensor::of_integers(ElementType::Int64, tensor.shape(), &low).ok()
            })),
            Change::Accumulates(linear) => accumulate(linear, call, kernel),
        }
    }
}

/// Replaces some tensors of the outputs.
fn changed(outputs: &Outputs, change: impl Fn(&Tensor) -> Option<Tensor>) -> Outputs {
    Outputs(outputs.0.iter().map(|output| each_tensor(output.as_ref(), &change)).collect())
}

fn each_tensor(value: Option<&Value>, change: impl Fn(&Tensor) -> Option<Tensor>) -> Option<Value> {
    let tensor = value.and_then(Value::as_tensor);
    tensor.and_then(change).map(Value::Tensor).or_else(|| value.cloned())
}

fn mapped(tensor: &Tensor, change: impl Fn(f64) -> f64) -> Option<Tensor> {
    let values: Vec<f64> = tensor.floats().into_iter().map(change).collect();
    Tensor::of_floats(tensor.element_type(), tensor.shape(), &values).ok()
}

/// Gathers the elements of the tensor from other positions.
fn gathered(tensor: &Tensor, place: impl Fn(usize) -> usize) -> Option<Tensor> {
    let output = TensorBuilder::unlimited(tensor.element_type(), tensor.shape().to_vec()).ok()?;
    output.gather(tensor, (0..tensor.len()).map(place)).ok()
}

#[expect(clippy::cast_possible_truncation, reason = "values out of range saturate")]
fn through(tensor: &Tensor, from: ElementType, to: ElementType) -> Option<Tensor> {
    if tensor.element_type() != from {
        return None;
    }
    let via = |value: f64| to.round(value);
    if from.is_float() {
        return mapped(tensor, via);
    }
    let numbers = tensor.integers();
    let values: Vec<i128> = match to.kind() {
        Kind::Float => numbers.into_iter().map(|number| via(number as f64) as i128).collect(),
        _ => numbers.into_iter().map(|number| to.decode_i128(to.saturate(number))).collect(),
    };
    // A value that was rounded up beyond the type's range is clamped.
    let values: Vec<i128> = values.into_iter().map(|value| from.decode_i128(from.saturate(value))).collect();
    Tensor::of_integers(from, tensor.shape(), &values).ok()
}

/// Replaces all but the first elements of each row by 0.
fn unseen(tensor: &Tensor, max: usize) -> Option<Tensor> {
    let &last = tensor.shape().last()?;
    if last <= max || tensor.element_type() == ElementType::String {
        return None;
    }
    let zero = Tensor::zero(tensor.element_type()).ok()?;
    let places = (0..tensor.len()).map(|at| if at % last < max { (0, at) } else { (1, 0) });
    TensorBuilder::unlimited(tensor.element_type(), tensor.shape().to_vec())
        .ok()?
        .gather_from(&[tensor, &zero], places)
        .ok()
}

fn unary(formula: fn(f64) -> f64, call: &Call<'_>, kernel: &Kernel) -> Result {
    let input = call.tensor(0)?;
    if !input.element_type().is_float() {
        return kernel.run(call);
    }
    Ok(mapped(input, formula).ok_or_else(not_applicable)?.into())
}

fn binary(formula: fn(f64, f64) -> f64, call: &Call<'_>, kernel: &Kernel) -> Result {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let Ok(shape) = broadcast(a.shape(), b.shape()) else { return kernel.run(call) };
    if !a.element_type().is_float() || call.has("axis") || call.has("broadcast") {
        return kernel.run(call);
    }
    let (left, right) = (a.floats(), b.floats());
    let pairs = StridedIter::broadcast(a.shape(), &shape).zip(StridedIter::broadcast(b.shape(), &shape));
    let values: Vec<f64> = pairs.map(|(at, other)| formula(left[at], right[other])).collect();
    Ok(Tensor::of_floats(a.element_type(), &shape, &values).map_err(|_| not_applicable())?.into())
}

fn as_version(since: u32, call: &Call<'_>) -> Result {
    let version = &call.spec.version;
    let spec = Specs::embedded().find(&version.domain, &version.name, since).map_err(|_| not_applicable())?;
    let kernel = registry::find(&spec.version).ok_or_else(not_applicable)?;
    kernel.run(&Call { spec, opset: since.into(), ..copy(call) })
}
