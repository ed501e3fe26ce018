//! Shared parts of RNN, GRU and LSTM: inputs, directions, and the walk along the sequences.
//!
//! W is used in one product per direction and read in blocks of rows. R is used in every step. The part of a direction
//! is read whole, and counted while the direction runs.

#![expect(
    clippy::indexing_slicing,
    reason = "check compares every input with the shape that its offsets are computed from"
)]

use std::ops::Range;

use crate::deadline::Deadline;
use crate::dtype::ElementType;
use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::tensor::Tensor;
use crate::tensor::gemm::{Matrix, multiply_add_for};
use crate::tensor::index::StridedIter;
use crate::value::Value;

/// Ids of the rules about inputs and attributes.
pub(super) struct Rules {
    /// Sizes of W and R, except for the number of directions.
    weights: &'static str,
    directions: &'static str,
    direction: &'static str,
    biases: &'static str,
    lengths: &'static str,
    states: &'static str,
    pub(super) activations: &'static str,
}

impl Rules {
    pub(super) fn for_operator(call: &Call<'_>) -> Rules {
        let [weights, directions, direction, biases, lengths, states, activations] =
            match call.spec.version.name.as_str() {
                "RNN" => ["C11", "C11", "C9", "C11", "C11", "C11", "C10"],
                "GRU" => ["C11", "C11", "C3", "C11", "C5", "C11", "C12"],
                // LSTM.
                _ => ["C12", "C12", "C3", "C12", "C5", "C12", "C13"],
            };
        Rules { weights, directions, direction, biases, lengths, states, activations }
    }
}

/// Order of the axes of X, Y and the states.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Time, then batch: X is `[time, batch, input]`.
    TimeFirst,
    /// Batch, then time: X is `[batch, time, input]`.
    BatchFirst,
}

impl Layout {
    /// Reads the attribute `layout`.
    pub(super) fn from_attribute(call: &Call<'_>) -> Result<Layout> {
        match call.int("layout")? {
            0 => Ok(Layout::TimeFirst),
            1 => Ok(Layout::BatchFirst),
            other => Err(broken("C6", format!("layout is {other}; it must be 0 or 1"))),
        }
    }
}

/// Values of the attribute `direction`. Each lists its directions, true for backwards. The default of GRU-1 is misspelt
/// as `foward`, and means forward.
const DIRECTIONS: &[(&str, &[bool])] =
    &[("forward", &[false]), ("foward", &[false]), ("reverse", &[true]), ("bidirectional", &[false, true])];

/// Sizes of a recurrent node.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) time: usize,
    pub(super) batch: usize,
    pub(super) input: usize,
    pub(super) hidden: usize,
    pub(super) directions: usize,
    pub(super) gates: usize,
}

impl Sizes {
    /// Reads the sizes from the shapes of X, W and R, and compares `hidden_size` with them.
    fn read(call: &Call<'_>, directions: usize, gates: usize, layout: Layout) -> Result<Sizes> {
        let axes = |name: &str, tensor: &Tensor| {
            <[usize; 3]>::try_from(tensor.shape())
                .map_err(|_| invalid(format!("{name} has shape {:?}; it must have 3 axes", tensor.shape())))
        };
        let [first, second, input] = axes("X", call.tensor(0)?)?;
        axes("W", call.tensor(1)?)?;
        let [_, _, hidden] = axes("R", call.tensor(2)?)?;
        if let Some(stated) = call.optional_int("hidden_size").filter(|&stated| usize::try_from(stated) != Ok(hidden)) {
            return Err(broken(
                Rules::for_operator(call).weights,
                format!("hidden_size is {stated}, but R has {hidden} columns"),
            ));
        }
        let (time, batch) = if layout == Layout::TimeFirst { (first, second) } else { (second, first) };
        call.budget.check_loop(&[directions, time, batch, 2 * gates, hidden])?;
        call.budget.check_loop(&[directions, 2 * gates, hidden, input.max(hidden)])?;
        Ok(Sizes { time, batch, input, hidden, directions, gates })
    }
}

/// Elements of W that are read at a time.
const BLOCK: usize = 1 << 21;

/// Inputs of a recurrent node, with X time first.
pub(super) struct Inputs<'a> {
    pub(super) sizes: Sizes,
    pub(super) element: ElementType,
    layout: Layout,
    reversed: &'static [bool],
    lengths: Vec<usize>,
    x: Vec<f64>,
    w: &'a Tensor,
    r: &'a Tensor,
    b: Option<Vec<f64>>,
    clip: Option<f64>,
}

/// Weights of one direction, for a cell.
pub(super) struct Weights<'a> {
    /// `[gates * hidden, hidden]`.
    recurrence: &'a [f64],
    /// `[gates * hidden]` for the input, then as many for the recurrence. None means zeros.
    bias: Option<&'a [f64]>,
    clip: Option<f64>,
    sizes: Sizes,
    element: ElementType,
    deadline: &'a Deadline,
}

/// One state of all sequences: the hidden state or the cell state.
pub(super) type State = Vec<f64>;

impl Weights<'_> {
    /// Returns the input bias of element `index` of a gate.
    pub(super) fn input_bias(&self, gate: usize, index: usize) -> f64 {
        self.bias.and_then(|bias| bias.get(gate * self.sizes.hidden + index)).copied().unwrap_or(0.0)
    }

    /// Returns the recurrence bias of element `index` of a gate.
    pub(super) fn recurrence_bias(&self, gate: usize, index: usize) -> f64 {
        self.input_bias(self.sizes.gates + gate, index)
    }

    /// Clips the input of an activation.
    pub(super) fn clip(&self, x: f64) -> f64 {
        match self.clip {
            Some(clip) if x > clip => clip,
            Some(clip) if x < -clip => -clip,
            _ => x,
        }
    }

    /// Adds the product of a state and `count` gates of R, from `first` on, to `out` of shape
    /// `[batch, count * hidden]`.
    pub(super) fn recur(&self, state: &[f64], first: usize, count: usize, out: &mut [f64]) -> Result<()> {
        let Sizes { batch, hidden, .. } = self.sizes;
        let rows = count * hidden;
        let weights = &self.recurrence[first * hidden * hidden..][..rows * hidden];
        let state = Matrix::row_major(state, batch, hidden);
        let weights = Matrix::row_major(weights, rows, hidden).transposed();
        Ok(multiply_add_for(self.element)(state, weights, out, self.deadline)?)
    }
}

impl<'a> Inputs<'a> {
    /// Checks W and R, and reads X, B and `sequence_lens`, for an operator with this many gates.
    pub(super) fn read(call: &Call<'a>, gates: usize, layout: Layout) -> Result<Inputs<'a>> {
        let rules = Rules::for_operator(call);
        let reversed = call.one_of("direction", DIRECTIONS).rule(rules.direction)?;
        let (x, w, r) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
        let sizes = Sizes::read(call, reversed.len(), gates, layout)?;
        let Sizes { time, batch, input, directions, .. } = sizes;
        let rows = gates * sizes.hidden;
        let rule = |tensor: &Tensor| if tensor.shape()[0] == directions { rules.weights } else { rules.directions };
        check("W", w, &[directions, rows, input]).rule(rule(w))?;
        check("R", r, &[directions, rows, sizes.hidden]).rule(rule(r))?;
        let b = call.optional_tensor(3)?;
        b.map_or(Ok(()), |b| check("B", b, &[directions, 2 * rows])).rule(rules.biases)?;
        let x = match layout {
            Layout::TimeFirst => call.budget.read_floats(x)?,
            Layout::BatchFirst => transpose(call, &call.budget.read_floats(x)?, &[batch, time, input], &[1, 0, 2])?,
        };
        let clip = call.optional_float("clip");
        if let Some(clip) = clip.filter(|clip| *clip < 0.0) {
            return Err(invalid(format!("clip is {clip}; it must not be negative")));
        }
        let b = b.map(|tensor| call.budget.read_floats(tensor)).transpose()?;
        let lengths = lengths(call, &sizes)?;
        Ok(Inputs { sizes, element: call.tensor(0)?.element_type(), layout, reversed, lengths, x, w, r, b, clip })
    }

    /// Returns the initial state at input `index`, `[directions, batch, hidden]`. It is zero if the input is omitted.
    pub(super) fn state(&self, call: &Call<'_>, index: usize, name: &str) -> Result<State> {
        let Sizes { batch, hidden, directions, .. } = self.sizes;
        match (call.optional_tensor(index)?, self.layout) {
            (None, _) => call.budget.scratch(directions * batch * hidden),
            (Some(state), Layout::TimeFirst) => {
                check(name, state, &[directions, batch, hidden]).rule(Rules::for_operator(call).states)?;
                call.budget.read_floats(state)
            }
            (Some(state), Layout::BatchFirst) => {
                check(name, state, &[batch, directions, hidden]).rule(Rules::for_operator(call).states)?;
                transpose(call, &call.budget.read_floats(state)?, state.shape(), &[1, 0, 2])
            }
        }
    }

    /// Runs every direction. `step` gets the direction, its weights, the products of the step's input and W,
    /// `[batch, gates * hidden]`, and the states, hidden first, `[batch, hidden]` each, which it updates.
    pub(super) fn run(
        &self,
        call: &Call<'_>,
        mut states: Vec<State>,
        mut step: impl FnMut(usize, &Weights<'_>, &[f64], &mut [State]) -> Result<()>,
    ) -> Result {
        let Sizes { time, batch, hidden, directions, gates, .. } = self.sizes;
        let block = batch * hidden;
        let mut y: Vec<f64> = call.budget.scratch(time * directions * block)?;
        // Working memory of a step: the products that it reads and accumulates, and both versions of each state.
        call.budget.count(block, size_of::<f64>() * (2 * gates + 3 * states.len()))?;
        for direction in 0..directions {
            let budget = call.budget.nested();
            let rows = gates * hidden;
            let recurrence = budget.read_floats(&lines(self.r, hidden, direction * rows..(direction + 1) * rows))?;
            let weights = self.weights(call, direction, &recurrence);
            let products = self.products(&budget, direction)?;
            let mut current: Vec<State> =
                states.iter().map(|state| state[direction * block..][..block].to_vec()).collect();
            for index in 0..time {
                call.budget.count_work(batch.saturating_mul(weights.recurrence.len()))?;
                let input = self.gather(&products, direction, index);
                let mut next = current.clone();
                step(direction, &weights, &input, &mut next)?;
                for sequence in (0..batch).filter(|&sequence| index < self.lengths[sequence]) {
                    let row = sequence * hidden..(sequence + 1) * hidden;
                    for (current, next) in current.iter_mut().zip(&next) {
                        current[row.clone()].copy_from_slice(&next[row.clone()]);
                    }
                    let time = self.time_index(direction, sequence, index);
                    let out = (time * directions + direction) * block + sequence * hidden;
                    y[out..out + hidden].copy_from_slice(&current[0][row]);
                }
            }
            for (state, current) in states.iter_mut().zip(&current) {
                state[direction * block..][..block].copy_from_slice(current);
            }
        }
        self.outputs(call, y, states)
    }

    fn weights<'b>(&'b self, call: &Call<'b>, direction: usize, recurrence: &'b [f64]) -> Weights<'b> {
        let rows = self.sizes.gates * self.sizes.hidden;
        Weights {
            recurrence,
            bias: self.b.as_ref().map(|b| &b[direction * 2 * rows..][..2 * rows]),
            clip: self.clip,
            sizes: self.sizes,
            element: self.element,
            deadline: call.budget.deadline(),
        }
    }

    /// Returns the products of every input and W, `[time * batch, gates * hidden]`.
    fn products(&self, budget: &Budget, direction: usize) -> Result<Vec<f64>> {
        let Sizes { time, batch, input, hidden, gates, .. } = self.sizes;
        let (steps, rows) = (time * batch, gates * hidden);
        let mut products: Vec<f64> = budget.scratch(steps * rows)?;
        let step = (BLOCK / input.max(1)).max(64);
        let multiply_add = multiply_add_for(self.element);
        for from in (0..rows).step_by(step) {
            let to = rows.min(from + step);
            let budget = budget.nested();
            let w = budget.read_floats(&lines(self.w, input, direction * rows + from..direction * rows + to))?;
            let w = Matrix::row_major(&w, to - from, input).transposed();
            let x = Matrix::row_major(&self.x, steps, input);
            if to - from == rows {
                multiply_add(x, w, &mut products, budget.deadline())?;
                break;
            }
            let mut part: Vec<f64> = budget.scratch(steps * (to - from))?;
            multiply_add(x, w, &mut part, budget.deadline())?;
            for (products, part) in products.chunks_exact_mut(rows).zip(part.chunks_exact(to - from)) {
                products[from..to].copy_from_slice(part);
            }
        }
        Ok(products)
    }

    /// Returns the products for the sequences at step `index` of a direction.
    fn gather(&self, products: &[f64], direction: usize, index: usize) -> Vec<f64> {
        let Sizes { batch, hidden, gates, .. } = self.sizes;
        let rows = gates * hidden;
        let place = |sequence| (self.time_index(direction, sequence, index) * batch + sequence) * rows;
        (0..batch).flat_map(|sequence| &products[place(sequence)..][..rows]).copied().collect()
    }

    /// Returns the time index of a sequence's step `index`. A reversed direction starts at the sequence's own end.
    fn time_index(&self, direction: usize, sequence: usize, index: usize) -> usize {
        if self.reversed[direction] && index < self.lengths[sequence] {
            self.lengths[sequence] - 1 - index
        } else {
            index
        }
    }

    /// Returns Y and the final states, in the layout of the node.
    fn outputs(&self, call: &Call<'_>, y: Vec<f64>, states: Vec<State>) -> Result {
        let Sizes { time, batch, hidden, directions, .. } = self.sizes;
        let (y_shape, state_shape) = ([time, directions, batch, hidden], [directions, batch, hidden]);
        let arrange = |values: Vec<f64>, shape: &[usize], order: &[usize]| -> Result<Value> {
            let (values, shape) = match self.layout {
                Layout::TimeFirst => (values, shape.to_vec()),
                Layout::BatchFirst => (
                    transpose(call, &values, shape, order)?,
                    order.iter().filter_map(|&axis| shape.get(axis).copied()).collect(),
                ),
            };
            Ok(call.floats(self.element, &shape, values)?.into())
        };
        let mut outputs = vec![Some(arrange(y, &y_shape, &[2, 0, 1, 3])?)];
        for state in states {
            outputs.push(Some(arrange(state, &state_shape, &[1, 0, 2])?));
        }
        Ok(Outputs(outputs))
    }
}

/// Returns some lines of a tensor, of `length` elements each.
fn lines(tensor: &Tensor, length: usize, range: Range<usize>) -> Tensor {
    tensor.part(range.start * length..range.end * length)
}

/// Returns the length of every sequence, which is the whole time if the input is omitted.
fn lengths(call: &Call<'_>, sizes: &Sizes) -> Result<Vec<usize>> {
    let Sizes { time, batch, .. } = *sizes;
    let Some(lengths) = call.optional_tensor(4)? else {
        return Ok(std::iter::repeat_n(time, batch).collect());
    };
    let rule = Rules::for_operator(call).lengths;
    check("sequence_lens", lengths, &[batch]).rule(rule)?;
    let length = |length: i64| {
        let inside = usize::try_from(length).ok().filter(|&length| length <= time);
        inside.ok_or_else(|| broken(rule, format!("sequence_lens contains {length}, which is outside [0, {time}]")))
    };
    call.budget.read_indices(lengths)?.into_iter().map(length).collect()
}

/// Refuses a tensor of another shape.
pub(super) fn check(name: &str, tensor: &Tensor, expected: &[usize]) -> Result<()> {
    if tensor.shape() == expected {
        return Ok(());
    }
    Err(invalid(format!("{name} has shape {:?}; it must be {expected:?}", tensor.shape())))
}

/// Transposes values of `shape` to the given order of axes.
fn transpose(call: &Call<'_>, values: &[f64], shape: &[usize], order: &[usize]) -> Result<Vec<f64>> {
    call.budget.collect(StridedIter::transposed(shape, order).filter_map(|position| values.get(position).copied()))
}
