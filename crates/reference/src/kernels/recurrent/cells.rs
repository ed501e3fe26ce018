//! The equations of the three cells.

use crate::kernels::call::{Call, Result};
use crate::kernels::recurrent::activation::{Activation, activations};
use crate::kernels::recurrent::sequence::{Inputs, Layout, Sizes, check};
use crate::tensor::Tensor;

/// RNN: H = f(X Wi + H Ri + biases).
pub(super) fn rnn(call: &Call<'_>, layout: Layout) -> Result {
    let inputs = Inputs::read(call, 1, layout)?;
    let hidden = inputs.sizes.hidden;
    let functions = activations(call, inputs.sizes.directions, &["Tanh"])?;
    let states = vec![inputs.state(call, 5, "initial_h")?];
    inputs.run(call, states, |direction, weights, input, states| {
        let [f] = pick(&functions, direction);
        let mut sums = input.to_vec();
        weights.recur(&states[0], 0, 1, &mut sums);
        for (at, (state, sum)) in states[0].iter_mut().zip(&sums).enumerate() {
            let at = at % hidden;
            *state = f.apply(weights.clip(sum + weights.input_bias(0, at) + weights.recurrence_bias(0, at)));
        }
        Ok(())
    })
}

/// GRU, its gates in the order update, reset, hidden.
pub(super) fn gru(call: &Call<'_>, layout: Layout) -> Result {
    let inputs = Inputs::read(call, 3, layout)?;
    let Sizes { batch, hidden, directions, .. } = inputs.sizes;
    let functions = activations(call, directions, &["Sigmoid", "Tanh"])?;
    // Version 1 has no such attribute.
    let linear_before_reset = call.optional_int("linear_before_reset").is_some_and(|value| value != 0);
    let states = vec![inputs.state(call, 5, "initial_h")?];
    inputs.run(call, states, |direction, weights, input, states| {
        let [f, g] = pick(&functions, direction);
        let previous = states[0].clone();
        let mut gates: Vec<f64> = call.budget.scratch(batch * 2 * hidden)?;
        weights.recur(&previous, 0, 2, &mut gates);
        let gate = |row: usize, at: usize, gate: usize| {
            let sum = input[(row * 3 + gate) * hidden + at] + gates[(row * 2 + gate) * hidden + at];
            f.apply(weights.clip(sum + weights.input_bias(gate, at) + weights.recurrence_bias(gate, at)))
        };
        let reset = |position: usize| gate(position / hidden, position % hidden, 1);
        let mut candidates: Vec<f64> = call.budget.scratch(batch * hidden)?;
        if linear_before_reset {
            weights.recur(&previous, 2, 1, &mut candidates);
            for (position, candidate) in candidates.iter_mut().enumerate() {
                *candidate = reset(position) * (*candidate + weights.recurrence_bias(2, position % hidden));
            }
        } else {
            let kept: Vec<f64> = previous.iter().enumerate().map(|(position, h)| reset(position) * h).collect();
            weights.recur(&kept, 2, 1, &mut candidates);
            for (position, candidate) in candidates.iter_mut().enumerate() {
                *candidate += weights.recurrence_bias(2, position % hidden);
            }
        }
        for (position, (state, candidate)) in states[0].iter_mut().zip(&candidates).enumerate() {
            let (row, at) = (position / hidden, position % hidden);
            let sum = input[(row * 3 + 2) * hidden + at] + candidate + weights.input_bias(2, at);
            let update = gate(row, at, 0);
            *state = (1.0 - update) * g.apply(weights.clip(sum)) + update * *state;
        }
        Ok(())
    })
}

/// LSTM, its gates in the order input, output, forget, cell; its peepholes input, output, forget.
pub(super) fn lstm(call: &Call<'_>, layout: Layout) -> Result {
    let inputs = Inputs::read(call, 4, layout)?;
    let Sizes { hidden, directions, .. } = inputs.sizes;
    let functions = activations(call, directions, &["Sigmoid", "Tanh", "Tanh"])?;
    let coupled = call.flag("input_forget")?;
    let peepholes = call.optional_tensor(7)?;
    peepholes.map_or(Ok(()), |tensor| check("P", tensor, &[directions, 3 * hidden]))?;
    let peepholes = peepholes.map(Tensor::floats);
    let states = vec![inputs.state(call, 5, "initial_h")?, inputs.state(call, 6, "initial_c")?];
    inputs.run(call, states, |direction, weights, input, states| {
        let [f, g, h] = pick(&functions, direction);
        let [hidden_state, cell_state] = states else { return Ok(()) };
        let mut sums = input.to_vec();
        weights.recur(hidden_state, 0, 4, &mut sums);
        let peephole = |gate: usize, at: usize| {
            let place = (direction * 3 + gate) * hidden + at;
            peepholes.as_ref().and_then(|values| values.get(place)).copied().unwrap_or(0.0)
        };
        for (position, (state, cell)) in hidden_state.iter_mut().zip(cell_state).enumerate() {
            let (row, at) = (position / hidden, position % hidden);
            let sum = |gate: usize| {
                sums[(row * 4 + gate) * hidden + at] + weights.input_bias(gate, at) + weights.recurrence_bias(gate, at)
            };
            let seeing = |gate: usize, cell: f64| match &peepholes {
                Some(_) => sum(gate) + peephole(gate, at) * cell,
                None => sum(gate),
            };
            let input_gate = f.apply(weights.clip(seeing(0, *cell)));
            let forget = if coupled { 1.0 - input_gate } else { f.apply(weights.clip(seeing(2, *cell))) };
            *cell = forget * *cell + input_gate * g.apply(weights.clip(sum(3)));
            let output = f.apply(weights.clip(seeing(1, *cell)));
            *state = output * h.apply(weights.clip(*cell));
        }
        Ok(())
    })
}

/// The activations of a direction.
fn pick<const N: usize>(functions: &[Vec<Activation>], direction: usize) -> [Activation; N] {
    std::array::from_fn(|at| functions[direction][at])
}
