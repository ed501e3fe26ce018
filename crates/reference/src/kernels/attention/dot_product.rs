//! Attention: the softmax of scaled products of queries and keys weighs the values.

use crate::dtype::ElementType;
use crate::kernels::attention::bias::{Bias, ShortMask};
use crate::kernels::attention::heads::{append, merge, split};
use crate::kernels::attention::scores::{Sizes, round_all, rounded, scaled_products, softmax, weigh};
use crate::kernels::call::{Call, Outputs, Result};
use crate::kernels::error::invalid;
use crate::tensor::Tensor;
use crate::value::Value;

/// The stage whose scores the fourth output shows, as `qk_matmul_output_mode` numbers them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Product,
    Capped,
    Biased,
    Softmax,
}

/// Attention. Every stage of the function body is in the type of Q, but for the softmax, which has its own.
pub(super) fn attention(call: &Call<'_>, short: ShortMask) -> Result {
    check(call)?;
    let (query, heads) = (call.tensor(0)?, call.optional_int("kv_num_heads"));
    let packed = query.rank() == 3;
    let query = split(call, "Q", query, call.optional_int("q_num_heads"))?;
    let key = split(call, "K", call.tensor(1)?, heads)?;
    let value = split(call, "V", call.tensor(2)?, heads)?;
    let key = append(call, "past_key", call.optional_tensor(4)?, key)?;
    let value = append(call, "past_value", call.optional_tensor(5)?, value)?;

    let sizes = Sizes::of(call, &query, &key, &value)?;
    let (probabilities, shown) = probabilities(call, &sizes, &query, &key, short)?;
    let result = weigh(call, &sizes, &probabilities, &value.floats())?;
    let result = call.floats(query.element_type(), &sizes.result(), result)?;
    let result = if packed { merge(call, &result)? } else { result };
    let outputs = [Some(result), Some(key), Some(value), shown];
    Ok(Outputs(outputs.into_iter().map(|tensor| tensor.map(Value::Tensor)).collect()))
}

/// The rules about which inputs and attributes go together.
fn check(call: &Call<'_>) -> Result<()> {
    let given = |at| call.optional_value(at).is_some();
    let ranks = [call.tensor(0)?.rank(), call.tensor(1)?.rank(), call.tensor(2)?.rank()];
    if ranks != [ranks[0]; 3] {
        return Err(invalid(format!("Q, K and V have {ranks:?} axes; they must have the same number, 3 or 4")));
    }
    if given(4) != given(5) {
        return Err(invalid("past_key and past_value go together; only one of them is given"));
    }
    if given(6) && given(4) {
        return Err(invalid("nonpad_kv_seqlen does not go with past_key and past_value; leave it out"));
    }
    if call.since() < 25 {
        return Ok(());
    }
    if given(6) && (call.wants(1) || call.wants(2)) {
        return Err(invalid("nonpad_kv_seqlen does not go with present_key and present_value; leave them out"));
    }
    if ranks[0] == 4 && (call.has("q_num_heads") || call.has("kv_num_heads")) {
        return Err(invalid("q_num_heads and kv_num_heads are for inputs with 3 axes; leave them out for 4"));
    }
    Ok(())
}

/// What each query gives to each key, and the scores of the stage that the node asks for.
fn probabilities(
    call: &Call<'_>,
    sizes: &Sizes,
    query: &Tensor,
    key: &Tensor,
    short: ShortMask,
) -> Result<(Vec<f64>, Option<Tensor>)> {
    let element = query.element_type();
    let precision = softmax_precision(call, element)?;
    let wanted = shown_stage(call)?;
    let mut shown = None;
    let mut show = |stage: Stage, scores: &[f64]| -> Result<()> {
        if wanted == stage && call.wants(3) {
            shown = Some(call.floats(element, &sizes.scores(), scores.iter().copied())?);
        }
        Ok(())
    };

    let mut scores = scaled_products(call, sizes, query, key)?;
    show(Stage::Product, &scores)?;
    soften(call.float("softcap")?, element, &mut scores);
    show(Stage::Capped, &scores)?;
    let masked = add_bias(call, sizes, &Bias::read(call, sizes, element, short)?, element, &mut scores)?;
    show(Stage::Biased, &scores)?;
    round_all(precision, &mut scores);
    softmax(sizes.keys, precision, &mut scores);
    round_all(element, &mut scores);
    for (row, _) in scores.chunks_mut(sizes.keys.max(1)).zip(&masked).filter(|(_, masked)| **masked) {
        row.fill(0.0);
    }
    show(Stage::Softmax, &scores)?;
    Ok((scores, shown))
}

/// The type in which the softmax is computed.
fn softmax_precision(call: &Call<'_>, element: ElementType) -> Result<ElementType> {
    let precision = call.element_type("softmax_precision")?.unwrap_or(element);
    match precision {
        ElementType::Float | ElementType::Float16 | ElementType::Bfloat16 | ElementType::Double => Ok(precision),
        other => Err(invalid(format!("softmax_precision is {other}; it is float, float16, bfloat16 or double"))),
    }
}

fn shown_stage(call: &Call<'_>) -> Result<Stage> {
    match call.int("qk_matmul_output_mode")? {
        0 => Ok(Stage::Product),
        1 => Ok(Stage::Capped),
        2 => Ok(Stage::Biased),
        3 => Ok(Stage::Softmax),
        other => Err(invalid(format!("qk_matmul_output_mode is {other}; it is 0, 1, 2 or 3"))),
    }
}

/// Keeps the scores below a cap by a hyperbolic tangent; 0 is no cap.
fn soften(cap: f64, element: ElementType, scores: &mut [f64]) {
    if cap == 0.0 {
        return;
    }
    let cap = rounded(element, cap);
    for score in scores {
        let tangent = rounded(element, libm::tanh(rounded(element, *score / cap)));
        *score = rounded(element, tangent * cap);
    }
}

/// Adds the bias and says which rows it masks whole.
fn add_bias(
    call: &Call<'_>,
    sizes: &Sizes,
    bias: &Bias,
    element: ElementType,
    scores: &mut [f64],
) -> Result<Vec<bool>> {
    let rows = sizes.batch * sizes.query_heads * sizes.queries;
    let mut masked: Vec<bool> = call.budget.scratch(rows)?;
    let mut row: Vec<f64> = call.budget.scratch(sizes.keys)?;
    for (at, (scores, masked)) in scores.chunks_mut(sizes.keys.max(1)).zip(&mut masked).enumerate() {
        call.budget.work(sizes.keys)?;
        let (head, query) = (at / sizes.queries, at % sizes.queries);
        *masked = bias.write(head / sizes.query_heads, head % sizes.query_heads, query, &mut row);
        for (score, bias) in scores.iter_mut().zip(&row) {
            *score = rounded(element, *score + bias);
        }
    }
    Ok(masked)
}
