//! Rules for the elements of integer scalars and vectors, such as the arithmetic of shapes.

use crate::dtype::ElementType;
use crate::infer::{MAX_CONSTANT, NodeView, Shape, Size, ValueFact, rules};
use crate::types::ValueType;

/// Elements of a scalar or vector, as far as they are known.
pub type Elements = Vec<Option<Size>>;

/// Maximum number of inputs of a list whose elements are followed.
const MAX_INPUTS: usize = 256;

/// The elements of an input that is a scalar or vector of `int32` or `int64`. Narrower types would wrap.
pub fn integers(view: &NodeView<'_, '_>, position: usize) -> Option<Elements> {
    let fact = view.input(position)?;
    let is_followed = is_wide(fact.value_type.as_ref()?) && fact.rank()? <= 1;
    is_followed.then(|| fact.symbolic_elements()).flatten().filter(|elements| elements.len() <= MAX_CONSTANT)
}

/// The elements of a constant of `int32` or `int64`.
pub fn numbers(fact: &ValueFact) -> Option<Vec<i64>> {
    is_wide(fact.value_type.as_ref()?).then(|| fact.integers()).flatten()
}

/// The elements of each input of a list.
pub fn of_all(view: &NodeView<'_, '_>) -> Option<Vec<Elements>> {
    if view.inputs.len() > MAX_INPUTS {
        return None;
    }
    (0..view.inputs.len()).map(|position| integers(view, position)).collect()
}

fn is_wide(value_type: &ValueType) -> bool {
    matches!(value_type, ValueType::Tensor(ElementType::Int32 | ElementType::Int64))
}

/// The elements with numbers that `element` cannot hold left out.
fn within(element: &ValueType, elements: Elements) -> Elements {
    let fits = |size: &Size| match (size.value(), element) {
        (Some(value), ValueType::Tensor(ElementType::Int32)) => i32::try_from(value).is_ok(),
        _ => true,
    };
    elements.into_iter().map(|size| size.filter(fits)).collect()
}

/// The elements of the first input.
pub fn same(view: &NodeView<'_, '_>) -> Option<Elements> {
    integers(view, 0)
}

/// The elements of the first input, if the output is a scalar or vector by a rule for its shape.
pub fn same_if_vector(view: &NodeView<'_, '_>, shape: fn(&NodeView<'_, '_>) -> Option<Shape>) -> Option<Elements> {
    let is_vector = shape(view)?.len() <= 1;
    is_vector.then(|| integers(view, 0)).flatten()
}

/// The elements of the first input as numbers of another type.
pub fn converted(view: &NodeView<'_, '_>, to: ElementType) -> Option<Elements> {
    let to = ValueType::Tensor(to);
    let elements = integers(view, 0)?;
    is_wide(&to).then(|| within(&to, elements))
}

/// The elements of an operation on one element of each of two inputs. A single element broadcasts.
fn pairwise(view: &NodeView<'_, '_>, operation: fn(&Size, &Size) -> Option<Size>) -> Option<Elements> {
    let pair = combined(&integers(view, 0)?, &integers(view, 1)?, operation)?;
    Some(within(view.value_type(0)?, pair))
}

fn combined(
    one: &[Option<Size>],
    two: &[Option<Size>],
    operation: fn(&Size, &Size) -> Option<Size>,
) -> Option<Elements> {
    let length = match (one.len(), two.len()) {
        (1, length) | (length, 1) => length,
        (length, other) => (length == other).then_some(length)?,
    };
    let at = |list: &[Option<Size>], index: usize| {
        let index = if list.len() == 1 { 0 } else { index };
        list.get(index).cloned().flatten()
    };
    // bounded: by MAX_CONSTANT, as each list is.
    Some((0..length).map(|index| operation(&at(one, index)?, &at(two, index)?)).collect())
}

/// The sums of two inputs.
pub fn sum(view: &NodeView<'_, '_>) -> Option<Elements> {
    pairwise(view, Size::plus)
}

/// The differences of two inputs.
pub fn difference(view: &NodeView<'_, '_>) -> Option<Elements> {
    pairwise(view, Size::minus)
}

/// The products of two inputs.
pub fn product(view: &NodeView<'_, '_>) -> Option<Elements> {
    pairwise(view, Size::times)
}

/// The quotients of two inputs, where truncation toward zero is known to give them.
pub fn quotient(view: &NodeView<'_, '_>) -> Option<Elements> {
    pairwise(view, |one, two| match (one.value(), two.value()) {
        (Some(one), Some(two)) => Some(Size::constant(one.checked_div(two)?)),
        _ => (one.is_never_negative() && two.is_positive()).then(|| one.over(two)).flatten(),
    })
}

/// The first input's elements with the opposite sign.
pub fn negated(view: &NodeView<'_, '_>) -> Option<Elements> {
    let negate = |size: Option<Size>| size?.times(&Size::constant(-1));
    Some(within(view.value_type(0)?, integers(view, 0)?.into_iter().map(negate).collect()))
}

/// The absolute values of the first input.
pub fn absolute(view: &NodeView<'_, '_>) -> Option<Elements> {
    let absolute = |size: Option<Size>| match size.as_ref()?.value() {
        Some(value) => Some(Size::constant(value.checked_abs()?)),
        None => size.filter(Size::is_never_negative),
    };
    Some(within(view.value_type(0)?, integers(view, 0)?.into_iter().map(absolute).collect()))
}

/// The smallest elements of a list of inputs.
pub fn minimum(view: &NodeView<'_, '_>) -> Option<Elements> {
    over_list(view, Size::min)
}

/// The largest elements of a list of inputs.
pub fn maximum(view: &NodeView<'_, '_>) -> Option<Elements> {
    over_list(view, Size::max)
}

fn over_list(view: &NodeView<'_, '_>, operation: fn(&Size, &Size) -> Option<Size>) -> Option<Elements> {
    let lists = of_all(view)?;
    let (first, rest) = lists.split_first()?;
    let combine = |all: Elements, next: &Elements| combined(&all, next, operation);
    Some(within(view.value_type(0)?, rest.iter().try_fold(first.clone(), combine)?))
}

/// The one element of a reduction of a vector, or of a scalar.
fn reduced(
    view: &NodeView<'_, '_>,
    operation: fn(&Size, &Size) -> Option<Size>,
    of_none: Option<i64>,
) -> Option<Elements> {
    let is_single = rules::reduced(view)?.iter().all(|dim| dim.size() == Some(1));
    let elements = is_single.then(|| integers(view, 0)).flatten()?;
    let elements: Vec<Size> = elements.into_iter().collect::<Option<_>>()?;
    let result = match elements.split_first() {
        Some((first, rest)) => rest.iter().try_fold(first.clone(), |all, next| operation(&all, next))?,
        None => Size::constant(of_none?),
    };
    Some(within(view.value_type(0)?, vec![Some(result)]))
}

/// The sum of a vector.
pub fn reduced_sum(view: &NodeView<'_, '_>) -> Option<Elements> {
    reduced(view, Size::plus, Some(0))
}

/// The product of a vector.
pub fn reduced_product(view: &NodeView<'_, '_>) -> Option<Elements> {
    reduced(view, Size::times, Some(1))
}

/// The smallest element of a vector.
pub fn reduced_minimum(view: &NodeView<'_, '_>) -> Option<Elements> {
    reduced(view, Size::min, None)
}

/// The largest element of a vector.
pub fn reduced_maximum(view: &NodeView<'_, '_>) -> Option<Elements> {
    reduced(view, Size::max, None)
}

/// Elements of the second or the third input, by a constant condition.
pub fn selected(view: &NodeView<'_, '_>) -> Option<Elements> {
    let condition = view.input(0)?.constant.as_ref()?.as_tensor().filter(|condition| condition.rank() <= 1)?;
    let flags: Vec<bool> = condition.bools();
    let (one, two) = (integers(view, 1)?, integers(view, 2)?);
    let length = [flags.len(), one.len(), two.len()].into_iter().find(|length| *length != 1).unwrap_or(1);
    if length > MAX_CONSTANT || [flags.len(), one.len(), two.len()].iter().any(|&own| own != 1 && own != length) {
        return None;
    }
    let place = |list: usize, index: usize| if list == 1 { 0 } else { index };
    let pick = |index: usize| {
        let list = if *flags.get(place(flags.len(), index))? { &one } else { &two };
        list.get(place(list.len(), index)).cloned().flatten()
    };
    // bounded: by MAX_CONSTANT.
    Some((0..length).map(pick).collect())
}
