//! Windows of a tensor reduced to one value: the pools and MaxUnpool.

use crate::dtype::{ElementType, Kind};
use crate::kernels::call::{Call, Outputs, Result};
use crate::kernels::error::invalid;
use crate::kernels::registry::Kernel;
use crate::kernels::window::{Axis, Rounding, Window, axes, each_window, per_axis, spatial};
use crate::tensor::Tensor;
use crate::tensor::shape::{element_count, strides};
use crate::tensor::sum::Sum;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("AveragePool", 1, |call| average_pool(call, Rounding::Ceil)).with_magnitude(average_magnitude),
    Kernel::new("AveragePool", 19, |call| average_pool(call, Rounding::CeilInside)).with_magnitude(average_magnitude),
    Kernel::new("GlobalAveragePool", 1, global_average).with_magnitude(global_average_magnitude),
    Kernel::new("GlobalLpPool", 1, |call| norm_pool(call, global(call)?)),
    Kernel::new("GlobalMaxPool", 1, global_max_pool),
    Kernel::new("LpPool", 1, |call| norm_pool(call, local(call, Rounding::Ceil)?)),
    Kernel::new("LpPool", 22, |call| norm_pool(call, local(call, Rounding::CeilInside)?)),
    Kernel::new("MaxPool", 1, |call| max_pool(call, &local(call, Rounding::Ceil)?)),
    Kernel::new("MaxPool", 12, |call| max_pool(call, &local(call, Rounding::CeilInside)?)),
    Kernel::new("MaxUnpool", 9, max_unpool),
];

/// The windows by the attributes of a pool; `ceil` is how `ceil_mode` rounds in this version.
fn local(call: &Call<'_>, ceil: Rounding) -> Result<Vec<Axis>> {
    let input = spatial("X", call.tensor(0)?.shape())?;
    let Some(_) = call.optional_ints("kernel_shape") else {
        return Err(invalid(format!("kernel_shape is left out, and {} says no other way to it", call.spec.version)));
    };
    let kernel = per_axis(call, "kernel_shape", input.len(), 1, 1)?;
    let rounding = if call.optional_int("ceil_mode").unwrap_or(0) == 0 { Rounding::Floor } else { ceil };
    axes(call, input, &kernel, rounding)
}

/// One window over all spatial axes.
fn global(call: &Call<'_>) -> Result<Vec<Axis>> {
    Ok(spatial("X", call.tensor(0)?.shape())?.iter().map(|&input| Axis::whole(input)).collect())
}

/// The shape of the output, and the number of planes.
fn pooled(x: &Tensor, axes: &[Axis]) -> Result<(Vec<usize>, usize)> {
    let lead = x.shape().get(..2).unwrap_or(&[]);
    let shape = lead.iter().copied().chain(axes.iter().map(|axis| axis.output)).collect();
    Ok((shape, element_count(lead)?))
}

// Averages.

fn average_pool(call: &Call<'_>, ceil: Rounding) -> Result {
    let x = call.tensor(0)?;
    average(call, &local(call, ceil)?, &x.floats(), x.element_type())
}

fn global_average(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    average(call, &global(call)?, &x.floats(), x.element_type())
}

fn average_magnitude(call: &Call<'_>) -> Result {
    let ceil = if call.since() < 19 { Rounding::Ceil } else { Rounding::CeilInside };
    average(call, &local(call, ceil)?, &magnitudes(call)?, ElementType::Double)
}

fn global_average_magnitude(call: &Call<'_>) -> Result {
    average(call, &global(call)?, &magnitudes(call)?, ElementType::Double)
}

fn magnitudes(call: &Call<'_>) -> Result<Vec<f64>> {
    Ok(call.tensor(0)?.floats().into_iter().map(f64::abs).collect())
}

/// The sum under each window by the number of elements, those of the padding among them where `count_include_pad`
/// says so; what `ceil_mode` adds behind the padding never counts.
fn average(call: &Call<'_>, axes: &[Axis], values: &[f64], element: ElementType) -> Result {
    let (shape, planes) = pooled(call.tensor(0)?, axes)?;
    let with_padding = call.optional_int("count_include_pad").unwrap_or(0) != 0;
    let averages = each_window(call, planes, axes, |window| {
        let (mut sum, mut count) = (Sum::default(), 0usize);
        window.for_each(|at| {
            sum.add(values[at]);
            count += 1;
        });
        sum.value() / if with_padding { window.padded_taps() } else { count } as f64
    })?;
    Ok(call.floats(element, &shape, averages)?.into())
}

// Norms.

/// The p-norm of what lies under each window; padding is zero and adds nothing.
fn norm_pool(call: &Call<'_>, axes: Vec<Axis>) -> Result {
    let x = call.tensor(0)?;
    let (shape, planes) = pooled(x, &axes)?;
    // p is a float in version 1 and an integer from 2 on.
    let p = match call.optional_float("p") {
        Some(p) => p,
        None => call.int("p")? as f64,
    };
    let values = x.floats();
    let norms = each_window(call, planes, &axes, |window| norm(window, &values, p))?;
    Ok(call.floats(x.element_type(), &shape, norms)?.into())
}

fn norm(window: &Window<'_>, values: &[f64], p: f64) -> f64 {
    let mut sum = Sum::default();
    if p == 1.0 {
        window.for_each(|at| sum.add(values[at].abs()));
        sum.value()
    } else if p == 2.0 {
        window.for_each(|at| sum.add_product(values[at], values[at]));
        sum.value().sqrt()
    } else {
        window.for_each(|at| sum.add(libm::pow(values[at].abs(), p)));
        libm::pow(sum.value(), 1.0 / p)
    }
}

// Maxima.

/// Marks a window over nothing but padding.
const NOWHERE: usize = usize::MAX;

/// The position of the first greatest element under each window; NaN is greater than all.
fn maxima(call: &Call<'_>, axes: &[Axis], planes: usize, values: &[f64]) -> Result<Vec<usize>> {
    each_window(call, planes, axes, |window| {
        let (mut best, mut most) = (NOWHERE, f64::NAN);
        window.for_each(|at| {
            let value = values[at];
            if best == NOWHERE || value > most || (value.is_nan() && !most.is_nan()) {
                (best, most) = (at, value);
            }
        });
        best
    })
}

fn max_pool(call: &Call<'_>, axes: &[Axis]) -> Result {
    let x = call.tensor(0)?;
    let (shape, planes) = pooled(x, axes)?;
    let best = maxima(call, axes, planes, &x.floats())?;
    let greatest = greatest(call, x, &shape, &best)?;
    if !call.wants(1) {
        return Ok(greatest.into());
    }
    if best.contains(&NOWHERE) {
        return Err(invalid("a window lies over nothing but padding, so there is no index of its maximum"));
    }
    let storage = Storage::of(call, x.shape())?;
    let indices = call.integers(ElementType::Int64, &shape, best.into_iter().map(|at| storage.index(at) as i128))?;
    Ok(Outputs::from(vec![greatest, indices]))
}

fn global_max_pool(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let axes = global(call)?;
    let (shape, planes) = pooled(x, &axes)?;
    Ok(greatest(call, x, &shape, &maxima(call, &axes, planes, &x.floats())?)?.into())
}

/// The elements at the positions, moved bit by bit; the lowest value of the type where there is none.
fn greatest(call: &Call<'_>, x: &Tensor, shape: &[usize], best: &[usize]) -> Result<Tensor> {
    let element = x.element_type();
    let lowest =
        call.floats(element, &[1], [if element.kind() == Kind::Unsigned { 0.0 } else { f64::NEG_INFINITY }])?;
    let positions = best.iter().map(|&at| if at == NOWHERE { (1, 0) } else { (0, at) });
    Ok(call.allocate(element, shape)?.select(&[x, &lowest], positions)?)
}

/// How `storage_order` counts the elements of one plane; batch and channels come first either way.
struct Storage {
    plane: usize,
    dims: Vec<usize>,
    column_major: bool,
}

impl Storage {
    fn of(call: &Call<'_>, shape: &[usize]) -> Result<Storage> {
        let column_major = match call.optional_int("storage_order").unwrap_or(0) {
            0 => false,
            1 => true,
            other => return Err(invalid(format!("storage_order is {other}; 0 is row major, 1 column major"))),
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

/// Puts each element of X at its index in a tensor of the shape that the attributes give; `output_shape` then frames
/// it with more zeros at the ends.
fn max_unpool(call: &Call<'_>) -> Result {
    let (x, indices) = (call.tensor(0)?, call.tensor(1)?);
    if x.shape() != indices.shape() {
        return Err(invalid(format!("X has shape {:?}, but I has {:?}", x.shape(), indices.shape())));
    }
    let inner = unpooled(call, x)?;
    let shape = match call.optional_tensor(2)? {
        Some(given) => framed(&inner, &given.indices())?,
        None => inner.clone(),
    };
    let mut sources: Vec<usize> = call.budget.scratch(element_count(&shape)?)?;
    let steps = strides(&shape);
    let size = element_count(&inner)?;
    for (from, index) in indices.indices().into_iter().enumerate() {
        let Some(mut at) = usize::try_from(index).ok().filter(|&at| at < size) else {
            return Err(invalid(format!("index {index} in I is outside [0, {size} - 1], the elements of {inner:?}")));
        };
        let mut to = 0;
        for (dim, step) in inner.iter().zip(&steps).rev() {
            to += at % dim * step;
            at /= dim;
        }
        sources[to] = from + 1;
    }
    let zero = call.floats(x.element_type(), &[1], [0.0])?;
    let positions = sources.into_iter().map(|from| from.checked_sub(1).map_or((1, 0), |from| (0, from)));
    Ok(call.allocate(x.element_type(), &shape)?.select(&[x, &zero], positions)?.into())
}

/// The shape that a pool with these attributes would have had as its input.
fn unpooled(call: &Call<'_>, x: &Tensor) -> Result<Vec<usize>> {
    let input = spatial("X", x.shape())?;
    let count = input.len();
    let kernel = per_axis(call, "kernel_shape", count, 1, 1)?;
    let steps = per_axis(call, "strides", count, 1, 1)?;
    let pads = per_axis(call, "pads", 2 * count, 0, 0)?;
    let mut shape = x.shape().to_vec();
    for at in 0..count {
        let full = (input[at] as i128 - 1) * steps[at] as i128 + kernel[at] as i128;
        let inner = full - pads[at] as i128 - pads[count + at] as i128;
        shape[2 + at] = usize::try_from(inner)
            .map_err(|_| invalid(format!("pads {pads:?} leave {inner} of {full} elements along spatial axis {at}")))?;
    }
    Ok(shape)
}

fn framed(inner: &[usize], given: &[i64]) -> Result<Vec<usize>> {
    let shape: Option<Vec<usize>> = given.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    shape
        .filter(|shape| shape.len() == inner.len() && shape.iter().zip(inner).all(|(outer, inner)| outer >= inner))
        .ok_or_else(|| invalid(format!("output_shape {given:?} does not hold the unpooled shape {inner:?}")))
}
