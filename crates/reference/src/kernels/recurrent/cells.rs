//! Equations of the three cells: RNN, GRU, LSTM.

#![expect(
    clippy::indexing_slicing,
    reason = "states and products have batch x hidden elements for each gate, as Inputs::read checks"
)]

use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::Ruled;
use crate::kernels::framework::registry::Kernel;
use crate::kernels::recurrent::activation::{Activation, activations};
use crate::kernels::recurrent::sequence::{Inputs, Layout, Sizes, check};
use crate::kernels::recurrent::shapes;

/// Kernel rows of the cells. The equations of version 1 do not transpose the recurrence weights, a mistake that version
/// 7 corrects. The shape of R, and the exporters and tests of the time, imply transposed weights, so one kernel serves
/// both.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("GRU", 1, |call| gru(call, Layout::TimeFirst)).shapes_of_all(shapes::recurrent),
    Kernel::new("GRU", 14, |call| gru(call, Layout::from_attribute(call)?)).shapes_of_all(shapes::recurrent),
    Kernel::new("LSTM", 1, |call| lstm(call, Layout::TimeFirst)).shapes_of_all(shapes::recurrent),
    Kernel::new("LSTM", 14, |call| lstm(call, Layout::from_attribute(call)?)).shapes_of_all(shapes::recurrent),
    Kernel::new("RNN", 1, |call| rnn(call, Layout::TimeFirst)).shapes_of_all(shapes::recurrent),
    Kernel::new("RNN", 14, |call| rnn(call, Layout::from_attribute(call)?)).shapes_of_all(shapes::recurrent),
];

/// RNN: H = f(X Wi + H Ri + biases).
fn rnn(call: &Call<'_>, layout: Layout) -> Result {
    let inputs = Inputs::read(call, 1, layout)?;
    let hidden = inputs.sizes.hidden;
    let functions = activations(call, inputs.sizes.directions, &["Tanh"])?;
    let states = vec![inputs.state(call, 5, "initial_h")?];
    inputs.run(call, states, |direction, weights, input, states| {
        let [f] = functions_of(&functions, direction);
        let mut sums = input.to_vec();
        weights.recur(&states[0], 0, 1, &mut sums)?;
        for (index, (state, sum)) in states[0].iter_mut().zip(&sums).enumerate() {
            let index = index % hidden;
            *state = f.apply(weights.clip(sum + weights.input_bias(0, index) + weights.recurrence_bias(0, index)));
        }
        Ok(())
    })
}

/// GRU, with gates in the order update, reset, hidden.
fn gru(call: &Call<'_>, layout: Layout) -> Result {
    let inputs = Inputs::read(call, 3, layout)?;
    let Sizes { batch, hidden, directions, .. } = inputs.sizes;
    let functions = activations(call, directions, &["Sigmoid", "Tanh"])?;
    // Version 1 does not have this attribute.
    let linear_before_reset = call.optional_int("linear_before_reset").is_some_and(|value| value != 0);
    let states = vec![inputs.state(call, 5, "initial_h")?];
    inputs.run(call, states, |direction, weights, input, states| {
        let [f, g] = functions_of(&functions, direction);
        let previous = states[0].clone();
        let budget = call.budget.nested();
        let mut gates: Vec<f64> = budget.scratch(batch * 2 * hidden)?;
        weights.recur(&previous, 0, 2, &mut gates)?;
        let gate = |row: usize, index: usize, gate: usize| {
            let sum = input[(row * 3 + gate) * hidden + index] + gates[(row * 2 + gate) * hidden + index];
            f.apply(weights.clip(sum + weights.input_bias(gate, index) + weights.recurrence_bias(gate, index)))
        };
        let reset = |position: usize| gate(position / hidden, position % hidden, 1);
        let mut candidates: Vec<f64> = budget.scratch(batch * hidden)?;
        if linear_before_reset {
            weights.recur(&previous, 2, 1, &mut candidates)?;
            for (position, candidate) in call.budget.timed(candidates.iter_mut().enumerate()) {
                *candidate = reset(position) * (*candidate + weights.recurrence_bias(2, position % hidden));
            }
        } else {
            let kept: Vec<f64> = previous.iter().enumerate().map(|(position, h)| reset(position) * h).collect();
            weights.recur(&kept, 2, 1, &mut candidates)?;
            for (position, candidate) in call.budget.timed(candidates.iter_mut().enumerate()) {
                *candidate += weights.recurrence_bias(2, position % hidden);
            }
        }
        for (position, (state, candidate)) in call.budget.timed(states[0].iter_mut().zip(&candidates).enumerate()) {
            let (row, index) = (position / hidden, position % hidden);
            let sum = input[(row * 3 + 2) * hidden + index] + candidate + weights.input_bias(2, index);
            let update = gate(row, index, 0);
            *state = (1.0 - update) * g.apply(weights.clip(sum)) + update * *state;
        }
        Ok(())
    })
}

/// LSTM, with gates in the order input, output, forget, cell, and peepholes in the order input, output, forget.
fn lstm(call: &Call<'_>, layout: Layout) -> Result {
    let inputs = Inputs::read(call, 4, layout)?;
    let Sizes { hidden, directions, .. } = inputs.sizes;
    let functions = activations(call, directions, &["Sigmoid", "Tanh", "Tanh"])?;
    let coupled = call.flag("input_forget")?;
    let peepholes = call.optional_tensor(7)?;
    peepholes.map_or(Ok(()), |tensor| check("P", tensor, &[directions, 3 * hidden])).rule("C12")?;
    let peepholes = peepholes.map(|tensor| call.budget.read_floats(tensor)).transpose()?;
    let states = vec![inputs.state(call, 5, "initial_h")?, inputs.state(call, 6, "initial_c")?];
    inputs.run(call, states, |direction, weights, input, states| {
        let [f, g, h] = functions_of(&functions, direction);
        let [hidden_state, cell_state] = states else { return Ok(()) };
        let mut sums = input.to_vec();
        weights.recur(hidden_state, 0, 4, &mut sums)?;
        let peephole = |gate: usize, index: usize| {
            let place = (direction * 3 + gate) * hidden + index;
            peepholes.as_ref().and_then(|values| values.get(place)).copied().unwrap_or(0.0)
        };
        for (position, (state, cell)) in call.budget.timed(hidden_state.iter_mut().zip(cell_state).enumerate()) {
            let (row, index) = (position / hidden, position % hidden);
            let sum = |gate: usize| {
                sums[(row * 4 + gate) * hidden + index]
                    + weights.input_bias(gate, index)
                    + weights.recurrence_bias(gate, index)
            };
            let sum_with_peephole = |gate: usize, cell: f64| match &peepholes {
                Some(_) => sum(gate) + peephole(gate, index) * cell,
                None => sum(gate),
            };
            let input_gate = f.apply(weights.clip(sum_with_peephole(0, *cell)));
            let forget = if coupled { 1.0 - input_gate } else { f.apply(weights.clip(sum_with_peephole(2, *cell))) };
            *cell = forget * *cell + input_gate * g.apply(weights.clip(sum(3)));
            let output = f.apply(weights.clip(sum_with_peephole(1, *cell)));
            *state = output * h.apply(weights.clip(*cell));
        }
        Ok(())
    })
}

/// Returns the activations of a direction.
fn functions_of<const N: usize>(functions: &[Vec<Activation>], direction: usize) -> [Activation; N] {
    std::array::from_fn(|index| functions[direction][index])
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::tensor::Tensor;
    use crate::testing::{OneNode, floats, node, typed};
    use crate::value::Value;

    /// Inputs of size 1 over `time` steps of one batch, with weights of 1 for one direction.
    fn ones(op_type: &str, opset: i64, gates: usize, x: &[f64]) -> OneNode {
        node(op_type, opset)
            .input(floats(&[x.len(), 1, 1], x))
            .input(floats(&[1, gates, 1], &vec![1.0; gates]))
            .input(floats(&[1, gates, 1], &vec![1.0; gates]))
    }

    fn check(node: OneNode, expected: &[&[f64]]) {
        let outputs = node.outputs(expected.len()).run().unwrap();
        let values: Vec<Vec<f64>> = outputs.iter().filter_map(Value::as_tensor).map(Tensor::floats).collect();
        assert_eq!(values, expected);
    }

    fn names(names: &[&str]) -> crate::model::Attribute {
        names.into()
    }

    /// In each direction, W has more elements than are read at a time.
    #[test]
    fn a_wide_w_is_read_in_blocks() {
        let (input, hidden) = (40_000, 130);
        let mut w = vec![0.0; 2 * hidden * input];
        for (row, weights) in w.chunks_exact_mut(input).enumerate() {
            weights[0] = row as f64;
            weights[input - 1] = 1000.0;
        }
        let mut x = vec![0.0; 2 * input];
        (x[0], x[2 * input - 1]) = (1.0, 2.0);
        let rnn = node("RNN", 14)
            .input(floats(&[2, 1, input], &x))
            .input(floats(&[2, hidden, input], &w))
            .input(floats(&[2, hidden, hidden], &vec![0.0; 2 * hidden * hidden]))
            .set("direction", "bidirectional")
            .set("activations", names(&["Relu", "Relu"]));
        let first: Vec<f64> = (0..2 * hidden).map(|row| row as f64).collect();
        let second = vec![2000.0; 2 * hidden];
        check(rnn, &[&[&first[..], &second].concat(), &[&second[hidden..], &first[hidden..]].concat()]);
    }

    #[test]
    fn sequences_end_at_their_lengths() {
        let lengths = typed(ElementType::Int32, &[2], &[2.0, 0.0]);
        let rnn = |direction: &str| {
            node("RNN", 14)
                .input(floats(&[3, 2, 1], &[1.0, 1.0, 2.0, 1.0, 3.0, 1.0]))
                .input(floats(&[1, 1, 1], &[1.0]))
                .input(floats(&[1, 1, 1], &[1.0]))
                .absent()
                .input(lengths.clone())
                .input(floats(&[1, 2, 1], &[0.0, 7.0]))
                .set("activations", names(&["Relu"]))
                .set("direction", direction)
        };
        check(rnn("forward"), &[&[1.0, 0.0, 3.0, 0.0, 0.0, 0.0], &[3.0, 7.0]]);
        check(rnn("reverse"), &[&[3.0, 0.0, 2.0, 0.0, 0.0, 0.0], &[3.0, 7.0]]);
    }

    #[test]
    fn the_recurrence_weights_are_transposed_in_version_1_too() {
        let rnn = node("RNN", 1)
            .input(floats(&[1, 1, 1], &[0.0]))
            .input(floats(&[1, 2, 1], &[0.0, 0.0]))
            .input(floats(&[1, 2, 2], &[0.0, 1.0, 0.0, 0.0]))
            .absent()
            .absent()
            .input(floats(&[1, 1, 2], &[3.0, 5.0]))
            .set("activations", names(&["Relu"]));
        check(rnn, &[&[5.0, 0.0]]);
    }

    #[test]
    fn alpha_and_beta_may_be_those_of_all_functions_but_no_more() {
        let rnn = |alpha: &[f32], beta: &[f32]| {
            node("RNN", 14)
                .input(floats(&[1, 1, 1], &[1.0]))
                .input(floats(&[2, 1, 1], &[-2.0, 3.0]))
                .input(floats(&[2, 1, 1], &[0.0, 0.0]))
                .set("direction", "bidirectional")
                .set("activations", names(&["Relu", "Affine"]))
                .set("activation_alpha", alpha)
                .set("activation_beta", beta)
        };
        check(rnn(&[9.0, 2.0], &[9.0, 0.5]), &[&[0.0, 6.5]]);
        assert!(rnn(&[1.0, 2.0, 3.0], &[]).error().contains("activation_alpha"));
    }

    #[test]
    fn the_misspelt_default_is_forward_in_gru_1_only() {
        let gru = |opset: i64| ones("GRU", opset, 3, &[1.0]);
        assert_eq!(gru(1).outputs(2).tensor().floats(), gru(3).outputs(2).tensor().floats());
        assert!(gru(3).set("direction", "foward").error().contains("foward"));
    }

    #[test]
    fn weights_of_another_number_of_gates_or_directions_are_refused() {
        assert!(ones("GRU", 7, 4, &[1.0]).error().contains("W has shape"));
        assert!(ones("RNN", 7, 1, &[1.0]).set("direction", "bidirectional").error().contains("W has shape"));
    }

    #[test]
    fn zero_steps_leave_the_state_unchanged() {
        let rnn = ones("RNN", 14, 1, &[]).absent().absent().input(floats(&[1, 1, 1], &[3.0]));
        check(rnn, &[&[], &[3.0]]);
        let huge = floats(&[0, 1 << 60, 1], &[]);
        let one = || floats(&[1, 1, 1], &[1.0]);
        assert!(node("RNN", 14).input(huge).input(one()).input(one()).error().contains("limit"));
    }
}
