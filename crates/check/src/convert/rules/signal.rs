//! Windows: `BlackmanWindow`, `HammingWindow` and `HannWindow`, at opsets that do not have them yet.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::OpSpec;

use super::body::Body;
use super::rule::Replacement;
use super::shapes::count_to;
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::get_int;
use crate::convert::draft::Draft;

pub(super) const REPLACEMENTS: &[Replacement] = &[
    Replacement { operator: "BlackmanWindow", replace: |draft, from, _| window(draft, from, [0.42, 0.5, 0.08]) },
    Replacement {
        operator: "HammingWindow",
        replace: |draft, from, _| window(draft, from, [25.0 / 46.0, 21.0 / 46.0, 0.0]),
    },
    Replacement { operator: "HannWindow", replace: |draft, from, _| window(draft, from, [0.5, 0.5, 0.0]) },
];

/// `a0 - a1 * cos(n * step) + a2 * cos(2 * n * step)`, computed in float, for `step = 2 pi / size`, or `/ (size - 1)` if the window
/// is symmetric.
fn window(draft: &mut Draft, from: &OpSpec, coefficients: [f64; 3]) -> Step {
    let float = ElementType::Float;
    let is_periodic = get_int(&draft.node, "periodic")?.unwrap_or(1) != 0;
    let code = get_int(&draft.node, "output_datatype")?.unwrap_or(1);
    let Some(element) = i32::try_from(code).ok().and_then(ElementType::from_code) else {
        return impossible(format!("output_datatype {code} is not the number of a type"));
    };
    let size = draft.input(0);
    let mut body = Body::new(draft, from);
    let size = body.cast(size, ElementType::Int64)?;
    let size = body.reshape(&size, &[])?;
    let places = count_to(&mut body, &size)?;
    let places = body.cast(places, float)?;
    let mut points = body.cast(size, float)?;
    if !is_periodic {
        let one = body.number(float, 1.0)?;
        points = body.plain("Sub", &[&points, &one])?;
    }
    let turn = body.number(float, std::f64::consts::TAU)?;
    let step = body.plain("Div", &[&turn, &points])?;
    let angle = body.plain("Mul", &[&places, &step])?;
    let [a0, a1, a2] = coefficients;
    let (first, second) = (body.number(float, a0)?, body.number(float, a1)?);
    let cosine = body.plain("Cos", &[&angle])?;
    let scaled = body.plain("Mul", &[&second, &cosine])?;
    let mut result = body.plain("Sub", &[&first, &scaled])?;
    if a2 != 0.0 {
        let (two, third) = (body.number(float, 2.0)?, body.number(float, a2)?);
        let twice = body.plain("Mul", &[&angle, &two])?;
        let cosine = body.plain("Cos", &[&twice])?;
        let scaled = body.plain("Mul", &[&third, &cosine])?;
        result = body.plain("Add", &[&result, &scaled])?;
    }
    if element == float {
        body.last("Identity", &[&result], Vec::new());
    } else {
        body.last_cast(&result, element);
    }
    Ok(())
}
