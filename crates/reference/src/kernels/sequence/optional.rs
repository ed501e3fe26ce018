//! Optional, `OptionalGetElement`, `OptionalHasElement`: values that may be missing.

use std::sync::Arc;

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::model::Attribute;
use crate::value::{Optional, Value};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Optional", 15, optional),
    Kernel::new("OptionalGetElement", 15, get_element),
    Kernel::new("OptionalHasElement", 15, has_element),
];

/// The input as an optional value, or the absent value of the type in the attribute.
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
        (None, None) => return Err(invalid("there is neither an input nor attribute type; give one")),
    };
    let optional = Value::Optional(Optional { item_type, item: item.cloned().map(Arc::new) });
    call.check_output_type(0, &optional.value_type())?;
    Ok(optional.into())
}

/// The value inside; what is not optional is its own.
fn get_element(call: &Call<'_>) -> Result {
    match call.value(0)? {
        Value::Optional(optional) => match &optional.item {
            Some(item) => Ok(Value::clone(item).into()),
            None => Err(broken("C1", format!("the optional value of type {} is absent", optional.item_type))),
        },
        other => Ok(other.clone().into()),
    }
}

/// Whether there is a value: not if the input is left out or absent.
fn has_element(call: &Call<'_>) -> Result {
    let has = match call.optional_value(0) {
        Some(Value::Optional(optional)) => optional.item.is_some(),
        other => other.is_some(),
    };
    Ok(call.allocate(ElementType::Bool, &[])?.bools([has])?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, ints, node, strings};
    use crate::types::ValueType;
    use crate::value::Sequence;

    fn absent(item_type: &str) -> Value {
        Value::Optional(Optional { item_type: item_type.parse().unwrap(), item: None })
    }

    fn present(value: impl Into<Value>) -> Value {
        let value = value.into();
        Value::Optional(Optional { item_type: value.value_type(), item: Some(Arc::new(value)) })
    }

    #[test]
    fn an_optional_holds_its_input_or_nothing() {
        let of = |item_type: &str| Attribute::Type(item_type.parse::<ValueType>().unwrap());
        let built = node("Optional", 15).input(strings(&[1], &["a"])).run().unwrap().remove(0);
        assert_eq!(built, present(strings(&[1], &["a"])));
        let empty = node("Optional", 15).set("type", of("seq(tensor(int64))")).run().unwrap().remove(0);
        assert_eq!(empty, absent("seq(tensor(int64))"));
        let other = node("Optional", 28).input(ints(&[1], &[1])).set("type", of("tensor(float)"));
        assert!(other.error().contains("the input is tensor(int64)"));
        assert!(node("Optional", 15).error().contains("neither"));
    }

    #[test]
    fn elements_come_out_of_optionals_and_of_others_since_eighteen() {
        let tensor = || floats(&[1], &[2.0]);
        let get = |opset: i64, value: Value| node("OptionalGetElement", opset).input(value).run();
        assert_eq!(get(15, present(tensor())).unwrap(), [Value::from(tensor())]);
        assert!(get(15, tensor().into()).is_err());
        assert_eq!(get(18, tensor().into()).unwrap(), [Value::from(tensor())]);
        let list = Value::Sequence(Sequence::new(ValueType::Tensor(ElementType::Float), vec![tensor().into()]));
        assert_eq!(get(28, list.clone()).unwrap(), std::slice::from_ref(&list));
        assert_eq!(get(15, present(list.clone())).unwrap(), [list]);
        assert!(get(18, absent("tensor(float)")).unwrap_err().to_string().contains("absent"));
    }
}
