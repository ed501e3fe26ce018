//! Tensors created from attributes and counts: Constant, `ConstantOfShape`, `EyeLike`, Range.

use crate::dtype::ElementType;
use crate::infer::elements::{self, Elements};
use crate::infer::{MAX_CONSTANT, NodeView, Shape, Size, rules, tensor_fact};
use crate::kernels::framework::arguments::{dimensions, one_dimensional};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::framework::sparse::densify;
use crate::model::Attribute;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::types::ValueType;
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Constant", 1, constant).shape(constant_shape).with_elements(constant_elements).typed(constant_type),
    Kernel::new("ConstantOfShape", 9, constant_of_shape)
        .shape(|view| view.shape_from_elements(0))
        .with_elements(filled_elements)
        .typed(filled_type),
    Kernel::new("EyeLike", 9, eye_like)
        .shape(square)
        .typed(|view, _| rules::named_type(view, "dtype", view.value_type(0).cloned())),
    Kernel::new("Range", 11, |call| range(call, call.tensor(0)?.element_type()))
        .shape(range_shape)
        .with_elements(range_elements),
    Kernel::new("Range", 27, |call| range(call, stash_type(call)?)).shape(range_shape).with_elements(range_elements),
];

/// Constant: the value of the one attribute that is set.
fn constant(call: &Call<'_>) -> Result {
    let mut set = call.attributes.values();
    let (Some(value), None) = (set.next(), set.next()) else {
        let names: Vec<&str> = call.attributes.keys().map(String::as_str).collect();
        return Err(broken(
            "C1",
            format!("exactly one of the attributes that hold the value must be set, not {names:?}"),
        ));
    };
    let float = ElementType::Float;
    let int = ElementType::Int64;
    let text = |shape: &[usize], values: &[std::sync::Arc<str>]| {
        Ok(call.allocate(ElementType::String, shape)?.strings(values.iter().cloned())?)
    };
    let tensor = match value {
        Attribute::Tensor(Value::Tensor(tensor)) => Ok(tensor.clone()),
        Attribute::SparseTensor(Value::Sparse(sparse)) | Attribute::Tensor(Value::Sparse(sparse)) => {
            densify(sparse, call.budget)
        }
        Attribute::Float(value) => call.floats(float, &[], [f64::from(*value)]),
        Attribute::Floats(values) => call.floats(float, &[values.len()], values.iter().copied().map(f64::from)),
        Attribute::Int(value) => call.integers(int, &[], [i128::from(*value)]),
        Attribute::Ints(values) => call.integers(int, &[values.len()], values.iter().copied().map(i128::from)),
        Attribute::String(value) => text(&[], std::slice::from_ref(value)),
        Attribute::Strings(values) => text(&[values.len()], values),
        other => Err(invalid(format!("an attribute of type {:?} cannot hold a constant", other.attribute_type()))),
    }?;
    call.check_output_type(0, &ValueType::Tensor(tensor.element_type()))?;
    Ok(tensor.into())
}

/// `ConstantOfShape`: a tensor of the given shape, filled with one value (by default the float 0).
fn constant_of_shape(call: &Call<'_>) -> Result {
    one_dimensional(call.tensor(0)?, "the shape").rule("C5")?;
    let shape = dimensions(&call.budget.read_indices(call.tensor(0)?)?, "the shape").rule("C3")?;
    let value = call.tensor_attribute("value").cloned().map_or_else(|| Tensor::zero(ElementType::Float), Ok)?;
    if value.len() != 1 {
        return Err(broken("C4", format!("attribute value has shape {:?}, but must have one element", value.shape())));
    }
    call.check_output_type(0, &ValueType::Tensor(value.element_type()))?;
    Ok(call.allocate(value.element_type(), &shape)?.repeat(&value)?.into())
}

/// `EyeLike`: `out[i][j] = 1` if `j == i + k`, else 0.
fn eye_like(call: &Call<'_>) -> Result {
    let input = call.tensor(0)?;
    let &[rows, columns] = input.shape() else {
        return Err(broken("C3", format!("shape {:?} is not that of a matrix", input.shape())));
    };
    let element = call.element_type("dtype").rule("C4")?.unwrap_or(input.element_type());
    call.check_output_type(0, &ValueType::Tensor(element)).rule("C4")?;
    let k = i128::from(call.int("k")?);
    let buffer = call.allocate(element, &[rows, columns])?;
    let ones = (0..buffer.len()).map(|index| (index % columns) as i128 - (index / columns) as i128 == k);
    Ok(buffer.bools(ones)?.into())
}

/// Returns the type in which Range computes since version 27: for float16 and bfloat16 the type given by `stash_type`.
fn stash_type(call: &Call<'_>) -> Result<ElementType> {
    let element = call.tensor(0)?.element_type();
    if !matches!(element, ElementType::Float16 | ElementType::Bfloat16) {
        return Ok(element);
    }
    match call.element_type("stash_type")? {
        Some(stash) if stash.is_float() => Ok(stash),
        other => Err(invalid(format!("attribute stash_type is {other:?}, but must be a floating-point type"))),
    }
}

/// Range: `out[i] = start + i * delta`, for each `i` with a value before `limit`. The count is computed in `compute`,
/// which is the input's type or the type that it is cast to.
fn range(call: &Call<'_>, compute: ElementType) -> Result {
    let operands = [call.tensor(0)?, call.tensor(1)?, call.tensor(2)?];
    let element = operands[0].element_type();
    let refuse = || {
        broken(
            "C4",
            format!(
                "start {:?}, limit {:?} and delta {:?} do not define a length",
                operands[0], operands[1], operands[2]
            ),
        )
    };
    if element.is_integer() {
        let [Some(start), Some(limit), Some(delta)] = operands.map(Tensor::single_integer) else {
            return Err(refuse());
        };
        let steps = integer_steps(limit - start, delta).ok_or_else(refuse)?;
        return Ok(call.integers(element, &[steps], (0..steps).map(|i| start + i as i128 * delta))?.into());
    }
    let [Some(start), Some(limit), Some(delta)] = operands.map(Tensor::single_float) else {
        return Err(refuse());
    };
    let in_type = |value: f64| compute.round(value);
    let steps = float_steps(compute, [start, limit, delta]).ok_or_else(refuse)?;
    Ok(call.floats(element, &[steps], (0..steps).map(|i| in_type(start + i as f64 * delta)))?.into())
}

/// Returns the number of steps of a type from the start to the limit, rounded up, and at least 0.
fn float_steps(compute: ElementType, [start, limit, delta]: [f64; 3]) -> Option<usize> {
    let steps = libm::ceil(compute.round(compute.round(limit - start) / delta));
    if steps.is_nan() || delta == 0.0 || steps >= usize::MAX as f64 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in the range")]
    Some(steps.max(0.0) as usize)
}

/// Returns the distance divided by the step, rounded up, and at least 0.
fn integer_steps(distance: i128, delta: i128) -> Option<usize> {
    let floor = distance.checked_div_euclid(delta)?;
    let exact = distance.checked_rem_euclid(delta)? == 0;
    // Euclidean division rounds down for a positive divisor and up for a negative one.
    let steps = if exact || delta < 0 { floor } else { floor + 1 };
    usize::try_from(steps.max(0)).ok()
}

/// True if the node refers to an attribute of the caller that is unknown: any of them may hold the value.
fn is_open(view: &NodeView<'_, '_>) -> bool {
    view.attributes.any_open()
}

/// The shape of the value: of its tensor, of a list, or of a scalar.
fn constant_shape(view: &NodeView<'_, '_>) -> Option<Shape> {
    let attributes = view.attributes;
    if is_open(view) {
        return None;
    }
    if let Some(tensor) = attributes.tensor("value") {
        return tensor.dims.iter().map(|&dim| Some(Dim::Size(usize::try_from(dim).ok()?))).collect();
    }
    if let Some(sparse) = attributes.get("sparse_value") {
        let dims = &sparse.sparse_tensor.as_deref()?.dims;
        return dims.iter().map(|&dim| Some(Dim::Size(usize::try_from(dim).ok()?))).collect();
    }
    if ["value_float", "value_int", "value_string"].iter().any(|name| attributes.has(name)) {
        return Some(Vec::new());
    }
    let length = if let Some(list) = attributes.get("value_ints") {
        list.ints.len()
    } else if let Some(list) = attributes.get("value_floats") {
        list.floats.len()
    } else {
        attributes.get("value_strings")?.strings.len()
    };
    Some(vec![Dim::Size(length)])
}

/// The elements of an integer value.
fn constant_elements(view: &NodeView<'_, '_>) -> Option<Elements> {
    let attributes = view.attributes;
    let numbers = if is_open(view) {
        return None;
    } else if let Some(value) = attributes.int("value_int") {
        vec![value]
    } else if let Some(list) = attributes.get("value_ints") {
        list.ints.clone()
    } else {
        let fact = tensor_fact(attributes.tensor("value")?);
        elements::numbers(&fact).filter(|_| fact.rank().is_some_and(|rank| rank <= 1))?
    };
    Some(numbers.into_iter().map(|value| Some(Size::constant(value))).collect())
}

/// The type of the value, by the attribute that holds it.
fn constant_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    let attributes = view.attributes;
    let has = |names: [&str; 2]| names.iter().any(|name| attributes.has(name));
    let element = if let Some(value) = attributes.tensor("value") {
        ElementType::from_code(value.data_type())?
    } else if let Some(sparse) = attributes.get("sparse_value") {
        ElementType::from_code(sparse.sparse_tensor.as_deref()?.values.as_ref()?.data_type())?
    } else if has(["value_float", "value_floats"]) {
        ElementType::Float
    } else if has(["value_int", "value_ints"]) {
        ElementType::Int64
    } else if has(["value_string", "value_strings"]) {
        ElementType::String
    } else {
        return None;
    };
    Some(ValueType::Tensor(element))
}

/// The type of the attribute `value`, by default `float`.
fn filled_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    if view.attributes.is_open("value") {
        return None;
    }
    let element = match view.attributes.tensor("value") {
        Some(value) => ElementType::from_code(value.data_type())?,
        None => ElementType::Float,
    };
    Some(ValueType::Tensor(element))
}

/// The integer of the attribute `value`, as often as a vector of known length has elements.
fn filled_elements(view: &NodeView<'_, '_>) -> Option<Elements> {
    let [value] = elements::numbers(&tensor_fact(view.attributes.tensor("value")?))?.try_into().ok()?;
    let length = match view.shape_from_elements(0)?.as_slice() {
        [] => 1,
        [length] => length.size().filter(|length| *length <= MAX_CONSTANT)?,
        _ => return None,
    };
    // bounded: by MAX_CONSTANT.
    Some(std::iter::repeat_n(Some(Size::constant(value)), length).collect())
}

/// The shape of the input, a matrix.
fn square(view: &NodeView<'_, '_>) -> Option<Shape> {
    view.shape(0).or_else(|| rules::unknown(2))
}

/// The length: `max(ceil((limit - start) / delta), 0)`.
#[expect(clippy::unnecessary_wraps, reason = "a rule of the kernel table")]
fn range_shape(view: &NodeView<'_, '_>) -> Option<Shape> {
    Some(vec![integer_range(view).or_else(|| float_range(view)).unwrap_or(Dim::Unknown)])
}

/// One element of each operand of an integer range.
fn range_operands(view: &NodeView<'_, '_>) -> Option<[Size; 3]> {
    let one = |position: usize| match <[Option<Size>; 1]>::try_from(elements::integers(view, position)?) {
        Ok([size]) => size,
        Err(_) => None,
    };
    Some([one(0)?, one(1)?, one(2)?])
}

fn integer_range(view: &NodeView<'_, '_>) -> Option<Dim> {
    let [start, limit, delta] = range_operands(view)?;
    let delta = delta.value()?;
    if let (Some(start), Some(limit)) = (start.value(), limit.value()) {
        return integer_steps(i128::from(limit) - i128::from(start), i128::from(delta)).map(Dim::Size);
    }
    let distance = if delta < 0 { start.minus(&limit)? } else { limit.minus(&start)? };
    let step = Size::constant(delta.checked_abs().filter(|step| *step > 0)?);
    Some(rules::not_below_zero(distance)?.over_rounded_up(&Size::dim(step)))
}

fn float_range(view: &NodeView<'_, '_>) -> Option<Dim> {
    let operand = |position: usize| view.input(position)?.constant.as_ref()?.as_tensor();
    let operands = [operand(0)?, operand(1)?, operand(2)?];
    let element = operands.first()?.element_type();
    if !element.is_float() {
        let [start, limit, delta] = operands.map(Tensor::single_integer);
        return integer_steps(limit?.checked_sub(start?)?, delta?).map(Dim::Size);
    }
    let compute = match element {
        ElementType::Float16 | ElementType::Bfloat16 if view.since() >= 27 => {
            let code = i32::try_from(view.int("stash_type")?).ok()?;
            ElementType::from_code(code).filter(|stash| stash.is_float())?
        }
        element => element,
    };
    let [start, limit, delta] = operands.map(Tensor::single_float);
    float_steps(compute, [start?, limit?, delta?]).map(Dim::Size)
}

/// The elements `start + i * delta` of an integer range of known length.
fn range_elements(view: &NodeView<'_, '_>) -> Option<Elements> {
    let [start, _, delta] = range_operands(view)?;
    let length = integer_range(view)?.size().filter(|length| *length <= MAX_CONSTANT)?;
    let element = |index: usize| start.plus(&delta.times(&Size::constant(i64::try_from(index).ok()?))?);
    // bounded: by MAX_CONSTANT.
    Some((0..length).map(element).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, ints, node, strings, typed};

    #[test]
    fn output_types_of_other_versions_are_refused() {
        let text = node("Constant", 1).set("value", strings(&[], &["a"])).error();
        assert!(text.contains("no output of type tensor(string)"), "{text}");
        let filled = node("ConstantOfShape", 25).input(ints(&[1], &[1])).set("value", strings(&[1], &["a"]));
        assert!(filled.error().contains("tensor(string)"));
        assert!(node("EyeLike", 22).input(ints(&[1, 1], &[5])).set("dtype", 8).error().contains("tensor(string)"));
    }

    #[test]
    fn a_diagonal_may_lie_beyond_all_sizes() {
        let eye = node("EyeLike", 9).input(ints(&[2, 3], &[0; 6])).set("k", i64::MIN).tensor();
        assert_eq!(eye.floats(), [0.0; 6]);
    }

    fn ranged(opset: i64, element: ElementType, [start, limit, delta]: [f64; 3]) -> Vec<f64> {
        let scalar = |value| typed(element, &[], &[value]);
        node("Range", opset).input(scalar(start)).input(scalar(limit)).input(scalar(delta)).tensor().floats()
    }

    #[test]
    fn the_count_is_computed_in_the_type_of_the_inputs() {
        // In double, 1.2 / 0.4 is 2.9999999999999996.
        assert_eq!(ranged(11, ElementType::Double, [0.0, 1.2, 0.4]).len(), 3);
        // float16 rounds the limit 2049 to 2048. With stash_type float, the default, that is 2048 steps of 1.
        assert_eq!(ranged(27, ElementType::Float16, [0.0, 2049.0, 1.0]).len(), 2048);
    }

    #[test]
    fn integer_ranges_are_exact_at_the_ends() {
        let long = |values: [i64; 3]| {
            let [start, limit, delta] = values.map(|value| ints(&[], &[value]));
            node("Range", 11).input(start).input(limit).input(delta)
        };
        let ends = long([i64::MIN, i64::MAX, i64::MAX]).tensor().indices();
        assert_eq!(ends, [i64::MIN, -1, i64::MAX - 1]);
        assert_eq!(long([i64::MAX, i64::MIN, i64::MIN]).tensor().indices(), [i64::MAX, -1]);
        assert!(long([0, i64::MAX, 1]).error().contains("limit"));
    }

    #[test]
    fn float_ranges_without_a_count_are_refused() {
        for operands in [[0.0, f64::INFINITY, 1.0], [0.0, f64::NAN, 1.0]] {
            let scalars = operands.map(|value| floats(&[], &[value]));
            let [start, limit, delta] = scalars;
            let refused = node("Range", 11).input(start).input(limit).input(delta).run();
            assert!(refused.is_err(), "{operands:?}");
        }
    }
}
