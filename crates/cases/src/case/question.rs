//! Questions about the model of a case, which a tool answers without running it.

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{Message as _, ModelProto, TypeProto, decode};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs, canonical_domain};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Ask, Direction, Models};

use crate::case::{Case, CaseId, RefusalClass, Variant, WRAPPED};

/// Returns the form of a case for a question about its model; `None` if no answer to the question is known.
///
/// For inference, the model has no types of its outputs. A checker also gets models that must be refused because of
/// their contents. No tool gets hostile models.
pub(super) fn ask(case: &Case, variant: Variant) -> Option<Case> {
    if case.is_hostile {
        return None;
    }
    let mut asked = Case { id: variant.id(&case.id), ..case.clone() };
    let models = variant.question().facts().models;
    if let Some(refusal) = &mut asked.refusal {
        refusal.control.id = variant.id(&refusal.control.id);
        let is_in_the_model = case.refusal_class() == Some(RefusalClass::Static) && !refusal.only_at_run_time;
        return (models == Models::ValidOrInvalid && is_in_the_model && inputs_fit(case)).then_some(asked);
    }
    let model = decode::model(case.model.clone()).ok()?;
    if models != Models::ValidOrDeprecated && uses_deprecated(&case.id) {
        return None;
    }
    if let Some(direction) = variant.facts().direction {
        target_opset(&asked, &model, direction)?;
    }
    match models {
        Models::All => return None,
        Models::WithoutTypes => asked.model = without_inferred_types(model)?.encode_to_vec().into(),
        Models::SinglePrecision => drop(in_single_precision(case).then_some(())?),
        Models::Valid | Models::ValidOrDeprecated | Models::ValidOrInvalid => {}
    }
    Some(asked)
}

/// Returns the question about a case in the form of a variant.
pub fn question_about(case: &Case) -> Ask {
    let (_, variant) = Variant::split_id(&case.id);
    let opset = |direction| target_opset(case, &decode::model(case.model.clone()).ok()?, direction);
    Ask { question: variant.question(), opset: variant.facts().direction.and_then(opset) }
}

/// Returns true if the inputs of a case have the types and sizes that its model declares, where a name is one size.
/// Otherwise the inputs break a rule, not the model. Bytes that are not a model have no declarations.
fn inputs_fit(case: &Case) -> bool {
    let model = decode::model(case.model.clone()).unwrap_or_default();
    let mut sizes = BTreeMap::new();
    let mut fits = |declared: &TypeProto, value: &Value| {
        if decode::value_type(declared).is_ok_and(|value_type| value_type != value.value_type()) {
            return false;
        }
        let (Some(type_proto::Value::TensorType(tensor)), Some(value)) = (&declared.value, value.as_tensor()) else {
            return true;
        };
        let Some(shape) = &tensor.shape else { return true };
        let mut is_size = |(dim, size): (&Dimension, &usize)| match &dim.value {
            Some(dimension::Value::DimValue(declared)) => usize::try_from(*declared).is_ok_and(|it| it == *size),
            Some(dimension::Value::DimParam(name)) => *sizes.entry(name.clone()).or_insert(*size) == *size,
            None => true,
        };
        shape.dim.len() == value.shape().len() && shape.dim.iter().zip(value.shape()).all(&mut is_size)
    };
    let given = |name: &str| case.data.iter().flat_map(|data| &data.inputs).find(|input| input.name == name);
    let inputs = model.graph.iter().flat_map(|graph| &graph.input);
    let pairs = inputs.filter_map(|info| Some((info.r#type.as_ref()?, &given(info.name())?.value)));
    pairs.into_iter().all(|(declared, value)| fits(declared, value))
}

/// Returns true if the version of a case's operator is deprecated.
fn uses_deprecated(id: &str) -> bool {
    // The id of a case between no-ops is a prefix and the id of the plain case.
    let version = CaseId::parse(id.strip_prefix(WRAPPED).unwrap_or(id)).version();
    version.is_some_and(|version| Specs::embedded().get(&version).is_ok_and(|spec| spec.deprecated))
}

/// Removes the types of outputs and the declarations of other values.
fn without_inferred_types(mut model: ModelProto) -> Option<ModelProto> {
    let graph = model.graph.as_mut()?;
    graph.value_info.clear();
    graph.output.iter_mut().for_each(|output| output.r#type = None);
    Some(model)
}

/// Returns the opset to which a case is converted: up to the next version of its operator, or the newest opset if there is none or
/// the case is of no single operator; down to the last opset of the previous version.
fn target_opset(case: &Case, model: &ModelProto, direction: Direction) -> Option<u32> {
    let (id, _) = Variant::split_id(&case.id);
    let import = model.opset_import.iter().find(|import| canonical_domain(import.domain()) == DEFAULT_DOMAIN)?;
    let current = u32::try_from(import.version()).ok()?;
    let specs = Specs::embedded();
    let version = CaseId::parse(id).version().filter(|version| version.domain == DEFAULT_DOMAIN);
    let since: Vec<u32> = version.iter().flat_map(|version| specs.versions(DEFAULT_DOMAIN, &version.name)).collect();
    if direction == Direction::Up {
        let next = since.into_iter().find(|since| *since > current);
        return next.or_else(|| specs.newest_released_opset("").ok()).filter(|target| *target > current);
    }
    let own = version?.since;
    let has_previous = since.iter().any(|since| *since < own);
    (has_previous && own <= current).then(|| own - 1)
}

/// Returns true if a case has floats and no other floating-point type, so that its values are known in half precision.
fn in_single_precision(case: &Case) -> bool {
    let [data] = case.data.as_slice() else { return false };
    let inputs = data.inputs.iter().map(|input| input.value.value_type());
    let types: Vec<ValueType> = inputs.chain(data.outputs.iter().map(|output| output.expected.declared().0)).collect();
    let is = |value_type: &ValueType, wanted: fn(ElementType) -> bool| match value_type {
        ValueType::Tensor(element) => wanted(*element),
        _ => false,
    };
    types.iter().any(|each| is(each, |element| element == ElementType::Float))
        && types.iter().all(|each| is(each, |element| element == ElementType::Float || !element.is_float()))
}
