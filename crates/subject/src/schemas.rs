//! Tests that the message schemas accept exactly the messages that the program accepts.

use jsonschema::Validator;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::message::{Answer, Command, Optimized, Started, deserialize_object};

fn schema(name: &str) -> Validator {
    let path = format!("{}/../../docs/schema/protocol/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// Checks that schema and type agree on valid messages, and on each of them with one error.
fn check<T: DeserializeOwned + Serialize>(name: &str, valid: &[Value], invalid: &[Value]) {
    let schema = schema(name);
    let agree = |message: &Value, is_valid_message: bool| {
        let text = message.to_string();
        assert_eq!(schema.is_valid(message), is_valid_message, "the schema on {text}");
        let read = deserialize_object::<T, _>(&mut serde_json::Deserializer::from_str(&text));
        assert_eq!(read.is_ok(), is_valid_message, "the type on {text}");
    };
    for message in valid {
        agree(message, true);
        let read: T = serde_json::from_value(message.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), *message, "what is read is written the same");
        for broken in broken(message) {
            agree(&broken, false);
        }
    }
    for message in invalid {
        agree(message, false);
    }
}

/// Returns the message with one key added, and with each value replaced by one of a wrong type, at every depth.
fn broken(message: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    match message {
        Value::Object(fields) => {
            // The keys of opsets and of counts are free.
            if !fields.keys().any(|key| key.starts_with("ai.onnx")) {
                let mut more = message.clone();
                more["surplus"] = json!(1);
                all.push(more);
            }
            for (key, value) in fields {
                let others = broken(value).into_iter().chain([Value::Null, json!(1.5), json!({"surplus": {}})]);
                all.extend(others.map(|other| replaced(message, |message| message[key] = other)));
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let others = broken(item).into_iter().chain([Value::Null, json!(1.5)]);
                all.extend(others.map(|other| replaced(message, |message| message[at] = other)));
            }
        }
        _ => {}
    }
    all
}

fn replaced(message: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut message = message.clone();
    change(&mut message);
    message
}

#[test]
fn of_answers() {
    let valid = [
        json!({"seq": 7, "ok": true}),
        json!({"seq": 0, "unsupported": {"what": "operator ai.onnx/Abs-13", "message": ""}}),
        json!({"seq": 7, "error": {"phase": "load", "message": "no"}}),
        json!({"seq": 7, "error": {"phase": "run", "message": "no"}}),
    ];
    let invalid = [
        json!({}),
        json!({"seq": 7}),
        json!({"ok": true}),
        json!({"seq": -1, "ok": true}),
        json!({"seq": "7", "ok": true}),
        json!({"seq": 7, "ok": false}),
        json!({"seq": 7, "ok": true, "error": null}),
        json!({"seq": 7, "ok": true, "error": {"phase": "load", "message": "no"}}),
        json!({"seq": 7, "error": {"phase": "later", "message": "no"}}),
        json!({"seq": 7, "error": {"message": "no"}}),
        json!({"seq": 7, "error": "no"}),
        json!({"seq": 7, "unsupported": {"what": "tensor(int4)"}}),
        json!([7, true]),
        json!({"seq": 7, "error": ["load", "no"]}),
        json!({"seq": 7, "unsupported": ["tensor(int4)", "no"]}),
        json!(7),
    ];
    check::<Answer>("answer", &valid, &invalid);
}

#[test]
fn of_answers_to_optimize() {
    let valid = [
        json!({"seq": 7, "operators": {"after": {"ai.onnx/Identity": 1}}}),
        json!({"seq": 7, "operators": {"before": {"ai.onnx/Transpose": 2}, "after": {"ai.onnx/Identity": 1}}}),
        json!({"seq": 7, "unknown": "no"}),
    ];
    let invalid = [
        json!({}),
        json!({"seq": 7}),
        json!({"seq": 7, "ok": true}),
        json!({"seq": 7, "operators": {}}),
        json!({"seq": 7, "operators": {"before": {"ai.onnx/Transpose": 2}}}),
        json!({"seq": 7, "operators": {"after": {"ai.onnx/Transpose": 0}}}),
        json!({"seq": 7, "operators": {"after": {"ai.onnx/Transpose": -1}}}),
        json!({"seq": 7, "operators": {"after": ["ai.onnx/Transpose"]}}),
        json!({"seq": 7, "operators": {"after": {}}, "unknown": "no"}),
        json!({"seq": 7, "unknown": 1}),
        json!([7, "no"]),
    ];
    check::<Optimized>("optimized", &valid, &invalid);
    let empty: Optimized = serde_json::from_value(json!({"seq": 7, "operators": {"after": {}}})).unwrap();
    assert!(empty.result.is_ok_and(|operators| operators.after.is_empty()));
}

#[test]
fn of_answers_to_start() {
    let with = |key: &str, value: Value| {
        let mut runtime = json!({"name": "a", "version": "1"});
        runtime[key] = value;
        json!({ "runtime": runtime })
    };
    let valid = [
        with("name", json!("onnxruntime-1.0_b")),
        with("language", json!("Python")),
        with("issues", json!("https://example.org")),
        with("opsets", json!({"ai.onnx": [7, 23], "ai.onnx.ml": 5})),
        with("opsets", json!({"ai.onnx": 23})),
        with("types", json!(["float", "float8e4m3fn", "string"])),
        with("types", json!([])),
        with("variants", json!(["runtime", "constants", "initializers", "all-constants", "dynamic-shapes", "wrapped"])),
        with("optimize", json!(true)),
    ];
    let invalid = [
        json!({}),
        json!({"runtime": {"name": "a"}}),
        json!({"runtime": "a"}),
        json!({"runtime": ["a", "1"]}),
        json!({"name": "a", "version": "1"}),
        with("name", json!("")),
        with("name", json!("a/b")),
        with("name", json!("a b")),
        with("opsets", json!({"ai.onnx": [7]})),
        with("opsets", json!({"ai.onnx": [7, 8, 9]})),
        with("opsets", json!({"ai.onnx": -1})),
        with("opsets", json!({"ai.onnx": "23"})),
        with("opsets", json!(23)),
        with("types", json!(["tensor(float)"])),
        with("types", json!("float")),
        with("variants", json!(["constant"])),
        with("optimize", json!("yes")),
        with("does", json!(["explain"])),
    ];
    check::<Started>("started", &valid, &invalid);
}

#[test]
fn of_commands() {
    let file = json!({"name": "x", "type": "tensor(float)", "path": "/x"});
    let valid = [
        json!({"cmd": "start", "protocol": 1}),
        json!({"cmd": "run", "seq": 7, "model": "/m", "inputs": [file], "outputs": []}),
        json!({"cmd": "optimize", "seq": 7, "model": "/m"}),
        json!({"cmd": "ask", "seq": 7, "ask": "check", "model": "/m"}),
        json!({"cmd": "ask", "seq": 7, "ask": "convert", "model": "/m", "result": "/r", "opset": 13}),
        json!({"cmd": "stop"}),
    ];
    let invalid = [
        json!({}),
        json!({"cmd": "go"}),
        json!({"cmd": "start"}),
        json!({"cmd": "run", "seq": 7, "model": "/m", "inputs": []}),
        json!({"cmd": "run", "seq": 7, "model": "/m", "inputs": [], "outputs": [{"name": "y", "path": "/y"}]}),
        json!({"protocol": 1}),
        json!({"cmd": "optimize", "seq": 7}),
        json!({"cmd": "ask", "seq": 7, "model": "/m"}),
        json!({"cmd": "ask", "seq": 7, "ask": "explain", "model": "/m"}),
    ];
    check::<Command>("command", &valid, &invalid);
}

#[test]
fn the_examples_of_the_document_are_messages() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md")).unwrap();
    let blocks = text.split("\n\n").map(|block| block.lines().map(str::trim).collect::<String>());
    let (mut seen, schemas) = (0, ["answer", "command", "optimized", "started"].map(schema));
    for block in blocks.filter(|block| block.starts_with("{\"")) {
        let message: Value = serde_json::from_str(&block).unwrap();
        assert_eq!(schemas.iter().filter(|schema| schema.is_valid(&message)).count(), 1, "{block}");
        seen += 1;
    }
    assert_eq!(seen, 14, "messages are shown");
}
