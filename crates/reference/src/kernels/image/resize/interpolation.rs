//! Separable interpolation, one axis after another: nearest, linear, cubic.

#![expect(clippy::indexing_slicing, reason = "indices are clamped to the axis that they read")]

use crate::dtype::{ElementType, Kind};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{KernelError, invalid};
use crate::parallel::try_for_each_block;
use crate::tensor::Tensor;
use crate::tensor::shape::{element_count, strides};
use crate::tensor::sum::dot;

/// Mapping of output indices to input coordinates, named as in `coordinate_transformation_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    TfHalfPixelForNn,
    TfCropAndResize,
}

/// Rounding to the nearest element. The first four are named as in `nearest_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nearest {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
    /// Down for upsampling, up for downsampling.
    FloorUpCeilDown,
}

/// Interpolation between elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    /// The nearest element, bit by bit.
    Nearest(Nearest),
    /// The two elements around a point.
    Linear,
    /// The four elements around a point, with the coefficient `a` of the cubic.
    Cubic(f64),
}

/// Resampling parameters of all axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) method: Method,
    pub(super) coordinates: Coordinates,
    /// True if downsampling stretches the filter.
    pub(super) antialias: bool,
    /// True if elements outside the ends have weight 0. Otherwise the last one repeats.
    pub(super) exclude_outside: bool,
    /// Value of points outside the input, for [`Coordinates::TfCropAndResize`].
    pub(super) extrapolation: f64,
}

/// Input and output of an axis to resample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) axis: usize,
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) scale: f64,
    /// Output length before rounding.
    pub(super) target: f64,
    /// Part of the axis to read, for [`Coordinates::TfCropAndResize`].
    pub(super) region: [f64; 2],
}

/// Elements and weights along one axis for an output index. Empty if it is outside the input.
type Taps = Vec<(usize, f64)>;

/// Interpolation filter: the weight of an element by its distance, which is zero from `reach` on.
struct Filter<F> {
    reach: u32,
    weight: F,
}

/// Resamples each of the axes to its new length.
pub(super) fn resample(call: &Call<'_>, x: &Tensor, plan: &Plan, extents: &[Extent]) -> Result<Tensor> {
    let mut shape = x.shape().to_vec();
    for extent in extents {
        shape[extent.axis] = extent.output;
        if extent.input == 0 && extent.output > 0 {
            return Err(invalid(format!("axis {} is empty and cannot be resized to {}", extent.axis, extent.output)));
        }
    }
    let element = x.element_type();
    // Counts the output before anything is computed.
    drop(call.allocate(element, &shape)?);
    let changing: Vec<&Extent> = extents.iter().filter(|extent| !plan.leaves_unchanged(extent)).collect();
    let mut lines: Vec<(usize, Vec<Taps>)> = Vec::new();
    for extent in changing {
        lines.push((extent.axis, plan.line(call, extent)?));
    }
    if let Method::Nearest(_) = plan.method {
        return plan.select_nearest(call, x, &shape, &lines);
    }
    let outside = outside(call, &shape, &lines)?;
    let finish = |values: Vec<f64>| {
        values.into_iter().enumerate().map(|(index, value)| {
            let value = if outside.get(index).is_some_and(|&outside| outside) { plan.extrapolation } else { value };
            if element.is_float() || element.kind() == Kind::Complex { value } else { value.round_ties_even() }
        })
    };
    match element.kind() {
        Kind::String => Err(invalid("strings cannot be interpolated; set mode to nearest")),
        Kind::Complex => {
            let re = call.budget.collect(x.stream(Tensor::complexes).map(|z| z.re))?;
            let im = call.budget.collect(x.stream(Tensor::complexes).map(|z| z.im))?;
            let (re, im) = (interpolated(call, x, re, &lines)?, interpolated(call, x, im, &lines)?);
            let im =
                im.into_iter().enumerate().map(|(index, im)| if outside.get(index) == Some(&true) { 0.0 } else { im });
            let parts = finish(re).zip(im).map(|(re, im)| num_complex::Complex::new(re, im));
            Ok(call.allocate(element, &shape)?.complexes(parts)?)
        }
        _ => call.floats(element, &shape, finish(interpolated(call, x, call.budget.read_floats(x)?, &lines)?)),
    }
}

/// Returns a mask of the output elements outside the input, or an empty one if there are none.
fn outside(call: &Call<'_>, shape: &[usize], lines: &[(usize, Vec<Taps>)]) -> Result<Vec<bool>> {
    if lines.iter().all(|(_, line)| line.iter().all(|taps| !taps.is_empty())) {
        return Ok(Vec::new());
    }
    let mut outside: Vec<bool> = call.budget.scratch(element_count(shape)?)?;
    let steps = strides(shape);
    for (axis, line) in lines {
        for (index, outside) in outside.iter_mut().enumerate() {
            *outside |= line[index / steps[*axis] % shape[*axis]].is_empty();
        }
    }
    Ok(outside)
}

/// Interpolates along one axis after another, with compensated sums where `f64` is not wider than the type.
fn interpolated(call: &Call<'_>, x: &Tensor, mut values: Vec<f64>, lines: &[(usize, Vec<Taps>)]) -> Result<Vec<f64>> {
    let mut shape = x.shape().to_vec();
    let compensated = matches!(x.element_type(), ElementType::Double | ElementType::Complex128);
    for (axis, line) in lines {
        let inner = element_count(&shape[axis + 1..])?;
        let input = shape[*axis];
        shape[*axis] = line.len();
        let mut out: Vec<f64> = call.budget.scratch(element_count(&shape)?)?;
        if !out.is_empty() {
            let size = input * inner;
            try_for_each_block(&mut out, line.len() * inner, |index, out| {
                let values = &values[index * size..(index + 1) * size];
                for (taps, out) in line.iter().zip(out.chunks_mut(inner)) {
                    call.budget.count_work(taps.len().saturating_mul(inner))?;
                    weigh(taps, values, compensated, out);
                }
                Ok::<_, KernelError>(())
            })?;
        }
        values = out;
    }
    Ok(values)
}

/// Computes a row of the output from weighted rows of the input.
fn weigh(taps: &[(usize, f64)], values: &[f64], compensated: bool, out: &mut [f64]) {
    let inner = out.len();
    if compensated {
        for (column, out) in out.iter_mut().enumerate() {
            *out = dot(taps.iter().map(|&(index, weight)| (weight, values[index * inner + column])));
        }
        return;
    }
    for &(index, weight) in taps {
        let row = &values[index * inner..(index + 1) * inner];
        out.iter_mut().zip(row).for_each(|(out, value)| *out += weight * value);
    }
}

impl Plan {
    /// True if an axis is unchanged.
    fn leaves_unchanged(&self, extent: &Extent) -> bool {
        let covers_input = match self.coordinates {
            Coordinates::TfHalfPixelForNn => false,
            Coordinates::TfCropAndResize => extent.region == [0.0, 1.0],
            _ => true,
        };
        extent.input == extent.output && extent.scale == 1.0 && covers_input
    }

    /// Selects the nearest elements, bit by bit.
    fn select_nearest(
        &self,
        call: &Call<'_>,
        x: &Tensor,
        shape: &[usize],
        lines: &[(usize, Vec<Taps>)],
    ) -> Result<Tensor> {
        let strides = strides(x.shape());
        let mut positions: Vec<usize> = call.budget.scratch(element_count(shape)?)?;
        let mut after = 1usize;
        for axis in (0..shape.len()).rev() {
            let line = lines.iter().find(|(resized, _)| *resized == axis).map(|(_, line)| line);
            for (at, position) in positions.iter_mut().enumerate() {
                let index = at / after % shape[axis];
                let read = match line {
                    Some(line) => line[index].first().map(|&(at, _)| at),
                    None => Some(index),
                };
                *position = read.map_or(usize::MAX, |read| position.saturating_add(read * strides[axis]));
            }
            after = after.saturating_mul(shape[axis]);
        }
        let outside = call.floats(x.element_type(), &[1], [self.extrapolation]);
        let output = call.allocate(x.element_type(), shape)?;
        if positions.contains(&usize::MAX) {
            let outside = outside.map_err(|_| invalid("strings have no extrapolation_value"))?;
            let positions = positions.into_iter().map(|at| if at == usize::MAX { (1, 0) } else { (0, at) });
            return Ok(output.gather_from(&[x, &outside], positions)?);
        }
        Ok(output.gather(x, positions)?)
    }

    /// Returns the elements and weights of each output index along one axis.
    fn line(&self, call: &Call<'_>, extent: &Extent) -> Result<Vec<Taps>> {
        let mut line: Vec<Taps> = call.budget.scratch(extent.output)?;
        for (output, taps) in call.budget.timed(line.iter_mut().enumerate()) {
            let place = self.input_coordinate(output as f64, extent);
            let last = extent.input as f64 - 1.0;
            if self.coordinates == Coordinates::TfCropAndResize && !(place >= 0.0 && place <= last) {
                continue;
            }
            *taps = match self.method {
                Method::Nearest(nearest) => [(index(nearest.round(place, extent.scale), extent.input), 1.0)].to_vec(),
                Method::Linear => {
                    let filter = Filter { reach: 1, weight: |distance: f64| (1.0 - distance).max(0.0) };
                    self.weighted_taps(call, place, extent, &filter)?
                }
                Method::Cubic(a) => {
                    let filter = Filter { reach: 2, weight: |distance: f64| cubic(a, distance) };
                    self.weighted_taps(call, place, extent, &filter)?
                }
            };
        }
        Ok(line)
    }

    /// Returns the input coordinate of an output index.
    fn input_coordinate(&self, index: f64, extent: &Extent) -> f64 {
        let Extent { input, output, scale, target, region: [start, end], .. } = *extent;
        let (input, last) = (input as f64, input as f64 - 1.0);
        match self.coordinates {
            Coordinates::HalfPixel => (index + 0.5) / scale - 0.5,
            Coordinates::HalfPixelSymmetric => {
                input / 2.0 * (1.0 - output as f64 / target) + (index + 0.5) / scale - 0.5
            }
            Coordinates::PytorchHalfPixel if output > 1 => (index + 0.5) / scale - 0.5,
            Coordinates::PytorchHalfPixel => 0.0,
            // The text divides by the output length minus one. Upstream's own cases use the length before rounding
            // instead.
            Coordinates::AlignCorners if index == 0.0 => 0.0,
            Coordinates::AlignCorners => index * last / (target - 1.0),
            Coordinates::Asymmetric => index / scale,
            Coordinates::TfHalfPixelForNn => (index + 0.5) / scale,
            Coordinates::TfCropAndResize if output > 1 => {
                start * last + index * (end - start) * last / (output as f64 - 1.0)
            }
            Coordinates::TfCropAndResize => 0.5 * (start + end) * last,
        }
    }

    /// Returns the elements within reach of a point, stretched for antialiasing, with weights. These sum to 1 if the
    /// filter is cut off or stretched.
    fn weighted_taps(
        &self,
        call: &Call<'_>,
        place: f64,
        extent: &Extent,
        filter: &Filter<impl Fn(f64) -> f64>,
    ) -> Result<Taps> {
        let stretched = self.antialias && extent.scale < 1.0;
        let scale = if stretched { extent.scale } else { 1.0 };
        let reach = f64::from(filter.reach) / scale;
        let first = (place - reach).floor() + 1.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked by the scratch it sizes")]
        let count = (((place + reach).ceil() - first).max(0.0)) as usize;
        let mut taps: Taps = call.budget.scratch(count)?;
        for (at, (position, weight)) in taps.iter_mut().enumerate() {
            let coordinate = first + at as f64;
            let outside = coordinate < 0.0 || coordinate >= extent.input as f64;
            *position = index(coordinate, extent.input);
            let distance = (coordinate - place).abs() * scale;
            *weight = if outside && self.exclude_outside { 0.0 } else { (filter.weight)(distance) };
        }
        let sum: f64 = taps.iter().map(|(_, weight)| weight).sum();
        if (stretched || self.exclude_outside) && sum != 0.0 {
            for (_, weight) in &mut taps {
                *weight /= sum;
            }
        }
        // An infinity with weight 0 must not give NaN.
        taps.retain(|&(_, weight)| weight != 0.0);
        if taps.is_empty() {
            taps.push((index(place.round(), extent.input), 0.0));
        }
        Ok(taps)
    }
}

/// Converts an integer coordinate to an index, clamped to the axis.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the axis")]
fn index(whole: f64, length: usize) -> usize {
    whole.clamp(0.0, length as f64 - 1.0) as usize
}

/// Keys' cubic convolution filter.
fn cubic(a: f64, x: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

impl Nearest {
    fn round(self, place: f64, scale: f64) -> f64 {
        let below = place.floor();
        match self {
            Nearest::RoundPreferFloor => {
                if place - below > 0.5 {
                    below + 1.0
                } else {
                    below
                }
            }
            Nearest::RoundPreferCeil => {
                if place - below >= 0.5 {
                    below + 1.0
                } else {
                    below
                }
            }
            Nearest::FloorUpCeilDown if scale < 1.0 => place.ceil(),
            Nearest::Floor | Nearest::FloorUpCeilDown => below,
            Nearest::Ceil => place.ceil(),
        }
    }
}
