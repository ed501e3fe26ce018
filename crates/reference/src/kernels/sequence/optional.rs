//! Optional, `OptionalGetElement`, `OptionalHasElement`: values that may be missing.

use std::sync::Arc;

use crate::dtype::ElementType;
use crate::infer::{NodeView, Shape, rules};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::broken;
use crate::kernels::framework::registry::Kernel;
use crate::model::Attribute;
use crate::proto::decode;
use crate::types::ValueType;
use crate::value::{Optional, Value};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Optional", 15, optional).shape(rules::not_inferred).typed(optional_type),
    Kernel::new("OptionalGetElement", 15, get_element).shape(element_shape).typed(element_type),
    Kernel::new("OptionalHasElement", 15, has_element).shape(rules::scalar),
];

/// Optional: the input as an optional value, or an absent value of the attribute's type.
fn optional(call: &Call<'_>) -> Result {
    let named = match call.attributes.get("type") {
        Some(Attribute::Type(named)) => Some(named),
        _ => None,
    };
    let item = call.optional_value(0);
    let given = item.map(Value::value_type);
    let item_type = match (given, named) {
        (Some(given), Some(named)) if given != *named => {
            return Err(broken("C2", format!("the input is {given}, but attribute type is {named}")));
        }
        (Some(given), _) => given,
        (None, Some(named)) => named.clone(),
        (None, None) => return Err(broken("C3", "neither an input nor attribute type is given; one must be")),
    };
    let optional = Value::Optional(Optional { item_type, item: item.cloned().map(Arc::new) });
    call.check_output_type(0, &optional.value_type())?;
    Ok(optional.into())
}

/// `OptionalGetElement`: the value inside an optional. Any other value is returned unchanged.
fn get_element(call: &Call<'_>) -> Result {
    match call.value(0)? {
        Value::Optional(optional) => match &optional.item {
            Some(item) => Ok(Value::clone(item).into()),
            None => Err(broken("C1", format!("the optional value of type {} is absent", optional.item_type))),
        },
        other => Ok(other.clone().into()),
    }
}

/// `OptionalHasElement`: true if there is a value, false if the input is omitted or absent.
fn has_element(call: &Call<'_>) -> Result {
    let has_value = match call.optional_value(0) {
        Some(Value::Optional(optional)) => optional.item.is_some(),
        other => other.is_some(),
    };
    Ok(call.allocate(ElementType::Bool, &[])?.bools([has_value])?.into())
}

/// An optional of the type of the input, or of the attribute `type` if there is none.
fn optional_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    let item = match view.value_type(0) {
        Some(item) => item.clone(),
        None if view.inputs.iter().any(Option::is_some) => return None,
        None => decode::value_type(view.attributes.type_proto("type")?).ok()?,
    };
    Some(ValueType::Optional(Box::new(item)))
}

/// The type of the item; any other value keeps its type.
fn element_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    match view.value_type(0)? {
        ValueType::Optional(item) => Some((**item).clone()),
        other => Some(other.clone()),
    }
}

/// The shape of a tensor that no optional wraps.
fn element_shape(view: &NodeView<'_, '_>) -> Option<Shape> {
    let is_tensor = matches!(view.value_type(0), Some(ValueType::Tensor(_)));
    is_tensor.then(|| view.shape(0)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, ints, newest, node};
    use crate::value::Sequence;

    #[test]
    fn an_optional_of_another_type_or_of_none_is_refused() {
        let of = |item_type: &str| Attribute::Type(item_type.parse::<ValueType>().unwrap());
        let other = node("Optional", newest()).input(ints(&[1], &[1])).set("type", of("tensor(float)"));
        assert!(other.error().contains("the input is tensor(int64)"));
        assert!(node("Optional", 15).error().contains("neither"));
    }

    #[test]
    fn a_sequence_is_returned_with_or_without_an_optional_around_it() {
        let get = |opset: i64, value: Value| node("OptionalGetElement", opset).input(value).run().unwrap();
        let items = vec![floats(&[1], &[2.0]).into()];
        let list = Value::Sequence(Sequence::new(ValueType::Tensor(ElementType::Float), items));
        assert_eq!(get(newest(), list.clone()), std::slice::from_ref(&list));
        let present = Optional { item_type: list.value_type(), item: Some(Arc::new(list.clone())) };
        assert_eq!(get(15, Value::Optional(present)), [list]);
    }
}
