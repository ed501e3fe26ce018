//! A case as JSON.

use onnx_conformance_cases::case::{Case, Expected, ExpectedOutput, Named};
use onnx_conformance_reference::proto::decode;
use serde_json::{Value, json};

use crate::site::{model_text, value_text};

/// Returns a case as JSON: its description, the model in ONNX's text syntax if that can express it, inputs, and expected outputs.
pub fn as_json(case: &Case) -> Value {
    let model = decode::model(case.model.clone()).ok();
    let sets = case.data.iter().map(|data| {
        let input = |input: &Named| json!({ "name": input.name, "value": value_text(&input.value) });
        let output = |output: &ExpectedOutput| match &output.expected {
            Expected::Value(value, accuracy) => {
                json!({ "name": output.name, "value": value_text(value), "rule": accuracy.to_string() })
            }
            other => json!({ "name": output.name, "rule": other.rule() }),
        };
        json!({
            "inputs": data.inputs.iter().map(input).collect::<Vec<_>>(),
            "expected": data.outputs.iter().map(output).collect::<Vec<_>>(),
        })
    });
    json!({
        "id": case.id,
        "level": case.level,
        "text": case.text,
        "rule": case.rule.as_ref().map(|rule| json!({ "id": rule.id, "says": rule.says })),
        "evidence": case.evidence_text(),
        "must_be_refused": case.refusal.as_ref().map(|refusal| json!({ "rule": refusal.rule, "control": refusal.control.id })),
        "model": model.as_ref().and_then(model_text),
        "data": sets.collect::<Vec<_>>(),
    })
}
