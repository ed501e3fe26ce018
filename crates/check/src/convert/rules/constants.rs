//! Constant: the forms of its value; the first versions have only the tensor.

use std::sync::Arc;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::{AttributeProto, encode};
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::tensor::Tensor;

use super::rule::{Rule, unchanged};
use crate::bounded;
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get};
use crate::convert::draft::Draft;

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["Constant"], versions: (11, 12), up: unchanged, down: value_of_form },
    Rule { operators: &["Constant"], versions: (9, 11), up: unchanged, down: dense },
];

/// The attributes that give a value in another form than a tensor.
const FORMS: &[&str] = &["value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings"];

/// The tensor for a short form of a constant.
fn constant_of(attribute: &AttributeProto) -> Option<Tensor> {
    let wide = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>();
    let integers = |values: &[i64]| values.iter().map(|value| i128::from(*value)).collect::<Vec<i128>>();
    let text = |bytes: &bytes::Bytes| std::str::from_utf8(bytes).ok().map(Arc::<str>::from);
    match attribute.name() {
        "value_float" => Tensor::of_floats(ElementType::Float, &[], &wide(&[attribute.f()])).ok(),
        "value_floats" => {
            Tensor::of_floats(ElementType::Float, &[attribute.floats.len()], &wide(&attribute.floats)).ok()
        }
        "value_int" => Tensor::of_integers(ElementType::Int64, &[], &integers(&[attribute.i()])).ok(),
        "value_ints" => {
            Tensor::of_integers(ElementType::Int64, &[attribute.ints.len()], &integers(&attribute.ints)).ok()
        }
        "value_string" => Tensor::from_strings(Vec::new(), [text(attribute.s.as_ref()?)?].into()).ok(),
        "value_strings" => {
            let texts: Option<Vec<Arc<str>>> = attribute.strings.iter().map(text).collect();
            Tensor::from_strings(vec![attribute.strings.len()], texts?.into()).ok()
        }
        _ => None,
    }
}

fn value_of_form(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    for &form in FORMS {
        let Some(attribute) = get(&draft.node, form)? else { continue };
        let Some(tensor) = constant_of(attribute) else {
            return impossible(format!("{form} cannot be converted to a tensor"));
        };
        attributes::remove(&mut draft.node, form);
        attributes::set(&mut draft.node, attributes::tensor("value", encode::tensor(&tensor, "")));
        draft.edit(format!("{form} is replaced by attribute value of {}, a tensor", to.version));
    }
    Ok(())
}

/// Converts a sparse value to a dense tensor.
fn dense(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let Some(attribute) = get(&draft.node, "sparse_value")? else { return Ok(()) };
    let sparse =
        attribute.sparse_tensor.as_deref().and_then(|sparse| decode::sparse_tensor(sparse, &NoExternalData).ok());
    let Some(sparse) = sparse else { return impossible("sparse_value cannot be read") };
    if !sparse.values.element_type().is_float() {
        return impossible(format!(
            "{} has no sparse values, and only floating-point ones are converted to dense tensors",
            to.version
        ));
    }
    let mut values = bounded::zeros(&sparse.shape)?;
    for (value, place) in sparse.values.floats().into_iter().zip(sparse.positions()) {
        if let Some(place) = place.and_then(|place| values.get_mut(place)) {
            *place = value;
        }
    }
    let tensor = super::inputs::numbers(sparse.values.element_type(), &sparse.shape, &values)?;
    attributes::remove(&mut draft.node, "sparse_value");
    attributes::set(&mut draft.node, attributes::tensor("value", encode::tensor(&tensor, "")));
    draft.edit(format!("sparse_value is replaced by attribute value of {}, a dense tensor", to.version));
    Ok(())
}
