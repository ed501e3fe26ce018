//! Concat and Split: join and split tensors along an axis.

use std::ops::Range;

use crate::infer::elements::{self, Elements};
use crate::infer::{List, MAX_CONSTANT, NodeView, Shape, Size, axis_of, rules};
use crate::kernels::framework::arguments::dimensions;
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::shape::{around_axis, normalize_axis};
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Concat", 1, |call| concat(call, call.optional_int("axis").unwrap_or(1)))
        .shape(concatenated)
        .with_elements(concatenated_elements),
    Kernel::new("Concat", 4, |call| concat(call, call.int("axis")?))
        .shape(concatenated)
        .with_elements(concatenated_elements),
    Kernel::new("Split", 1, |call| {
        let lengths = call.optional_tensor(1)?.map(|tensor| call.budget.read_indices(tensor)).transpose()?;
        let axis = call.optional_int("axis").unwrap_or(0);
        split(call, axis, &lengths_or_equal(call, axis, lengths.as_deref().or(call.optional_ints("split")))?)
    })
    .shapes_of_all(split_shapes)
    .with_elements(first_part),
    Kernel::new("Split", 2, |call| {
        let axis = call.int("axis")?;
        split(call, axis, &lengths_or_equal(call, axis, call.optional_ints("split"))?)
    })
    .shapes_of_all(split_shapes)
    .with_elements(first_part),
    Kernel::new("Split", 13, |call| {
        let axis = call.int("axis")?;
        let lengths = call.optional_tensor(1)?.map(|tensor| call.budget.read_indices(tensor)).transpose()?;
        split(call, axis, &lengths_or_equal(call, axis, lengths.as_deref())?)
    })
    .shapes_of_all(split_shapes)
    .with_elements(first_part),
    Kernel::new("Split", 18, split_by_input_or_number).shapes_of_all(split_shapes).with_elements(first_part),
];

/// Concat: the entries of each input along an axis, in order.
fn concat(call: &Call<'_>, axis: i64) -> Result {
    let tensors = call.tensors(0)?;
    let rank = tensors.first().map_or(0, |first| first.rank());
    Ok(join(call, &tensors, normalize_axis(axis, rank).rule("C4")?, "C3")?.into())
}

/// Joins tensors along an axis. The other axes must agree, or `rule` is violated.
pub(crate) fn join(call: &Call<'_>, tensors: &[&Tensor], axis: usize, rule: &str) -> Result<Tensor> {
    let first = *tensors.first().ok_or_else(|| invalid("there is nothing to concatenate"))?;
    let mut shape = first.shape().to_vec();
    let mut length = 0_usize;
    for tensor in tensors {
        let other = tensor.shape();
        let agrees = other.len() == shape.len()
            && (0..other.len()).all(|index| index == axis || other.get(index) == shape.get(index));
        if !agrees {
            return Err(broken(rule, format!("shapes {shape:?} and {other:?} differ along another axis than {axis}")));
        }
        length = length.saturating_add(other.get(axis).copied().unwrap_or(0));
    }
    if let Some(size) = shape.get_mut(axis) {
        *size = length;
    }
    let buffer = call.allocate(first.element_type(), &shape)?;
    let (outer, inner) = around_axis(&shape, axis);
    let sizes: Vec<usize> =
        tensors.iter().map(|tensor| tensor.shape().get(axis).copied().unwrap_or(0).saturating_mul(inner)).collect();
    let runs = (0..outer)
        .flat_map(|row| sizes.iter().enumerate().map(move |(which, size)| (which, row * size..(row + 1) * size)));
    Ok(buffer.gather_runs(tensors, runs)?)
}

/// Returns the given lengths, or equal ones, one per output.
fn lengths_or_equal(call: &Call<'_>, axis: i64, lengths: Option<&[i64]>) -> Result<Vec<usize>> {
    if let Some(lengths) = lengths {
        return dimensions(lengths, "split").rule("C4");
    }
    let shape = call.tensor(0)?.shape();
    let size = shape.get(normalize_axis(axis, shape.len())?).copied().unwrap_or(0);
    let count = call.output_count();
    if count == 0 || size % count != 0 {
        return Err(broken("C5", format!("axis {axis} of shape {shape:?} cannot be split into {count} equal parts")));
    }
    Ok(std::iter::repeat_n(size / count, count).collect())
}

/// Split since version 18: by lengths, or into a number of parts. The last part may be smaller.
fn split_by_input_or_number(call: &Call<'_>) -> Result {
    let axis = call.int("axis")?;
    match (call.optional_tensor(1)?, call.optional_int("num_outputs")) {
        (Some(lengths), None) => {
            split(call, axis, &dimensions(&call.budget.read_indices(lengths)?, "split").rule("C4")?)
        }
        (None, Some(number)) => split(call, axis, &parts(call, axis, number)?),
        (Some(_), Some(_)) => {
            Err(broken("C2", "input split and attribute num_outputs are mutually exclusive; omit one"))
        }
        (None, None) => Err(broken("C2", "neither input split nor attribute num_outputs is given; give one")),
    }
}

fn parts(call: &Call<'_>, axis: i64, number: i64) -> Result<Vec<usize>> {
    let shape = call.tensor(0)?.shape();
    let size = shape.get(normalize_axis(axis, shape.len())?).copied().unwrap_or(0);
    let outputs = call.output_count();
    let count = usize::try_from(number)
        .ok()
        .filter(|&count| count == outputs && count > 0)
        .ok_or_else(|| broken("C2", format!("num_outputs is {number}, but the node has {outputs} outputs")))?;
    let part = size.div_ceil(count);
    let last = size.checked_sub(part.saturating_mul(count - 1)).ok_or_else(|| {
        invalid(format!("{size} entries cannot be split into {count} parts where only the last has fewer than {part}"))
    })?;
    Ok(std::iter::repeat_n(part, count - 1).chain([last]).collect())
}

/// Splits into one output per length. Together they cover the axis.
fn split(call: &Call<'_>, axis: i64, lengths: &[usize]) -> Result {
    let data = call.tensor(0)?;
    let axis = normalize_axis(axis, data.rank())?;
    let size = data.shape().get(axis).copied().unwrap_or(0);
    let total = lengths.iter().try_fold(0_usize, |sum, &length| sum.checked_add(length));
    let outputs = call.output_count();
    if total != Some(size) || lengths.len() != outputs {
        return Err(broken(
            "C1",
            format!("lengths {lengths:?} do not split axis {axis} of shape {:?} into {outputs} outputs", data.shape()),
        ));
    }
    let mut from = 0;
    let mut values = Vec::new();
    for (index, length) in lengths.iter().enumerate() {
        let range = from..from + length;
        from = range.end;
        values.push(if call.wants(index) { Some(Value::Tensor(part(call, data, axis, range)?)) } else { None });
    }
    Ok(Outputs(values))
}

/// Returns a range of entries along one axis.
pub(crate) fn part(call: &Call<'_>, data: &Tensor, axis: usize, range: Range<usize>) -> Result<Tensor> {
    let mut shape = data.shape().to_vec();
    let (outer, inner) = around_axis(&shape, axis);
    let size = shape.get(axis).copied().unwrap_or(0);
    if let Some(size) = shape.get_mut(axis) {
        *size = range.len();
    }
    let runs = (0..outer).map(|row| (0, (row * size + range.start) * inner..(row * size + range.end) * inner));
    Ok(call.allocate(data.element_type(), &shape)?.gather_runs(&[data], runs)?)
}

/// The attribute `axis`, which has a default that no signature states before version 4.
fn axis_from(view: &NodeView<'_, '_>, rank: usize, default: i64) -> Option<usize> {
    if view.attributes.is_open("axis") {
        return None;
    }
    axis_of(view.int("axis").unwrap_or(default), Some(rank))
}

/// The sum of the inputs' sizes along the axis.
fn concatenated(view: &NodeView<'_, '_>) -> Option<Shape> {
    let shapes = || view.inputs.iter().map(|input| input.and_then(|fact| fact.shape.as_ref()));
    let mut result = shapes().flatten().next()?.clone();
    let axis = axis_from(view, result.len(), 1);
    let mut length = Dim::Size(0);
    for shape in shapes() {
        let Some(shape) = shape else {
            length = Dim::Unknown;
            continue;
        };
        if shape.len() != result.len() {
            return None;
        }
        for (index, (dim, next)) in result.iter_mut().zip(shape).enumerate() {
            if Some(index) == axis {
                length = length.plus(next);
            } else if axis.is_some() {
                *dim = rules::equal_dim(dim, next)?;
            }
        }
    }
    match axis {
        Some(axis) => *result.get_mut(axis)? = length,
        None if view.attributes.is_open("axis") => return rules::unknown(result.len()),
        None => return None,
    }
    Some(result)
}

/// The elements of all inputs in order.
fn concatenated_elements(view: &NodeView<'_, '_>) -> Option<Elements> {
    let lists = elements::of_all(view)?;
    let is_vector = (0..lists.len()).all(|position| view.rank(position) == Some(1));
    let length = lists.iter().map(Vec::len).sum::<usize>();
    (is_vector && length <= MAX_CONSTANT).then(|| lists.concat())
}

/// The lengths of the outputs: those given, or the size by the number of outputs.
fn part_lengths(view: &NodeView<'_, '_>, size: &Dim) -> Option<Vec<Dim>> {
    let outputs = view.output_count();
    if view.is_given(1) {
        return view.shape_from_elements(1);
    }
    match view.ints("split") {
        List::Given(lengths) => return Some(lengths.into_iter().map(Dim::from_int).collect()),
        List::Unknown => return None,
        List::Absent => {}
    }
    let count = Dim::Size(outputs);
    if view.spec.attributes.contains_key("num_outputs") {
        // All parts but the last have the same length, rounded up.
        let part = size.over_rounded_up(&count);
        let last = size.minus(&part.times(&Dim::Size(outputs.checked_sub(1)?)));
        let mut lengths: Vec<Dim> = rules::repeat_dim(&part, outputs)?;
        *lengths.last_mut()? = last;
        return Some(lengths);
    }
    rules::repeat_dim(&size.over(&count), outputs)
}

/// The input's shape with the length of each part along the axis.
fn split_shapes(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let outputs = view.output_count();
    let Some(shape) = view.shape(0) else { return Vec::new() };
    let Some(axis) = axis_from(view, shape.len(), 0) else {
        return rules::repeat(rules::unknown(shape.len()), outputs);
    };
    let lengths = shape.get(axis).and_then(|size| part_lengths(view, size)).unwrap_or_default();
    let mut shapes = rules::repeat(Some(shape), outputs);
    for (index, shape) in shapes.iter_mut().enumerate() {
        if let Some(size) = shape.as_mut().and_then(|shape| shape.get_mut(axis)) {
            *size = lengths.get(index).cloned().unwrap_or(Dim::Unknown);
        }
    }
    shapes
}

/// The elements of the first part of a vector.
fn first_part(view: &NodeView<'_, '_>) -> Option<Elements> {
    let all: Vec<Option<Size>> = elements::integers(view, 0)?;
    let length = part_lengths(view, &Dim::Size(all.len()))?.first()?.size()?;
    Some(all.get(..length)?.to_vec())
}

#[cfg(test)]
mod tests {
    use crate::tensor::Tensor;
    use crate::testing::{floats, node};
    use crate::value::Value;

    #[test]
    fn only_the_last_of_a_number_of_parts_is_smaller() {
        let split = |size: usize, number: usize| {
            let data = floats(&[size], &vec![0.5; size]);
            let split = node("Split", 18).input(data).set("num_outputs", i64::try_from(number).unwrap());
            split.outputs(number)
        };
        for (size, expected) in [(4, &[2, 2, 0][..]), (6, &[2, 2, 2]), (0, &[0, 0])] {
            let parts = split(size, expected.len()).run().unwrap();
            let lengths: Vec<usize> = parts.iter().filter_map(Value::as_tensor).map(Tensor::len).collect();
            assert_eq!(lengths, expected);
        }
        assert!(split(5, 4).error().contains("only the last"));
    }
}
