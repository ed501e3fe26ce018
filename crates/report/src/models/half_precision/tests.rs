//! Conversions to half precision that keep nodes in float because of what a run shows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance_cases::case::Named;
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::half::HalfRequest;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{Message as _, ModelProto};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Sequence, Value};

use super::difference::Difference;
use super::wide::departure;
use super::{HalfAnswer, HalfPrecisionError, HalfQuestion, HalfReference, half_precision};
use crate::models::generated_inputs::InputPlan;
use crate::models::proof::{Proof, RunFailure, generated_trial};

fn floats(values: &[f64]) -> Value {
    Value::Tensor(Tensor::of_floats(ElementType::Float, &[values.len()], values).unwrap())
}

/// Converts a model with one input `x` to float16, and compares it on one value of the input.
fn converted(text: &str, x: &[f64]) -> HalfAnswer {
    let model = parse_model(&format!(r#"<ir_version: 8, opset_import: ["" : 13, "com.x" : 1]> {text}"#)).unwrap();
    let inputs = |_, _| Ok(("the input".to_owned(), vec![Named { name: "x".to_owned(), value: floats(x) }]));
    let question = HalfQuestion {
        model: &model,
        request: &HalfRequest::new(ElementType::Float16),
        folder: None,
        limits: &Limits::default(),
        count: 1,
        ways: &|_| 1,
        inputs: &inputs,
    };
    half_precision(&question).unwrap()
}

/// The operators that stay in float, each with the reason.
fn kept(answer: &HalfAnswer) -> Vec<(String, String)> {
    let nodes = answer.half.float_nodes.iter();
    nodes.map(|node| (node.place.rsplit(" (").next().unwrap().replace(')', ""), node.reason.to_string())).collect()
}

#[test]
fn nodes_that_overflow_at_run_time_stay_in_float() {
    let sum = "g (float[8] x) => (float[1] y) { s = ReduceSum (x) n = Neg (s) y = Abs (n) }";
    // 8 * 10000 exceeds 65504.
    let answer = converted(sum, &[10_000.0; 8]);
    let reason = |value: &str| format!("1 element of '{value}' exceeds the range of float16");
    let names: Vec<String> = kept(&answer).into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(names, [reason("s"), reason("n"), reason("y")]);
    assert_eq!(answer.proof, Proof::Same("verified: outputs are those in double on 1 of 1 inputs".to_owned()));
    // 8 * 1000 does not.
    let answer = converted(sum, &[1_000.0; 8]);
    assert_eq!((kept(&answer), answer.half.half_nodes), (Vec::new(), 3));
}

#[test]
fn a_difference_of_near_values_is_computed_in_float_with_its_operands() {
    let text = "g (float[2] x) => (float[2] y) <float c = {1000}> { a = Add (x, c) b = Sub (a, c) y = Neg (b) }";
    let answer = converted(text, &[0.3, 0.2]);
    let kept = kept(&answer);
    // Between 512 and 1024 float16 has steps of 0.5, so 1000.3 becomes 1000.5.
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[0].1.ends_with("(Sub-13) needs 'a' in float"), "{kept:?}");
    assert_eq!(kept[1].1, "alone it changes 'b' by 6.7e-1 of its largest element, more than 3.9e-3");
    let error = answer.nodes.iter().find(|node| node.value == "y").unwrap().error;
    assert!(error > 0.0 && error < 1.0 / 1024.0, "{error}");
}

#[test]
fn nodes_before_a_difference_of_near_values_stay_in_float_as_far_as_needed() {
    // Each value alone is exact to a part in 2048. The difference of their sum and 1000 is not.
    let text = "g (float[2] x) => (float[2] y) <float c = {1000}, float t = {3}, float u = {3000}> {
        a = Add (x, c)
        b = Mul (a, t)
        d = Identity (b)
        y = Sub (d, u)
    }";
    let answer = converted(text, &[0.3, 0.2]);
    assert_eq!(answer.half.float_nodes.len(), 4, "{:?}", answer.half.float_nodes);
    let reasons = answer.half.reasons();
    assert!(reasons.iter().any(|line| line.ends_with("'y' depends on it and needs float")), "{reasons:?}");
    // In float, values near 1000 and 3000 are off by up to 3e-5 and 1.2e-4. The difference of 0.9 has both errors.
    let text =
        "verified: outputs differ from those in double by at most 1.1e-4 of their largest element on 1 of 1 inputs";
    assert_eq!(answer.proof, Proof::Same(text.to_owned()));
}

#[test]
fn errors_are_relative_to_the_largest_element() {
    let text = "g (float[3] x) => (float[3] y) { y = Neg (x) }";
    let answer = converted(text, &[1.0, 1.0 / 3.0, 1e-9]);
    // 1/3 lies between 1365 and 1366 of 4096, a third of a step from the first.
    let third: f64 = 1.0 / 3.0 - 1365.0 / 4096.0;
    let [node] = answer.nodes.as_slice() else { panic!("{:?}", answer.nodes) };
    assert!((node.error - third).abs() < 1e-8, "{node:?}");
    assert_eq!((node.underflows, node.overflows, node.value.as_str()), (1, 0, "y"));
    let change = format!("outputs differ from those in double by at most {third:.1e} of their largest element");
    assert_eq!(answer.proof, Proof::Same(format!("verified: {change} on 1 of 1 inputs")));
}

/// The answer's reason for float as its reference.
fn float_reason(answer: &HalfAnswer) -> &str {
    let Some(HalfReference::Float(reason)) = &answer.reference else { panic!("{:?}", answer.reference) };
    reason
}

#[test]
fn the_reference_computes_in_double() {
    let answer = converted("g (float[1] x) => (float[1] y) <float c = {3}> { y = Div (x, c) }", &[1.0]);
    assert_eq!(answer.reference, Some(HalfReference::Double));
    // Both models divide 1 by 3. A third in float is off by 1e-8 of itself.
    let error = (1.0 / 3.0 - 1365.0 / 4096.0) * 3.0;
    assert!((answer.nodes[0].error - error).abs() < 1e-14, "{answer:?}");
}

#[test]
fn an_operator_that_does_not_take_double_makes_float_the_reference() {
    let text = "g (float[2] x) => (uint8[2] y) <float s = {0.5}, uint8 z = {0}> {
        a = Neg (x)
        y = QuantizeLinear (a, s, z)
    }";
    let answer = converted(text, &[-1.0, 2.0]);
    assert_eq!(float_reason(&answer), "node 1 for 'y' (QuantizeLinear-13): QuantizeLinear-13 does not take double");
}

#[test]
fn a_value_that_is_finite_in_double_alone_makes_float_the_reference() {
    // exp(200) is infinite in float, and its quotient by itself is NaN there.
    let answer = converted("g (float[1] x) => (float[1] y) { e = Exp (x) y = Div (e, e) }", &[200.0]);
    let reason = "an element of 'y' is finite in double and not in float, or the other way round";
    assert_eq!(float_reason(&answer), reason);
    assert_eq!(answer.proof, Proof::Same("verified: outputs do not change on 1 of 1 inputs".to_owned()));
}

#[test]
fn other_shapes_and_random_values_make_float_the_reference() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[2] x) => (float[2] y) { r = RandomUniformLike (x) y = Add (x, r) }"#;
    let model = parse_model(text).unwrap();
    let doubles =
        |values: &[f64]| Value::Tensor(Tensor::of_floats(ElementType::Double, &[values.len()], values).unwrap());
    let check = |name: &str, before: &[f64], after: &[f64]| {
        let [before, after] = [floats(before), doubles(after)].map(|value| BTreeMap::from([(name.to_owned(), value)]));
        departure(&model, &before, &after)
    };
    assert_eq!(check("r", &[0.5], &[0.5]), None);
    assert_eq!(check("r", &[0.5], &[0.25]).as_deref(), Some("'r' is random"));
    assert_eq!(check("y", &[0.5], &[0.25]), None);
    assert_eq!(check("y", &[0.5], &[0.5, 0.5]).as_deref(), Some("'y' has another shape in double"));
    assert_eq!(check("y", &[f64::INFINITY], &[1e50]), None);
    assert!(check("y", &[f64::NAN], &[1.0]).unwrap().starts_with("an element of 'y' is finite in double"));
}

#[test]
fn values_of_subgraphs_are_compared_in_every_iteration() {
    let text = "g (float[1] x) => (float[1] y) <int64 n = {3}, bool c = {1}, float t = {0.5}> {
        y = Loop (n, c, x) <
            body = b (int64 i, bool d, float[1] s) => (bool e, float[1] u) {
                e = Identity (d)
                u = Mul (s, t)
                v = Exp (s)
            }
        >
    }";
    let answer = converted(text, &[4.0]);
    assert_eq!(answer.reference, Some(HalfReference::Double));
    let values: Vec<&str> = answer.nodes.iter().map(|node| node.value.as_str()).collect();
    assert_eq!(values, ["v", "y", "u"], "{:?}", answer.nodes);
    // exp(4), exp(2) and exp(1) in 11 bits. The second is off most, by 7.389 - 7.390625.
    let exact = 7.389_056_098_930_65_f64;
    let largest = (7.390_625 - exact) / exact;
    assert!((answer.nodes[0].error - largest).abs() < 1e-12, "{:?}", answer.nodes);
    assert!(answer.nodes[0].node.contains("Loop"), "{:?}", answer.nodes);
}

#[test]
fn a_value_of_a_subgraph_that_overflows_keeps_its_node_alone_in_float() {
    let text = "g (float[1] x) => (float[1] y) <int64 n = {2}, bool c = {1}, float t = {0.5}> {
        y = Loop (n, c, x) <
            body = b (int64 i, bool d, float[1] s) => (bool e, float[1] u) {
                e = Identity (d)
                v = Exp (s)
                u = Mul (s, t)
            }
        >
    }";
    let answer = converted(text, &[12.0]);
    let kept: Vec<&str> = answer.half.float_nodes.iter().map(|node| node.place.as_str()).collect();
    assert!(matches!(kept.as_slice(), [place] if place.contains("(Exp-13)")), "{kept:?}");
}

#[test]
fn a_model_that_does_not_run_is_converted_without_a_proof() {
    let answer = converted("g (float[2] x) => (float[2] y) { a = com.x.Op (x) y = Neg (a) }", &[1.0, 2.0]);
    assert!(matches!(&answer.proof, Proof::NotVerified(text) if text.contains("does not run")), "{answer:?}");
    // Nothing is known about the type that Neg reads.
    assert_eq!(kept(&answer).len(), 2);
}

#[test]
fn masks_may_become_infinite_and_other_elements_may_not() {
    let expected = floats(&[f64::from(f32::MIN), 2.0, -1.0]);
    let masked = Difference::new(&expected, &floats(&[f64::NEG_INFINITY, 2.0, -0.5])).unwrap();
    assert_eq!(masked, Difference { error: 0.25, overflows: 0, underflows: 0 });
    let over = Difference::new(&expected, &floats(&[0.0, f64::INFINITY, f64::NAN])).unwrap();
    assert_eq!((over.overflows, over.underflows), (2, 0));
    assert_eq!(Difference::new(&expected, &floats(&[1.0])), None);
    assert_eq!(Difference::new(&floats(&[0.0]), &floats(&[1.0])).unwrap().error, 1.0);
}

fn onnx_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            onnx_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "onnx") {
            found.push(path);
        }
    }
}

#[test]
fn models_of_exporters_run_in_half_precision() {
    let (mut files, mut verified) = (Vec::new(), 0);
    onnx_files(Path::new("../../testdata/exporters"), &mut files);
    for file in &files {
        let model = ModelProto::decode(fs::read(file).unwrap().as_slice()).unwrap();
        let plan = InputPlan::new(model.graph.as_ref().unwrap());
        let limits = Limits::default();
        let inputs = |number: usize, way: usize| generated_trial(&plan, way, number, &limits);
        for element in [ElementType::Float16, ElementType::Bfloat16] {
            let question = HalfQuestion {
                model: &model,
                request: &HalfRequest::new(element),
                folder: file.parent(),
                limits: &limits,
                count: 1,
                ways: &|_| plan.ways(),
                inputs: &inputs,
            };
            let answer = match half_precision(&question) {
                Ok(answer) => answer,
                Err(HalfPrecisionError::Half(_)) => continue,
                Err(error) => panic!("{}: {error}", file.display()),
            };
            match answer.proof {
                Proof::Same(_) => verified += 1,
                Proof::NotVerified(_) => {}
                Proof::Differs(why) => panic!("{} in {element}: {why}", file.display()),
            }
        }
    }
    assert!(verified > files.len(), "{verified} of {} in each type", files.len());
}

#[test]
fn later_inputs_have_other_sizes() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, 4] x) => (float[N, 4] y) { y = Exp (x) }"#;
    let model = parse_model(text).unwrap();
    let plan = InputPlan::new(model.graph.as_ref().unwrap());
    let limits = Limits::default();
    let rows = RefCell::new(BTreeMap::new());
    let inputs = |number: usize, way: usize| {
        let trial = generated_trial(&plan, way, number, &limits);
        if let Ok((_, named)) = &trial {
            rows.borrow_mut().insert(number, named[0].value.as_tensor().unwrap().shape()[0]);
        }
        trial
    };
    let request = HalfRequest::new(ElementType::Float16);
    let question = HalfQuestion {
        model: &model,
        request: &request,
        folder: None,
        limits: &limits,
        count: 3,
        ways: &|_| plan.ways(),
        inputs: &inputs,
    };
    let answer = half_precision(&question).unwrap();
    assert!(matches!(&answer.proof, Proof::Same(text) if text.contains("on 3 of 3 inputs")), "{:?}", answer.proof);
    // The last call for each number is that of the comparison.
    let rows = rows.into_inner();
    assert_eq!((rows[&1], rows[&2]), (2, 3));
}

#[test]
fn a_run_over_the_limits_ends_the_search() {
    let model =
        parse_model(r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#);
    let question = HalfQuestion {
        model: &model.unwrap(),
        request: &HalfRequest::new(ElementType::Float16),
        folder: None,
        limits: &Limits::default(),
        count: 1,
        ways: &|_| 1,
        inputs: &|_, _| Err(RunFailure::Limit("the time is over".to_owned())),
    };
    assert_eq!(half_precision(&question).unwrap_err().to_string(), "the time is over");
}

#[test]
fn the_floats_in_sequences_are_compared_together() {
    let text = "g (float[2] x) => (seq(float[2]) y) <float t = {3}> { a = Mul (x, t) b = Neg (x) y = SequenceConstruct (a, b) }";
    let answer = converted(text, &[0.1, 1000.0]);
    // 0.1 becomes 0.09998, and its product 0.29993. Both errors are small beside 3000, which is exact.
    let Proof::Same(proof) = &answer.proof else { panic!("{:?}", answer.proof) };
    assert!(proof.starts_with("verified: outputs change by at most "), "{proof}");
    assert!(proof.ends_with(" of their largest element on 1 of 1 inputs"), "{proof}");
    let sequence = |values: &[f64]| {
        let items = values.iter().map(|value| floats(&[*value])).collect();
        Value::Sequence(Sequence::new(ValueType::Tensor(ElementType::Float), items))
    };
    let difference = |one: &[f64], other: &[f64]| Difference::of_contents(&sequence(one), &sequence(other));
    assert_eq!(difference(&[1.0, 100.0], &[2.0, 100.0]).unwrap().error, 0.01);
    assert_eq!(difference(&[1.0, 100.0], &[1.0, f64::INFINITY]).unwrap().overflows, 1);
    assert_eq!(difference(&[1.0, 100.0], &[1.0]), None);
}
