//! Attention: the values, weighted by the softmax of scaled products of queries and keys.

use crate::dtype::ElementType;
use crate::kernels::attention::bias::{Bias, ShortMask};
use crate::kernels::attention::heads::{append, merge, split};
use crate::kernels::attention::scores::{Sizes, round_all, scaled_products, softmax};
use crate::kernels::attention::shapes;
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Attention", 23, |call| attention(call, ShortMask::Broadcast, Redundant::Allowed))
        .shapes_of_all(shapes::attention),
    Kernel::new("Attention", 24, |call| attention(call, ShortMask::Masked, Redundant::Allowed))
        .shapes_of_all(shapes::attention),
    Kernel::new("Attention", 25, |call| attention(call, ShortMask::Masked, Redundant::Refused))
        .shapes_of_all(shapes::attention),
];

/// Handling of redundant arguments: numbers of heads that the axes already define, and present states with
/// `nonpad_kv_seqlen`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Redundant {
    Allowed,
    Refused,
}

/// Stage whose scores are the fourth output, in the order of `qk_matmul_output_mode`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Product,
    Capped,
    Biased,
    Softmax,
}

/// Attention. Every stage of the function body uses the type of Q, except the softmax, which has its own.
fn attention(call: &Call<'_>, short: ShortMask, redundant: Redundant) -> Result {
    check(call, redundant)?;
    let (query, heads) = (call.tensor(0)?, call.optional_int("kv_num_heads"));
    let packed = query.rank() == 3;
    let query = split(call, "Q", query, call.optional_int("q_num_heads")).rule("C3")?;
    let key = split(call, "K", call.tensor(1)?, heads).rule("C3")?;
    let value = split(call, "V", call.tensor(2)?, heads).rule("C3")?;
    let key = append(call, "past_key", call.optional_tensor(4)?, key)?;
    let value = append(call, "past_value", call.optional_tensor(5)?, value)?;

    let sizes = Sizes::read(call, &query, &key, &value)?;
    let bias = Bias::read(call, &sizes, short)?;
    let (probabilities, shown) = probabilities(call, &query, &key, &bias)?;
    let result = sizes.weigh(call, query.element_type(), &probabilities, &call.budget.read_floats(&value)?)?;
    let result = call.floats(query.element_type(), &sizes.result(), result)?;
    let result = if packed { merge(call, &result)? } else { result };
    let outputs = [Some(result), Some(key), Some(value), shown];
    Ok(Outputs(outputs.into_iter().map(|tensor| tensor.map(Value::Tensor)).collect()))
}

/// Checks the rules about combinations of inputs and attributes.
fn check(call: &Call<'_>, redundant: Redundant) -> Result<()> {
    let given = |index| call.optional_value(index).is_some();
    let ranks = [call.tensor(0)?.rank(), call.tensor(1)?.rank(), call.tensor(2)?.rank()];
    if ranks != [ranks[0]; 3] {
        return Err(broken("C13", format!("Q, K and V have {ranks:?} axes; they must have the same number, 3 or 4")));
    }
    if given(4) != given(5) {
        return Err(broken("C6", "past_key and past_value must be given together; only one of them is given"));
    }
    if given(6) && given(4) {
        return Err(broken("C10", "nonpad_kv_seqlen cannot be combined with past_key and past_value; omit it"));
    }
    if redundant == Redundant::Allowed {
        return Ok(());
    }
    if given(6) && (call.wants(1) || call.wants(2)) {
        return Err(broken("C10", "nonpad_kv_seqlen cannot be combined with present_key and present_value; omit them"));
    }
    if ranks[0] == 4 && (call.has("q_num_heads") || call.has("kv_num_heads")) {
        return Err(invalid("q_num_heads and kv_num_heads are for inputs with 3 axes; omit them for inputs with 4"));
    }
    Ok(())
}

/// Returns the weight of each key for each query, and the scores of the requested stage.
fn probabilities(call: &Call<'_>, query: &Tensor, key: &Tensor, bias: &Bias) -> Result<(Vec<f64>, Option<Tensor>)> {
    let (sizes, element) = (&bias.sizes, query.element_type());
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
    apply_softcap(call.float("softcap")?, element, &mut scores);
    show(Stage::Capped, &scores)?;
    let masked = bias.add(call, &mut scores)?;
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

/// Returns the type in which the softmax is computed.
fn softmax_precision(call: &Call<'_>, element: ElementType) -> Result<ElementType> {
    let precision = call.element_type("softmax_precision").rule("C14")?.unwrap_or(element);
    match precision {
        ElementType::Float | ElementType::Float16 | ElementType::Bfloat16 | ElementType::Double => Ok(precision),
        other => {
            Err(broken("C14", format!("softmax_precision is {other}; it must be float, float16, bfloat16 or double")))
        }
    }
}

fn shown_stage(call: &Call<'_>) -> Result<Stage> {
    match call.int("qk_matmul_output_mode")? {
        0 => Ok(Stage::Product),
        1 => Ok(Stage::Capped),
        2 => Ok(Stage::Biased),
        3 => Ok(Stage::Softmax),
        other => Err(broken("C9", format!("qk_matmul_output_mode is {other}; it must be 0, 1, 2 or 3"))),
    }
}

/// Limits the scores to a cap with a hyperbolic tangent. 0 means no cap.
fn apply_softcap(cap: f64, element: ElementType, scores: &mut [f64]) {
    if cap == 0.0 {
        return;
    }
    let cap = element.round(cap);
    for score in scores {
        let tangent = element.round(libm::tanh(element.round(*score / cap)));
        *score = element.round(tangent * cap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OneNode, floats, node, typed};

    /// One head of size 1 whose scores are all 0. Each query gives the same weight to every key that it sees.
    fn even(opset: i64, queries: usize, values: &[f64]) -> OneNode {
        let keys = values.len();
        node("Attention", opset)
            .input(floats(&[1, 1, queries, 1], &vec![0.0; queries]))
            .input(floats(&[1, 1, keys, 1], &vec![0.0; keys]))
            .input(floats(&[1, 1, keys, 1], values))
    }

    fn mask(shape: &[usize], seen: &[f64]) -> Tensor {
        typed(ElementType::Bool, shape, seen)
    }

    #[test]
    fn a_mask_of_one_key_broadcasts_before_version_24_and_masks_the_others_since() {
        for (opset, expected) in [(23, 3.0), (24, 2.0), (25, 2.0)] {
            let result = even(opset, 1, &[2.0, 4.0]).input(mask(&[1, 1], &[1.0])).tensor();
            assert_eq!(result.floats(), [expected], "version {opset}");
        }
        assert!(even(23, 1, &[2.0, 4.0, 6.0]).input(mask(&[1, 2], &[1.0, 1.0])).error().contains("[1, 2]"));
        assert!(even(24, 1, &[2.0, 4.0]).input(mask(&[1, 3], &[1.0; 3])).error().contains("[1, 3]"));
    }

    #[test]
    fn a_mask_of_integers_is_added() {
        let bias = typed(ElementType::Int8, &[2], &[0.0, -128.0]);
        assert_eq!(even(23, 1, &[2.0, 4.0]).input(bias).tensor().floats(), [2.0]);
    }

    #[test]
    fn scores_round_into_the_type_of_the_query() {
        // 2048 + 1 is a tie between two float16 numbers and rounds to even.
        let half = |values: &[f64]| typed(ElementType::Float16, &[1, 1, 1, 2], values);
        let outputs = node("Attention", 23)
            .input(half(&[1.0, 1.0]))
            .input(half(&[2048.0, 1.0]))
            .input(half(&[3.0, 4.0]))
            .set("scale", 1.0)
            .outputs(4)
            .run()
            .unwrap();
        assert_eq!(outputs[3].as_tensor().map(Tensor::floats), Some(vec![2048.0]));
    }

    #[test]
    fn a_score_masked_by_a_bool_is_minus_infinity_with_a_softcap() {
        let outputs = node("Attention", 23)
            .input(floats(&[1, 1, 1, 1], &[1000.0]))
            .input(floats(&[1, 1, 2, 1], &[1.0, -1.0]))
            .input(floats(&[1, 1, 2, 1], &[1.0, 2.0]))
            .input(mask(&[1, 2], &[1.0, 0.0]))
            .set("softcap", 2.0)
            .set("qk_matmul_output_mode", 2)
            .outputs(4)
            .run()
            .unwrap();
        assert_eq!(outputs[3].as_tensor().map(Tensor::floats), Some(vec![2.0, f64::NEG_INFINITY]));
    }

    #[test]
    fn no_keys_and_no_queries_are_fine() {
        assert_eq!(even(23, 2, &[]).tensor().floats(), [0.0, 0.0]);
        assert_eq!(even(23, 0, &[1.0]).tensor().shape(), [1, 1, 0, 1]);
    }

    #[test]
    fn four_dimensions_take_no_number_of_heads_since_version_25() {
        assert_eq!(even(24, 1, &[1.0]).set("q_num_heads", 1).tensor().floats(), [1.0]);
        assert!(even(25, 1, &[1.0]).set("q_num_heads", 1).error().contains("q_num_heads"));
    }

    #[test]
    fn a_softmax_is_computed_in_no_integers() {
        assert!(even(23, 1, &[1.0]).set("softmax_precision", 7).error().contains("softmax_precision"));
    }

    #[test]
    fn a_huge_empty_tensor_is_refused_without_delay() {
        let huge = || floats(&[1 << 40, 1 << 40, 0, 1], &[]);
        assert!(node("Attention", 23).input(huge()).input(huge()).input(huge()).error().contains("limit"));
    }
}
