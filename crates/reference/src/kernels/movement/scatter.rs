//! Scatter, `ScatterElements`, `ScatterND`, `TensorScatter`: copies of a tensor with elements replaced by index.

use num_complex::Complex;

use crate::dtype::Kind;
use crate::infer::rules;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::movement::gather::{element_positions, tuple_positions};
use crate::tensor::Tensor;
use crate::tensor::double_double::DoubleDouble;
use crate::tensor::shape::{around_axis, normalize_axis};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Scatter", 9, |call| scatter_elements(call, Reduction::None, ["C3", "C4", "C5"])).shape(rules::same),
    Kernel::new("ScatterElements", 11, |call| scatter_elements(call, Reduction::None, SCATTER_ELEMENTS))
        .shape(rules::same),
    Kernel::new("ScatterElements", 16, |call| scatter_elements(call, reduction(call)?, SCATTER_ELEMENTS))
        .shape(rules::same),
    Kernel::new("ScatterND", 11, |call| scatter_nd(call, Reduction::None)).shape(rules::same),
    Kernel::new("ScatterND", 16, |call| scatter_nd(call, reduction(call)?)).shape(rules::same),
    Kernel::new("TensorScatter", 24, tensor_scatter).shape(rules::same),
];

/// Rules of `ScatterElements` about shapes, indices and the axis.
const SCATTER_ELEMENTS: [&str; 3] = ["C6", "C5", "C7"];

/// Reduction of an update with the element at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    None,
    Add,
    Mul,
    Max,
    Min,
}

const REDUCTIONS: &[(&str, Reduction)] = &[
    ("none", Reduction::None),
    ("add", Reduction::Add),
    ("mul", Reduction::Mul),
    ("max", Reduction::Max),
    ("min", Reduction::Min),
];

/// Returns the reduction. Rule C4 covers those that version 18 adds.
fn reduction(call: &Call<'_>) -> Result<Reduction> {
    let is_later = matches!(call.string("reduction")?, "max" | "min");
    call.one_of("reduction", REDUCTIONS).rule(if is_later { "C4" } else { "C3" })
}

/// `ScatterElements`, for axis 0 of a matrix: `out[indices[i][j]][j] = updates[i][j]`, or reduced with that element.
fn scatter_elements(call: &Call<'_>, reduction: Reduction, rules: [&str; 3]) -> Result {
    let (data, indices, updates) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    check_shape(updates, indices.shape()).rule(rules[0])?;
    let targets = element_positions(call, data.shape(), indices, rules)?;
    Ok(write(call, updates, &targets, reduction)?.into())
}

/// `ScatterND`: `out[indices[i][0], indices[i][1], ...] = updates[i]`, or reduced with that element.
fn scatter_nd(call: &Call<'_>, reduction: Reduction) -> Result {
    let (data, indices, updates) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    if data.rank() == 0 || indices.rank() == 0 {
        let (data, indices) = (data.shape(), indices.shape());
        return Err(broken("C8", format!("data has shape {data:?} and indices {indices:?}; both must have an axis")));
    }
    let tuples = tuple_positions(call, data.shape(), indices, 0, ["C5", "C7"])?;
    check_shape(updates, &tuples.shape).rule("C6")?;
    let mut targets: Vec<usize> = call.budget.scratch(updates.len())?;
    let places = tuples.starts.iter().filter(|_| tuples.run > 0).flat_map(|&start| start..start + tuples.run);
    targets.iter_mut().zip(places).for_each(|(target, place)| *target = place);
    Ok(write(call, updates, &targets, reduction)?.into())
}

/// `TensorScatter` along an axis: `out[b][write_indices[b] + i] = update[b][i]`, modulo the axis in mode `circular`.
fn tensor_scatter(call: &Call<'_>) -> Result {
    let (cache, update) = (call.tensor(0)?, call.tensor(1)?);
    let axis = normalize_axis(call.int("axis")?, cache.rank()).rule("C4")?;
    let circular = call.one_of("mode", &[("linear", false), ("circular", true)]).rule("C3")?;
    let size = cache.shape().get(axis).copied().unwrap_or(0);
    let length = update.shape().get(axis).copied().unwrap_or(0);
    let mut expected = cache.shape().to_vec();
    expected.iter_mut().skip(axis).take(1).for_each(|size| *size = length);
    let rule = if axis == 0 { "C4" } else { "C5" };
    check_shape(update, &expected).rule(rule)?;
    if axis == 0 || length > size {
        return Err(broken(
            rule,
            format!(
                "update of shape {:?} does not fit a cache of shape {:?} along axis {axis}, which must not be 0",
                update.shape(),
                cache.shape()
            ),
        ));
    }
    let batches = cache.shape().first().copied().unwrap_or(0);
    let starts = write_starts(call, size, length, circular)?;
    let mut targets: Vec<usize> = call.budget.scratch(update.len())?;
    let (outer, inner) = around_axis(cache.shape(), axis);
    let per_batch = outer.checked_div(batches).unwrap_or(0);
    for (index, target) in targets.iter_mut().enumerate() {
        let (row, step, column) = (index / inner / length, index / inner % length, index % inner);
        let start = starts.get(row / per_batch).copied().unwrap_or(0);
        *target = (row * size + (start + step) % size) * inner + column;
    }
    Ok(write(call, update, &targets, Reduction::None)?.into())
}

/// Returns the first position to write in each batch of the cache, for `length` entries along an axis of `size`.
fn write_starts(call: &Call<'_>, size: usize, length: usize, circular: bool) -> Result<Vec<usize>> {
    let batches = call.tensor(0)?.shape().first().copied().unwrap_or(0);
    let mut starts: Vec<usize> = call.budget.scratch(batches)?;
    let Some(given) = call.optional_tensor(2)? else { return Ok(starts) };
    check_shape(given, &[batches]).rule("C2")?;
    for (start, from) in starts.iter_mut().zip(call.budget.read_indices(given)?) {
        let signed = i64::try_from(size).unwrap_or(i64::MAX);
        let wrapped = if circular { from.checked_rem_euclid(signed).unwrap_or(0) } else { from };
        *start = usize::try_from(wrapped)
            .ok()
            .filter(|start| circular || start.checked_add(length).is_some_and(|end| end <= size))
            .ok_or_else(|| {
                broken(
                    "C3",
                    format!(
                        "{length} entries from {from} on do not fit into a cache of {size}; mode circular \
                     would wrap around"
                    ),
                )
            })?;
    }
    Ok(starts)
}

fn check_shape(tensor: &Tensor, expected: &[usize]) -> Result<()> {
    if tensor.shape() == expected {
        return Ok(());
    }
    Err(invalid(format!("a tensor of shape {:?} must have shape {expected:?}", tensor.shape())))
}

/// Writes each update to its target in a copy of the first input. Later updates overwrite earlier ones.
fn write(call: &Call<'_>, updates: &Tensor, targets: &[usize], reduction: Reduction) -> Result<Tensor> {
    if reduction != Reduction::None {
        return reduce(call, updates, targets, reduction);
    }
    let data = call.tensor(0)?;
    let buffer = call.allocate(data.element_type(), data.shape())?;
    let mut source: Vec<usize> = call.budget.scratch(buffer.len())?;
    for (index, &target) in targets.iter().enumerate() {
        if let Some(slot) = source.get_mut(target) {
            *slot = index + 1;
        }
    }
    let positions =
        source.into_iter().enumerate().map(|(own, index)| index.checked_sub(1).map_or((0, own), |index| (1, index)));
    Ok(buffer.gather_from(&[data, updates], positions)?)
}

/// Reduces all updates into their targets, and rounds once.
fn reduce(call: &Call<'_>, updates: &Tensor, targets: &[usize], reduction: Reduction) -> Result<Tensor> {
    let data = call.tensor(0)?;
    let element = data.element_type();
    let buffer = call.allocate(element, data.shape())?;
    call.budget.count_work(targets.len())?;
    let no_meaning = || invalid(format!("reduction {reduction:?} has no meaning for {element}"));
    match element.kind() {
        Kind::String => Err(no_meaning()),
        Kind::Complex => {
            let combine = match reduction {
                Reduction::Add => |a: Complex<f64>, b| a + b,
                Reduction::Mul => |a: Complex<f64>, b| a * b,
                _ => return Err(no_meaning()),
            };
            Ok(buffer.complexes(fold(
                call.budget.read_complexes(data)?,
                call.budget.read_complexes(updates)?,
                targets,
                combine,
            ))?)
        }
        Kind::Float => {
            let combine = match reduction {
                Reduction::Add => |a: DoubleDouble, b: DoubleDouble| a + b,
                Reduction::Mul => |a: DoubleDouble, b: DoubleDouble| a * b,
                Reduction::Max => {
                    |a: DoubleDouble, b: DoubleDouble| DoubleDouble::from(maximum(a.to_f64(), b.to_f64()))
                }
                _ => |a: DoubleDouble, b: DoubleDouble| DoubleDouble::from(-maximum(-a.to_f64(), -b.to_f64())),
            };
            let wide = |tensor: &Tensor| call.budget.collect(tensor.stream(Tensor::floats).map(DoubleDouble::from));
            let totals = fold(wide(data)?, wide(updates)?, targets, combine);
            Ok(buffer.floats(totals.into_iter().map(DoubleDouble::to_f64))?)
        }
        Kind::Signed | Kind::Unsigned | Kind::Bool => {
            let combine = match reduction {
                Reduction::Add => i128::wrapping_add,
                Reduction::Mul => i128::wrapping_mul,
                Reduction::Max => |a: i128, b| a.max(b),
                _ => |a: i128, b| a.min(b),
            };
            // The sum of bools is their OR, and the product their AND.
            let logical = |value: i128| if element.kind() == Kind::Bool { i128::from(value != 0) } else { value };
            let combine = |a, b| logical(combine(a, b));
            Ok(buffer.integers(fold(
                call.budget.read_integers(data)?,
                call.budget.read_integers(updates)?,
                targets,
                combine,
            ))?)
        }
    }
}

/// Returns the larger number, or NaN if either is NaN.
fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn fold<T: Copy>(mut totals: Vec<T>, updates: Vec<T>, targets: &[usize], combine: impl Fn(T, T) -> T) -> Vec<T> {
    for (update, &target) in updates.into_iter().zip(targets) {
        if let Some(total) = totals.get_mut(target) {
            *total = combine(*total, update);
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{floats, ints, node, typed};

    #[test]
    fn reductions_round_once_and_wrap() {
        // In bfloat16, 256 + 1 rounds to 256, but 256 + 1 + 1 is 258.
        let sum = |element, data: f64, updates: [f64; 2]| {
            let data = typed(element, &[1], &[data]);
            let sum = node("ScatterND", 16).inputs([data, ints(&[2, 1], &[0, 0]), typed(element, &[2], &updates)]);
            sum.set("reduction", "add").tensor().floats()
        };
        assert_eq!(sum(ElementType::Bfloat16, 256.0, [1.0, 1.0]), [258.0]);
        assert_eq!(sum(ElementType::Double, 1e16, [1.0, -1e16]), [1.0]);
        assert_eq!(sum(ElementType::Int8, 100.0, [100.0, 0.0]), [-56.0]);
        assert_eq!(sum(ElementType::Bool, 1.0, [1.0, 0.0]), [1.0]);
    }

    #[test]
    fn nan_wins_over_any_extreme() {
        for reduction in ["max", "min"] {
            let data = floats(&[2], &[f64::NAN, 1.0]);
            let updates = floats(&[2], &[1.0, f64::NAN]);
            let extreme = node("ScatterElements", 18).inputs([data, ints(&[2], &[0, 1]), updates]);
            assert!(extreme.set("reduction", reduction).tensor().floats().iter().all(|value| value.is_nan()));
        }
    }

    #[test]
    fn reductions_of_later_versions_or_other_types_are_refused() {
        let with = |opset: i64, element, reduction: &str| {
            let one = || typed(element, &[1], &[1.0]);
            node("ScatterND", opset).inputs([one(), ints(&[1, 1], &[0]), one()]).set("reduction", reduction).run()
        };
        assert!(with(16, ElementType::Float, "max").unwrap_err().to_string().contains("none, add, mul"));
        assert!(with(18, ElementType::Complex64, "max").unwrap_err().to_string().contains("no meaning"));
        assert!(with(18, ElementType::Complex64, "mul").is_ok());
    }

    #[test]
    fn the_error_names_the_shape_that_updates_must_have() {
        let data = floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        let refused = node("ScatterND", 11).inputs([data, ints(&[1, 1], &[0]), floats(&[2], &[8.0, 9.0])]);
        assert!(refused.error().contains("must have shape [1, 2]"));
    }

    #[test]
    fn writing_before_the_start_of_a_cache_is_refused() {
        let cache = floats(&[2, 1, 3, 1], &[0.0; 6]);
        let update = floats(&[2, 1, 2, 1], &[1.0, 2.0, 3.0, 4.0]);
        let before = node("TensorScatter", 24).input(cache).input(update).input(ints(&[2], &[0, -1]));
        assert!(before.error().contains("from -1"));
    }
}
