//! No filled value is rounded from a tie.

use onnx_conformance_cases::generate::Computation;
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::tensor::shape::around_axis;

use super::node_case::{Found, NodeCase, places};
use super::totals::Promise;

pub(crate) const PROMISE: Promise =
    Promise { name: "ties", covers: |file| file.computes.contains(&Computation::Rounds), rule: ties };

#[test]
fn no_filled_value_is_rounded_from_a_tie() {
    PROMISE.assert_kept();
}

fn ties(made: &NodeCase<'_>) -> Found {
    let name = |position: usize| made.names[position].clone();
    match made.operator {
        "Round" => {
            let Some(tensor) = made.fill(0) else { return Found::new() };
            places(&name(0), tensor.floats(), is_half, "is a tie")
        }
        "QuantizeLinear" => quantized_ties(made),
        "DynamicQuantizeLinear" => {
            let Some(tensor) = made.fill(0) else { return Found::new() };
            let values = tensor.floats();
            let (low, high) = values.iter().fold((0f64, 0f64), |(low, high), &value| (low.min(value), high.max(value)));
            let scale = ElementType::Float.round((high - low) / 255.0);
            places(&name(0), values.into_iter().map(|value| value / scale), |value| near_half(value, 1e-5), "is a tie")
        }
        "Cast" | "CastLike" => cast_ties(made),
        "GridSample" if made.text("mode") == "nearest" => grid_ties(made),
        "MaxRoiPool" => {
            let Some(rois) = made.fill(1) else { return Found::new() };
            let scale = made.attribute("spatial_scale").map_or(1.0, |attribute| f64::from(attribute.f()));
            places(&name(1), rois.floats().into_iter().map(|value| value * scale), is_half, "is a tie")
        }
        // Scales, sizes and regions decide the sampling positions. None of them may be filled.
        "Resize" | "Upsample" => (1..4)
            .filter_map(|at| made.fill(at).filter(|tensor| !tensor.is_empty()).map(|_| name(at)))
            .filter(|name| name != "roi")
            .map(|name| (name, 0, "is filled".to_owned()))
            .collect(),
        _ => Found::new(),
    }
}

fn near_half(value: f64, margin: f64) -> bool {
    value.is_finite() && libm::fabs(libm::fabs(value - libm::trunc(value)) - 0.5) < margin
}

/// Finds ties among the quotients that are quantized.
fn quantized_ties(made: &NodeCase<'_>) -> Found {
    let (Some(x), Some(scale)) = (made.tensor(0), made.tensor(1)) else { return Found::new() };
    if made.fill(0).is_none() && made.fill(1).is_none() {
        return Found::new();
    }
    let scales = scale.floats();
    let axis = made.axis(1, x.rank());
    let block = usize::try_from(made.int("block_size", 0)).unwrap_or(0);
    let of = |at: usize| {
        if scales.len() == 1 {
            return scales[0];
        }
        let (_, inner) = around_axis(x.shape(), axis);
        let (along, size) = (at / inner % x.shape()[axis], x.shape()[axis]);
        if scale.rank() == 1 {
            return scales[along];
        }
        let outer = at / inner / size;
        scales[(outer * scale.shape()[axis] + along / block.max(1)) * inner + at % inner]
    };
    let quotients = x.floats().into_iter().enumerate().map(|(at, value)| value / of(at));
    let target = match (made.tensor(2), made.int("output_dtype", 0)) {
        (Some(zero_point), _) => Some(zero_point.element_type()),
        (None, code) => i32::try_from(code).ok().and_then(ElementType::from_code),
    };
    let name = &made.names[0];
    match target.filter(|target| target.is_float()) {
        Some(target) => places(name, quotients, |value| is_between(target, value), "is a tie"),
        None => places(name, quotients, |value| near_half(value, 1e-6), "is a tie"),
    }
}

/// Returns true if a value is halfway between two values of a type. Then a value a little farther from the rounded one is rounded
/// to the other.
fn is_between(target: ElementType, value: f64) -> bool {
    let round = |value: f64| target.round(value);
    let error = value - round(value);
    let next = round(value + error * 1e-3);
    error != 0.0 && error.is_finite() && next.is_finite() && next != round(value)
}

/// Finds values halfway between two values of the target type.
fn cast_ties(made: &NodeCase<'_>) -> Found {
    let target = match made.operator {
        "Cast" => i32::try_from(made.int("to", 0)).ok().and_then(ElementType::from_code),
        _ => made.tensor(1).map(Tensor::element_type),
    };
    let (Some(tensor), Some(target)) = (made.fill(0), target.filter(|target| target.is_float())) else {
        return Found::new();
    };
    match tensor.element_type().kind() {
        Kind::Float | Kind::Signed | Kind::Unsigned => {
            places(&made.names[0], tensor.floats(), |value| is_between(target, value), "is a tie")
        }
        _ => Found::new(),
    }
}

/// Finds positions halfway between two pixels.
fn grid_ties(made: &NodeCase<'_>) -> Found {
    let (Some(x), Some(grid)) = (made.tensor(0), made.fill(1)) else { return Found::new() };
    let (dimensions, aligned) = (x.rank() - 2, made.int("align_corners", 0) != 0);
    let place = |(at, value): (usize, f64)| {
        // The last coordinate of a position is for the first spatial dimension from the back.
        let size = x.shape()[x.rank() - 1 - at % dimensions] as f64;
        if aligned { f64::midpoint(value, 1.0) * (size - 1.0) } else { ((value + 1.0) * size - 1.0) / 2.0 }
    };
    places(&made.names[1], grid.floats().into_iter().enumerate().map(place), is_half, "is a tie")
}

fn is_half(value: f64) -> bool {
    value.is_finite() && libm::fabs(value - libm::trunc(value)) == 0.5
}
