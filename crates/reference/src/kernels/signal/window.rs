//! The windows: sums of cosines, computed in float throughout, as their function bodies do.

use crate::dtype::ElementType;
use crate::kernels::call::{Call, Result};
use crate::kernels::error::invalid;

/// The window with these coefficients: a0 - a1 cos(w n) + a2 cos(2 w n).
pub(super) fn window(call: &Call<'_>, coefficients: [f64; 3]) -> Result {
    let size = call.tensor(0)?.single_integer();
    let Some(size) = size.and_then(|size| usize::try_from(size).ok()) else {
        return Err(invalid("size must be a scalar that is not negative"));
    };
    let element = call.element_type("output_datatype")?.unwrap_or(ElementType::Float);
    let [a0, a1, a2] = coefficients.map(float);
    let points = if call.flag("periodic")? { float(size as f64) } else { float(float(size as f64) - 1.0) };
    let step = float(float(std::f64::consts::TAU) / points);
    let value = |n: usize| {
        let angle = float(float(n as f64) * step);
        let twice = float(a2 * float(libm::cos(float(angle * 2.0))));
        float(float(a0 - float(a1 * float(libm::cos(angle)))) + twice)
    };
    Ok(call.floats(element, &[size], (0..size).map(value))?.into())
}

fn float(value: f64) -> f64 {
    ElementType::Float.decode_f64(ElementType::Float.round(value))
}
