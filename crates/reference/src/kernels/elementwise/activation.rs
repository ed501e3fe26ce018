//! Activation functions: Relu and its relatives.
//!
//! Formulas that would cancel or overflow use an equivalent form: expm1 for `exp(x) - 1`, erfc(-x) for `1 + erf(x)`,
//! and `ln(1 + exp(x))` by its larger term.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::dtype::ElementType;
use crate::infer::{NodeView, Shape, rules};
use crate::kernels::elementwise::map::{Pair, coefficient, map_floats, map_numbers};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Celu", 12, celu).shape(rules::same),
    Kernel::new("Elu", 1, elu).shape(rules::same),
    Kernel::new("Gelu", 20, gelu).shape(rules::same),
    Kernel::new("HardSigmoid", 1, hard_sigmoid).shape(rules::same),
    Kernel::new("HardSwish", 14, hard_swish).shape(rules::same),
    Kernel::new("LeakyRelu", 1, leaky_relu).shape(rules::same),
    Kernel::new("Mish", 18, |call| map_floats(call, |x| x * libm::tanh(softplus(x)))).shape(rules::same),
    Kernel::new("PRelu", 1, |call| prelu(&by_channel(call)?)).shape(rules::same),
    Kernel::new("PRelu", 7, |call| prelu(&Pair::unidirectional(call)?)).shape(rules::same),
    Kernel::new("Relu", 1, |call| map_numbers(call, |x| if x < 0.0 { 0.0 } else { x }, |x| x.max(0)))
        .shape(rules::same),
    Kernel::new("Selu", 1, selu).shape(rules::same),
    Kernel::new("Shrink", 9, shrink).shape(rules::same),
    Kernel::new("Sigmoid", 1, |call| map_floats(call, sigmoid)).shape(rules::same),
    Kernel::new("Softplus", 1, |call| map_floats(call, softplus)).shape(rules::same),
    Kernel::new("Softsign", 1, |call| map_floats(call, |x| x / (1.0 + x.abs()))).shape(rules::same),
    Kernel::new("SwiGLU", 28, swiglu).shape(equal_shapes),
    Kernel::new("Swish", 24, swish).shape(rules::same),
    Kernel::new("ThresholdedRelu", 10, thresholded_relu).shape(rules::same),
];

/// `1 / (1 + exp(-x))`, in a form that does not overflow for negative numbers.
pub(crate) fn sigmoid(x: f64) -> f64 {
    let small = libm::exp(-x.abs());
    if x < 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) }
}

/// `ln(1 + exp(x))`.
fn softplus(x: f64) -> f64 {
    let tail = libm::log1p(libm::exp(-x.abs()));
    if x > 0.0 { x + tail } else { tail }
}

/// Clamps to `[0, 1]` and keeps NaN.
fn unit_interval(x: f64) -> f64 {
    x.clamp(0.0, 1.0)
}

/// Returns the element type of the first input.
fn element(call: &Call<'_>) -> Result<ElementType> {
    Ok(call.tensor(0)?.element_type())
}

/// Returns an attribute of an operator on the first input, rounded if the function body casts it.
fn parameter(call: &Call<'_>, name: &str) -> Result<f64> {
    coefficient(call, name, element(call)?)
}

fn celu(call: &Call<'_>) -> Result {
    let alpha = parameter(call, "alpha")?;
    map_floats(call, |x| if x > 0.0 || x.is_nan() { x } else { (alpha * libm::expm1(x / alpha)).min(0.0) })
}

fn elu(call: &Call<'_>) -> Result {
    let alpha = parameter(call, "alpha")?;
    map_floats(call, |x| if x < 0.0 { alpha * libm::expm1(x) } else { x })
}

/// Gelu, exact or with the tanh approximation. The function body casts both constants from float.
fn gelu(call: &Call<'_>) -> Result {
    let element = element(call)?;
    if !call.one_of("approximate", &[("none", false), ("tanh", true)]).rule("C1")? {
        return map_floats(call, |x| 0.5 * x * libm::erfc(-x * FRAC_1_SQRT_2));
    }
    let scale = element.round(f64::from(std::f32::consts::FRAC_2_PI)).sqrt();
    let cubic = element.round(f64::from(0.044_715_f32));
    // (1 + tanh(u)) / 2 is the sigmoid of 2u.
    map_floats(call, |x| x * sigmoid(2.0 * scale * (x + cubic * x * x * x)))
}

fn hard_sigmoid(call: &Call<'_>) -> Result {
    let (alpha, beta) = (parameter(call, "alpha")?, parameter(call, "beta")?);
    map_floats(call, |x| unit_interval(alpha * x + beta))
}

/// `HardSwish`: `x * HardSigmoid(x)` with slope 1/6, which the function body casts from float.
fn hard_swish(call: &Call<'_>) -> Result {
    let slope = element(call)?.round(f64::from(1.0_f32 / 6.0));
    map_floats(call, |x| x * unit_interval(slope * x + 0.5))
}

fn leaky_relu(call: &Call<'_>) -> Result {
    let alpha = parameter(call, "alpha")?;
    map_floats(call, |x| if x < 0.0 { alpha * x } else { x })
}

/// Aligns a slope with X for versions below 7: one element, one per channel (axis 1), or one per element.
fn by_channel<'c, 'a>(call: &'c Call<'a>) -> Result<Pair<'c, 'a>> {
    let (x, slope) = (call.tensor(0)?, call.tensor(1)?);
    match slope.shape() {
        shape if shape == x.shape() => Pair::broadcast(call),
        _ if slope.len() == 1 => Pair::along_axis(call, None),
        [channels] if x.shape().get(1) == Some(channels) => Pair::along_axis(call, Some(1)),
        shape => Err(broken(
            "C1",
            format!(
                "a slope of shape {shape:?} does not fit X of shape {:?} in {}: it must have one element, or as \
                 many as axis 1 of X; version 7 broadcasts it",
                x.shape(),
                call.spec.version
            ),
        )),
    }
}

fn prelu(pair: &Pair<'_, '_>) -> Result {
    pair.numbers(
        |x, slope| if x < 0.0 { slope * x } else { x },
        |x, slope| if x < 0 { x.wrapping_mul(slope) } else { x },
    )
}

fn selu(call: &Call<'_>) -> Result {
    let (alpha, gamma) = (parameter(call, "alpha")?, parameter(call, "gamma")?);
    map_floats(call, |x| gamma * if x > 0.0 { x } else { alpha * libm::expm1(x) })
}

/// Shrink. For integers, both attributes are truncated, as the function body casts them.
fn shrink(call: &Call<'_>) -> Result {
    let element = element(call)?;
    let (lambd, bias) = (parameter(call, "lambd")?, parameter(call, "bias")?);
    let [limit, step] = [call.float("lambd")?, call.float("bias")?].map(|x| element.decode_i128(element.truncate(x)));
    map_numbers(
        call,
        |x| match x {
            _ if x < -lambd => x + bias,
            _ if x > lambd => x - bias,
            _ => 0.0,
        },
        |x| match x {
            _ if x < -limit => x + step,
            _ if x > limit => x - step,
            _ => 0,
        },
    )
}

fn swish(call: &Call<'_>) -> Result {
    let alpha = parameter(call, "alpha")?;
    map_floats(call, |x| x * sigmoid(alpha * x))
}

/// `SwiGLU`: Swish of the first input times the second, which has the same shape.
fn swiglu(call: &Call<'_>) -> Result {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    if a.shape() != b.shape() {
        return Err(broken(
            "C2",
            format!(
                "shapes {:?} and {:?} differ; SwiGLU does not broadcast: expand one of them first",
                a.shape(),
                b.shape()
            ),
        ));
    }
    let alpha = parameter(call, "alpha")?;
    Pair::broadcast(call)?.floats(|a, b| a * sigmoid(alpha * a) * b)
}

/// The shape that both inputs share.
fn equal_shapes(view: &NodeView<'_, '_>) -> Option<Shape> {
    match (view.shape(0), view.shape(1)) {
        (Some(one), Some(two)) if one.len() == two.len() => {
            one.iter().zip(&two).map(|(one, two)| rules::equal_dim(one, two)).collect()
        }
        (Some(_), Some(_)) => None,
        (one, two) => one.or(two),
    }
}

fn thresholded_relu(call: &Call<'_>) -> Result {
    let alpha = parameter(call, "alpha")?;
    map_floats(call, |x| if x > alpha { x } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType as E;
    use crate::testing::{OneNode, node, typed};

    fn with(operator: &str, opset: i64, element: E, input: &[f64]) -> OneNode {
        node(operator, opset).input(typed(element, &[input.len()], input))
    }

    fn check(node: OneNode, expected: &[f64]) {
        assert_eq!(node.tensor().floats(), expected);
    }

    #[test]
    fn tails_neither_overflow_nor_cancel() {
        check(with("Softplus", 1, E::Double, &[-1000.0]), &[0.0]);
        check(with("Softplus", 22, E::Bfloat16, &[1e30]), &[E::Bfloat16.round(1e30)]);
        check(with("Elu", 22, E::Double, &[-1e-20, 3.0]), &[-1e-20, 3.0]);
        check(with("Gelu", 20, E::Double, &[40.0, 0.0, -1e200]), &[40.0, 0.0, 0.0]);
        check(with("Gelu", 20, E::Double, &[40.0, 0.0, -1e200]).set("approximate", "tanh"), &[40.0, 0.0, 0.0]);
        assert!(with("Sigmoid", 6, E::Double, &[-740.0]).tensor().floats()[0] > 0.0);
        // The normal distribution below -6 is 9.865876450377e-10.
        let tail = with("Gelu", 20, E::Double, &[-6.0]).tensor().floats()[0];
        assert!((tail / (-6.0 * 9.865_876_450_377e-10) - 1.0).abs() < 1e-12, "{tail}");
    }

    #[test]
    fn a_body_that_casts_its_coefficients_is_followed() {
        // In float16, 0.01 is 1311/2^17: 5 * 1311/2^17 rounds to 1639/2^15, but 5 * 0.01 rounds to 1638/2^15.
        check(with("LeakyRelu", 16, E::Float16, &[-5.0]), &[-1639.0 / 32768.0]);
        check(with("LeakyRelu", 6, E::Float16, &[-5.0]), &[-1638.0 / 32768.0]);
        // In float16, 1/6 is 1365/8192: 2 * (2/6 + 1/2) is 1706.5/1024, a tie, which rounds to even.
        check(with("HardSwish", 14, E::Float16, &[2.0]), &[1706.0 / 1024.0]);
        // In float16, 0.3 is 1229/4096, which is not greater than itself.
        check(with("ThresholdedRelu", 10, E::Float16, &[1229.0 / 4096.0]).set("alpha", 0.3f32), &[0.0]);
    }

    #[test]
    fn integers_shrink_by_truncated_attributes() {
        let set = |node: OneNode| node.set("lambd", 1.5f32).set("bias", 1.5f32);
        let x = [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
        check(set(with("Shrink", 9, E::Int8, &x)), &[-2.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
        check(set(with("Shrink", 9, E::Uint8, &[0.0, 1.0, 2.0, 255.0])), &[0.0, 0.0, 1.0, 254.0]);
        check(with("Shrink", 9, E::Int8, &[-128.0]).set("bias", -1.0f32), &[127.0]);
    }

    #[test]
    fn an_integer_by_its_slope_wraps() {
        let min = f64::from(i32::MIN);
        check(with("PRelu", 9, E::Int32, &[min]).input(typed(E::Int32, &[], &[3.0])), &[min]);
    }
}
