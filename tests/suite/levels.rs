//! Cases that the standard does not decide are not required: integer overflow, defaults missing from a version's text, exact
//! values of a function body with floating-point steps, and zeros that are rounding noise.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::{Case, Expected, Level};
use onnx_conformance_cases::compare::Accuracy;
use onnx_conformance_cases::generate::Computation;
use onnx_conformance_cases::suite::{Filter, Suite, VendoredCases};
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{Message, ModelProto};
use onnx_conformance_reference::spec::{Draws, OpSpec, OperatorVersion, Specs};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::{FOUND, Made, OPERATORS, assert_none, is_everything_meant};

/// Returns the errors of required cases.
fn required(made: &Made, is_wrong: impl Fn(&OpSpec, &Case) -> Option<String>) -> Vec<String> {
    let spec = Specs::embedded().get(&made.version).unwrap();
    let required = made.runnable().filter(|case| case.level == Level::Required);
    required.filter_map(|case| Some(format!("{}: {}", case.id, is_wrong(spec, case)?))).collect()
}

/// Converts a tensor to double; `None` if double cannot represent all values.
fn in_double(tensor: &Tensor) -> Option<Tensor> {
    let values = tensor.integers();
    let is_held = values.iter().all(|value| value.unsigned_abs() < 1 << 53);
    let values: Vec<f64> = values.into_iter().map(|value| value as f64).collect();
    is_held.then(|| Tensor::of_floats(ElementType::Double, tensor.shape(), &values).ok())?
}

/// Replaces an element type by double in the model.
fn with_double(model: &mut ModelProto, from: ElementType) {
    let Some(graph) = &mut model.graph else { return };
    for info in graph.input.iter_mut().chain(&mut graph.output) {
        if let Some(type_proto::Value::TensorType(tensor)) = info.r#type.as_mut().and_then(|kind| kind.value.as_mut())
            && tensor.elem_type == Some(from.code())
        {
            tensor.elem_type = Some(ElementType::Double.code());
        }
    }
}

/// Returns the outputs of a case in double; `None` if the operator does not support double, or double cannot represent the
/// integers.
fn outputs_in_double(case: &Case, element: ElementType) -> Option<Vec<Value>> {
    let [data] = case.data.as_slice() else { return None };
    let mut model = decode::model(case.model.clone()).ok()?;
    with_double(&mut model, element);
    let model = read_model(model.encode_to_vec().into(), &NoExternalData, &LoadLimits::default()).ok()?;
    let mut inputs = BTreeMap::new();
    for input in &data.inputs {
        let value = match input.value.as_tensor() {
            Some(tensor) if tensor.element_type() == element => Value::Tensor(in_double(tensor)?),
            _ => input.value.clone(),
        };
        inputs.insert(input.name.clone(), value);
    }
    run(&model, inputs, ExecutionLimits::default()).ok()
}

pub(crate) fn integers_beyond_their_type(made: &Made) -> Vec<String> {
    if !made.file.computes.contains(&Computation::Arithmetic) {
        return Vec::new();
    }
    // Such operators give the same results in double unless an integer overflows.
    let leaves = |_: &OpSpec, case: &Case| {
        let output = case.data.first()?.outputs.first()?;
        let Expected::Value(Value::Tensor(expected), _) = &output.expected else { return None };
        let element = expected.element_type();
        let is_integer = matches!(element.kind(), Kind::Signed | Kind::Unsigned);
        if !is_integer {
            return None;
        }
        let exact = outputs_in_double(case, element)?;
        let exact = exact.first()?.as_tensor()?.floats();
        let differs = |(integer, exact): (i128, f64)| {
            let distance = (integer as f64 - exact).abs();
            (distance >= 1.0 + exact.abs() * 1e-12).then(|| format!("{exact} becomes {integer} in {element}"))
        };
        expected.integers().into_iter().zip(exact).find_map(differs)
    };
    required(made, leaves)
}

#[test]
fn no_integer_leaves_its_type_in_a_required_case() {
    assert!(FOUND.arithmetic > 50 || !is_everything_meant(), "only {} versions are arithmetic", FOUND.arithmetic);
    assert_none(&FOUND.integers);
}

/// Attributes whose default is only in the text, the first version that has it, and its functions. Earlier texts have no default.
const DEFAULTS_IN_TEXT: &[(&str, &str, u32, &[&str])] =
    &[("GRU", "activation_alpha", 3, &["Affine", "Elu", "HardSigmoid", "LeakyRelu", "ScaledTanh", "ThresholdedRelu"])];

pub(crate) fn defaults_of_later_texts(made: &Made) -> Vec<String> {
    let rests = |spec: &OpSpec, case: &Case| {
        let version = &spec.version;
        let (_, attribute, since, needing) =
            DEFAULTS_IN_TEXT.iter().find(|(name, _, since, _)| *name == version.name && version.since < *since)?;
        let model = decode::model(case.model.clone()).ok()?;
        let node = model.graph.as_ref()?.node.iter().find(|node| node.op_type() == version.name)?;
        let needs = |text: &[u8]| needing.iter().any(|name| text.eq_ignore_ascii_case(name.as_bytes()));
        let is_needed = node.attribute.iter().flat_map(|attribute| &attribute.strings).any(|text| needs(text));
        let is_given = node.attribute.iter().any(|given| given.name() == *attribute);
        (is_needed && !is_given).then(|| format!("{attribute} is left out, and only the text of {since} has a default"))
    };
    required(made, rests)
}

#[test]
fn no_required_case_rests_on_a_default_that_its_text_does_not_have() {
    assert_none(&FOUND.defaults);
}

/// Operators with a function body that are exact nevertheless: they select and move elements, or round each once.
const EXACT_BODIES: &[&str] = &[
    "CastLike",
    "CenterCropPad",
    "Clip",
    "DepthToSpace",
    // Each step to the scale is rounded once, and the quotients of required cases are not ties.
    "DynamicQuantizeLinear",
    "GreaterOrEqual",
    "LessOrEqual",
    // A single product.
    "PRelu",
    // A product and a sum of values that each type can represent.
    "Range",
    "Relu",
    "SequenceMap",
    // A single sum.
    "Shrink",
    "SpaceToDepth",
    "ThresholdedRelu",
];

#[test]
fn an_operator_with_a_body_is_exact_only_where_its_steps_are() {
    let is_exact = |version: &OperatorVersion| {
        let spec = Specs::embedded().get(version).unwrap();
        let file = OPERATORS.get(version).ok().filter(|_| spec.function.is_some())?;
        let ask = file.accuracy.resolve(ElementType::Float, &BTreeMap::new()).unwrap();
        let is_listed = EXACT_BODIES.contains(&version.name.as_str());
        // Another rule judges random outputs.
        let is_random = spec.facts.draws == Draws::Always;
        (ask == Accuracy::Exact && !is_listed && !is_random).then(|| version.name.clone())
    };
    let found: std::collections::BTreeSet<String> =
        Specs::embedded().all().filter_map(|version| is_exact(&version)).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// Operators whose results may be 0 by cancellation. No float computation is required to give exactly 0.
const CANCEL: &[&str] = &["DFT", "STFT"];

#[test]
fn no_stored_zero_of_a_sum_is_held_to_a_distance_alone() {
    let suite = Suite::new(vec![Box::new(VendoredCases::newest().unwrap())]);
    let patterns: Vec<String> = CANCEL.iter().map(|name| format!("**/test_{}*", name.to_lowercase())).collect();
    let mut found = Vec::new();
    let mut seen = 0;
    for (source, unit, ids) in suite.choose(&Filter::new(&patterns).unwrap()).unwrap() {
        for case in source.load(&unit, &|id| ids.iter().any(|chosen| chosen == id)).unwrap() {
            for output in case.data.iter().flat_map(|data| &data.outputs) {
                seen += 1;
                if let Expected::Value(Value::Tensor(tensor), Accuracy::Close { .. }) = &output.expected
                    && tensor.element_type().is_float()
                    && tensor.floats().contains(&0.0)
                {
                    found.push(format!("{}: output '{}' stores a zero", case.id, output.name));
                }
            }
        }
    }
    assert!(seen > 10, "only {seen} outputs were looked at");
    assert_none(&found);
}
