//! `AffineGrid` and `GridSample`: sampling at the points of a grid.

#![expect(clippy::indexing_slicing, reason = "ranks are checked first, and places are clamped to the axes")]

use crate::dtype::{ElementType, Kind};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Missing, Ruled, broken, invalid, unsupported};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::image::shapes;
use crate::parallel::try_for_each_block;
use crate::tensor::Tensor;
use crate::tensor::shape::{element_count, strides};
use crate::tensor::sum::{CompensatedSum, dot};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("AffineGrid", 20, affine_grid).shape(shapes::affine_grid),
    Kernel::new("GridSample", 16, |call| grid_sample(call, Some(2))).shape(shapes::grid_sample),
    Kernel::new("GridSample", 20, |call| grid_sample(call, None)).shape(shapes::grid_sample),
];

/// Values of `mode`. The first version has names for two axes.
const MODES: [(&str, Mode); 5] = [
    ("linear", Mode::Linear),
    ("bilinear", Mode::Linear),
    ("nearest", Mode::Nearest),
    ("cubic", Mode::Cubic),
    ("bicubic", Mode::Cubic),
];

/// Maximum number of spatial axes. Cubic sampling reads four neighbours per axis, so their number grows with each.
const MAX_AXES: usize = 8;

// AffineGrid.

/// `AffineGrid`: an affine map of a grid of evenly spaced points. The points are rounded step by step as in the
/// function body, the map once.
fn affine_grid(call: &Call<'_>) -> Result {
    let (theta, size) = (call.tensor(0)?, call.tensor(1)?);
    let sizes: Option<Vec<usize>> =
        call.budget.read_indices(size)?.into_iter().map(|size| usize::try_from(size).ok()).collect();
    let (images, dims) = match sizes.as_deref() {
        Some([images, _, dims @ ..]) if dims.len() == 2 || dims.len() == 3 => (*images, dims.to_vec()),
        _ => {
            return Err(broken(
                "C4",
                format!("size is {size:?}; it must have batch, channels and two or three spatial dimensions"),
            ));
        }
    };
    let rank = dims.len();
    if theta.shape() != [images, rank, rank + 1] {
        return Err(broken(
            "C4",
            format!("theta has shape {:?}; size requires {:?}", theta.shape(), [images, rank, rank + 1]),
        ));
    }
    let element = theta.element_type();
    let shape: Vec<usize> = [images].into_iter().chain(dims.iter().copied()).chain([rank]).collect();
    let output = call.allocate(element, &shape)?;
    let mut results: Vec<f64> = call.budget.scratch(output.len())?;
    let is_depth = |axis: usize| rank == 3 && axis == 0;
    let line = |(axis, &dim): (usize, &usize)| even_places(call, element, dim, is_depth(axis));
    let lines = dims.iter().enumerate().map(line).collect::<Result<Vec<_>>>()?;
    let theta = call.budget.read_floats(theta)?;
    let (steps, of_image) = (strides(&dims), element_count(&dims)?);
    for (index, place) in call.budget.timed(results.chunks_mut(rank).enumerate()) {
        let (image, index) = (index / of_image, index % of_image);
        // A point lists its coordinates from the innermost axis outwards.
        let even = (0..rank).rev().map(|axis| lines[axis][index / steps[axis] % dims[axis]]);
        let rows = theta[image * rank * (rank + 1)..].chunks(rank + 1);
        for (row, coordinate) in rows.zip(place) {
            *coordinate = dot(row.iter().copied().zip(even.clone().chain([1.0])));
        }
    }
    Ok(output.floats(results)?.into())
}

/// Returns points from -1 to 1 along an axis: from the centre of the first element to that of the last with
/// `align_corners`, else from edge to edge. By the function body, a depth of 1 has no step, but a height or width of 1
/// divides by zero.
fn even_places(call: &Call<'_>, element: ElementType, length: usize, is_depth: bool) -> Result<Vec<f64>> {
    let round = |value: f64| element.round(value);
    let count = round(length as f64);
    let (start, step) = if call.flag("align_corners")? {
        (-1.0, if is_depth && length == 1 { 0.0 } else { round(2.0 / round(count - 1.0)) })
    } else {
        let step = round(2.0 / count);
        (round(-1.0 + round(step / 2.0)), step)
    };
    let mut places: Vec<f64> = call.budget.scratch(length)?;
    for (index, place) in call.budget.timed(places.iter_mut().enumerate()) {
        *place = round(start + round(round(index as f64) * step));
    }
    Ok(places)
}

// GridSample.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Linear,
    Nearest,
    Cubic,
}

/// Values outside the ends of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// Sampling parameters, and the layout of the input.
struct Sampler {
    mode: Mode,
    padding: Padding,
    align_corners: bool,
    /// Type of the grid, in which the nearest element is computed.
    grid: ElementType,
    /// Spatial dimensions of the input and their strides.
    dims: Vec<usize>,
    steps: Vec<usize>,
}

/// Elements along one axis for a point: up to four, `None` outside the ends, with their weights.
type Taps = [(Option<usize>, f64); 4];

fn grid_sample(call: &Call<'_>, only_rank: Option<usize>) -> Result {
    let (x, grid) = (call.tensor(0)?, call.tensor(1)?);
    let sampler = Sampler::new(call, x, grid, only_rank)?;
    let rank = sampler.dims.len();
    let (images, channels) = (x.shape()[0], x.shape()[1]);
    let outputs = &grid.shape()[1..=rank];
    let shape: Vec<usize> = [images, channels].into_iter().chain(outputs.iter().copied()).collect();
    let element = x.element_type();
    drop(call.allocate(element, &shape)?);
    let (places, count) = (call.budget.read_floats(grid)?, element_count(outputs)?);
    let place = |image: usize, index: usize| places[(image * count + index) * rank..].iter().take(rank).rev().copied();
    if sampler.mode == Mode::Nearest {
        let plane = element_count(&sampler.dims)?;
        let zero = Tensor::zero(element)?;
        let all = (0..images).flat_map(|image| (0..channels).map(move |channel| (image, channel)));
        let positions = all.flat_map(|(image, channel)| {
            let (sampler, place, start) = (&sampler, &place, (image * channels + channel) * plane);
            (0..count).map(move |index| sampler.nearest(place(image, index)).map_or((1, 0), |index| (0, start + index)))
        });
        return Ok(call.allocate(element, &shape)?.gather_from(&[x, &zero], positions)?.into());
    }
    let sampled = |values: &[f64]| -> Result<Vec<f64>> {
        let mut out: Vec<f64> = call.budget.scratch(element_count(&shape)?)?;
        let plane = element_count(&sampler.dims)?;
        if out.is_empty() {
            return Ok(out);
        }
        try_for_each_block(&mut out, count, |index, out| {
            let values = &values[index * plane..(index + 1) * plane];
            for (place_at, out) in out.iter_mut().enumerate() {
                call.budget.count_work(1 << (2 * rank))?;
                let taps: Vec<Taps> =
                    place(index / channels, place_at).zip(0..).map(|(p, axis)| sampler.taps(p, axis)).collect();
                *out = weigh(&taps, &sampler.steps, values, 0);
            }
            Ok::<_, crate::kernels::framework::error::KernelError>(())
        })?;
        Ok(out)
    };
    match element.kind() {
        Kind::String => Err(invalid("strings cannot be interpolated; set mode to nearest")),
        Kind::Complex => {
            let re = call.budget.collect(x.stream(Tensor::complexes).map(|z| z.re))?;
            let im = call.budget.collect(x.stream(Tensor::complexes).map(|z| z.im))?;
            let parts = sampled(&re)?.into_iter().zip(sampled(&im)?);
            let parts = parts.map(|(re, im)| num_complex::Complex::new(re, im));
            Ok(call.allocate(element, &shape)?.complexes(parts)?.into())
        }
        _ => Ok(call.floats(element, &shape, sampled(&call.budget.read_floats(x)?)?)?.into()),
    }
}

impl Sampler {
    fn new(call: &Call<'_>, x: &Tensor, grid: &Tensor, only_rank: Option<usize>) -> Result<Sampler> {
        let rank = x.rank().saturating_sub(2);
        let matches = grid.rank() == rank + 2
            && rank > 0
            && grid.shape().last() == Some(&rank)
            && grid.shape().first() == x.shape().first();
        if !matches || only_rank.is_some_and(|only| rank != only) {
            return Err(broken("C8", format!("a grid {:?} does not fit an input {:?}", grid.shape(), x.shape())));
        }
        if rank > MAX_AXES {
            let message = format!("GridSample over {rank} spatial axes is not supported; the maximum is {MAX_AXES}");
            return Err(unsupported(Missing::Attribute, message));
        }
        let mode = call.one_of("mode", &MODES).rule("C6")?;
        let padding = call
            .one_of(
                "padding_mode",
                &[("zeros", Padding::Zeros), ("border", Padding::Border), ("reflection", Padding::Reflection)],
            )
            .rule("C7")?;
        let dims = x.shape()[2..].to_vec();
        let steps = strides(&dims);
        Ok(Sampler {
            mode,
            padding,
            align_corners: call.flag("align_corners")?,
            grid: grid.element_type(),
            dims,
            steps,
        })
    }

    /// Returns the ends of an axis: the centres of its outer elements, or their edges.
    fn ends(&self, axis: usize) -> (f64, f64) {
        let length = self.dims[axis] as f64;
        if self.align_corners { (0.0, length - 1.0) } else { (-0.5, length - 0.5) }
    }

    /// Converts a coordinate from `[-1, 1]` to elements, with each step rounded by `round`.
    fn denormalize(&self, normal: f64, axis: usize, round: impl Fn(f64) -> f64) -> f64 {
        let length = self.dims[axis] as f64;
        if self.align_corners {
            round(round(round(normal + 1.0) / 2.0) * (length - 1.0))
        } else {
            round(round(round(round(normal + 1.0) * length) - 1.0) / 2.0)
        }
    }

    /// Moves a point between the ends, if the padding requires it.
    fn inside(&self, place: f64, axis: usize) -> f64 {
        let (first, last) = self.ends(axis);
        if place >= first && place <= last {
            return place;
        }
        match self.padding {
            Padding::Zeros => place,
            Padding::Border => place.max(0.0).min((self.dims[axis] as f64 - 1.0).max(0.0)),
            Padding::Reflection => reflect(place, first, last),
        }
    }

    /// Returns the element at an integer point. `None` means zero.
    fn element(&self, point: f64, axis: usize) -> Option<usize> {
        let (length, (first, last)) = (self.dims[axis] as f64, self.ends(axis));
        let point = match self.padding {
            Padding::Zeros => point,
            Padding::Border => point.max(0.0).min(length - 1.0),
            Padding::Reflection => reflect(point, first, last),
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index within the axis")]
        (point >= 0.0 && point < length).then_some(point as usize)
    }

    /// Returns the position in a plane of the element nearest to a point. Ties round to even.
    fn nearest(&self, place: impl Iterator<Item = f64>) -> Option<usize> {
        let round = |value: f64| self.grid.round(value);
        let mut position = 0;
        for (axis, normal) in place.enumerate() {
            let point = self.denormalize(normal, axis, round).round_ties_even();
            position += self.element(self.inside(point, axis).trunc(), axis)? * self.steps[axis];
        }
        Some(position)
    }

    /// Returns the elements and weights along one axis for a point.
    fn taps(&self, normal: f64, axis: usize) -> Taps {
        let place = self.inside(self.denormalize(normal, axis, |value| value), axis);
        let low = place.floor();
        let over = place - low;
        let weights = match self.mode {
            Mode::Cubic => [1.0 + over, over, 1.0 - over, 2.0 - over].map(cubic),
            _ => [0.0, 1.0 - over, over, 0.0],
        };
        std::array::from_fn(|index| (self.element(low + index as f64 - 1.0, axis), weights[index]))
    }
}

/// Computes the weighted sum over all axes, outermost first. Elements with weight 0 are not read, so that an infinity
/// there does not give NaN.
fn weigh(taps: &[Taps], steps: &[usize], values: &[f64], position: usize) -> f64 {
    let ([taps, inner @ ..], [step, steps @ ..]) = (taps, steps) else {
        return values.get(position).copied().unwrap_or(0.0);
    };
    let mut sum = CompensatedSum::default();
    for &(element, weight) in taps {
        if let Some(element) = element.filter(|_| weight != 0.0) {
            sum.add_product(weight, weigh(inner, steps, values, position + element * step));
        }
    }
    sum.value()
}

/// Mirrors a point at both ends until it is between them.
fn reflect(place: f64, first: f64, last: f64) -> f64 {
    let range = last - first;
    if place >= first && place <= last {
        return place;
    }
    if range <= 0.0 {
        return first;
    }
    let beyond = if place < first { first - place } else { place - last };
    let turns = (beyond / range).floor();
    let rest = beyond - turns * range;
    let from_first = (turns % 2.0 == 0.0) == (place < first);
    if from_first { first + rest } else { last - rest }
}

/// Cubic filter, with upstream's coefficient -0.75.
fn cubic(x: f64) -> f64 {
    let a = -0.75;
    if x <= 1.0 { ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0 } else { ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, ints, node, strings, typed};

    #[test]
    fn reflecting_between_equal_ends_gives_the_end() {
        assert_eq!(reflect(5.0, 0.0, 0.0), 0.0);
    }

    #[test]
    fn the_text_outside_is_empty() {
        let texts = node("GridSample", 16).input(strings(&[1, 1, 1, 2], &["a", "b"]));
        let texts = texts.input(floats(&[1, 1, 2, 2], &[0.5, 0.0, 5.0, 0.0])).set("mode", "nearest").tensor();
        assert_eq!(texts.strings().iter().map(AsRef::as_ref).collect::<Vec<_>>(), ["b", ""]);
    }

    #[test]
    fn doubles_survive_cancellation() {
        let large = libm::ldexp(1.0, 60);
        let x = typed(ElementType::Double, &[1, 1, 4], &[32.0, large, -large, 0.0]);
        let middle = typed(ElementType::Double, &[1, 1, 1], &[0.0]);
        assert_eq!(node("GridSample", 20).input(x).input(middle).set("mode", "cubic").tensor().floats(), [-3.0]);
        // The value at (-1, -1): -1 - large + large.
        let theta = typed(ElementType::Double, &[1, 2, 3], &[1.0, large, large, 0.0, 0.0, 0.0]);
        let affine = node("AffineGrid", 20).input(theta).input(ints(&[4], &[1, 1, 2, 2])).set("align_corners", 1);
        assert_eq!(affine.tensor().floats()[0], -1.0);
    }
}
