//! Attention, at opsets that do not have it yet.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::as_int;
use super::body::Body;
use super::functions::wide;
use super::rule::Replacement;
use super::shapes::positions;
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_float, get_int};
use crate::convert::draft::Draft;

pub(super) const REPLACEMENTS: &[Replacement] = &[Replacement { operator: "Attention", replace: attention }];

/// Query, key or value.
struct Operand {
    /// The number of heads.
    heads: i64,
    /// The size of a head.
    size: i64,
    /// True if the heads are in the last of 3 axes.
    is_flat: bool,
}

fn operand(draft: &Draft, position: usize, attribute: &str) -> Step<Operand> {
    let size = |dim: Option<&Dim>, what: &str| match dim {
        Some(Dim::Size(size)) => Ok(as_int(*size)),
        _ => unknown(format!("the {what} of input {position} is unknown")),
    };
    let shape = draft.shape(position)?;
    match shape.len() {
        4 => Ok(Operand {
            heads: size(shape.get(1), "number of heads")?,
            size: size(shape.last(), "size of the last axis")?,
            is_flat: false,
        }),
        3 => match get_int(&draft.node, attribute)? {
            Some(heads) if heads > 0 => {
                Ok(Operand { heads, size: size(shape.last(), "size of the last axis")? / heads, is_flat: true })
            }
            _ => impossible(format!("{attribute} is missing, which an input with 3 axes requires")),
        },
        rank => impossible(format!("input {position} has {rank} axes, not 3 or 4")),
    }
}

/// The type that the body computes in. A softmax in a type narrower than the inputs would round the scores, and is
/// refused.
fn type_of_body(draft: &Draft) -> Step<ElementType> {
    let element = draft.element(0)?;
    let own = [wide(element)?, wide(draft.element(2)?)?];
    let code = get_int(&draft.node, "softmax_precision")?.and_then(|code| i32::try_from(code).ok());
    let softmax = code.and_then(ElementType::from_code).unwrap_or(element);
    let is_rounded = softmax != element && softmax != ElementType::Double && own.contains(&ElementType::Double);
    if is_rounded || (softmax != element && wide(softmax)? != softmax) {
        return impossible(format!("softmax_precision {softmax} would round the scores in the function body"));
    }
    let is_double = own.contains(&ElementType::Double) || softmax == ElementType::Double;
    Ok(if is_double { ElementType::Double } else { ElementType::Float })
}

/// Query, key and value; their numbers of heads fit.
fn operands(draft: &Draft) -> Step<[Operand; 3]> {
    let (q, k, v) =
        (operand(draft, 0, "q_num_heads")?, operand(draft, 1, "kv_num_heads")?, operand(draft, 2, "kv_num_heads")?);
    if k.heads < 1 || q.heads % k.heads != 0 || v.heads != k.heads || q.size < 1 {
        return impossible(format!(
            "{} heads of queries do not fit {} of keys and {} of values",
            q.heads, k.heads, v.heads
        ));
    }
    Ok([q, k, v])
}

/// The factor of the scores, whose square root is applied to queries and keys.
fn scale(draft: &Draft, q: &Operand) -> Step<f64> {
    let scale = get_float(&draft.node, "scale")?.map_or(1.0 / (q.size as f64).sqrt(), f64::from);
    if scale.is_nan() || scale < 0.0 {
        return impossible(format!("the function body takes the square root of scale, which is {scale:?}"));
    }
    Ok(scale)
}

/// `Softmax(softcap(Q * K^T * scale) + bias) * V`, in one type that does not round between the steps.
fn attention(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    if draft.has_output(3) {
        return impossible("Attention with the output qk_matmul_output is not expanded");
    }
    let (element, wide) = (draft.element(0)?, type_of_body(draft)?);
    let [q, k, v] = operands(draft)?;
    let scale = scale(draft, &q)?;
    let softcap = get_float(&draft.node, "softcap")?.unwrap_or(0.0);
    let is_causal = get_int(&draft.node, "is_causal")?.unwrap_or(0) != 0;
    let is_bool = draft.has_input(3) && draft.element(3)? == ElementType::Bool;
    let inputs = [0, 1, 2, 3, 4, 5].map(|position| draft.input(position));
    let [query, key, value, mask, past_key, past_value] = inputs;
    let kinds = [draft.element(1)?, draft.element(2)?];
    let mut body = Body::new(draft, from);
    let query = by_head(&mut body, query, &q)?;
    let query = repeated(&mut body, query, &q, q.heads, wide)?;
    let [key, value] = [(key, &k, &past_key, 0), (value, &v, &past_value, 1)].map(|(name, operand, past, at)| {
        let mut new = by_head(&mut body, name, operand)?;
        if !past.is_empty() {
            new = body.node("Concat", &[past, &new], vec![attributes::int("axis", 2)])?;
        }
        body.later_output(at + 1, &new, kinds.get(at).copied().unwrap_or(wide))?;
        repeated(&mut body, new, operand, q.heads, wide)
    });
    let (key, value) = (key?, value?);
    let root = body.number(wide, scale.sqrt())?;
    let scaled = body.plain("Mul", &[&query, &root])?;
    let columns = body.node("Transpose", &[&key], vec![attributes::ints("perm", &[0, 1, 3, 2])])?;
    let columns = body.plain("Mul", &[&columns, &root])?;
    let mut scores = body.plain("MatMul", &[&scaled, &columns])?;
    if softcap > 0.0 {
        scores = softcapped(&mut body, &scores, softcap, wide)?;
    }
    let mut bias = if mask.is_empty() { None } else { Some(mask_bias(&mut body, mask, is_bool, wide)?) };
    if is_causal {
        let causal = causal_bias(&mut body, [&query, &key, &past_key], wide)?;
        bias = Some(match bias {
            Some(bias) => body.plain("Add", &[&bias, &causal])?,
            None => causal,
        });
    }
    if let Some(bias) = &bias {
        scores = body.plain("Add", &[&scores, bias])?;
    }
    let mut weights = body.node("Softmax", &[&scores], vec![attributes::int("axis", -1)])?;
    if let Some(bias) = &bias {
        weights = without_masked_rows(&mut body, bias, &weights, wide)?;
    }
    let mut result = body.plain("MatMul", &[&weights, &value])?;
    if q.is_flat {
        let rows = body.node("Transpose", &[&result], vec![attributes::ints("perm", &[0, 2, 1, 3])])?;
        result = body.reshape(&rows, &[0, 0, q.heads * v.size])?;
    }
    if wide == element {
        body.last("Identity", &[&result], Vec::new());
    } else {
        body.last_cast(&result, element);
    }
    Ok(())
}

/// Arranges an operand as batch, heads, sequence and elements.
fn by_head(body: &mut Body, name: String, operand: &Operand) -> Step<String> {
    if !operand.is_flat {
        return Ok(name);
    }
    let split = body.reshape(&name, &[0, 0, operand.heads, operand.size])?;
    body.node("Transpose", &[&split], vec![attributes::ints("perm", &[0, 2, 1, 3])])
}

/// Casts an operand, and repeats its heads up to `heads`.
fn repeated(body: &mut Body, name: String, operand: &Operand, heads: i64, wide: ElementType) -> Step<String> {
    let value = body.cast(name, wide)?;
    let repeats = heads / operand.heads;
    if repeats == 1 {
        return Ok(value);
    }
    let axes = body.list(&[2])?;
    let column = body.plain("Unsqueeze", &[&value, &axes])?;
    let spread = body.list(&[1, 1, repeats, 1, 1])?;
    let repeated = body.plain("Expand", &[&column, &spread])?;
    body.reshape(&repeated, &[0, heads, -1, operand.size])
}

/// `softcap * Tanh(scores / softcap)`.
fn softcapped(body: &mut Body, scores: &str, softcap: f32, wide: ElementType) -> Step<String> {
    let cap = body.number(wide, f64::from(softcap))?;
    let ratio = body.plain("Div", &[scores, &cap])?;
    let curve = body.plain("Tanh", &[&ratio])?;
    body.plain("Mul", &[&curve, &cap])
}

/// The bias of a mask: 0 where a bool mask is true, and minus infinity elsewhere.
fn mask_bias(body: &mut Body, mask: String, is_bool: bool, wide: ElementType) -> Step<String> {
    if !is_bool {
        return body.cast(mask, wide);
    }
    let (zero, infinity) = (body.number(wide, 0.0)?, body.number(wide, f64::NEG_INFINITY)?);
    body.plain("Where", &[&mask, &zero, &infinity])
}

/// The bias of causal attention: minus infinity where the position of the key is above that of the query, which follows past keys.
fn causal_bias(body: &mut Body, [query, key, past]: [&str; 3], wide: ElementType) -> Step<String> {
    let length = |body: &Body, name: &str| {
        let shape = body.fact(name).and_then(|fact| fact.shape);
        shape.and_then(|shape| shape.get(2).cloned()).unwrap_or(Dim::Unknown)
    };
    let (rows, columns) = (length(body, query), length(body, key));
    let mut rows = positions(body, query, 2, &rows)?;
    let columns = positions(body, key, 2, &columns)?;
    if !past.is_empty() {
        let (shape, axis) = (body.plain("Shape", &[past])?, body.list(&[2])?);
        let before = body.plain("Gather", &[&shape, &axis])?;
        rows = body.plain("Add", &[&rows, &before])?;
    }
    let rows = body.reshape(&rows, &[-1, 1])?;
    let is_later = body.plain("Less", &[&rows, &columns])?;
    let (zero, infinity) = (body.number(wide, 0.0)?, body.number(wide, f64::NEG_INFINITY)?);
    body.plain("Where", &[&is_later, &infinity, &zero])
}

/// Replaces the weights of a row whose bias is minus infinity for every key, which are NaN, by 0.
fn without_masked_rows(body: &mut Body, bias: &str, weights: &str, wide: ElementType) -> Step<String> {
    let axes = body.list(&[-1])?;
    let largest = body.node("ReduceMax", &[bias, &axes], vec![attributes::int("keepdims", 1)])?;
    let (zero, infinity) = (body.number(wide, 0.0)?, body.number(wide, f64::NEG_INFINITY)?);
    let is_masked = body.plain("Equal", &[&largest, &infinity])?;
    body.plain("Where", &[&is_masked, &zero, weights])
}
