//! Tensors created from attributes and counts: Constant, `ConstantOfShape`, `EyeLike`, Range.

use crate::dtype::ElementType;
use crate::kernels::framework::arguments::dimensions;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::framework::sparse::densify;
use crate::model::Attribute;
use crate::tensor::Tensor;
use crate::types::ValueType;
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Constant", 1, constant),
    Kernel::new("ConstantOfShape", 9, constant_of_shape),
    Kernel::new("EyeLike", 9, eye_like),
    Kernel::new("Range", 11, |call| range(call, call.tensor(0)?.element_type())),
    Kernel::new("Range", 27, |call| range(call, stash_type(call)?)),
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
    let element = call.element_type("dtype")?.unwrap_or(input.element_type());
    call.check_output_type(0, &ValueType::Tensor(element))?;
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
    let steps = libm::ceil(in_type(in_type(limit - start) / delta));
    if steps.is_nan() || delta == 0.0 || steps >= usize::MAX as f64 {
        return Err(refuse());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in the range")]
    let steps = steps.max(0.0) as usize;
    Ok(call.floats(element, &[steps], (0..steps).map(|i| in_type(start + i as f64 * delta)))?.into())
}

/// Returns the distance divided by the step, rounded up, and at least 0.
fn integer_steps(distance: i128, delta: i128) -> Option<usize> {
    let floor = distance.checked_div_euclid(delta)?;
    let exact = distance.checked_rem_euclid(delta)? == 0;
    // Euclidean division rounds down for a positive divisor and up for a negative one.
    let steps = if exact || delta < 0 { floor } else { floor + 1 };
    usize::try_from(steps.max(0)).ok()
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
