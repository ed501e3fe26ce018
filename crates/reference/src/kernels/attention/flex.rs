//! `FlexAttention`: attention with subgraphs that modify scores and probabilities.

use crate::dtype::ElementType;
use crate::kernels::attention::scores::{Sizes, round_all, scaled_products, softmax};
use crate::kernels::attention::shapes;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] =
    &[Kernel::in_domain("ai.onnx.preview", "FlexAttention", 1, flex_attention).shape(shapes::flex)];

/// `FlexAttention`. The first product uses the type of Q, the rest the precision of the softmax.
fn flex_attention(call: &Call<'_>) -> Result {
    let (query, key, value) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let sizes = Sizes::read(call, query, key, value).rule("C5")?;
    let element = query.element_type();
    let precision = precision(call, element)?;
    let scores = scaled_products(call, &sizes, query, key)?;
    let scores = call.floats(precision, &sizes.scores(), scores)?;
    let mut scores = call.budget.read_floats(&modify(call, "score_mod", scores)?)?;
    softmax(sizes.keys, precision, &mut scores);
    let probabilities = call.floats(precision, &sizes.scores(), scores)?;
    let probabilities = call.budget.read_floats(&modify(call, "prob_mod", probabilities)?)?;
    let mut values = call.budget.read_floats(value)?;
    round_all(precision, &mut values);
    let mut result = sizes.weigh(call, precision, &probabilities, &values)?;
    round_all(precision, &mut result);
    Ok(call.floats(element, &sizes.result(), result)?.into())
}

/// Returns the type of the softmax, the subgraphs and the second product. By default it is double for double, else
/// float.
fn precision(call: &Call<'_>, element: ElementType) -> Result<ElementType> {
    let default = if element == ElementType::Double { ElementType::Double } else { ElementType::Float };
    let precision = call.element_type("softmax_precision")?.unwrap_or(default);
    match precision {
        ElementType::Float | ElementType::Float16 | ElementType::Bfloat16 | ElementType::Double => Ok(precision),
        other => Err(invalid(format!("softmax_precision is {other}; it must be float, float16, bfloat16 or double"))),
    }
}

/// Applies a subgraph, if there is one, to a tensor. It must keep type and shape.
fn modify(call: &Call<'_>, name: &str, tensor: Tensor) -> Result<Tensor> {
    if !call.has(name) {
        return Ok(tensor);
    }
    let (element, shape) = (tensor.element_type(), tensor.shape().to_vec());
    let outputs = call.run(call.graph(name)?, vec![Value::Tensor(tensor)])?;
    match <[Value; 1]>::try_from(outputs) {
        Ok([Value::Tensor(result)]) if result.element_type() == element && result.shape() == shape => Ok(result),
        Ok([other]) => Err(broken("C4", format!("{name} returns {other}; it must return tensor({element}){shape:?}"))),
        Err(outputs) => Err(invalid(format!("{name} has {} outputs; it must have one", outputs.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{node_of, typed};

    #[test]
    fn the_second_product_is_in_the_precision_of_the_softmax() {
        // (1 + 1 / 256) / 2 + 1 / 2 needs 10 bits. Float keeps them, bfloat16 rounds them off.
        let run = |precision: i64| {
            node_of("ai.onnx.preview", "FlexAttention", 1)
                .input(typed(ElementType::Float16, &[1, 1, 1, 1], &[0.0]))
                .input(typed(ElementType::Float16, &[1, 1, 2, 1], &[0.0; 2]))
                .input(typed(ElementType::Float16, &[1, 1, 2, 1], &[1.003_906_25, 1.0]))
                .set("softmax_precision", precision)
                .tensor()
                .floats()
        };
        assert_eq!(run(1), [1.001_953_125]);
        assert_eq!(run(16), [1.0]);
    }
}
