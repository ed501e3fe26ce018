//! Pooling: windows of a tensor reduced to one value, and `MaxUnpool`.

#![expect(
    clippy::indexing_slicing,
    reason = "windows are clipped to the input, and attribute lists have one entry per axis"
)]

use crate::dtype::{ElementType, Kind};
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::nn::shapes;
use crate::kernels::nn::window::{Axis, Rounding, Rules, Window, axes, each_window, per_axis, spatial};
use crate::tensor::Tensor;
use crate::tensor::shape::{element_count, strides};
use crate::tensor::sum::CompensatedSum;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::accumulating("AveragePool", 1, |call, accumulate| average_pool(call, Rounding::Ceil, accumulate))
        .shape(shapes::pooled_with_ceil),
    Kernel::accumulating("AveragePool", 19, |call, accumulate| average_pool(call, Rounding::CeilInside, accumulate))
        .shape(shapes::pooled_inside),
    Kernel::accumulating("GlobalAveragePool", 1, global_average).shape(shapes::pooled_globally),
    Kernel::new("GlobalLpPool", 1, |call| norm_pool(call, &global_window(call)?)).shape(shapes::pooled_globally),
    Kernel::new("GlobalMaxPool", 1, global_max_pool).shape(shapes::pooled_globally),
    Kernel::new("LpPool", 1, |call| norm_pool(call, &local_windows(call, Rounding::Ceil)?))
        .shape(shapes::pooled_with_ceil),
    Kernel::new("LpPool", 22, |call| norm_pool(call, &local_windows(call, Rounding::CeilInside)?))
        .shape(shapes::pooled_inside),
    Kernel::new("MaxPool", 1, |call| max_pool(call, &local_windows(call, Rounding::Ceil)?))
        .shapes_of_all(shapes::all_pooled_with_ceil),
    Kernel::new("MaxPool", 12, |call| max_pool(call, &local_windows(call, Rounding::CeilInside)?))
        .shapes_of_all(shapes::all_pooled_inside),
    Kernel::new("MaxUnpool", 9, max_unpool).shape(shapes::unpooled),
];

/// Returns the windows that the attributes of a pool define. `ceil` is the rounding of `ceil_mode` in this version.
///
/// `MaxPool` from 12 on and `AveragePool` from 19 on use the output size of the framework that they refer to. It omits
/// a window that would start in the end padding, as version 22 then states. The text of `LpPool` never does, but its
/// shape inference follows from 22 on.
fn local_windows(call: &Call<'_>, ceil: Rounding) -> Result<Vec<Axis>> {
    let input = spatial("X", call.tensor(0)?.shape())?;
    let Some(_) = call.optional_ints("kernel_shape") else {
        return Err(invalid(format!("kernel_shape is missing, and {} has no default for it", call.spec.version)));
    };
    let kernel = per_axis(call, "kernel_shape", input.len(), 1)?;
    let rounding = if call.optional_int("ceil_mode").unwrap_or(0) == 0 { Rounding::Floor } else { ceil };
    // A window that does not fit violates the rule about the kernel.
    axes(call, input, &kernel, rounding).rule(Rules::for_operator(call).kernel_shape)
}

/// Returns one window over all spatial axes.
fn global_window(call: &Call<'_>) -> Result<Vec<Axis>> {
    Ok(spatial("X", call.tensor(0)?.shape())?.iter().map(|&input| Axis::whole(input)).collect())
}

/// Returns the shape of the output and the number of planes.
fn pooled_shape(x: &Tensor, axes: &[Axis]) -> Result<(Vec<usize>, usize)> {
    let lead = x.shape().get(..2).unwrap_or(&[]);
    let shape = lead.iter().copied().chain(axes.iter().map(|axis| axis.output)).collect();
    Ok((shape, element_count(lead)?))
}

// Averages.

fn average_pool(call: &Call<'_>, ceil: Rounding, accumulate: Accumulate) -> Result {
    average(call, &local_windows(call, ceil)?, accumulate)
}

fn global_average(call: &Call<'_>, accumulate: Accumulate) -> Result {
    average(call, &global_window(call)?, accumulate)
}

/// Averages each window: its sum divided by its number of elements. `count_include_pad` counts the padding, too, but
/// never the excess of `ceil_mode` after it.
fn average(call: &Call<'_>, axes: &[Axis], accumulate: Accumulate) -> Result {
    let x = call.tensor(0)?;
    let (values, element) = (accumulate.read(call.budget, x)?, accumulate.output(x.element_type()));
    let (shape, planes) = pooled_shape(call.tensor(0)?, axes)?;
    let with_padding = call.optional_int("count_include_pad").unwrap_or(0) != 0;
    let averages = each_window(call, planes, axes, |window| {
        let (mut sum, mut count) = (CompensatedSum::default(), 0usize);
        window.for_each(|index| {
            sum.add(values[index]);
            count += 1;
        });
        sum.value() / if with_padding { window.padded_taps() } else { count } as f64
    })?;
    Ok(call.floats(element, &shape, averages)?.into())
}

// Norms.

/// Computes the p-norm of each window. Padding is zero and adds nothing.
fn norm_pool(call: &Call<'_>, axes: &[Axis]) -> Result {
    let x = call.tensor(0)?;
    let (shape, planes) = pooled_shape(x, axes)?;
    // p is a float in version 1 and an integer from 2 on.
    let p = match call.optional_float("p") {
        Some(p) => p,
        None => call.int("p")? as f64,
    };
    let values = call.budget.read_floats(x)?;
    let norms = each_window(call, planes, axes, |window| norm(window, &values, p))?;
    Ok(call.floats(x.element_type(), &shape, norms)?.into())
}

fn norm(window: &Window<'_>, values: &[f64], p: f64) -> f64 {
    let mut sum = CompensatedSum::default();
    if p == 1.0 {
        window.for_each(|index| sum.add(values[index].abs()));
        sum.value()
    } else if p == 2.0 {
        window.for_each(|index| sum.add_product(values[index], values[index]));
        sum.value().sqrt()
    } else {
        window.for_each(|index| sum.add(libm::pow(values[index].abs(), p)));
        libm::pow(sum.value(), 1.0 / p)
    }
}

// Maxima.

/// Marks a window that covers only padding.
const NOWHERE: usize = usize::MAX;

/// Returns the position of the first maximum of each window. NaN is greater than all numbers.
fn maxima(call: &Call<'_>, axes: &[Axis], planes: usize, values: &[f64]) -> Result<Vec<usize>> {
    each_window(call, planes, axes, |window| {
        let (mut best, mut max) = (NOWHERE, f64::NAN);
        window.for_each(|index| {
            let value = values[index];
            if best == NOWHERE || value > max || (value.is_nan() && !max.is_nan()) {
                (best, max) = (index, value);
            }
        });
        best
    })
}

fn max_pool(call: &Call<'_>, axes: &[Axis]) -> Result {
    let x = call.tensor(0)?;
    let (shape, planes) = pooled_shape(x, axes)?;
    let best = maxima(call, axes, planes, &call.budget.read_floats(x)?)?;
    let greatest = gather_maxima(call, x, &shape, &best)?;
    if !call.wants(1) {
        return Ok(greatest.into());
    }
    if best.contains(&NOWHERE) {
        return Err(invalid("a window covers only padding, so its maximum has no index"));
    }
    let storage = Storage::from_call(call, x.shape())?;
    let indices =
        call.integers(ElementType::Int64, &shape, best.into_iter().map(|index| storage.index(index) as i128))?;
    Ok(Outputs::from(vec![greatest, indices]))
}

fn global_max_pool(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let axes = global_window(call)?;
    let (shape, planes) = pooled_shape(x, &axes)?;
    Ok(gather_maxima(call, x, &shape, &maxima(call, &axes, planes, &call.budget.read_floats(x)?)?)?.into())
}

/// Returns the elements at the positions, bit by bit, or the lowest value of the type if there is none.
fn gather_maxima(call: &Call<'_>, x: &Tensor, shape: &[usize], best: &[usize]) -> Result<Tensor> {
    let element = x.element_type();
    let lowest =
        call.floats(element, &[1], [if element.kind() == Kind::Unsigned { 0.0 } else { f64::NEG_INFINITY }])?;
    let positions = best.iter().map(|&index| if index == NOWHERE { (1, 0) } else { (0, index) });
    Ok(call.allocate(element, shape)?.gather_from(&[x, &lowest], positions)?)
}

/// Order of `storage_order` for the elements of one plane. Batch and channels come first either way.
struct Storage {
    plane: usize,
    dims: Vec<usize>,
    column_major: bool,
}

impl Storage {
    fn from_call(call: &Call<'_>, shape: &[usize]) -> Result<Storage> {
        let column_major = match call.optional_int("storage_order").unwrap_or(0) {
            0 => false,
            1 => true,
            other => {
                return Err(broken(
                    "C3",
                    format!("storage_order is {other}; it must be 0 (row major) or 1 (column major)"),
                ));
            }
        };
        let dims = spatial("X", shape)?.to_vec();
        Ok(Storage { plane: element_count(&dims)?, dims, column_major })
    }

    fn index(&self, position: usize) -> usize {
        if !self.column_major {
            return position;
        }
        let (mut inside, mut index) = (position % self.plane, 0);
        let mut step = self.plane;
        for &dim in self.dims.iter().rev() {
            step /= dim;
            index += inside % dim * step;
            inside /= dim;
        }
        position - position % self.plane + index
    }
}

// MaxUnpool.

/// Writes each element of X to its index in a tensor of the inferred shape. `output_shape` frames it with zeros at the
/// ends.
fn max_unpool(call: &Call<'_>) -> Result {
    let (x, indices) = (call.tensor(0)?, call.tensor(1)?);
    if x.shape() != indices.shape() {
        return Err(broken("C5", format!("X has shape {:?}, but I has shape {:?}", x.shape(), indices.shape())));
    }
    let (inner, shape) = if let Some(given) = call.optional_tensor(2)? {
        framed_shapes(&unpooled_shape(call, x, false)?, &call.budget.read_indices(given)?)?
    } else {
        let inner = unpooled_shape(call, x, true)?;
        (inner.clone(), inner)
    };
    let mut sources: Vec<usize> = call.budget.scratch(element_count(&shape)?)?;
    let steps = strides(&shape);
    let size = element_count(&inner)?;
    for (from, index) in call.budget.timed(indices.stream(Tensor::indices)).enumerate() {
        let Some(mut rest) = usize::try_from(index).ok().filter(|&index| index < size) else {
            return Err(broken(
                "C4",
                format!("index {index} in I is not one of the {size} elements of shape {inner:?}"),
            ));
        };
        let mut to = 0;
        for (dim, step) in inner.iter().zip(&steps).rev() {
            to += rest % dim * step;
            rest /= dim;
        }
        sources[to] = from + 1;
    }
    let zero = Tensor::zero(x.element_type())?;
    let positions = sources.into_iter().map(|from| from.checked_sub(1).map_or((1, 0), |from| (0, from)));
    Ok(call.allocate(x.element_type(), &shape)?.gather_from(&[x, &zero], positions)?.into())
}

/// Returns the input shape of a pool with these attributes, with or without its pads.
fn unpooled_shape(call: &Call<'_>, x: &Tensor, with_pads: bool) -> Result<Vec<usize>> {
    let input = spatial("X", x.shape())?;
    let count = input.len();
    let kernel = per_axis(call, "kernel_shape", count, 1)?;
    let steps = per_axis(call, "strides", count, 1)?;
    let pads = per_axis(call, "pads", 2 * count, 0)?;
    let mut shape = x.shape().to_vec();
    for index in 0..count {
        let full = (input[index] as i128 - 1) * steps[index] as i128 + kernel[index] as i128;
        let padding = if with_pads { pads[index] as i128 + pads[count + index] as i128 } else { 0 };
        let inner = full - padding;
        shape[2 + index] = usize::try_from(inner).map_err(|_| {
            invalid(format!("pads {pads:?} leave {inner} of {full} elements along spatial axis {index}"))
        })?;
    }
    Ok(shape)
}

/// Returns the shape that the indices refer to, and the output's. `output_shape` replaces the pads: if it is smaller
/// than the area that the pool's windows cover, it crops that area; if larger, it frames it.
fn framed_shapes(covered: &[usize], given: &[i64]) -> Result<(Vec<usize>, Vec<usize>)> {
    let shape: Option<Vec<usize>> = given.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let shape = shape.filter(|shape| shape.len() == covered.len());
    let shape = shape
        .ok_or_else(|| broken("C3", format!("output_shape {given:?} is not a shape of rank {}", covered.len())))?;
    Ok((covered.iter().zip(&shape).map(|(&covered, &given)| covered.min(given)).collect(), shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OneNode, floats, ints, node, typed};
    use crate::value::Value;

    fn pool(op: &str, opset: i64, x: Tensor, lists: &[(&str, &[i64])]) -> OneNode {
        lists.iter().fold(node(op, opset).input(x), |node, (name, list)| node.set(name, *list))
    }

    fn indices(node: OneNode) -> Vec<f64> {
        match node.outputs(2).run().unwrap().pop() {
            Some(Value::Tensor(tensor)) => tensor.floats(),
            other => panic!("the indices are {other:?}"),
        }
    }

    #[test]
    fn a_window_that_starts_in_the_end_padding_is_dropped_in_later_versions() {
        let lists: &[(&str, &[i64])] = &[("kernel_shape", &[1]), ("strides", &[2]), ("pads", &[0, 1])];
        let x = || floats(&[1, 1, 2], &[3.0, 4.0]);
        let lowest = f64::NEG_INFINITY;
        let rows: [(&str, i64, &[f64]); 6] = [
            ("MaxPool", 10, &[3.0, lowest]),
            ("MaxPool", 12, &[3.0]),
            ("AveragePool", 19, &[3.0]),
            ("AveragePool", 22, &[3.0]),
            ("LpPool", 18, &[3.0, 0.0]),
            ("LpPool", 22, &[3.0]),
        ];
        for (op, opset, expected) in rows {
            assert_eq!(pool(op, opset, x(), lists).set("ceil_mode", 1).tensor().floats(), expected, "{op}-{opset}");
        }
        let average = pool("AveragePool", 11, x(), lists).set("ceil_mode", 1).set("count_include_pad", 1);
        assert_eq!(average.tensor().floats(), [3.0, 0.0]);
    }

    #[test]
    fn the_first_of_equal_maxima_wins_and_nan_is_largest() {
        let first = pool("MaxPool", 8, floats(&[1, 1, 3], &[5.0, 5.0, 1.0]), &[("kernel_shape", &[3])]);
        assert_eq!(indices(first), [0.0]);
        let nan = pool("MaxPool", 8, floats(&[1, 1, 3], &[5.0, f64::NAN, 7.0]), &[("kernel_shape", &[3])]);
        assert_eq!(indices(nan), [1.0]);
    }

    #[test]
    fn a_kernel_shape_is_needed_where_it_is_optional() {
        let without_kernel_shape = node("LpPool", 1).input(floats(&[1, 1, 2], &[1.0, 1.0])).error();
        assert!(without_kernel_shape.contains("kernel_shape"), "{without_kernel_shape}");
    }

    #[test]
    fn a_tensor_without_spatial_axes_has_one_window() {
        let x = || floats(&[2, 1], &[3.0, -4.0]);
        assert_eq!(node("GlobalAveragePool", 1).input(x()).tensor().floats(), [3.0, -4.0]);
        assert_eq!(node("GlobalMaxPool", 22).input(x()).tensor().floats(), [3.0, -4.0]);
        let empty = node("GlobalMaxPool", 1).input(floats(&[0, 2, 3], &[])).tensor();
        assert_eq!(empty.shape(), [0, 2, 1]);
    }

    #[test]
    fn doubles_survive_cancellation() {
        let x = typed(ElementType::Double, &[1, 1, 4], &[1.0, 1e100, 1.0, -1e100]);
        assert_eq!(node("GlobalAveragePool", 1).input(x).tensor().floats(), [0.5]);
    }

    #[test]
    fn an_output_shape_of_unpooling_may_be_smaller() {
        let unpool = |shape: &[i64]| {
            let x = floats(&[1, 1, 2], &[5.0, 6.0]);
            let unpool = pool("MaxUnpool", 9, x, &[("kernel_shape", &[2]), ("strides", &[2])]);
            unpool.input(ints(&[1, 1, 2], &[1, 2])).input(ints(&[shape.len()], shape))
        };
        assert_eq!(unpool(&[1, 1, 3]).tensor().floats(), [0.0, 5.0, 6.0]);
        assert!(unpool(&[1, 3]).error().contains("not a shape of rank 3"));
    }
}
