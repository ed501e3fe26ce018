//! Variadic operators: Sum, Mean, Max, Min.

use crate::dtype::ElementType;
use crate::infer::{elements, rules};
use crate::kernels::elementwise::map::{Elements, Order};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::shape::{broadcast, element_count};
use crate::tensor::sum;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::with_magnitude("Sum", 1, |call| total(&Operands::same(call)?), magnitude_of_total)
        .shape(rules::elementwise_list),
    Kernel::with_magnitude("Sum", 8, |call| total(&Operands::broadcast(call).rule("C2")?), magnitude_of_total)
        .shape(rules::elementwise_list),
    Kernel::with_magnitude("Mean", 1, |call| mean(&Operands::same(call)?), magnitude_of_mean)
        .shape(rules::elementwise_list),
    Kernel::with_magnitude("Mean", 8, |call| mean(&Operands::broadcast(call).rule("C2")?), magnitude_of_mean)
        .shape(rules::elementwise_list),
    Kernel::new("Max", 1, |call| max_of_inputs(&Operands::same(call)?))
        .shape(rules::elementwise_list)
        .with_elements(elements::maximum),
    Kernel::new("Max", 8, |call| max_of_inputs(&Operands::broadcast(call).rule("C2")?))
        .shape(rules::elementwise_list)
        .with_elements(elements::maximum),
    Kernel::new("Min", 1, |call| min_of_inputs(&Operands::same(call)?))
        .shape(rules::elementwise_list)
        .with_elements(elements::minimum),
    Kernel::new("Min", 8, |call| min_of_inputs(&Operands::broadcast(call).rule("C2")?))
        .shape(rules::elementwise_list)
        .with_elements(elements::minimum),
];

/// Inputs and the shape that they broadcast to.
struct Operands<'c, 'a> {
    call: &'c Call<'a>,
    inputs: Vec<&'a Tensor>,
    element: ElementType,
    shape: Vec<usize>,
}

impl<'c, 'a> Operands<'c, 'a> {
    /// Returns inputs of one shape, as versions below 8 require.
    fn same(call: &'c Call<'a>) -> Result<Operands<'c, 'a>> {
        let operands = Operands::broadcast(call).rule("C1")?;
        let shape = call.tensor(0)?.shape();
        if let Some(other) = operands.inputs.iter().find(|input| input.shape() != shape) {
            return Err(broken(
                "C1",
                format!(
                    "shapes {shape:?} and {:?} differ; {} does not broadcast, version 8 does",
                    other.shape(),
                    call.spec.version
                ),
            ));
        }
        Ok(operands)
    }

    /// Returns inputs that broadcast to each other.
    fn broadcast(call: &'c Call<'a>) -> Result<Operands<'c, 'a>> {
        let (first, inputs) = (call.tensor(0)?, call.tensors(0)?);
        let mut shape = first.shape().to_vec();
        for input in &inputs {
            shape = broadcast(&shape, input.shape())?;
        }
        Ok(Operands { call, inputs, element: first.element_type(), shape })
    }

    /// Applies `combine`, for each element of the output, to the corresponding elements of all inputs.
    fn combine<T: Copy, R>(
        &self,
        read: fn(&Tensor) -> Vec<T>,
        combine: impl Fn(&mut dyn Iterator<Item = T>) -> R,
    ) -> Result<impl Iterator<Item = R>> {
        let elements = |input: &&'a Tensor| {
            let order = Order::broadcast(input.shape(), &self.shape);
            Elements::new(self.call, input, &order, read)
        };
        let mut columns: Vec<Elements<'a, T>> = self.inputs.iter().map(elements).collect::<Result<_>>()?;
        let count = element_count(&self.shape)?;
        Ok((0..count).map_while(move |_| {
            self.call.budget.count_work(columns.len()).ok()?;
            Some(combine(&mut columns.iter_mut().filter_map(Elements::next)))
        }))
    }

    fn floats(&self, element: ElementType, combine: impl Fn(&mut dyn Iterator<Item = f64>) -> f64) -> Result {
        let values = self.combine(Tensor::floats, combine)?;
        Ok(self.call.floats(element, &self.shape, values)?.into())
    }

    fn integers(&self, combine: impl Fn(&mut dyn Iterator<Item = i128>) -> i128) -> Result {
        let values = self.combine(Tensor::integers, combine)?;
        Ok(self.call.integers(self.element, &self.shape, values)?.into())
    }
}

/// Sum of all inputs, accumulated wide and rounded once.
fn total(operands: &Operands<'_, '_>) -> Result {
    operands.floats(operands.element, |values| sum::sum(values))
}

fn mean(operands: &Operands<'_, '_>) -> Result {
    let count = operands.inputs.len() as f64;
    operands.floats(operands.element, |values| sum::sum(values) / count)
}

fn magnitude_of_total(call: &Call<'_>) -> Result {
    Operands::broadcast(call)?.floats(ElementType::Double, |values| sum::sum(values.map(f64::abs)))
}

fn magnitude_of_mean(call: &Call<'_>) -> Result {
    let operands = Operands::broadcast(call)?;
    let count = operands.inputs.len() as f64;
    operands.floats(ElementType::Double, |values| sum::sum(values.map(f64::abs)) / count)
}

fn max_of_inputs(operands: &Operands<'_, '_>) -> Result {
    if operands.element.is_float() {
        operands.floats(operands.element, |values| values.fold(f64::NEG_INFINITY, maximum))
    } else {
        operands.integers(|values| values.max().unwrap_or(0))
    }
}

fn min_of_inputs(operands: &Operands<'_, '_>) -> Result {
    if operands.element.is_float() {
        operands.floats(operands.element, |values| -values.map(|value| -value).fold(f64::NEG_INFINITY, maximum))
    } else {
        operands.integers(|values| values.min().unwrap_or(0))
    }
}

/// Returns the greater number, or NaN if either is NaN. The text leaves NaN open; `NumPy`, its example, propagates it.
fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType as E;
    use crate::testing::{floats, node, typed};

    #[test]
    fn an_error_below_version_8_says_that_version_8_broadcasts() {
        for operator in ["Sum", "Mean", "Max", "Min"] {
            let inputs = node(operator, 6).input(floats(&[2, 1], &[1.0, 2.0])).input(floats(&[2], &[4.0, 8.0]));
            assert!(inputs.error().contains("does not broadcast, version 8 does"), "{operator}");
        }
    }

    #[test]
    fn one_input_is_its_own_sum() {
        let result = node("Sum", 13).input(floats(&[], &[-3.5])).tensor();
        assert_eq!((result.shape(), result.floats()), (&[][..], vec![-3.5]));
    }

    #[test]
    fn sums_do_not_lose_small_terms_and_round_once() {
        let big = typed(E::Double, &[], &[1e30]);
        let sum = node("Sum", 8).input(big.clone()).input(typed(E::Double, &[], &[1.0]));
        assert_eq!(sum.input(typed(E::Double, &[], &[-1e30])).tensor().floats(), [1.0]);
        // In float16, 2048 + 1 rounds back to 2048 at each step. The two ones together do not.
        let half = |value: f64| typed(E::Float16, &[], &[value]);
        let sum = node("Sum", 8).input(half(2048.0)).input(half(1.0)).input(half(1.0)).tensor();
        assert_eq!(sum.floats(), [2050.0]);
        let overflow = node("Mean", 13).input(half(65504.0)).input(half(65504.0)).tensor();
        assert_eq!(overflow.floats(), [65504.0]);
    }
}
