//! Tensors at another resolution: Resize and Upsample.

use crate::dtype::ElementType;
use crate::kernels::call::{Call, Result};
use crate::kernels::error::invalid;
use crate::kernels::interpolate::{Coordinates, Extent, Method, Nearest, Plan, resample};
use crate::kernels::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Resize", 10, resize_by_scales),
    Kernel::new("Resize", 11, resize),
    Kernel::new("Upsample", 1, |call| upsample(call, &planar_scales(call)?, "bilinear")),
    Kernel::new("Upsample", 7, |call| upsample(call, &call.optional_floats("scales").unwrap_or_default(), "linear")),
    Kernel::new("Upsample", 9, |call| upsample(call, &call.tensor(1)?.floats(), "linear")),
];

/// Rounds to `float`, the type of scales.
fn float(value: f64) -> f64 {
    ElementType::Float.decode_f64(ElementType::Float.round(value))
}

/// A length computed from scales.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length beyond memory is refused later")]
fn length(value: f64) -> usize {
    value.floor() as usize
}

/// Each axis by its scale, from the first element on.
fn scaled(shape: &[usize], scales: &[f64]) -> Result<Vec<Extent>> {
    if scales.len() != shape.len() {
        return Err(invalid(format!("{} scales for an input of shape {shape:?}", scales.len())));
    }
    let extent = |(axis, (&input, &scale))| {
        check_scale(scale)?;
        let output = length(float(input as f64 * scale));
        Ok(Extent { axis, input, output, scale, target: input as f64 * scale, region: [0.0, 1.0] })
    };
    shape.iter().zip(scales).enumerate().map(extent).collect()
}

fn check_scale(scale: f64) -> Result<()> {
    if scale > 0.0 && scale.is_finite() {
        Ok(())
    } else {
        Err(invalid(format!("a scale is {scale}; it must be above 0")))
    }
}

// Upsample, and Resize-10.

/// The scales of version 1: none for batch and channels.
fn planar_scales(call: &Call<'_>) -> Result<Vec<f64>> {
    Ok([1.0, 1.0, call.float("height_scale")?, call.float("width_scale")?].to_vec())
}

fn upsample(call: &Call<'_>, scales: &[f64], linear: &str) -> Result {
    if let Some(scale) = scales.iter().find(|&&scale| !(scale >= 1.0)) {
        return Err(invalid(format!("a scale is {scale}; Upsample takes 1 or more")));
    }
    by_scales(call, scales, linear, Nearest::Floor)
}

fn resize_by_scales(call: &Call<'_>) -> Result {
    by_scales(call, &call.tensor(1)?.floats(), "linear", Nearest::FloorUpCeilDown)
}

/// The versions before 11 name no coordinates. Their authors' tests read the element at `x / scale`, and the nearest
/// one below it when upsampling, above it when downsampling.
fn by_scales(call: &Call<'_>, scales: &[f64], linear: &str, nearest: Nearest) -> Result {
    let method = match call.string("mode")? {
        "nearest" => Method::Nearest(nearest),
        mode if mode == linear => Method::Linear,
        mode => return Err(invalid(format!("mode is {mode:?}; {} takes nearest and {linear}", call.spec.version))),
    };
    let x = call.tensor(0)?;
    let plan = Plan {
        method,
        coordinates: Coordinates::Asymmetric,
        antialias: false,
        exclude_outside: false,
        extrapolation: 0.0,
    };
    Ok(resample(call, x, &plan, &scaled(x.shape(), scales)?)?.into())
}

// Resize from 11 on.

fn resize(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let coordinates = coordinates(call)?;
    let method = match call.string("mode")? {
        "nearest" => Method::Nearest(nearest(call)?),
        "linear" => Method::Linear,
        "cubic" => Method::Cubic(call.float("cubic_coeff_a")?),
        mode => return Err(invalid(format!("mode is {mode:?}; it takes nearest, linear and cubic"))),
    };
    let plan = Plan {
        method,
        coordinates,
        antialias: call.optional_int("antialias").unwrap_or(0) != 0,
        exclude_outside: call.flag("exclude_outside")?,
        extrapolation: call.float("extrapolation_value")?,
    };
    Ok(resample(call, x, &plan, &extents(call, x, coordinates)?)?.into())
}

fn coordinates(call: &Call<'_>) -> Result<Coordinates> {
    let since = call.since();
    match call.string("coordinate_transformation_mode")? {
        "half_pixel" => Ok(Coordinates::HalfPixel),
        "half_pixel_symmetric" if since >= 19 => Ok(Coordinates::HalfPixelSymmetric),
        "pytorch_half_pixel" => Ok(Coordinates::PytorchHalfPixel),
        "align_corners" => Ok(Coordinates::AlignCorners),
        "asymmetric" => Ok(Coordinates::Asymmetric),
        "tf_half_pixel_for_nn" if since < 13 => Ok(Coordinates::TfHalfPixelForNn),
        "tf_crop_and_resize" => Ok(Coordinates::TfCropAndResize),
        other => Err(invalid(format!("coordinate_transformation_mode {other:?} is none of {}", call.spec.version))),
    }
}

fn nearest(call: &Call<'_>) -> Result<Nearest> {
    match call.string("nearest_mode")? {
        "round_prefer_floor" => Ok(Nearest::RoundPreferFloor),
        "round_prefer_ceil" => Ok(Nearest::RoundPreferCeil),
        "floor" => Ok(Nearest::Floor),
        "ceil" => Ok(Nearest::Ceil),
        other => Err(invalid(format!(
            "nearest_mode is {other:?}; it takes round_prefer_floor, round_prefer_ceil, floor and ceil"
        ))),
    }
}

/// The axes to resize, by `scales` or `sizes`.
fn extents(call: &Call<'_>, x: &Tensor, coordinates: Coordinates) -> Result<Vec<Extent>> {
    let axes = resized_axes(call, x.rank())?;
    let count = axes.len();
    let regions = if coordinates == Coordinates::TfCropAndResize { regions(call, count)? } else { Vec::new() };
    let given = |at: usize| -> Result<Option<&Tensor>> {
        Ok(call.optional_tensor(at)?.filter(|tensor| !tensor.is_empty() || count == 0))
    };
    let region = |at: usize| regions.get(at).copied().unwrap_or([0.0, 1.0]);
    match (given(2)?, given(3)?) {
        (Some(scales), None) if scales.len() == count => {
            let extent = |(at, (&axis, scale)): (usize, (&usize, f64))| {
                check_scale(scale)?;
                let (input, region) = (x.shape()[axis], region(at));
                let share = float(float(region[1]) - float(region[0]));
                let output = length(float(float(input as f64 * share) * scale));
                Ok(Extent { axis, input, output, scale, target: input as f64 * scale, region })
            };
            axes.iter().zip(scales.floats()).enumerate().map(extent).collect()
        }
        (None, Some(sizes)) if sizes.len() == count => {
            let sizes = sizes.indices();
            let lengths: Vec<(usize, i64)> = axes.iter().map(|&axis| x.shape()[axis]).zip(sizes).collect();
            let lengths = fitted(call, &lengths)?;
            let extent = |(at, (&axis, (output, scale, target))): (usize, (&usize, (usize, f64, f64)))| Extent {
                axis,
                input: x.shape()[axis],
                output,
                scale,
                target,
                region: region(at),
            };
            Ok(axes.iter().zip(lengths).enumerate().map(extent).collect())
        }
        (scales, sizes) => {
            let (scales, sizes) = (scales.map(Tensor::len), sizes.map(Tensor::len));
            Err(invalid(format!(
                "one of scales and sizes takes {count} elements and the other none; they have {scales:?} and {sizes:?}"
            )))
        }
    }
}

fn resized_axes(call: &Call<'_>, rank: usize) -> Result<Vec<usize>> {
    let Some(given) = call.optional_ints("axes") else { return Ok((0..rank).collect()) };
    let axes = given.iter().map(|&axis| Ok(normalize_axis(axis, rank)?)).collect::<Result<Vec<_>>>()?;
    let repeated = axes.iter().enumerate().any(|(at, axis)| axes[..at].contains(axis));
    if repeated { Err(invalid(format!("axes {given:?} names an axis twice"))) } else { Ok(axes) }
}

/// The start and end of each axis: `roi` holds all starts, then all ends.
fn regions(call: &Call<'_>, count: usize) -> Result<Vec<[f64; 2]>> {
    let roi = call.optional_tensor(1)?.map(Tensor::floats).unwrap_or_default();
    if roi.len() != 2 * count {
        return Err(invalid(format!("roi has {} elements; tf_crop_and_resize takes {} of them", roi.len(), 2 * count)));
    }
    Ok((0..count).map(|at| [roi[at], roi[count + at]]).collect())
}

/// The output length of each axis, its scale and the length before rounding, from its input length and the size asked
/// for.
fn fitted(call: &Call<'_>, lengths: &[(usize, i64)]) -> Result<Vec<(usize, f64, f64)>> {
    if let Some((_, size)) = lengths.iter().find(|(_, size)| *size < 0) {
        return Err(invalid(format!("a size is {size}; it takes 0 or more")));
    }
    let ratio = |&(input, size): &(usize, i64)| {
        if input as i128 == i128::from(size) { 1.0 } else { size as f64 / input as f64 }
    };
    let ratios = lengths.iter().map(ratio);
    let scale = match call.optional_string("keep_aspect_ratio_policy").unwrap_or("stretch") {
        "stretch" => {
            let outputs = lengths.iter().map(|&(_, size)| usize::try_from(size).unwrap_or(usize::MAX));
            return Ok(outputs.zip(ratios).map(|(output, ratio)| (output, ratio, output as f64)).collect());
        }
        "not_larger" => ratios.fold(f64::INFINITY, f64::min),
        "not_smaller" => ratios.fold(0.0, f64::max),
        other => {
            return Err(invalid(format!(
                "keep_aspect_ratio_policy is {other:?}; it takes stretch, not_larger and not_smaller"
            )));
        }
    };
    if !scale.is_finite() && !lengths.is_empty() {
        return Err(invalid("an empty axis has no aspect ratio"));
    }
    let targets = lengths.iter().map(|&(input, _)| scale * input as f64);
    Ok(targets.map(|target| (length(target + 0.5), scale, target)).collect())
}
