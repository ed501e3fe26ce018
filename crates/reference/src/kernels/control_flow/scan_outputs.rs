//! Scan outputs: results of the bodies of Loop and Scan, joined along an axis, and the slices that Scan reads.

use crate::dtype::ElementType;
use crate::kernels::framework::call::Call;
use crate::kernels::framework::error::{KernelError, invalid};
use crate::model::{Dim, Parameter};
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;
use crate::types::ValueType;
use crate::value::Value;

/// Returns the slice of `source` at `index` along `axis`, without that axis.
pub(super) fn slice(call: &Call<'_>, source: &Tensor, axis: usize, index: usize) -> Result<Tensor, KernelError> {
    let (before, from) = source.shape().split_at(axis.min(source.rank()));
    let Some((&size, after)) = from.split_first() else {
        return Err(invalid(format!("a tensor of shape {:?} has no axis {axis} to scan", source.shape())));
    };
    let shape = [before, after].concat();
    let (outer, inner) = extents(source, before, after);
    let positions = (0..outer).flat_map(|at| {
        let start = (at * size + index) * inner;
        start..start + inner
    });
    call.gather(source, &shape, positions)
}

/// Returns the numbers of elements before and after an axis: zero for an empty tensor, whose other sizes may overflow.
fn extents(tensor: &Tensor, before: &[usize], after: &[usize]) -> (usize, usize) {
    match tensor.len() {
        0 => (0, 0),
        _ => (before.iter().product(), after.iter().product()),
    }
}

/// Values of one body output, one per iteration, to be joined along a new axis.
pub(super) struct ScanOutputs<'a> {
    /// Output of the body. Its type is used if there are no iterations.
    declared: &'a Parameter,
    parts: Vec<Tensor>,
}

impl<'a> ScanOutputs<'a> {
    /// Returns an empty stack for an output of a body.
    pub(super) fn new(declared: &'a Parameter) -> ScanOutputs<'a> {
        ScanOutputs { declared, parts: Vec::new() }
    }

    /// Adds the value of one iteration. It must be a tensor of the same type and shape as the previous ones.
    pub(super) fn push(&mut self, value: Value) -> Result<(), KernelError> {
        let name = &self.declared.name;
        let Value::Tensor(part) = value else {
            return Err(invalid(format!("scan output '{name}' of the body is {value}; only tensors can be stacked")));
        };
        if let Some(first) = self.parts.first()
            && (first.element_type(), first.shape()) != (part.element_type(), part.shape())
        {
            let (first, part) = (Value::from(first.clone()), Value::from(part));
            return Err(invalid(format!(
                "scan output '{name}' of the body was {first} in the first iteration and {part} in a later one"
            )));
        }
        self.parts.push(part);
        Ok(())
    }

    /// Reverses the order of the iterations.
    pub(super) fn reverse(&mut self) {
        self.parts.reverse();
    }

    /// Joins all values along a new axis. A negative axis counts from the back of the result.
    pub(super) fn join(self, call: &Call<'_>, axis: i64) -> Result<Tensor, KernelError> {
        let count = self.parts.len();
        self.padded(call, axis, count)
    }

    /// Joins all values and pads with zeros, or empty strings, up to `length`.
    pub(super) fn padded(self, call: &Call<'_>, axis: i64, length: usize) -> Result<Tensor, KernelError> {
        let Some(first) = self.parts.first() else { return self.without_iterations(call, axis, length) };
        let element = first.element_type();
        let axis = normalize_axis(axis, first.rank() + 1)?;
        let (before, after) = first.shape().split_at(axis.min(first.rank()));
        let shape = [before, &[length], after].concat();
        let (outer, inner) = extents(first, before, after);
        let zero = one_zero(element)?;
        let mut sources: Vec<&Tensor> = self.parts.iter().collect();
        let count = sources.len();
        sources.push(&zero);
        let place = |outer: usize, trip: usize, inside: usize| {
            if trip < count { (trip, outer * inner + inside) } else { (count, 0) }
        };
        let places = (0..outer)
            .flat_map(|o| (0..length).flat_map(move |trip| (0..inner).map(move |inside| place(o, trip, inside))));
        Ok(call.allocate(element, &shape)?.gather_from(&sources, places)?)
    }

    /// Returns the result of zero iterations: the declared type and sizes, with 0 for each undeclared size.
    fn without_iterations(&self, call: &Call<'_>, axis: i64, length: usize) -> Result<Tensor, KernelError> {
        let name = &self.declared.name;
        let Some(ValueType::Tensor(element)) = self.declared.value_type else {
            return Err(invalid(format!(
                "there was no iteration, so the body must declare scan output '{name}' as a tensor"
            )));
        };
        let size = |dim: &Dim| match dim {
            Dim::Size(size) => *size,
            Dim::Name(_) | Dim::Sum(_) | Dim::Unknown => 0,
        };
        let mut shape: Vec<usize> = self.declared.shape.iter().flatten().map(size).collect();
        shape.insert(normalize_axis(axis, shape.len() + 1)?, length);
        let buffer = call.allocate(element, &shape)?;
        let places = (0..buffer.len()).map(|_| 0);
        Ok(buffer.gather(&one_zero(element)?, places)?)
    }
}

/// Returns one zero, or one empty string.
fn one_zero(element: ElementType) -> Result<Tensor, KernelError> {
    Ok(match element {
        ElementType::String => Tensor::of_strings(&[1], &[""])?,
        _ => Tensor::of_integers(element, &[1], &[0])?,
    })
}
