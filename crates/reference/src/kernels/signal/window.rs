//! Window functions: sums of cosines, computed in float throughout, as in the function bodies.

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::invalid;
use crate::kernels::framework::registry::Kernel;
use crate::kernels::signal::shapes;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("BlackmanWindow", 17, |call| window(call, [0.42, 0.5, 0.08]))
        .shape(shapes::window)
        .typed(shapes::window_type),
    Kernel::new("HammingWindow", 17, |call| window(call, [25.0 / 46.0, 21.0 / 46.0, 0.0]))
        .shape(shapes::window)
        .typed(shapes::window_type),
    Kernel::new("HannWindow", 17, |call| window(call, [0.5, 0.5, 0.0]))
        .shape(shapes::window)
        .typed(shapes::window_type),
];

/// Computes the window with these coefficients: a0 - a1 cos(w n) + a2 cos(2 w n).
fn window(call: &Call<'_>, coefficients: [f64; 3]) -> Result {
    let size = call.tensor(0)?.single_integer();
    let Some(size) = size.and_then(|size| usize::try_from(size).ok()) else {
        return Err(invalid("size must be a scalar that is not negative"));
    };
    let element = call.output_type("output_datatype", 0)?.unwrap_or(ElementType::Float);
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
    ElementType::Float.round(value)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{ints, node};

    #[test]
    fn a_window_of_one_point_is_its_smallest_value_or_none() {
        let hann = |size: i64, periodic: i64| {
            node("HannWindow", 17).input(ints(&[], &[size])).set("periodic", periodic).tensor().floats()
        };
        assert_eq!(hann(1, 1), [0.0]);
        // The function body multiplies 0 by 2 pi / 0.
        assert!(hann(1, 0)[0].is_nan());
        assert!(node("HannWindow", 17).input(ints(&[], &[-1])).error().contains("size"));
    }

    #[test]
    fn the_output_has_a_type_that_the_version_allows() {
        let bools = node("HannWindow", 17).input(ints(&[], &[4])).set("output_datatype", 9);
        assert!(bools.error().contains("HannWindow-17 has no output of type tensor(bool)"));
    }

    #[test]
    fn the_body_computes_in_float_for_every_output_type() {
        let double = node("HammingWindow", 17).input(ints(&[], &[4])).set("output_datatype", 11).tensor();
        // Float(25 / 46) - float(21 / 46), in float.
        assert_eq!(double.element_type(), ElementType::Double);
        assert_eq!(double.floats()[0], f64::from(0.543_478_25_f32 - 0.456_521_75_f32));
    }
}
