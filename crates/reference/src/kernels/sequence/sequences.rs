//! Lists of tensors: the Sequence operators, `SplitToSequence`, `ConcatFromSequence`.

use crate::dtype::ElementType;
use crate::infer::{NodeView, rules};
use crate::kernels::framework::arguments::{dimensions, index, single};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{KernelError, Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::movement::concat_split::{join, part};
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;
use crate::types::ValueType;
use crate::value::{Sequence, Value};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("SequenceAt", 11, sequence_at).shape(rules::not_inferred).typed(|view, _| rules::item_type(view)),
    Kernel::new("SequenceConstruct", 11, construct).shape(rules::not_inferred).typed(sequence_of_input),
    Kernel::new("SequenceEmpty", 11, empty).shape(rules::not_inferred).typed(sequence_of_attribute),
    Kernel::new("SequenceErase", 11, erase).shape(rules::not_inferred),
    Kernel::new("SequenceInsert", 11, insert).shape(rules::not_inferred),
    Kernel::new("SequenceLength", 11, length).shape(rules::scalar),
    Kernel::new("SplitToSequence", 11, split_to_sequence).shape(rules::not_inferred).typed(sequence_of_input),
    Kernel::new("ConcatFromSequence", 11, concat_from_sequence)
        .shape(rules::not_inferred)
        .typed(|view, _| rules::item_type(view)),
];

/// Returns the position input, if given. It is a scalar, but upstream's own cases also use one axis.
fn position(call: &Call<'_>, input: usize) -> Result<Option<i64>> {
    call.optional_tensor(input)?.map(|tensor| single(tensor, "position")).transpose()
}

/// `SequenceAt`: the item at a position.
fn sequence_at(call: &Call<'_>) -> Result {
    let items = &call.sequence(0)?.items;
    let place = index(position(call, 1).rule("C3")?.unwrap_or(-1), items.len()).rule("C2")?;
    let item = items.get(place).ok_or_else(|| invalid(format!("there is no item {place}")))?;
    Ok(item.clone().into())
}

/// `SequenceConstruct`: the inputs as a sequence.
fn construct(call: &Call<'_>) -> Result {
    let element = call.tensor(0)?.element_type();
    let items = call.tensors(0)?.into_iter().cloned().map(Value::Tensor).collect();
    Ok(sequence(element, items).into())
}

fn sequence(element: ElementType, items: Vec<Value>) -> Value {
    Value::Sequence(Sequence::new(ValueType::Tensor(element), items))
}

/// `SequenceEmpty`: a sequence without items.
fn empty(call: &Call<'_>) -> Result {
    let sequence = sequence(call.element_type("dtype")?.unwrap_or(ElementType::Float), Vec::new());
    call.check_output_type(0, &sequence.value_type())?;
    Ok(sequence.into())
}

/// `SequenceErase`: the sequence without the item at a position, by default the last.
fn erase(call: &Call<'_>) -> Result {
    let sequence = call.sequence(0)?;
    let place = index(position(call, 1).rule("C4")?.unwrap_or(-1), sequence.items.len()).rule("C3")?;
    let mut items = sequence.items.to_vec();
    items.remove(place);
    Ok(Value::Sequence(Sequence::new(sequence.item_type.clone(), items)).into())
}

/// `SequenceInsert`: the sequence with a tensor before the item at a position, by default at the end.
fn insert(call: &Call<'_>) -> Result {
    let (sequence, tensor) = (call.sequence(0)?, call.value(1)?);
    if tensor.value_type() != sequence.item_type {
        return Err(broken("C4", format!("{tensor} does not have the type of the items, {}", sequence.item_type)));
    }
    let count = sequence.items.len();
    let place = match position(call, 2).rule("C5")? {
        None => count,
        Some(position) if usize::try_from(position) == Ok(count) => count,
        Some(position) => index(position, count).rule("C3")?,
    };
    let mut items = sequence.items.to_vec();
    items.insert(place, tensor.clone());
    Ok(Value::Sequence(Sequence::new(sequence.item_type.clone(), items)).into())
}

/// `SequenceLength`: the number of items, as a scalar.
fn length(call: &Call<'_>) -> Result {
    Ok(call.integers(ElementType::Int64, &[], [call.sequence(0)?.items.len() as i128])?.into())
}

/// `SplitToSequence`: parts of a tensor along an axis, of equal length, of given lengths, or single entries.
fn split_to_sequence(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let axis = normalize_axis(call.int("axis")?, data.rank()).rule("C5")?;
    let size = data.shape().get(axis).copied().unwrap_or(0);
    let split = call.optional_tensor(1)?;
    let lengths = match split {
        None => equal_lengths(call, size, 1)?,
        Some(split) => {
            let lengths = dimensions(&call.budget.read_indices(split)?, "split").rule("C6")?;
            match (split.rank(), lengths.as_slice()) {
                (0, &[length]) if length > 0 => equal_lengths(call, size, length)?,
                (1, lengths) if total(lengths) == Some(size) => lengths.to_vec(),
                (rank, _) => {
                    let (rule, shape) = (if rank == 0 { "C6" } else { "C2" }, data.shape());
                    return Err(broken(rule, format!("{split:?} does not split axis {axis} of shape {shape:?}")));
                }
            }
        }
    };
    let keeps_axis = split.is_some() || call.flag("keepdims")?;
    let mut from = 0;
    let mut items = Vec::new();
    for length in lengths {
        let item = part(call, data, axis, from..from + length)?;
        from += length;
        items.push(Value::Tensor(if keeps_axis { item } else { without_axis(&item, axis)? }));
    }
    Ok(sequence(data.element_type(), items).into())
}

fn total(lengths: &[usize]) -> Option<usize> {
    lengths.iter().try_fold(0_usize, |sum, &length| sum.checked_add(length))
}

/// Returns equal lengths that cover `size`. Only the last may be smaller.
fn equal_lengths(call: &Call<'_>, size: usize, length: usize) -> Result<Vec<usize>> {
    let count = size.div_ceil(length);
    let max = call.budget.limits().trips;
    if count as u64 > max {
        return Err(KernelError::Limit(format!("a sequence of {count} items is over the limit of {max}")));
    }
    let mut lengths: Vec<usize> = call.budget.scratch(count)?;
    lengths.fill(length);
    match lengths.last_mut() {
        Some(last) if !size.is_multiple_of(length) => *last = size % length,
        _ => {}
    }
    Ok(lengths)
}

fn without_axis(tensor: &Tensor, axis: usize) -> Result<Tensor> {
    let mut shape = tensor.shape().to_vec();
    shape.remove(axis);
    Ok(tensor.with_shape(shape)?)
}

/// `ConcatFromSequence`: the items concatenated along an axis, or stacked along a new one.
fn concat_from_sequence(call: &Call<'_>) -> Result {
    let items = &call.sequence(0)?.items;
    let tensors: Vec<&Tensor> = items.iter().filter_map(Value::as_tensor).collect();
    let rank = tensors.first().map_or(0, |first| first.rank());
    let axis = call.int("axis")?;
    if !call.flag("new_axis")? {
        let axis = if tensors.is_empty() { 0 } else { normalize_axis(axis, rank).rule("C3")? };
        return Ok(join(call, &tensors, axis, "C2")?.into());
    }
    let axis = normalize_axis(axis, rank + 1).rule("C3")?;
    let with_axis = |tensor: &&Tensor| {
        let mut shape = tensor.shape().to_vec();
        shape.insert(axis.min(shape.len()), 1);
        Ok(tensor.with_shape(shape)?)
    };
    let stacked = tensors.iter().map(with_axis).collect::<Result<Vec<Tensor>>>()?;
    Ok(join(call, &stacked.iter().collect::<Vec<_>>(), axis, "C2")?.into())
}

/// A sequence of the type of the first input.
fn sequence_of_input(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    Some(ValueType::Sequence(Box::new(view.value_type(0)?.clone())))
}

/// A sequence of tensors of the type that `dtype` gives, by default `float`.
fn sequence_of_attribute(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    let default = Some(ValueType::Tensor(ElementType::Float));
    Some(ValueType::Sequence(Box::new(rules::named_type(view, "dtype", default)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, ints, node};

    /// Returns a sequence of the scalars 0, 1, and so on.
    fn numbers(count: u8) -> Value {
        let item = |value: u8| Value::Tensor(floats(&[], &[f64::from(value)]));
        sequence(ElementType::Float, (0..count).map(item).collect())
    }

    #[test]
    fn the_error_names_the_valid_positions() {
        let index = node("SequenceAt", 11).input(numbers(3)).input(ints(&[], &[3]));
        assert!(index.error().contains("[-3, 3 - 1]"));
    }

    #[test]
    fn an_empty_sequence_has_no_last_item_to_erase() {
        assert!(node("SequenceErase", 11).input(numbers(0)).error().contains("index -1"));
    }

    #[test]
    fn an_empty_sequence_has_a_type_that_the_version_allows() {
        assert!(node("SequenceEmpty", 11).set("dtype", 16).error().contains("seq(tensor(bfloat16))"));
    }

    #[test]
    fn lengths_in_a_matrix_and_endless_parts_are_refused() {
        let matrix = node("SplitToSequence", 11).input(floats(&[3], &[0.0; 3])).input(ints(&[1, 1], &[3]));
        assert!(matrix.error().contains("does not split"));
        let endless = node("SplitToSequence", 11).input(floats(&[1 << 40, 0], &[]));
        assert!(endless.error().contains("over the limit"));
    }

    #[test]
    fn an_empty_sequence_becomes_no_tensor() {
        let missing = node("ConcatFromSequence", 11).input(numbers(0)).set("axis", 0);
        assert!(missing.error().contains("nothing to concatenate"));
    }
}
