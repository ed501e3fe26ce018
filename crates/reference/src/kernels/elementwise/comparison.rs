//! Booleans: logic, comparisons, tests of floats, and Where, which selects by them.

use crate::dtype::{ElementType, Kind};
use crate::infer::{elements, rules};
use crate::kernels::elementwise::map::Pair;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::Ruled;
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::broadcast;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("And", 1, |call| logic(&Pair::legacy_broadcast(call)?, |a, b| a && b)).shape(rules::elementwise),
    Kernel::new("And", 7, |call| logic(&Pair::broadcast(call).rule("C2")?, |a, b| a && b)).shape(rules::elementwise),
    Kernel::new("Or", 1, |call| logic(&Pair::legacy_broadcast(call)?, |a, b| a || b)).shape(rules::elementwise),
    Kernel::new("Or", 7, |call| logic(&Pair::broadcast(call).rule("C2")?, |a, b| a || b)).shape(rules::elementwise),
    Kernel::new("Xor", 1, |call| logic(&Pair::legacy_broadcast(call)?, |a, b| a != b)).shape(rules::elementwise),
    Kernel::new("Xor", 7, |call| logic(&Pair::broadcast(call).rule("C2")?, |a, b| a != b)).shape(rules::elementwise),
    Kernel::new("Not", 1, not).shape(rules::same),
    Kernel::new("Equal", 1, |call| equal(&Pair::legacy_broadcast(call)?)).shape(rules::elementwise),
    Kernel::new("Equal", 7, |call| equal(&Pair::broadcast(call).rule("C2")?)).shape(rules::elementwise),
    Kernel::new("Less", 1, |call| less(&Pair::legacy_broadcast(call)?)).shape(rules::elementwise),
    Kernel::new("Less", 7, |call| less(&Pair::broadcast(call).rule("C2")?)).shape(rules::elementwise),
    Kernel::new("Greater", 1, |call| greater(&Pair::legacy_broadcast(call)?)).shape(rules::elementwise),
    Kernel::new("Greater", 7, |call| greater(&Pair::broadcast(call).rule("C2")?)).shape(rules::elementwise),
    Kernel::new("LessOrEqual", 12, |call| compare(&Pair::broadcast(call).rule("C1")?, |a, b| a <= b, |a, b| a <= b))
        .shape(rules::elementwise),
    Kernel::new("GreaterOrEqual", 12, |call| compare(&Pair::broadcast(call).rule("C1")?, |a, b| a >= b, |a, b| a >= b))
        .shape(rules::elementwise),
    Kernel::new("IsInf", 10, is_infinite).shape(rules::same),
    Kernel::new("IsNaN", 9, |call| test(call, f64::is_nan)).shape(rules::same),
    Kernel::new("Where", 9, select).shape(rules::broadcast_all).with_elements(elements::selected),
];

fn logic(pair: &Pair<'_, '_>, holds: impl Fn(bool, bool) -> bool) -> Result {
    pair.test(Tensor::bools, holds)
}

fn not(call: &Call<'_>) -> Result {
    let tensor = call.tensor(0)?;
    let values = tensor.stream(Tensor::bools).map(|value| !value);
    Ok(call.allocate(ElementType::Bool, tensor.shape())?.bools(values)?.into())
}

fn less(pair: &Pair<'_, '_>) -> Result {
    compare(pair, |a, b| a < b, |a, b| a < b)
}

fn greater(pair: &Pair<'_, '_>) -> Result {
    compare(pair, |a, b| a > b, |a, b| a > b)
}

#[expect(clippy::float_cmp, reason = "the operator asks for exact equality")]
fn equal(pair: &Pair<'_, '_>) -> Result {
    match pair.element().kind() {
        Kind::String => pair.test_strings(|a, b| a == b),
        _ => compare(pair, |a, b| a == b, |a, b| a == b),
    }
}

/// Compares floats as floats, and integers and bools as integers.
fn compare(pair: &Pair<'_, '_>, float: fn(f64, f64) -> bool, integer: fn(i128, i128) -> bool) -> Result {
    if pair.element().is_float() { pair.test(Tensor::floats, float) } else { pair.test(Tensor::integers, integer) }
}

fn is_infinite(call: &Call<'_>) -> Result {
    let (negative, positive) = (call.flag("detect_negative")?, call.flag("detect_positive")?);
    test(call, |value| value == f64::INFINITY && positive || value == f64::NEG_INFINITY && negative)
}

fn test(call: &Call<'_>, holds: impl Fn(f64) -> bool) -> Result {
    let tensor = call.tensor(0)?;
    let values = tensor.stream(Tensor::floats).map(holds);
    Ok(call.allocate(ElementType::Bool, tensor.shape())?.bools(values)?.into())
}

/// `Where`: the element of X if the condition is true, else of Y. All three broadcast.
fn select(call: &Call<'_>) -> Result {
    let (condition, x, y) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let shape = broadcast(&broadcast(condition.shape(), x.shape()).rule("C1")?, y.shape()).rule("C1")?;
    let walk = |shape_of: &[usize]| StridedIter::broadcast(shape_of, &shape);
    let positions = walk(condition.shape())
        .zip(walk(x.shape()).zip(walk(y.shape())))
        .map(|(index, (x, y))| if condition.bits_at(index) != 0 { (0, x) } else { (1, y) });
    Ok(call.allocate(x.element_type(), &shape)?.gather_from(&[x, y], positions)?.into())
}
