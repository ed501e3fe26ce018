//! `LinearAttention`: a key-value state that each token decays, corrects and adds to.

#![expect(
    clippy::indexing_slicing,
    reason = "every offset is below the product of sizes that Sizes::read has checked against the shapes"
)]

use crate::dtype::ElementType;
use crate::kernels::attention::heads::divide;
use crate::kernels::attention::scores::round_all;
use crate::kernels::attention::shapes;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;

pub(super) const KERNELS: &[Kernel] =
    &[Kernel::new("LinearAttention", 27, linear_attention).shapes_of_all(shapes::linear)];

/// Update of the state by a token.
#[derive(Clone, Copy)]
struct Rule {
    /// First multiplies the state by the exponential of the decay.
    gated: bool,
    /// Adds beta times the difference between the value and the state's answer for the key.
    delta: bool,
}

#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    tokens: usize,
    query_heads: usize,
    heads: usize,
    key_size: usize,
    value_size: usize,
}

/// Inputs of all tokens, in their packed order.
struct Tokens {
    rule: Rule,
    sizes: Sizes,
    query: Vec<f64>,
    key: Vec<f64>,
    value: Vec<f64>,
    decay: Gate,
    beta: Gate,
}

/// Packed input in which several elements share a number: the one of the token, of its head, or their own.
#[derive(Default)]
struct Gate {
    values: Vec<f64>,
    /// Numbers per token.
    width: usize,
    /// Distance between the numbers of a token's heads.
    head_stride: usize,
    /// Distance between the numbers of a head's dimensions.
    dimension_stride: usize,
}

/// `LinearAttention`. As in the function body, the state is float between tokens, and so is the output before it is
/// rounded to its own type.
fn linear_attention(call: &Call<'_>) -> Result {
    let rule = rule(call)?;
    let sizes = Sizes::read(call)?;
    let tokens = Tokens::read(call, rule, sizes)?;
    let (mut state, state_type) = first_state(call, &sizes)?;
    let scale = scale(call, &sizes)?;
    let (query_width, width) = (sizes.query_heads * sizes.value_size, sizes.key_size * sizes.value_size);
    let mut output: Vec<f64> = call.budget.scratch(sizes.batch * sizes.tokens * query_width)?;
    let mut answer: Vec<f64> = call.budget.scratch(sizes.value_size)?;
    for batch in 0..sizes.batch {
        for token in batch * sizes.tokens..(batch + 1) * sizes.tokens {
            call.budget.count_work(width.saturating_mul(sizes.heads + sizes.query_heads))?;
            for head in 0..sizes.heads {
                let state = &mut state[(batch * sizes.heads + head) * width..][..width];
                tokens.update_state(token, head, state, &mut answer);
            }
            for head in 0..sizes.query_heads {
                let shared = head / (sizes.query_heads / sizes.heads);
                let state = &state[(batch * sizes.heads + shared) * width..][..width];
                let query = &tokens.query[(token * sizes.query_heads + head) * sizes.key_size..][..sizes.key_size];
                read(query, state, &mut answer);
                let out = &mut output[token * query_width + head * sizes.value_size..][..sizes.value_size];
                for (out, answer) in out.iter_mut().zip(&answer) {
                    *out = ElementType::Float.round(scale * answer);
                }
            }
        }
    }
    let Sizes { batch, tokens, heads, key_size, value_size, .. } = sizes;
    let output = call.floats(call.tensor(0)?.element_type(), &[batch, tokens, query_width], output)?;
    let state = call.floats(state_type, &[batch, heads, key_size, value_size], state)?;
    Ok(vec![output, state].into())
}

/// Reads the state for a key: the sum of its rows, weighted by the key.
fn read(key: &[f64], state: &[f64], answer: &mut [f64]) {
    answer.fill(0.0);
    for (row, key) in state.chunks(answer.len().max(1)).zip(key) {
        for (answer, element) in answer.iter_mut().zip(row) {
            *answer += key * element;
        }
    }
}

impl Gate {
    /// Reads the input at `index`. It has one of two widths.
    fn read(call: &Call<'_>, index: usize, sizes: &Sizes, widths: [usize; 2]) -> Result<Gate> {
        let Some(tensor) = call.optional_tensor(index)? else { return Ok(Gate::default()) };
        match *tensor.shape() {
            [batch, tokens, width] if [batch, tokens] == [sizes.batch, sizes.tokens] && widths.contains(&width) => {
                let (head_stride, dimension_stride) = match width {
                    1 => (0, 0),
                    width if width == sizes.heads => (1, 0),
                    _ => (sizes.key_size, 1),
                };
                Ok(Gate { values: call.budget.read_floats(tensor)?, width, head_stride, dimension_stride })
            }
            ref shape => {
                let name = call.spec.input_at(index).map_or("", |input| &input.name);
                let [batch, tokens, one, other] = [sizes.batch, sizes.tokens, widths[0], widths[1]];
                Err(invalid(format!("{name} has shape {shape:?}; it must be [{batch}, {tokens}, {one} or {other}]")))
            }
        }
    }

    /// Returns the number of an element.
    fn at(&self, token: usize, head: usize, dimension: usize) -> f64 {
        let index = token * self.width + head * self.head_stride + dimension * self.dimension_stride;
        self.values.get(index).copied().unwrap_or(0.0)
    }
}

impl Sizes {
    fn read(call: &Call<'_>) -> Result<Sizes> {
        let shape = |index: usize, name: &str| -> Result<[usize; 3]> {
            let shape = call.tensor(index)?.shape();
            <[usize; 3]>::try_from(shape)
                .map_err(|_| invalid(format!("{name} has shape {shape:?}; it must have 3 axes")))
        };
        let [batch, tokens, query] = shape(0, "query")?;
        let [key, value] = [shape(1, "key")?, shape(2, "value")?];
        let query_heads = divide("query", query, call.optional_int("q_num_heads")).rule("C6")?;
        let heads = divide("key", key[2], call.optional_int("kv_num_heads")).rule("C6")?;
        divide("value", value[2], call.optional_int("kv_num_heads")).rule("C6")?;
        let key_size = query / query_heads;
        if key != [batch, tokens, heads * key_size] || value[..2] != [batch, tokens] {
            let is_key_of_another_size = key[..2] == [batch, tokens] && key[2] != heads * key_size;
            let rule = if is_key_of_another_size { "C6" } else { "C1" };
            return Err(broken(
                rule,
                format!(
                    "query {:?}, key {key:?} and value {value:?} must agree in batch, tokens and key size",
                    [batch, tokens, query]
                ),
            ));
        }
        if !query_heads.is_multiple_of(heads) {
            return Err(broken("C6", format!("q_num_heads {query_heads} is not a multiple of kv_num_heads {heads}")));
        }
        let value_size = value[2] / heads;
        call.budget.check_loop(&[batch, tokens, query_heads, value_size])?;
        call.budget.check_loop(&[batch, tokens, query_heads, key_size])?;
        call.budget.check_loop(&[batch, heads, key_size, value_size])?;
        Ok(Sizes { batch, tokens, query_heads, heads, key_size, value_size })
    }
}

impl Tokens {
    fn read(call: &Call<'_>, rule: Rule, sizes: Sizes) -> Result<Tokens> {
        for (index, name, needed) in [(4, "decay", rule.gated), (5, "beta", rule.delta)] {
            if call.optional_value(index).is_some() != needed {
                let rule = call.string("update_rule")?;
                let verb = if needed { "needs" } else { "takes no" };
                return Err(broken("C10", format!("update_rule {rule} {verb} {name}")));
            }
        }
        let heads = sizes.heads;
        Ok(Tokens {
            rule,
            sizes,
            query: call.budget.read_floats(call.tensor(0)?)?,
            key: call.budget.read_floats(call.tensor(1)?)?,
            value: call.budget.read_floats(call.tensor(2)?)?,
            decay: Gate::read(call, 4, &sizes, [heads, heads * sizes.key_size]).rule("C7")?,
            beta: Gate::read(call, 5, &sizes, [heads, 1]).rule("C8")?,
        })
    }

    /// Updates the state of one head for one token. `answer` is working memory for the state's answer to a key.
    fn update_state(&self, token: usize, head: usize, state: &mut [f64], answer: &mut [f64]) {
        let Sizes { heads, key_size, value_size, .. } = self.sizes;
        let index = token * heads + head;
        let key = &self.key[index * key_size..][..key_size];
        let value = &self.value[index * value_size..][..value_size];
        let rows = value_size.max(1);
        if self.rule.gated {
            for (dimension, row) in state.chunks_mut(rows).enumerate() {
                let decay = libm::exp(self.decay.at(token, head, dimension));
                for element in row.iter_mut() {
                    *element *= decay;
                }
            }
        }
        let mut rate = 1.0;
        answer.fill(0.0);
        if self.rule.delta {
            read(key, state, answer);
            rate = self.beta.at(token, head, 0);
        }
        for (row, key) in state.chunks_mut(rows).zip(key) {
            for ((element, value), known) in row.iter_mut().zip(value).zip(answer.iter()) {
                *element += key * (rate * (value - known));
            }
        }
        round_all(ElementType::Float, state);
    }
}

fn rule(call: &Call<'_>) -> Result<Rule> {
    let (gated, delta) = call
        .one_of(
            "update_rule",
            &[
                ("linear", (false, false)),
                ("gated", (true, false)),
                ("delta", (false, true)),
                ("gated_delta", (true, true)),
            ],
        )
        .rule("C4")?;
    Ok(Rule { gated, delta })
}

/// Returns the scale of the output. 0 means one over the square root of the key size, computed in float.
fn scale(call: &Call<'_>, sizes: &Sizes) -> Result<f64> {
    let float = |value| ElementType::Float.round(value);
    match call.float("scale")? {
        0.0 => Ok(float(1.0 / float((sizes.key_size as f64).sqrt()))),
        scale => Ok(scale),
    }
}

/// Returns the initial state and its type, which is the query's if no state is given.
fn first_state(call: &Call<'_>, sizes: &Sizes) -> Result<(Vec<f64>, ElementType)> {
    let shape = [sizes.batch, sizes.heads, sizes.key_size, sizes.value_size];
    let past: Option<&Tensor> = call.optional_tensor(3)?;
    match past {
        Some(past) if past.shape() == shape => Ok((call.budget.read_floats(past)?, past.element_type())),
        Some(past) => Err(broken("C9", format!("past_state has shape {:?}; it must be {shape:?}", past.shape()))),
        None => Ok((call.budget.scratch(shape.iter().product())?, call.tensor(0)?.element_type())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OneNode, floats, node, typed};

    /// Two tokens with one head of size 1: queries and keys 1, values 2 and 3.
    fn tokens(rule: &str) -> OneNode {
        let ones = || floats(&[1, 2, 1], &[1.0, 1.0]);
        node("LinearAttention", 27)
            .input(ones())
            .input(ones())
            .input(floats(&[1, 2, 1], &[2.0, 3.0]))
            .set("q_num_heads", 1)
            .set("kv_num_heads", 1)
            .set("update_rule", rule)
            .outputs(2)
    }

    fn gate(value: f64) -> Tensor {
        floats(&[1, 2, 1], &[value; 2])
    }

    #[test]
    fn a_decay_of_minus_infinity_forgets_the_state() {
        let rows = [
            (tokens("gated").absent().input(gate(f64::NEG_INFINITY)), [2.0, 3.0]),
            (tokens("gated_delta").absent().input(gate(f64::NEG_INFINITY)).input(gate(0.5)), [1.0, 1.5]),
        ];
        for (node, expected) in rows {
            let outputs = node.run().unwrap();
            assert_eq!(outputs[0].as_tensor().map(Tensor::floats), Some(expected.to_vec()));
            assert_eq!(outputs[1].as_tensor().map(Tensor::floats), Some(vec![expected[1]]));
        }
    }

    #[test]
    fn the_past_gives_the_state_its_type() {
        let past = typed(ElementType::Bfloat16, &[1, 1, 1, 1], &[10.0]);
        let outputs = tokens("linear").input(past).run().unwrap();
        assert_eq!(outputs[0].as_tensor().map(Tensor::element_type), Some(ElementType::Float));
        assert_eq!(outputs[1].as_tensor().map(Tensor::element_type), Some(ElementType::Bfloat16));
    }

    #[test]
    fn a_rule_takes_no_gates_but_its_own() {
        assert!(tokens("linear").absent().input(gate(0.0)).error().contains("takes no decay"));
    }
}
