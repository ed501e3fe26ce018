//! Activation functions of the recurrent operators, by name, with alpha and beta.

use std::sync::Arc;

use crate::kernels::elementwise::activation::sigmoid;
use crate::kernels::framework::call::{Call, Result, meaning};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::recurrent::sequence::Rules;

/// Activation function with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Activation {
    function: Function,
    alpha: f64,
    beta: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Relu,
    Tanh,
    Sigmoid,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus,
}

/// Function with the defaults of alpha and beta, if it uses them.
type WithDefaults = (Function, Option<f32>, Option<f32>);

/// Functions with the defaults of their parameters, which are those of the operator with that name.
const FUNCTIONS: [(&str, WithDefaults); 11] = [
    ("Relu", (Function::Relu, None, None)),
    ("Tanh", (Function::Tanh, None, None)),
    ("Sigmoid", (Function::Sigmoid, None, None)),
    ("Affine", (Function::Affine, Some(1.0), Some(0.0))),
    ("LeakyRelu", (Function::LeakyRelu, Some(0.01), None)),
    ("ThresholdedRelu", (Function::ThresholdedRelu, Some(1.0), None)),
    ("ScaledTanh", (Function::ScaledTanh, Some(1.0), Some(1.0))),
    ("HardSigmoid", (Function::HardSigmoid, Some(0.2), Some(0.5))),
    ("Elu", (Function::Elu, Some(1.0), None)),
    ("Softsign", (Function::Softsign, None, None)),
    ("Softplus", (Function::Softplus, None, None)),
];

impl Activation {
    /// Returns the value of the function at `x`.
    pub(super) fn apply(self, x: f64) -> f64 {
        let Activation { alpha, beta, .. } = self;
        match self.function {
            Function::Relu => {
                if x < 0.0 {
                    0.0
                } else {
                    x
                }
            }
            Function::Tanh => libm::tanh(x),
            Function::Sigmoid => sigmoid(x),
            Function::Affine => alpha * x + beta,
            Function::LeakyRelu => {
                if x < 0.0 {
                    alpha * x
                } else {
                    x
                }
            }
            Function::ThresholdedRelu => {
                if x < alpha {
                    0.0
                } else {
                    x
                }
            }
            Function::ScaledTanh => alpha * libm::tanh(beta * x),
            Function::HardSigmoid => (alpha * x + beta).clamp(0.0, 1.0),
            Function::Elu => {
                if x < 0.0 {
                    alpha * libm::expm1(x)
                } else {
                    x
                }
            }
            Function::Softsign if x.is_infinite() => x.signum(),
            Function::Softsign => x / (1.0 + x.abs()),
            Function::Softplus if x > 0.0 => x + libm::log1p(libm::exp(-x)),
            Function::Softplus => libm::log1p(libm::exp(x)),
        }
    }
}

/// Returns the activations of every direction, one list of `defaults.len()` for each.
pub(super) fn activations(call: &Call<'_>, directions: usize, defaults: &[&str]) -> Result<Vec<Vec<Activation>>> {
    let (wanted, rule) = (defaults.len() * directions, Rules::for_operator(call).activations);
    let names = match call.optional_strings("activations") {
        Some(names) => names,
        None => (0..directions).flat_map(|_| defaults.iter().map(|&name| Arc::from(name))).collect(),
    };
    // RNN's default lists two functions even for one direction.
    let spare = usize::from(defaults.len() == 1 && directions == 1);
    if names.len() < wanted || names.len() > wanted + spare {
        return Err(broken(rule, format!("activations lists {} functions, but {wanted} are needed", names.len())));
    }
    let mut list = names.iter().map(|name| find(call, name)).collect::<Result<Vec<_>>>().rule(rule)?;
    let takes = list.iter().map(|(alpha, beta, _)| (alpha.is_some(), beta.is_some()));
    let (alphas, betas): (Vec<bool>, Vec<bool>) = takes.unzip();
    let alphas = parameters(call, "activation_alpha", &alphas)?;
    let betas = parameters(call, "activation_beta", &betas)?;
    for ((.., activation), (alpha, beta)) in list.iter_mut().zip(alphas.into_iter().zip(betas)) {
        activation.alpha = alpha.unwrap_or(activation.alpha);
        activation.beta = beta.unwrap_or(activation.beta);
    }
    let list: Vec<Activation> = list.into_iter().map(|(.., activation)| activation).take(wanted).collect();
    Ok(list.chunks(defaults.len()).map(<[Activation]>::to_vec).collect())
}

/// Returns a function by name in any case, with the defaults of alpha and beta if it uses them.
fn find(call: &Call<'_>, name: &str) -> Result<(Option<f32>, Option<f32>, Activation)> {
    let allowed = call.spec.facts.values("activations");
    let Some(known) = allowed.iter().find(|known| known.eq_ignore_ascii_case(name)) else {
        let allowed = call.allowed("activations");
        return Err(invalid(format!("activations contains '{name}'; allowed are {allowed}")));
    };
    function(known)
}

/// Returns a function by its exact name.
fn function(name: &str) -> Result<(Option<f32>, Option<f32>, Activation)> {
    let (function, alpha, beta) = meaning("activations", name, &FUNCTIONS)?;
    let wide = |value: Option<f32>| f64::from(value.unwrap_or(0.0));
    Ok((alpha, beta, Activation { function, alpha: wide(alpha), beta: wide(beta) }))
}

/// Returns the values of `activation_alpha` or `activation_beta` for each function. They are "consumed in the order of
/// activation functions": by those that use one or, if there is a value for every function, by all.
fn parameters(call: &Call<'_>, name: &str, takes: &[bool]) -> Result<Vec<Option<f64>>> {
    let values = call.optional_floats(name).unwrap_or_default();
    let expected = takes.iter().filter(|&&takes| takes).count();
    if values.len() == takes.len() {
        return Ok(values.into_iter().map(Some).collect());
    }
    if values.len() > expected {
        let given = values.len();
        return Err(invalid(format!("{name} has {given} values, but the activations take {expected}")));
    }
    let mut values = values.into_iter();
    Ok(takes.iter().map(|&takes| if takes { values.next() } else { None }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_keep_to_their_definitions_and_defaults() {
        let rows = [
            ("Relu", -2.0, 0.0),
            ("Relu", f64::INFINITY, f64::INFINITY),
            ("Tanh", f64::INFINITY, 1.0),
            ("Sigmoid", 0.0, 0.5),
            ("Sigmoid", f64::NEG_INFINITY, 0.0),
            ("Affine", 3.0, 3.0),
            ("LeakyRelu", -1.0, -f64::from(0.01_f32)),
            ("ThresholdedRelu", 0.5, 0.0),
            ("ThresholdedRelu", 1.0, 1.0),
            ("ScaledTanh", f64::NEG_INFINITY, -1.0),
            ("HardSigmoid", 0.0, 0.5),
            ("HardSigmoid", 100.0, 1.0),
            ("HardSigmoid", -100.0, 0.0),
            ("Elu", f64::NEG_INFINITY, -1.0),
            ("Softsign", -3.0, -0.75),
            ("Softsign", f64::INFINITY, 1.0),
            ("Softplus", 1000.0, 1000.0),
            ("Softplus", -1000.0, 0.0),
        ];
        for (name, x, expected) in rows {
            let (.., activation) = function(name).unwrap();
            assert_eq!(activation.apply(x), expected, "{name}({x})");
            assert!(activation.apply(f64::NAN).is_nan(), "{name}(NaN)");
        }
        assert!(function("Gelu").is_err());
    }
}
