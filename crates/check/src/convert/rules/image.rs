//! Resize and Upsample, `GridSample`, `RoiAlign`, `ConvTranspose`, DFT: coordinates, modes and axes.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::types::ValueType;

use super::axes::{as_int, axis_of, tensor, vector};
use super::inputs::numbers;
use super::rule::{Replacement, Rule, unchanged};
use crate::bounded;
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get_float, get_floats, get_int, get_ints, get_string};
use crate::convert::draft::{Draft, NewNode, as_attribute};
use crate::facts::ValueFact;

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["Upsample"], versions: (1, 7), up: scales_of_axes, down: scales_of_images },
    Rule { operators: &["Upsample"], versions: (7, 9), up: scales_to_input, down: scales_to_attribute },
    Rule { operators: &["Upsample"], versions: (9, 10), up: to_resize, down: unchanged },
    Rule { operators: &["Resize"], versions: (10, 11), up: resize_up, down: resize_down },
    Rule { operators: &["Resize"], versions: (11, 13), up: without_empty, down: with_empty },
    Rule { operators: &["Resize"], versions: (13, 18), up: unchanged, down: resize_all_axes },
    Rule { operators: &["GridSample"], versions: (16, 20), up: grid_up, down: grid_down },
    Rule { operators: &["RoiAlign"], versions: (10, 16), up: roi_up, down: roi_down },
    Rule { operators: &["ConvTranspose"], versions: (1, 11), up: transposed_up, down: transposed_down },
    Rule { operators: &["DFT"], versions: (17, 20), up: dft_up, down: dft_down },
];

pub(super) const REPLACEMENTS: &[Replacement] = &[Replacement { operator: "Resize", replace: to_upsample }];

fn set_string(draft: &mut Draft, name: &str, value: &str) {
    attributes::set(&mut draft.node, attributes::string(name, value));
    draft.edit(format!("attribute {name}={value} is set"));
}

/// Translates a string attribute to its name in the other version.
fn rename(draft: &mut Draft, name: &str, names: &[(&str, &str)]) -> Step {
    draft.same_default(name);
    if let Some(value) = get_string(&draft.node, name)?
        && let Some((_, other)) = names.iter().find(|(one, _)| value.eq_ignore_ascii_case(one))
    {
        attributes::set(&mut draft.node, attributes::string(name, other));
        draft.edit(format!("{name}={value} is renamed to {other}"));
    }
    Ok(())
}

fn scales_of_axes(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let (height, width) = (get_float(&draft.node, "height_scale")?, get_float(&draft.node, "width_scale")?);
    let (Some(height), Some(width)) = (height, width) else { return impossible("a scale is missing") };
    for name in ["height_scale", "width_scale"] {
        attributes::remove(&mut draft.node, name);
    }
    attributes::set(&mut draft.node, attributes::floats("scales", &[1.0, 1.0, height, width]));
    draft.edit(format!("height_scale and width_scale are replaced by scales of {}", to.version));
    rename(draft, "mode", &[("bilinear", "linear")])
}

fn scales_of_images(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let scales = get_floats(&draft.node, "scales")?.unwrap_or_default();
    let [1.0, 1.0, height, width] = scales.as_slice() else {
        return impossible(format!("{} scales only the height and width of images", to.version));
    };
    let (height, width) = (*height, *width);
    attributes::remove(&mut draft.node, "scales");
    attributes::set(&mut draft.node, attributes::float("height_scale", height));
    attributes::set(&mut draft.node, attributes::float("width_scale", width));
    draft.edit(format!("scales is replaced by height_scale and width_scale of {}", to.version));
    rename(draft, "mode", &[("linear", "bilinear")])
}

fn scales_to_input(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let scales = get_floats(&draft.node, "scales")?.unwrap_or_default();
    attributes::remove(&mut draft.node, "scales");
    let wide: Vec<f64> = scales.iter().map(|scale| f64::from(*scale)).collect();
    draft.set_constant(1, "scales", &numbers(ElementType::Float, &[wide.len()], &wide)?);
    draft.edit(format!("scales moves from an attribute to input 1 of {}", to.version));
    Ok(())
}

/// The scales, which must be a constant float tensor.
fn known_scales(draft: &Draft, position: usize, why: &str) -> Step<Vec<f32>> {
    let scales = draft.known(position, "scales", why)?;
    #[expect(clippy::cast_possible_truncation, reason = "elements of a tensor of float")]
    Ok(scales.floats().into_iter().map(|scale| scale as f32).collect())
}

fn scales_to_attribute(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let scales = known_scales(draft, 1, &as_attribute("scales", to))?;
    draft.clear_input(1);
    attributes::set(&mut draft.node, attributes::floats("scales", &scales));
    draft.edit(format!("scales moves from input 1 to an attribute of {}", to.version));
    Ok(())
}

fn to_resize(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    modernize(draft)
}

/// Replaces a deprecated Upsample.
pub(super) fn modernize(draft: &mut Draft) -> Step {
    draft.node.op_type = Some("Resize".into());
    draft.edit("Upsample, which is deprecated, is replaced by Resize");
    Ok(())
}

fn to_upsample(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    if known_scales(draft, 1, "the scales of Upsample must be at least 1")?.iter().any(|scale| *scale < 1.0) {
        return impossible(format!("before {} there is only Upsample, whose scales must be at least 1", from.version));
    }
    draft.node.op_type = Some("Upsample".into());
    draft.edit("Resize is replaced by Upsample");
    Ok(())
}

fn resize_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    draft.arrange_inputs(&[Some(0), None, Some(1)]);
    draft.set_constant(1, "roi", &numbers(ElementType::Float, &[0], &[])?);
    draft.edit(format!("an empty roi, which {} requires, is added as input 1", to.version));
    set_string(draft, "coordinate_transformation_mode", "asymmetric");
    if get_string(&draft.node, "mode")?.is_none_or(|mode| mode == "nearest") {
        set_string(draft, "nearest_mode", "floor");
    }
    Ok(())
}

fn resize_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let text = |draft: &Draft, name: &str, default: &str| -> Step<String> {
        Ok(get_string(&draft.node, name)?.unwrap_or_else(|| default.to_owned()))
    };
    let coordinates = text(draft, "coordinate_transformation_mode", "half_pixel")?;
    if coordinates != "asymmetric" {
        return impossible(format!("{} transforms coordinates like asymmetric, not like {coordinates}", to.version));
    }
    let mode = text(draft, "mode", "nearest")?;
    let nearest = text(draft, "nearest_mode", "round_prefer_floor")?;
    if mode == "nearest" && nearest != "floor" {
        return impossible(format!("{} rounds coordinates like floor, not like {nearest}", to.version));
    }
    let is_linear = mode == "linear";
    if is_linear && get_int(&draft.node, "exclude_outside")?.unwrap_or(0) != 0 {
        return impossible(format!("{} has no exclude_outside", to.version));
    }
    if draft.has_input(3) {
        return impossible(format!("{} accepts scales, but not sizes", to.version));
    }
    for name in
        ["coordinate_transformation_mode", "nearest_mode", "exclude_outside", "cubic_coeff_a", "extrapolation_value"]
    {
        attributes::remove(&mut draft.node, name);
        draft.same_default(name);
    }
    draft.arrange_inputs(&[Some(0), Some(2)]);
    draft.edit(format!("roi and the attributes that only describe the behaviour of {} are removed", to.version));
    Ok(())
}

/// True if an input is known to be empty.
fn is_empty(draft: &Draft, position: usize) -> bool {
    let zero = onnx_conformance_reference::model::graph::Dim::Size(0);
    draft.fact(position).shape.is_some_and(|shape| shape.contains(&zero))
}

fn without_empty(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.has_input(3) {
        if !is_empty(draft, 2) && draft.has_input(2) {
            draft.known(2, "scales", "with input 3 'sizes' they must be empty")?;
        }
        draft.clear_input(2);
        draft.edit(format!("the empty scales are removed, since {} accepts sizes without scales", to.version));
    }
    Ok(())
}

fn with_empty(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    for (position, what) in [(1, "roi"), (2, "scales")] {
        if !draft.has_input(position) {
            draft.set_constant(position, what, &numbers(ElementType::Float, &[0], &[])?);
            draft.edit(format!("an empty {what}, which {} requires, is added as input {position}", to.version));
        }
    }
    Ok(())
}

/// Replaces scales or sizes of some axes by scales or sizes of all axes. A cropped image also has a `roi` of these
/// axes, and is refused.
fn resize_all_axes(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let Some(axes) = get_ints(&draft.node, "axes")? else { return Ok(()) };
    if get_string(&draft.node, "coordinate_transformation_mode")?.as_deref() == Some("tf_crop_and_resize") {
        return Ok(());
    }
    let rank = draft.rank(0)?;
    let axes = axes.into_iter().map(|axis| axis_of(axis, rank)).collect::<Step<Vec<usize>>>()?;
    let added = if draft.has_input(2) {
        scales_of_all_axes(draft, &axes, rank, to)?;
        ""
    } else {
        sizes_of_all_axes(draft, &axes, rank)?
    };
    attributes::remove(&mut draft.node, "axes");
    // It has no effect without cropping.
    draft.clear_input(1);
    let what = if draft.has_input(2) { "scales" } else { "sizes" };
    draft.edit(format!("{what} are listed for all axes, since {} has no attribute axes{added}", to.version));
    Ok(())
}

fn scales_of_all_axes(draft: &mut Draft, axes: &[usize], rank: usize, to: &OpSpec) -> Step {
    let scales = draft.known(2, "scales", &format!("scales are listed for all axes in {}", to.version))?;
    let mut all = bounded::repeated(1.0, rank)?;
    for (axis, scale) in axes.iter().zip(scales.floats()) {
        if let Some(place) = all.get_mut(*axis) {
            *place = scale;
        }
    }
    draft.set_constant(2, "scales", &numbers(ElementType::Float, &[rank], &all)?);
    Ok(())
}

/// Completes the sizes from the shape of the input. Returns the nodes that compute them.
fn sizes_of_all_axes(draft: &mut Draft, axes: &[usize], rank: usize) -> Step<&'static str> {
    let size = |dim: &Dim| if let Dim::Size(size) = dim { i64::try_from(*size).ok() } else { None };
    let shape: Option<Vec<i64>> = draft.shape(0)?.iter().map(size).collect();
    if let (Some(mut all), Some(sizes)) = (shape, draft.constant(3)) {
        for (axis, size) in axes.iter().zip(sizes.indices()) {
            if let Some(place) = all.get_mut(*axis) {
                *place = size;
            }
        }
        draft.set_constant(3, "sizes", &vector(&all)?);
        return Ok("");
    }
    let (input, sizes, element) = (draft.input(0), draft.input(3), draft.element(0).ok());
    let positions: Vec<i64> = axes.iter().map(|axis| as_int(*axis)).collect();
    let stem = draft.stem("axes");
    let positions = draft.add_constant(&stem, &vector(&positions)?);
    let shape = draft.before(NewNode { op: "Shape", inputs: &[&input], attributes: Vec::new(), element })?;
    let all = draft.before(NewNode {
        op: "ScatterElements",
        inputs: &[&shape, &positions, &sizes],
        attributes: Vec::new(),
        element: Some(ElementType::Int64),
    })?;
    let fact = ValueFact {
        value_type: Some(ValueType::Tensor(ElementType::Int64)),
        shape: Some(vec![Dim::Size(rank)]),
        ..ValueFact::default()
    };
    draft.set_input(3, all, Some(fact));
    Ok(": Shape, ScatterElements before")
}

fn grid_up(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    rename(draft, "mode", &[("bilinear", "linear"), ("bicubic", "cubic")])
}

fn grid_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let rank = draft.rank(0)?;
    if rank != 4 {
        return impossible(format!("{} requires images with 4 axes, not {rank}", to.version));
    }
    rename(draft, "mode", &[("linear", "bilinear"), ("cubic", "bicubic")])
}

fn roi_up(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    set_string(draft, "coordinate_transformation_mode", "output_half_pixel");
    Ok(())
}

fn roi_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let mode = get_string(&draft.node, "coordinate_transformation_mode")?;
    if mode.as_deref() != Some("output_half_pixel") {
        return impossible(format!("{} does not shift coordinates by half a pixel", to.version));
    }
    attributes::remove(&mut draft.node, "coordinate_transformation_mode");
    draft.edit(format!(
        "attribute coordinate_transformation_mode, which only describes the behaviour of {}, is removed",
        to.version
    ));
    Ok(())
}

/// Swaps `auto_pad` for `output_shape`: the two versions disagree on the end at which the odd element is cut off.
fn swap_end(draft: &mut Draft, is_upper_at_end: bool) -> Step {
    if attributes::get(&draft.node, "output_shape")?.is_none() {
        return Ok(());
    }
    let is_upper = get_string(&draft.node, "auto_pad")?.as_deref() == Some("SAME_UPPER");
    let is_at_end = is_upper == is_upper_at_end;
    let value = if is_at_end == is_upper_at_end { "SAME_LOWER" } else { "SAME_UPPER" };
    set_string(draft, "auto_pad", value);
    if attributes::remove(&mut draft.node, "pads") {
        draft.edit("attribute pads, which output_shape overrides, is removed");
    }
    draft.mark_equivalent();
    Ok(())
}

fn transposed_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let lengths = |name: &str| -> Step<Vec<i64>> { Ok(get_ints(&draft.node, name)?.unwrap_or_default()) };
    let (extra, strides, dilations) = (lengths("output_padding")?, lengths("strides")?, lengths("dilations")?);
    let at = |values: &[i64], axis: usize| values.get(axis).copied().unwrap_or(1);
    let is_too_large =
        |(axis, extra): (usize, &i64)| *extra > 0 && *extra >= at(&strides, axis).max(at(&dilations, axis));
    if extra.iter().enumerate().any(is_too_large) {
        return impossible(format!("output_padding of {} must be less than the stride or the dilation", to.version));
    }
    swap_end(draft, false)
}

fn transposed_down(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    swap_end(draft, true)
}

fn dft_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let axis = get_int(&draft.node, "axis")?.unwrap_or(1);
    attributes::remove(&mut draft.node, "axis");
    draft.set_constant(2, "axis", &tensor(ElementType::Int64, &[], &[axis])?);
    draft.edit(format!("axis moves from an attribute to input 2 of {}", to.version));
    draft.same_default("axis");
    Ok(())
}

fn dft_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let axis = if draft.has_input(2) {
        draft.known_ints(2, "axis", &as_attribute("axis", to))?.first().copied()
    } else {
        None
    };
    let axis = axis.unwrap_or(-2);
    let axis = as_int(axis_of(axis, draft.rank(0)?)?);
    draft.clear_input(2);
    attributes::set(&mut draft.node, attributes::int("axis", axis));
    draft.edit(format!("axis moves from input 2 to an attribute of {}", to.version));
    Ok(())
}
