//! Clip: limits numbers to a range.

use crate::infer::rules;
use crate::kernels::elementwise::map::{map_floats, map_numbers};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::broken;
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Clip", 1, clip_to_attributes).shape(rules::same),
    Kernel::new("Clip", 11, clip_to_inputs).shape(rules::same),
];

/// Clip below 11. In version 6 the defaults are the largest finite floats, also for double. In version 1 a missing
/// limit is the end of the type's range, which excludes infinities.
fn clip_to_attributes(call: &Call<'_>) -> Result {
    let largest = call.tensor(0)?.element_type().max_finite();
    let min = call.optional_float("min").or(largest.map(|largest| -largest));
    let max = call.optional_float("max").or(largest);
    map_floats(call, |x| between(x, min, max))
}

/// Clip from 11 on. By the text a missing limit is the end of the type's range. By the function body there is no limit,
/// so infinities are kept.
fn clip_to_inputs(call: &Call<'_>) -> Result {
    for (index, name) in [(1, "min"), (2, "max")] {
        if let Some(limit) = call.optional_tensor(index)?.filter(|limit| limit.rank() != 0) {
            return Err(broken(
                "C3",
                format!("{name} has shape {:?}, but it must be a scalar: reshape it to []", limit.shape()),
            ));
        }
    }
    let (min, max) = (call.optional_tensor(1)?, call.optional_tensor(2)?);
    let floats = [min, max].map(|limit| limit.and_then(Tensor::single_float));
    let integers = [min, max].map(|limit| limit.and_then(Tensor::single_integer));
    map_numbers(call, |x| between(x, floats[0], floats[1]), |x| between(x, integers[0], integers[1]))
}

/// Applies the lower limit, then the upper one, which wins if they cross. NaN is kept, and a NaN limit is ignored.
fn between<T: PartialOrd + Copy>(x: T, min: Option<T>, max: Option<T>) -> T {
    let raised = min.filter(|&min| x < min).unwrap_or(x);
    max.filter(|&max| raised > max).unwrap_or(raised)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType as E;
    use crate::tensor::Tensor;
    use crate::testing::{floats, node, typed};

    const INF: f64 = f64::INFINITY;

    #[test]
    fn the_default_limits_of_version_6_are_the_ends_of_float_for_doubles_too() {
        let wide = typed(E::Double, &[1], &[-1e300]);
        assert_eq!(node("Clip", 6).input(wide.clone()).tensor().floats(), [f64::from(f32::MIN)]);
        assert_eq!(node("Clip", 1).input(wide).tensor().floats(), [-1e300]);
    }

    #[test]
    fn nan_neither_limits_nor_is_limited() {
        let x = typed(E::Bfloat16, &[3], &[f64::NAN, -INF, 3.0]);
        let limit = |value: f64| -> Tensor { typed(E::Bfloat16, &[], &[value]) };
        let clipped = node("Clip", 13).input(x).input(limit(f64::NAN)).input(limit(2.0)).tensor().floats();
        assert!(clipped[0].is_nan());
        assert_eq!(clipped[1..], [-INF, 2.0]);
    }

    #[test]
    fn a_limit_that_is_no_scalar_is_refused() {
        let clip = node("Clip", 11).input(floats(&[2], &[1.0, 2.0])).input(floats(&[1], &[1.5]));
        assert!(clip.error().contains("min has shape [1]"));
    }
}
