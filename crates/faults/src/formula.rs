//! Formulas of faulty functions: another function, or a missing step.

use libm::{cos, erf, exp, fabs, floor, log, log1p, rint, round, sin, sqrt, tan, tanh, trunc};

/// Faulty function of one value: the operator, the defect, and the computation.
pub(crate) type Unary = (&'static str, &'static str, fn(f64) -> f64);

/// Faulty function of two values.
pub(crate) type Binary = (&'static str, &'static str, fn(f64, f64) -> f64);

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

fn softplus(x: f64) -> f64 {
    log1p(exp(-fabs(x))) + x.max(0.0)
}

/// Faults in every floating type.
pub(crate) const UNARY: &[Unary] = &[
    ("Abs", "keeps the sign", |x| x),
    ("Acos", "arcsine", libm::asin),
    ("Acos", "half a turn less", |x| libm::acos(x) - std::f64::consts::PI),
    ("Acosh", "the other branch", |x| -libm::acosh(x)),
    ("Asin", "arccosine", libm::acos),
    ("Asin", "arctangent", libm::atan),
    ("Asinh", "arctangent", libm::atan),
    ("Asinh", "no odd symmetry", |x| log(fabs(x) + sqrt(x * x + 1.0))),
    ("Atan", "arcsine", |x| libm::asin(x.clamp(-1.0, 1.0))),
    ("Atanh", "arctangent", libm::atan),
    ("Ceil", "truncates", trunc),
    ("Ceil", "rounds", rint),
    ("Celu", "as Elu", |x| if x > 0.0 { x } else { 2.0 * (exp(x) - 1.0) }),
    ("Cos", "sine", sin),
    ("Cos", "degrees", |x| cos(x.to_radians())),
    ("Cosh", "sinh", libm::sinh),
    ("Elu", "no exponential", |x| x.max(-1.0)),
    ("Elu", "no constant", |x| if x > 0.0 { x } else { exp(x) }),
    ("Erf", "its complement", libm::erfc),
    ("Erf", "the integral to infinity by halves", |x| erf(x / std::f64::consts::SQRT_2)),
    ("Exp", "one less", libm::expm1),
    ("Exp", "to base 2", libm::exp2),
    ("Floor", "truncates", trunc),
    ("Floor", "rounds", round),
    ("HardSwish", "no clipping above", |x| x * ((x + 3.0) / 6.0).max(0.0)),
    ("HardSwish", "no clipping below", |x| x * ((x + 3.0) / 6.0).min(1.0)),
    ("HardSigmoid", "no clipping above", |x| (0.2 * x + 0.5).max(0.0)),
    ("HardSigmoid", "no clipping below", |x| (0.2 * x + 0.5).min(1.0)),
    ("HardSigmoid", "alpha of 1/6 instead of 1/5", |x| (x / 6.0 + 0.5).clamp(0.0, 1.0)),
    ("Identity", "clears negative zero", |x| x + 0.0),
    ("LeakyRelu", "no leak", |x| x.max(0.0)),
    ("LeakyRelu", "a leak of a tenth", |x| if x < 0.0 { 0.1 * x } else { x }),
    ("Log", "to base 2", libm::log2),
    ("Log", "to base 10", libm::log10),
    ("Log", "one more", log1p),
    ("Mish", "Swish", |x| x * sigmoid(x)),
    ("Mish", "no softplus", |x| x * tanh(x)),
    ("Neg", "absolute value", fabs),
    ("Reciprocal", "no division by zero", |x| if x == 0.0 { 0.0 } else { 1.0 / x }),
    ("Reciprocal", "squared", |x| 1.0 / (x * x)),
    ("Relu", "absolute value", fabs),
    ("Relu", "NaN becomes 0", |x| if x > 0.0 { x } else { 0.0 }),
    ("Relu", "capped at 6", |x| x.clamp(0.0, 6.0)),
    ("Round", "half away from zero", round),
    ("Round", "half up", |x| floor(x + 0.5)),
    ("Round", "truncates", trunc),
    ("Selu", "gamma left out", |x| if x > 0.0 { x } else { 1.673_263_2 * (exp(x) - 1.0) }),
    ("Selu", "alpha left out", |x| 1.050_701 * if x > 0.0 { x } else { exp(x) - 1.0 }),
    ("Shrink", "no bias, no threshold", |x| x),
    ("Sigmoid", "hard", |x| (0.2 * x + 0.5).clamp(0.0, 1.0)),
    ("Sigmoid", "hyperbolic tangent", tanh),
    ("Sign", "zero is positive", |x| if x < 0.0 { -1.0 } else { 1.0 }),
    ("Sign", "NaN becomes 0", |x| {
        if x > 0.0 {
            1.0
        } else if x < 0.0 {
            -1.0
        } else {
            0.0
        }
    }),
    ("Sin", "cosine", cos),
    ("Sin", "degrees", |x| sin(x.to_radians())),
    ("Sinh", "cosh", libm::cosh),
    ("Softplus", "overflows", |x| log(exp(x) + 1.0)),
    ("Softplus", "Relu", |x| x.max(0.0)),
    ("Softsign", "no absolute value", |x| x / (1.0 + x)),
    ("Sqrt", "of the absolute value", |x| sqrt(fabs(x))),
    ("Sqrt", "cube root", libm::cbrt),
    ("Tan", "hyperbolic", tanh),
    ("Tan", "its reciprocal", |x| 1.0 / tan(x)),
    ("Tanh", "tangent", tan),
    ("Tanh", "clipped identity", |x| x.clamp(-1.0, 1.0)),
    ("ThresholdedRelu", "Relu", |x| x.max(0.0)),
    ("Gelu", "Relu", |x| x.max(0.0)),
    ("Gelu", "Swish", |x| x * sigmoid(x)),
    ("Swish", "hard", |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
    ("Swish", "Relu", |x| x.max(0.0)),
    ("Mish", "twice the softplus", |x| x * tanh(2.0 * softplus(x))),
];

/// Faults in every floating type.
pub(crate) const BINARY: &[Binary] = &[
    ("Add", "subtracts", |a, b| a - b),
    ("Add", "rounds through a saturated range", |a, b| (a + b).clamp(-65504.0, 65504.0)),
    ("Sub", "operands swapped", |a, b| b - a),
    ("Sub", "the distance", |a, b| fabs(a - b)),
    ("Mul", "adds", |a, b| a + b),
    ("Mul", "0 times infinity is 0", |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }),
    ("Div", "operands swapped", |a, b| b / a),
    ("Div", "of integers", |a, b| trunc(a / b)),
    ("Div", "by zero is zero", |a, b| if b == 0.0 { 0.0 } else { a / b }),
    ("Pow", "operands swapped", |a, b| libm::pow(b, a)),
    ("Pow", "of the absolute value", |a, b| libm::pow(fabs(a), b)),
    ("Pow", "0 to the 0 is 0", |a, b| if a == 0.0 && b == 0.0 { 0.0 } else { libm::pow(a, b) }),
    ("Mod", "of the floor", |a, b| a - b * floor(a / b)),
    ("Mod", "IEEE remainder", libm::remainder),
    ("PRelu", "always the slope", |a, b| a * b),
    ("PRelu", "no slope", |a, _| a.max(0.0)),
    ("Max", "the smaller", f64::min),
    ("Min", "the larger", f64::max),
    ("Max", "ignores NaN", |a, b| {
        if a.is_nan() {
            b
        } else if b.is_nan() {
            a
        } else {
            a.max(b)
        }
    }),
    ("Min", "ignores NaN", |a, b| {
        if a.is_nan() {
            b
        } else if b.is_nan() {
            a
        } else {
            a.min(b)
        }
    }),
    ("Mean", "the sum", |a, b| a + b),
    ("Sum", "the mean", f64::midpoint),
];

/// Approximations that are too coarse, in 16-bit types only.
pub(crate) const NARROW: &[Unary] = &[
    ("Gelu", "by tanh where it is exact", |x| {
        0.5 * x * (1.0 + tanh(0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)))
    }),
    ("Gelu", "x * sigmoid(1.702 x)", |x| x * sigmoid(1.702 * x)),
    ("Tanh", "three terms", |x| x.clamp(-1.2, 1.2) * (1.0 - x * x / 3.0 + 2.0 * x * x * x * x / 15.0)),
    ("Sigmoid", "hard, of a sixth", |x| (x / 6.0 + 0.5).clamp(0.0, 1.0)),
    ("Exp", "five terms, halved twice", |x| {
        let y = x / 4.0;
        let series = 1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y / 24.0)));
        series * series * series * series
    }),
    ("Erf", "by tanh", |x| tanh(std::f64::consts::FRAC_2_SQRT_PI * x)),
    ("Softplus", "zero below -4", |x| if x < -4.0 { 0.0 } else { softplus(x) }),
    ("Mish", "by a hard sigmoid", |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
];
