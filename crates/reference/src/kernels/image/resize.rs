//! Resize and Upsample: tensors at another resolution.

#![expect(clippy::indexing_slicing, reason = "axes come from normalize_axis, and lists have one entry per axis")]

mod interpolation;

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::image::resize::interpolation::{Coordinates, Extent, Method, Nearest, Plan, resample};
use crate::kernels::image::shapes;
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Resize", 10, resize_by_scales).shape(shapes::scaled_by_input),
    Kernel::new("Resize", 11, resize).shape(shapes::resized),
    Kernel::new("Upsample", 1, |call| upsample(call, &planar_scales(call)?, "C2")).shape(shapes::scaled_plane),
    Kernel::new("Upsample", 7, |call| upsample(call, &call.optional_floats("scales").unwrap_or_default(), "C3"))
        .shape(shapes::scaled_by_attribute),
    Kernel::new("Upsample", 9, |call| upsample(call, &call.budget.read_floats(call.tensor(1)?)?, "C3"))
        .shape(shapes::scaled_by_input),
];

/// Rounds to `float`, the type of scales.
fn float(value: f64) -> f64 {
    ElementType::Float.round(value)
}

/// Returns a length computed from scales.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length beyond memory is refused later")]
fn length(value: f64) -> usize {
    value.floor() as usize
}

/// Resizes each axis by its scale, from the first element on.
fn scaled_extents(shape: &[usize], scales: &[f64]) -> Result<Vec<Extent>> {
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

// Upsample and Resize-10.

/// Returns the scales of version 1, which has none for batch and channels.
fn planar_scales(call: &Call<'_>) -> Result<Vec<f64>> {
    Ok([1.0, 1.0, call.float("height_scale")?, call.float("width_scale")?].to_vec())
}

/// Upsample. `rule` is the version's rule about modes and the number of scales.
fn upsample(call: &Call<'_>, scales: &[f64], rule: &str) -> Result {
    if let Some(scale) = scales.iter().find(|&&scale| scale.is_nan() || scale < 1.0) {
        return Err(broken("C4", format!("a scale is {scale}; it must be 1 or more for Upsample")));
    }
    let method = early_mode(call, Nearest::Floor).rule(rule)?;
    resize_from_start(call, scales, method, rule)
}

fn resize_by_scales(call: &Call<'_>) -> Result {
    let scales = call.budget.read_floats(call.tensor(1)?)?;
    scales.iter().try_for_each(|&scale| check_scale(scale)).rule("C17")?;
    let method = early_mode(call, Nearest::FloorUpCeilDown).rule("C18")?;
    resize_from_start(call, &scales, method, "C16")
}

/// Reads the attribute `mode` of versions before 11. The first one calls linear interpolation `bilinear`.
fn early_mode(call: &Call<'_>, nearest: Nearest) -> Result<Method> {
    let modes = [("nearest", Method::Nearest(nearest)), ("linear", Method::Linear), ("bilinear", Method::Linear)];
    call.one_of("mode", &modes)
}

/// Resizes as versions before 11, which do not define coordinates. Their own tests read the element at `x / scale`.
/// Nearest rounds down for upsampling and up for downsampling. `rule` is the rule for the number of scales.
fn resize_from_start(call: &Call<'_>, scales: &[f64], method: Method, rule: &str) -> Result {
    let x = call.tensor(0)?;
    if scales.len() != x.rank() {
        return Err(broken(rule, format!("there are {} scales for an input of shape {:?}", scales.len(), x.shape())));
    }
    let plan = Plan {
        method,
        coordinates: Coordinates::Asymmetric,
        antialias: false,
        exclude_outside: false,
        extrapolation: 0.0,
    };
    Ok(resample(call, x, &plan, &scaled_extents(x.shape(), scales)?)?.into())
}

// Resize from 11 on.

fn resize(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let coordinates = call.one_of("coordinate_transformation_mode", COORDINATES).rule(
        match call.string("coordinate_transformation_mode")? {
            "tf_half_pixel_for_nn" => "C6",
            "half_pixel_symmetric" => "C8",
            _ => "C19",
        },
    )?;
    let method = call
        .one_of::<fn(&Call<'_>) -> Result<Method>>(
            "mode",
            &[
                ("nearest", |call| nearest(call).map(Method::Nearest)),
                ("linear", |_| Ok(Method::Linear)),
                ("cubic", |call| call.float("cubic_coeff_a").map(Method::Cubic)),
            ],
        )
        .rule("C18")?(call)?;
    let plan = Plan {
        method,
        coordinates,
        antialias: call.optional_int("antialias").unwrap_or(0) != 0,
        exclude_outside: call.flag("exclude_outside")?,
        extrapolation: call.float("extrapolation_value")?,
    };
    Ok(resample(call, x, &plan, &extents(call, x, coordinates)?)?.into())
}

const COORDINATES: &[(&str, Coordinates)] = &[
    ("half_pixel", Coordinates::HalfPixel),
    ("half_pixel_symmetric", Coordinates::HalfPixelSymmetric),
    ("pytorch_half_pixel", Coordinates::PytorchHalfPixel),
    ("align_corners", Coordinates::AlignCorners),
    ("asymmetric", Coordinates::Asymmetric),
    ("tf_half_pixel_for_nn", Coordinates::TfHalfPixelForNn),
    ("tf_crop_and_resize", Coordinates::TfCropAndResize),
];

fn nearest(call: &Call<'_>) -> Result<Nearest> {
    call.one_of(
        "nearest_mode",
        &[
            ("round_prefer_floor", Nearest::RoundPreferFloor),
            ("round_prefer_ceil", Nearest::RoundPreferCeil),
            ("floor", Nearest::Floor),
            ("ceil", Nearest::Ceil),
        ],
    )
    .rule("C9")
}

/// Returns the axes to resize, by `scales` or `sizes`.
fn extents(call: &Call<'_>, x: &Tensor, coordinates: Coordinates) -> Result<Vec<Extent>> {
    let axes = resized_axes(call, x.rank())?;
    let count = axes.len();
    let regions = if coordinates == Coordinates::TfCropAndResize { regions(call, count)? } else { Vec::new() };
    let given = |index: usize| -> Result<Option<&Tensor>> {
        Ok(call.optional_tensor(index)?.filter(|tensor| !tensor.is_empty() || count == 0))
    };
    let region = |index: usize| regions.get(index).copied().unwrap_or([0.0, 1.0]);
    match (given(2)?, given(3)?) {
        (Some(scales), None) if scales.len() == count => {
            let extent = |(index, (&axis, scale)): (usize, (&usize, f64))| {
                check_scale(scale).rule("C17")?;
                let (input, region) = (x.shape()[axis], region(index));
                let share = float(float(region[1]) - float(region[0]));
                let output = length(float(float(input as f64 * share) * scale));
                Ok(Extent { axis, input, output, scale, target: input as f64 * scale, region })
            };
            axes.iter().zip(call.budget.read_floats(scales)?).enumerate().map(extent).collect()
        }
        (None, Some(sizes)) if sizes.len() == count => {
            let sizes = call.budget.read_indices(sizes)?;
            let lengths: Vec<(usize, i64)> = axes.iter().map(|&axis| x.shape()[axis]).zip(sizes).collect();
            let lengths = output_lengths(call, &lengths)?;
            let extent = |(index, (&axis, (output, scale, target))): (usize, (&usize, (usize, f64, f64)))| Extent {
                axis,
                input: x.shape()[axis],
                output,
                scale,
                target,
                region: region(index),
            };
            Ok(axes.iter().zip(lengths).enumerate().map(extent).collect())
        }
        (scales, sizes) => {
            let misfit = |name: &str, list: &Tensor| {
                let length = list.len();
                broken(
                    "C16",
                    format!(
                        "{name} has {length} elements, but must have one for each of the {count} axes of X to resize"
                    ),
                )
            };
            Err(match (scales, sizes) {
                (Some(scales), None) => misfit("scales", scales),
                (None, Some(sizes)) => misfit("sizes", sizes),
                (Some(_), Some(_)) => {
                    broken("C15", "scales and sizes are both given; exactly one of them must have elements")
                }
                (None, None) => {
                    broken("C15", format!("neither scales nor sizes is given; give one, with {count} elements"))
                }
            })
        }
    }
}

fn resized_axes(call: &Call<'_>, rank: usize) -> Result<Vec<usize>> {
    let Some(given) = call.optional_ints("axes") else { return Ok((0..rank).collect()) };
    let axes = given.iter().map(|&axis| normalize_axis(axis, rank).rule("C13")).collect::<Result<Vec<_>>>()?;
    let repeated = axes.iter().enumerate().any(|(index, axis)| axes[..index].contains(axis));
    if repeated { Err(broken("C13", format!("axes {given:?} contains an axis twice"))) } else { Ok(axes) }
}

/// Returns the start and end of each axis. `roi` holds all starts, then all ends.
fn regions(call: &Call<'_>, count: usize) -> Result<Vec<[f64; 2]>> {
    let roi = call.optional_tensor(1)?.map(|tensor| call.budget.read_floats(tensor)).transpose()?.unwrap_or_default();
    if roi.len() != 2 * count {
        return Err(invalid(format!("roi has {} elements; tf_crop_and_resize requires {}", roi.len(), 2 * count)));
    }
    Ok((0..count).map(|index| [roi[index], roi[count + index]]).collect())
}

/// Attribute `keep_aspect_ratio_policy`: sizes apply per axis, or bound one scale for all.
#[derive(Clone, Copy)]
enum Policy {
    Stretch,
    NotLarger,
    NotSmaller,
}

/// Returns the output length, the scale and the unrounded length of each axis, from its input length and requested
/// size.
fn output_lengths(call: &Call<'_>, lengths: &[(usize, i64)]) -> Result<Vec<(usize, f64, f64)>> {
    if let Some((_, size)) = lengths.iter().find(|(_, size)| *size < 0) {
        return Err(invalid(format!("a size is {size}; it must be 0 or more")));
    }
    let ratio = |&(input, size): &(usize, i64)| {
        if input as i128 == i128::from(size) { 1.0 } else { size as f64 / input as f64 }
    };
    let ratios = lengths.iter().map(ratio);
    let policies =
        [("stretch", Policy::Stretch), ("not_larger", Policy::NotLarger), ("not_smaller", Policy::NotSmaller)];
    let scale =
        match call.optional_one_of("keep_aspect_ratio_policy", &policies).rule("C14")?.unwrap_or(Policy::Stretch) {
            Policy::Stretch => {
                let outputs = lengths.iter().map(|&(_, size)| usize::try_from(size).unwrap_or(usize::MAX));
                return Ok(outputs.zip(ratios).map(|(output, ratio)| (output, ratio, output as f64)).collect());
            }
            Policy::NotLarger => ratios.fold(f64::INFINITY, f64::min),
            Policy::NotSmaller => ratios.fold(0.0, f64::max),
        };
    if !scale.is_finite() && !lengths.is_empty() {
        return Err(invalid("an empty axis has no aspect ratio"));
    }
    let targets = lengths.iter().map(|&(input, _)| scale * input as f64);
    Ok(targets.map(|target| (length(target + 0.5), scale, target)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OneNode, floats, ints, node, strings, typed};

    fn scaled_by(opset: i64, x: Tensor, scale: f64) -> OneNode {
        let scales = floats(&[1], &[scale]);
        match opset {
            10 => node("Resize", 10).input(x).input(scales),
            11 => node("Resize", 11).input(x).input(floats(&[0], &[])).input(scales),
            _ => node("Resize", opset).input(x).absent().input(scales),
        }
    }

    fn sized(opset: i64, x: Tensor, size: i64) -> OneNode {
        node("Resize", opset).input(x).absent().absent().input(ints(&[1], &[size]))
    }

    fn line() -> Tensor {
        floats(&[4], &[10.0, 20.0, 30.0, 40.0])
    }

    #[test]
    fn version_11_aligns_corners_too() {
        let node = scaled_by(11, line(), 0.5).set("mode", "linear");
        assert_eq!(node.set("coordinate_transformation_mode", "align_corners").tensor().floats(), [10.0, 40.0]);
    }

    #[test]
    fn the_length_is_computed_in_float() {
        // The float 0.7 is less than 7 / 10, but ten times it rounds to 7.
        let ten = floats(&[10], &[1.0; 10]);
        assert_eq!(scaled_by(19, ten, f64::from(0.7f32)).tensor().shape(), [7]);
    }

    #[test]
    fn doubles_between_elements_keep_what_cancels() {
        // Halfway between the large elements, which have weights of 19/32 each, 32 has a weight of -3/32.
        let large = libm::ldexp(1.0, 60);
        let x = typed(ElementType::Double, &[4], &[32.0, large, -large, 0.0]);
        let node = scaled_by(19, x, 2.0).set("mode", "cubic").set("coordinate_transformation_mode", "asymmetric");
        assert_eq!(node.tensor().floats()[3], -3.0);
    }

    #[test]
    fn an_axis_named_twice_is_refused() {
        let node = node("Resize", 18).input(line()).absent().absent().input(ints(&[2], &[1, 1]));
        let twice = node.set("axes", &[0, -1][..]).error();
        assert!(twice.contains("twice"), "{twice}");
    }

    #[test]
    fn integers_round_to_even_and_strings_move() {
        let bytes = typed(ElementType::Int8, &[2], &[1.0, 2.0]);
        assert_eq!(sized(13, bytes, 1).set("mode", "linear").tensor().floats(), [2.0]);
        let moved = scaled_by(10, strings(&[2], &["a", "b"]), 2.0).tensor();
        assert_eq!(moved.strings().iter().map(AsRef::as_ref).collect::<Vec<_>>(), ["a", "a", "b", "b"]);
        assert!(scaled_by(10, strings(&[1], &["a"]), 2.0).set("mode", "linear").error().contains("strings"));
    }

    #[test]
    fn an_empty_axis_is_not_resized() {
        assert!(sized(13, floats(&[0], &[]), 2).error().contains("empty"));
    }
}
