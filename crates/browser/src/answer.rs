//! Requests and answers as bytes.

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_report::site::case_sample;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::check::{ConvertRequest, check, convert};
use crate::error::RequestError;
use crate::play::{RunRequest, run};

/// Request of a page.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Request {
    /// Check the model.
    Check {
        /// The name of the file.
        name: String,
    },
    /// Convert the model.
    Convert(ConvertRequest),
    /// Run a model given as text.
    Run(RunRequest),
    /// Make a case of the suite.
    Case {
        /// The id.
        id: String,
    },
}

/// Returns the answer to a request. Both consist of the length of a JSON text (four bytes, little-endian), the text, and the
/// bytes of a model. If the request fails, the answer has `error`.
pub fn answer(request: &[u8], deadline: &Deadline) -> Vec<u8> {
    let (head, file) =
        respond(request, deadline).unwrap_or_else(|error| (json!({ "error": error.to_string() }), Vec::new()));
    let head = head.to_string();
    let length = u32::try_from(head.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes(), head.as_bytes(), &file].concat()
}

fn respond(request: &[u8], deadline: &Deadline) -> Result<(Value, Vec<u8>), RequestError> {
    let (head, file) = parts(request).ok_or(RequestError::Truncated)?;
    match serde_json::from_slice(head)? {
        Request::Check { name } => Ok((check(&name, file, deadline), Vec::new())),
        Request::Convert(request) => convert(&request, file, deadline),
        Request::Run(request) => Ok((run(&request, deadline)?, Vec::new())),
        Request::Case { id } => Ok((json!({ "sample": case_sample(&id)? }), Vec::new())),
    }
}

/// Splits a request into the JSON text and the bytes after it.
fn parts(request: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = request.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::proto::{Message as _, decode};
    use onnx_conformance_reference::spec::Specs;

    use super::*;

    const MODEL: &str =
        "<ir_version: 8, opset_import: [\"\" : 13]> g (float[2,3] x) => (float[2,3] y) { y = Softmax (x) }";

    fn ask(request: &Value, file: &[u8]) -> (Value, Vec<u8>) {
        let head = request.to_string();
        let length = u32::try_from(head.len()).unwrap().to_le_bytes();
        let answer = answer(&[&length, head.as_bytes(), file].concat(), &Deadline::never());
        let (head, file) = parts(&answer).unwrap();
        (serde_json::from_slice(head).unwrap(), file.to_vec())
    }

    fn newest() -> u32 {
        Specs::embedded().newest_opset("").unwrap()
    }

    fn model() -> Vec<u8> {
        parse_model(MODEL).unwrap().encode_to_vec()
    }

    #[test]
    fn a_model_is_checked_against_every_measured_runtime() {
        let (answer, _) = ask(&json!({"do": "check", "name": "a.onnx"}), &model());
        assert_eq!(
            (answer["status"].as_str(), answer["facts"]["nodes"].as_u64()),
            (Some("valid"), Some(1)),
            "{answer}"
        );
        assert_eq!(answer["same_operators"]["ai.onnx"], json!([13, newest()]));
        let runtimes = answer["runtimes"].as_array().unwrap();
        let newest = runtimes.iter().rfind(|runtime| runtime["runtime"] == "onnxruntime").unwrap();
        assert_eq!(
            (newest["verdict"].as_str(), newest["kinds"][0]["kind"].as_str()),
            (Some("runs"), Some("Softmax-13 T=float"))
        );
        assert!(runtimes.len() > 10, "{}", runtimes.len());
        let graph = &answer["graph"];
        assert_eq!(graph["graphs"][0]["nodes"][0]["op"], "ai.onnx/Softmax-13");
        let kind = &newest["kinds"][0];
        assert_eq!(graph["kinds"], json!([[kind["kind"], kind["settings"]]]), "nodes are matched by these labels");
    }

    #[test]
    fn a_file_that_is_not_a_model_has_an_answer() {
        for bytes in [b"not a model".to_vec(), Vec::new(), vec![0xff; 100_000]] {
            let (answer, _) = ask(&json!({"do": "check", "name": "a.onnx"}), &bytes);
            assert_eq!(answer["status"], "unreadable", "{answer}");
            let (answer, file) = ask(&json!({"do": "convert", "opset": 14, "domain": "ai.onnx"}), &bytes);
            assert!(answer["error"].is_string() && file.is_empty(), "{answer}");
        }
        assert!(String::from_utf8_lossy(&super::answer(b"x", &Deadline::never())).contains("truncated"));
        assert!(ask(&json!({"do": "nothing"}), b"").0["error"].as_str().unwrap().contains("unknown variant"));
    }

    #[test]
    fn a_conversion_is_verified_before_it_is_given() {
        let (answer, file) = ask(&json!({"do": "convert", "opset": newest(), "domain": "ai.onnx"}), &model());
        assert!(answer["proof"].as_str().unwrap().ends_with("outputs on 3 of 3 inputs"), "{answer}");
        assert_eq!(decode::model(file.into()).unwrap().opset_import[0].version(), i64::from(newest()));
        assert_eq!(answer["graph"]["graphs"][0]["total"], 1);
        let mish =
            parse_model("<ir_version: 9, opset_import: [\"\" : 18]> g (float[2] x) => (float[2] y) { y = Elu (x) }");
        let (answer, file) =
            ask(&json!({"do": "convert", "opset": 3, "domain": "ai.onnx.ml"}), &mish.unwrap().encode_to_vec());
        assert!(
            answer["error"].as_str().unwrap().contains("imports no opset of ai.onnx.ml") && file.is_empty(),
            "{answer}"
        );
    }

    #[test]
    fn any_case_of_the_suite_is_made() {
        let id = "ai.onnx/Sum-8/broadcast_known_values/T=double";
        let (answer, _) = ask(&json!({"do": "case", "id": id}), b"");
        assert_eq!(answer["sample"]["id"], id);
        assert!(answer["sample"]["text"].as_str().unwrap().contains("tensor(double)"), "{answer}");
        let (answer, _) = ask(&json!({"do": "case", "id": "ai.onnx/Sum-8/gone"}), b"");
        assert!(answer["sample"].is_null() && answer["error"].is_null(), "{answer}");
    }

    #[test]
    fn a_model_in_text_runs_with_versions_side_by_side() {
        let request = |model: &str, inputs: &str| json!({"do": "run", "operator": "ai.onnx/Softmax", "versions": [11, 13], "model": model, "inputs": inputs});
        let model = MODEL.replace("[2,3]", "[1,2,2]");
        let (answer, _) = ask(&request(&model, "float[1,2,2] x = {0, 0, 0, 0}"), b"");
        let output = |at: usize| answer["runs"][at]["outputs"][0]["value"].as_str().unwrap().to_owned();
        assert_eq!(
            [output(0), output(1)],
            ["float[1,2,2] {0.25, 0.25, 0.25, 0.25}", "float[1,2,2] {0.5, 0.5, 0.5, 0.5}"]
        );
        let (answer, _) = ask(&request(&model, "float[3] x = {0, 0}"), b"");
        assert!(answer["error"].as_str().unwrap().starts_with("inputs: "), "{answer}");
        let (answer, _) = ask(&request("<ir_version: 8>", ""), b"");
        assert!(answer["error"].as_str().unwrap().starts_with("model: "), "{answer}");
        let (answer, _) =
            ask(&request(&model.replace("Softmax (x)", "Softmax (x, x)"), "float[1,2,2] x = {0, 0, 0, 0}"), b"");
        assert!(answer["runs"][0]["error"].as_str().unwrap().contains("Softmax"), "{answer}");
    }
}
