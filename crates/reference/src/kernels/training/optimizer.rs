//! Optimizer steps: Adagrad, Adam, Momentum.

use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::training::shapes;
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::broadcast;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::in_domain("ai.onnx.preview.training", "Adagrad", 1, adagrad)
        .shapes_of_all(shapes::optimized_with_state)
        .typed(shapes::type_with_state),
    Kernel::in_domain("ai.onnx.preview.training", "Adam", 1, adam)
        .shapes_of_all(shapes::optimized_with_two_states)
        .typed(shapes::type_with_two_states),
    Kernel::in_domain("ai.onnx.preview.training", "Momentum", 1, momentum)
        .shapes_of_all(shapes::optimized_with_state)
        .typed(shapes::type_with_state),
];

/// Returns the learning rate.
fn rate(call: &Call<'_>) -> Result<f64> {
    let rate = call.tensor(0)?;
    rate.single_float().ok_or_else(|| invalid(format!("R has shape {:?}; it must be one number", rate.shape())))
}

/// Returns the update count.
fn count(call: &Call<'_>) -> Result<f64> {
    let count = call.tensor(1)?;
    let single = count
        .single_integer()
        .ok_or_else(|| invalid(format!("T has shape {:?}; it must be one number", count.shape())))?;
    Ok(single as f64)
}

/// Applies a step to each optimized tensor. The variadic inputs are `N` groups of equal size: the optimized tensors,
/// their gradients, then states. A step takes one element per group and returns one per group, except for the
/// gradients. `rule` is the rule for the number of tensors.
fn optimize<const N: usize, const M: usize>(
    call: &Call<'_>,
    rule: &str,
    step: impl Fn([f64; N]) -> [f64; M],
) -> Result {
    let tensors = call.tensors(2)?;
    if tensors.is_empty() || tensors.len() % N != 0 {
        let found = tensors.len();
        return Err(broken(
            rule,
            format!("there are {found} tensors after R and T; each optimized tensor requires {N} of them"),
        ));
    }
    let optimized = tensors.len() / N;
    let mut outputs: Vec<Vec<Tensor>> = (0..M).map(|_| Vec::new()).collect();
    for index in 0..optimized {
        let budget = call.budget.nested();
        let group: Vec<&Tensor> = tensors.iter().skip(index).step_by(optimized).copied().collect();
        let shape = group.iter().try_fold(Vec::new(), |shape, tensor| broadcast(&shape, tensor.shape()))?;
        let inputs: Vec<Vec<f64>> = group.iter().map(|tensor| budget.read_floats(tensor)).collect::<Result<_>>()?;
        let mut walks: Vec<StridedIter> =
            group.iter().map(|tensor| StridedIter::broadcast(tensor.shape(), &shape)).collect();
        let size = crate::tensor::shape::element_count(&shape)?;
        let mut results: Vec<Vec<f64>> = (0..M).map(|_| budget.scratch(size)).collect::<Result<_>>()?;
        for place in 0..size {
            budget.count_work(N)?;
            let mut elements = [0.0; N];
            for (element, (values, walk)) in elements.iter_mut().zip(inputs.iter().zip(&mut walks)) {
                *element = walk.next().and_then(|position| values.get(position)).copied().unwrap_or(0.0);
            }
            for (result, value) in results.iter_mut().zip(step(elements)) {
                if let Some(slot) = result.get_mut(place) {
                    *slot = value;
                }
            }
        }
        // The first output is the optimized tensor. The states keep the types of their inputs.
        let sources = group.iter().take(1).chain(group.iter().skip(2));
        for ((output, values), source) in outputs.iter_mut().zip(results).zip(sources) {
            output.push(call.floats(source.element_type(), &shape, values)?);
        }
    }
    Ok(outputs.concat().into())
}

fn adagrad(call: &Call<'_>) -> Result {
    let rate = rate(call).rule("C2")? / (1.0 + count(call).rule("C2")? * call.float("decay_factor")?);
    let (norm, epsilon) = (call.float("norm_coefficient")?, call.float("epsilon")?);
    optimize(call, "C4", |[x, gradient, squares]| {
        let gradient = norm * x + gradient;
        let squares = squares + gradient * gradient;
        [x - rate * gradient / (libm::sqrt(squares) + epsilon), squares]
    })
}

fn adam(call: &Call<'_>) -> Result {
    let (rate, count) = (rate(call).rule("C1")?, count(call).rule("C1")?);
    let (alpha, beta, epsilon) = (call.float("alpha")?, call.float("beta")?, call.float("epsilon")?);
    let (norm, norm_post) = (call.float("norm_coefficient")?, call.float("norm_coefficient_post")?);
    let rate = if count > 0.0 {
        rate * libm::sqrt(1.0 - libm::pow(beta, count)) / (1.0 - libm::pow(alpha, count))
    } else {
        rate
    };
    optimize(call, "C5", |[x, gradient, mean, squares]| {
        let gradient = norm * x + gradient;
        let mean = alpha * mean + (1.0 - alpha) * gradient;
        let squares = beta * squares + (1.0 - beta) * gradient * gradient;
        let next = x - rate * mean / (libm::sqrt(squares) + epsilon);
        [(1.0 - norm_post) * next, mean, squares]
    })
}

fn momentum(call: &Call<'_>) -> Result {
    let (rate, count) = (rate(call).rule("C1")?, count(call).rule("C1")?);
    let (alpha, norm) = (call.float("alpha")?, call.float("norm_coefficient")?);
    let beta = if count > 0.0 { call.float("beta")? } else { 1.0 };
    let nesterov = call.one_of("mode", &[("standard", false), ("nesterov", true)]).rule("C6")?;
    optimize(call, "C5", |[x, gradient, velocity]| {
        let gradient = norm * x + gradient;
        let velocity = alpha * velocity + beta * gradient;
        let direction = if nesterov { gradient + alpha * velocity } else { velocity };
        [x - rate * direction, velocity]
    })
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{floats, ints, node_of, typed};
    use crate::value::Value;

    #[test]
    fn several_tensors_may_differ_in_type_and_shape() {
        let node = node_of("ai.onnx.preview.training", "Momentum", 1).input(floats(&[], &[1.0])).input(ints(&[], &[0]));
        let mut node = node.set("alpha", 0.0).set("beta", 1.0).set("norm_coefficient", 0.0);
        for (one, two) in [(1.0, 10.0), (0.5, 3.0), (0.0, 0.0)] {
            node = node.input(floats(&[], &[one])).input(typed(ElementType::Double, &[2], &[two, two]));
        }
        let outputs = node.set("mode", "standard").outputs(4).run().unwrap();
        let types: Vec<String> = outputs.iter().map(Value::to_string).collect();
        let expected = ["tensor(float)[]", "tensor(double)[2]", "tensor(float)[]", "tensor(double)[2]"];
        assert_eq!(types, expected);
        assert_eq!(outputs[1].as_tensor().unwrap().floats(), [7.0, 7.0]);
    }
}
