//! Limits of `convert` and `trace`: a single deadline for all reading and running, and memory in proportion to the model.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use onnx_conformance::reference::model::text::parse_model;
use onnx_conformance::reference::proto::onnx::{FunctionProto, OperatorSetIdProto};
use onnx_conformance::reference::proto::{Message as _, ModelProto, NodeProto, texts};

use crate::models::{Folder, raw};
use crate::program::{Called, call, command};

/// An infinite loop.
fn endless() -> ModelProto {
    let text = r#"<ir_version: 8, opset_import: ["" : 16]>
        g (float[3] x) => (float[3] y) <bool yes = {1}> {
            y = Loop ("", yes, x) <body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w) {
                d = Identity (c)
                w = Identity (v)
            }>
        }"#;
    parse_model(text).unwrap()
}

/// A function that calls another twice, which calls another twice, and so on: 2^40 calls.
fn doubling() -> ModelProto {
    let text = r#"<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
        g (float x) => (float y) { y = local.f39 (x) }"#;
    let mut model = parse_model(text).unwrap();
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
    let import =
        |domain: &str, version: i64| OperatorSetIdProto { domain: Some(domain.to_owned()), version: Some(version) };
    model.functions = (0..40)
        .map(|level| {
            let called = if level == 0 { "Neg".to_owned() } else { format!("f{}", level - 1) };
            let domain = if level == 0 { "" } else { "local" };
            let call = |input: &str, output: &str| NodeProto {
                op_type: Some(called.as_str().into()),
                domain: Some(domain.into()),
                input: texts([input]),
                output: texts([output]),
                ..NodeProto::default()
            };
            FunctionProto {
                name: Some(format!("f{level}")),
                domain: Some("local".to_owned()),
                input: names(&["a"]),
                output: names(&["c"]),
                node: vec![call("a", "b"), call("b", "c")],
                opset_import: vec![import("", 13), import("local", 1)],
                ..FunctionProto::default()
            }
        })
        .collect();
    model
}

/// Calls the program, which must end shortly after a second.
fn soon(arguments: &[&str]) -> Called {
    let started = Instant::now();
    let called = call(arguments);
    assert!(started.elapsed() < Duration::from_secs(6), "{arguments:?}: {:?}", started.elapsed());
    called
}

#[test]
fn all_runs_of_a_proof_end_with_one_deadline_and_nothing_is_written() {
    let folder = Folder::new();
    let out = folder.file("out.onnx");
    let path = folder.write("endless.onnx", endless().encode_to_vec());
    let called = soon(&["convert", &path, "--opset", "14", "--timeout", "1", "-o", &out]);
    let called = called.expect(4, "the verification did not finish; --verify 0 skips it");
    assert!(called.err.contains("the time limit of 1 s is exceeded; raise it with --timeout"), "{called:?}");
    assert!(!folder.path().join("out.onnx").exists());
    soon(&["convert", &path, "--opset", "14", "--timeout", "1", "--verify", "0", "-o", &out]).expect(0, "wrote");
}

#[test]
fn calls_that_double_are_counted_before_they_are_run() {
    let folder = Folder::new();
    let path = folder.write("doubling.onnx", doubling().encode_to_vec());
    let called = soon(&["convert", &path, "--opset", "14", "-o", &folder.file("out.onnx")]);
    called.expect(
        0,
        "not verified: the built-in executor does not run the model: graph 'g': function calls expand to more than",
    );
}

#[test]
fn the_memory_of_a_conversion_has_a_limit() {
    let folder = Folder::new();
    let large = parse_model(
        r#"<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (float[n, 3] y)
        <int64[2] shape = {40000000, 3}> { y = Expand (x, shape) }"#,
    );
    let path = folder.write("large.onnx", large.unwrap().encode_to_vec());
    let call = |more: &[&str]| call(&[&["convert", &path, "--opset", "14"], more].concat());
    let called = call(&["--memory", "100"]).expect(4, "the memory limit of 100 MB is exceeded; raise it with --memory");
    assert!(called.err.contains("large.onnx was not verified, so nothing is written"), "{called:?}");
    let path = folder.write("model.onnx", with_weights(3 << 20).encode_to_vec());
    let called = soon(&["convert", &path, "--opset", "14", "--memory", "1"]);
    called.expect(4, "model.onnx: the file alone has 3145");
}

/// Creates a model with this many bytes of weights.
fn with_weights(bytes: usize) -> ModelProto {
    let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (int64[1] i) => (float[1] y) { y = Gather (w, i) }"#;
    let mut model = parse_model(text).unwrap();
    let mut tensor = raw(&[i64::try_from(bytes / 4).unwrap()], bytes);
    tensor.name = Some("w".to_owned());
    model.graph.as_mut().unwrap().initializer.push(tensor);
    model
}

/// Returns the peak resident memory of a call, in bytes.
#[cfg(target_os = "linux")]
fn peak(arguments: &[&str]) -> u64 {
    let mut child = command(arguments).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let found = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        peak = peak.max(found.unwrap_or(0) << 10);
        std::thread::yield_now();
    }
    assert!(child.wait().unwrap().success() && peak > 0);
    peak
}

#[cfg(target_os = "linux")]
#[test]
fn a_conversion_takes_no_more_than_three_times_the_model() {
    let folder = Folder::new();
    let out = folder.file("out.onnx");
    let measure = |name: &str, bytes: usize| {
        let path = folder.write(name, with_weights(bytes).encode_to_vec());
        peak(&["convert", &path, "--opset", "12", "-o", &out, "--force"])
    };
    let (small, size) = (measure("small.onnx", 4), 60 << 20);
    let large = measure("large.onnx", size);
    let taken = large.saturating_sub(small);
    assert!(taken < 3 * size as u64, "{taken} bytes for {size}, besides {small}");
    assert!(fs::metadata(out).unwrap().len() > size as u64);
}

#[test]
fn a_trace_ends_with_its_deadline_and_its_memory() {
    let folder = Folder::new();
    folder.add("endless", &endless().encode_to_vec());
    let suite = folder.argument();
    let called = soon(&["trace", "endless", "--suite", &suite, "--timeout", "1"]);
    called.expect(4, "the time limit of 1 s is exceeded; raise it with --timeout");
    let large = parse_model(
        r#"<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (float[n, 3] y)
        <int64[2] shape = {40000000, 3}> { y = Expand (x, shape) }"#,
    );
    folder.add("large", &large.unwrap().encode_to_vec());
    let called = soon(&["trace", "large", "--suite", &suite, "--memory", "100"]);
    called.expect(4, "large was not traced to its end");
}
