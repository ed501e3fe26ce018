//! Tools with every kind of answer.

use bytes::Bytes;
use onnx_conformance_cases::case::{Case, DataSet, Expected, ExpectedOutput, Named, Refusal, Variant, vary};
use onnx_conformance_cases::compare::Accuracy;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::Message as _;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Ask, Builtin, Declaration, Ended, Host, Ran, Request, Response};

use super::*;
use crate::run::{CaseResult, Outcome};

/// The model of the case, with the part after its inputs.
const SUB: &str = "(float[2] a, float[2] b) => (float[2] y) { y = Sub (a, b) }";

/// A tool with one answer.
struct Tool<F>(F);

impl<F: Fn(&Request<'_>) -> Ended + Sync> Host for Tool<F> {
    fn declaration(&self) -> Declaration {
        Declaration::named("tool", "1")
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        (self.0)(request).into()
    }
}

fn model(opset: u32, text: &str) -> Bytes {
    let text = format!("<ir_version: 8, opset_import: [\"\" : {opset}, \"com.microsoft\" : 1]> g {text}");
    parse_model(&text).unwrap().encode_to_vec().into()
}

fn tensor(values: &[f64]) -> Value {
    Value::Tensor(Tensor::of_floats(ElementType::Float, &[values.len()], values).unwrap())
}

fn case(variant: Variant) -> Case {
    let input = |name: &str, values: &[f64]| Named { name: name.to_owned(), value: tensor(values) };
    let expected = Expected::Value(tensor(&[2.0, -6.0]), Accuracy::Exact);
    let data = DataSet {
        inputs: vec![input("a", &[3.0, -2.0]), input("b", &[1.0, 4.0])],
        outputs: vec![ExpectedOutput { name: "y".to_owned(), expected }],
    };
    vary(&Case::new("ai.onnx/Sub-13/known_values/T=float", model(13, SUB), vec![data]), variant).unwrap()
}

fn answered(variant: Variant, ended: &Ended) -> CaseResult {
    judge(&case(variant), &Tool(|_: &Request<'_>| ended.clone()))
}

fn outcome(variant: Variant, model: Bytes) -> Outcome {
    answered(variant, &Ended::Answered(Response::Model(model))).outcome
}

#[test]
fn a_rewritten_only_at_run_time_and_computes_the_same() {
    let is = |text: &str| outcome(Variant::Optimize, model(13, text));
    assert_eq!(is(SUB), Outcome::Pass);
    assert_eq!(is("(float[2] a, float[2] b) => (float[2] y) { n = Neg (b) y = Add (a, n) }"), Outcome::Pass);
    assert_eq!(is("(float[2] a, float[2] b) => (float[2] y) { y = Sub (b, a) }"), Outcome::Mismatch);
    assert_eq!(is("(float[2] b, float[2] a) => (float[2] y) { y = Sub (a, b) }"), Outcome::WrongInterface);
    assert_eq!(is("(float[2] a, float[2] b) => (float[2] z) { z = Sub (a, b) }"), Outcome::WrongInterface);
    assert_eq!(is("(float[2] a, float[2] b) => (float[2] y) { y = Sub (a, c) }"), Outcome::InvalidModel);
    assert_eq!(is("(float[2] a, float[2] b) => (float[2] y) { y = com.microsoft.X (a, b) }"), Outcome::NotApplicable);
    assert_eq!(outcome(Variant::Optimize, Bytes::from_static(b"no model")), Outcome::InvalidModel);
    assert_eq!(outcome(Variant::Optimize, Bytes::new()), Outcome::InvalidModel);
}

#[test]
fn a_case_that_the_executor_fails_accuses_no_tool() {
    let mut failed = case(Variant::Optimize);
    failed.data[0].outputs[0].expected = Expected::Value(tensor(&[2.0, -7.0]), Accuracy::Exact);
    for (text, expected) in [
        (SUB, Outcome::NotApplicable),
        ("(float[2] a, float[2] b) => (float[2] z) { z = Sub (a, b) }", Outcome::WrongInterface),
    ] {
        let answer = Ended::Answered(Response::Model(model(13, text)));
        assert_eq!(judge(&failed, &Tool(|_: &Request<'_>| answer.clone())).outcome, expected, "{text}");
    }
}

#[test]
fn dropped_metadata_is_counted_and_decides_no_outcome() {
    // The digests of the first id and not of the second end with 0.
    let asked = |id: &str| Case { id: Variant::Optimize.id(id), ..case(Variant::Optimize) };
    let (sampled, other) = (asked("ai.onnx/Sub-13/n2"), asked("ai.onnx/Sub-13/known_values/T=float"));
    let strips = Tool(|_: &Request<'_>| Ended::Answered(Response::Model(model(13, SUB))));
    let echo = Tool(|request: &Request<'_>| Ended::Answered(Response::Model(request.model.clone())));
    let of = |case: &Case, tool: &dyn Host| {
        let result = judge(case, tool);
        assert_eq!(result.outcome, Outcome::Pass, "{}", result.message);
        result.dropped.map(|parts| parts.into_iter().collect::<Vec<_>>())
    };
    let all = vec![Metadata::Model, Metadata::Graph, Metadata::Values, Metadata::Nodes];
    assert_eq!((of(&sampled, &strips), of(&sampled, &echo), of(&other, &strips)), (Some(all), Some(vec![]), None));
}

#[test]
fn a_function_that_is_lost_is_a_fault() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13, "own" : 1]> g (float[2] a, float[2] b) => (float[2] y) { y = own.f (a, b) }
        <domain: "own", opset_import: ["" : 13]> f (v, w) => (z) { z = Sub (v, w) }"#;
    let whole = parse_model(text).unwrap();
    let mut lost = whole.clone();
    lost.functions.clear();
    let asked = Case { model: whole.encode_to_vec().into(), ..case(Variant::Optimize) };
    let judged = |model: &onnx_conformance_reference::proto::ModelProto| {
        let answer: Bytes = model.encode_to_vec().into();
        judge(&asked, &Tool(|_: &Request<'_>| Ended::Answered(Response::Model(answer.clone())))).outcome
    };
    assert_eq!((judged(&whole), judged(&lost)), (Outcome::Pass, Outcome::InvalidModel));
}

#[test]
fn a_tool_that_gives_no_model_has_an_outcome() {
    let is = |ended: Ended| answered(Variant::Optimize, &ended).outcome;
    assert_eq!(is(Ended::Answered(Response::unsupported("conversion", "no"))), Outcome::Unsupported);
    assert_eq!(is(Ended::Answered(Response::load_error("no"))), Outcome::Error);
    assert_eq!(is(Ended::Answered(Response::Valid)), Outcome::ProtocolError);
    assert_eq!(is(Ended::Crash(String::new())), Outcome::Crash);
    assert_eq!(is(Ended::Timeout(String::new())), Outcome::Timeout);
}

#[test]
fn a_converted_model_is_at_the_opset_of_the_request() {
    let asked = std::sync::Mutex::new(Vec::new());
    let tool = Tool(|request: &Request<'_>| {
        asked.lock().unwrap().push(request.ask);
        Ended::Answered(Response::Model(model(14, SUB)))
    });
    assert_eq!(judge(&case(Variant::Upgrade), &tool).outcome, Outcome::Pass);
    assert_eq!(judge(&case(Variant::Downgrade), &tool).outcome, Outcome::WrongOpset);
    let opsets: Vec<Option<u32>> = asked.into_inner().unwrap().iter().map(|ask: &Ask| ask.opset).collect();
    assert_eq!(opsets, [Some(14), Some(12)]);
    assert_eq!(outcome(Variant::Upgrade, model(13, SUB)), Outcome::WrongOpset);
}

#[test]
fn what_is_inferred_contradicts_no_run() {
    let inferred = |outputs: &str| {
        let text = format!("(float[2] a, float[2] b) => ({outputs} y) {{ y = Sub (a, b) }}");
        answered(Variant::Infer, &Ended::Answered(Response::Model(model(13, &text))))
    };
    for (outputs, known) in [("float[2]", Completeness::Shape), ("float[N]", Completeness::Shape)] {
        let result = inferred(outputs);
        assert_eq!((result.outcome, result.completeness), (Outcome::Pass, Some(known)), "{outputs}");
    }
    assert_eq!(inferred("float[?]").completeness, Some(Completeness::Rank));
    assert_eq!(inferred("float[]").completeness, Some(Completeness::Type));
    assert_eq!(inferred("int32[2]").outcome, Outcome::WrongType);
    assert_eq!(inferred("float[3]").outcome, Outcome::WrongShape);
    assert_eq!(inferred("float[2, 1]").outcome, Outcome::WrongShape);
    let named = "(float[N] a, float[2] b) => (float[M] y) { y = Sub (a, b) }";
    assert_eq!(outcome(Variant::Infer, model(13, named)), Outcome::Pass);
    // The tool gets no types of outputs, and gives none.
    let echo = Tool(|request: &Request<'_>| Ended::Answered(Response::Model(request.model.clone())));
    let result = judge(&case(Variant::Infer), &echo);
    assert_eq!((result.outcome, result.completeness), (Outcome::Pass, Some(Completeness::Nothing)));
}

#[test]
fn a_checker_accepts_what_is_valid_and_refuses_what_is_not() {
    let (valid, error) = (Ended::Answered(Response::Valid), Ended::Answered(Response::load_error("no")));
    assert_eq!(answered(Variant::Check, &valid).outcome, Outcome::Pass);
    assert_eq!(answered(Variant::Check, &error).outcome, Outcome::Error);
    let control = Box::new(Case { id: "ai.onnx/Sub-13/refuse/x/control".to_owned(), ..case(Variant::Check) });
    let refusal = Some(Refusal { rule: "a rule".to_owned(), control, only_at_run_time: false });
    let broken = model(13, "(float[2] a, float[2] b) => (float[2] y) { y = Sub (a) }");
    let plain = Case { refusal, ..Case::new("ai.onnx/Sub-13/refuse/x", broken.clone(), Vec::new()) };
    let refused = vary(&plain, Variant::Check).unwrap();
    let is = |ended: &Ended| judge(&refused, &Tool(|_: &Request<'_>| ended.clone())).outcome;
    assert_eq!(is(&valid), Outcome::Accepted);
    assert_eq!(is(&error), Outcome::NotApplicable);
    let right = Tool(|request: &Request<'_>| if *request.model == broken { error.clone() } else { valid.clone() });
    assert_eq!(judge(&refused, &right).outcome, Outcome::Pass);
    assert!(vary(&plain, Variant::Optimize).is_none(), "a tool that rewrites gets valid models");
}

#[test]
fn a_model_in_half_precision_computes_nearly_the_same() {
    let half = "(float16[2] a, float16[2] b) => (float16[2] y) { y = Sub (a, b) }";
    assert_eq!(outcome(Variant::Float16, model(13, half)), Outcome::Pass);
    let wrong = "(float16[2] a, float16[2] b) => (float16[2] y) { y = Add (a, b) }";
    assert_eq!(outcome(Variant::Float16, model(13, wrong)), Outcome::Mismatch);
    let mixed = "(float16[2] a, float[2] b) => (float16[2] y) { y = Sub (a, b) }";
    assert_eq!(outcome(Variant::Float16, model(13, mixed)), Outcome::InvalidModel);
    let double = "(float16[2] a, float16[2] b) => (int32[2] y) { d = Sub (a, b) y = Cast <to = 6> (d) }";
    assert_eq!(outcome(Variant::Float16, model(13, double)), Outcome::WrongType);
}

#[test]
fn the_tools_of_this_project_answer() {
    let tools = BuiltinTools(Builtin::new(std::time::Duration::from_mins(1)));
    for variant in Variant::ALL.into_iter().filter(|variant| tools.declaration().answers(variant.question())) {
        if variant.question() == onnx_conformance_subject::Question::Run {
            continue;
        }
        let result = judge(&case(variant), &tools);
        assert_eq!(result.outcome, Outcome::Pass, "{variant}: {}", result.message);
    }
}
