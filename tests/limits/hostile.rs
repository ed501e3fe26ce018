//! Small but expensive models: each ends soon after its time limit, or at the memory limit.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onnx_conformance::reference::deadline::Deadline;
use onnx_conformance::reference::executor::run;
use onnx_conformance::reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance::reference::model::text::parse_model;
use onnx_conformance::reference::model::{LoadLimits, read_model};
use onnx_conformance::reference::proto::Message as _;
use onnx_conformance::reference::proto::decode::NoExternalData;

use crate::alone;

const TIME: Duration = Duration::from_millis(200);

/// Time that a model may take beyond its deadline, since the harness and other tests share the machine.
const GRACE: Duration = Duration::from_millis(800);

/// Number of runs of a model that exceeds its time, since another program may have used the processor.
const RUNS: usize = 5;

/// Time limit of models that only test memory.
const LONG: Duration = Duration::from_mins(2);

/// A graph without inputs in ONNX's text syntax, and its expected error.
struct Row {
    what: &'static str,
    body: &'static str,
    bytes: usize,
    error: &'static str,
}

const TIMES_OUT: &str = "the time limit of the run is exceeded";
const OVER: &str = "over the limit of";

const ROWS: &[Row] = &[
    Row {
        what: "an average over windows of 2048 by 2048",
        body: "s = Constant <value_ints = [1, 1, 4096, 4096]> () x = ConstantOfShape (s)
               y = AveragePool <kernel_shape = [2048, 2048]> (x)",
        bytes: 1 << 30,
        error: TIMES_OUT,
    },
    Row {
        what: "a maximum over windows of 2048 by 2048",
        body: "s = Constant <value_ints = [1, 1, 4096, 4096]> () x = ConstantOfShape (s)
               y = MaxPool <kernel_shape = [2048, 2048]> (x)",
        bytes: 1 << 30,
        error: TIMES_OUT,
    },
    Row {
        what: "a local response over 2^62 + 1 channels",
        body: "s = Constant <value_ints = [1, 65536, 64]> () x = ConstantOfShape (s)
               y = LRN <size = 4611686018427387905> (x)",
        bytes: 1 << 30,
        error: TIMES_OUT,
    },
    Row {
        what: "a convolution with a kernel of 512 by 512",
        body: "s = Constant <value_ints = [1, 1, 1024, 1024]> () x = ConstantOfShape (s)
               k = Constant <value_ints = [1, 1, 512, 512]> () w = ConstantOfShape (k) y = Conv (x, w)",
        bytes: 1 << 30,
        error: TIMES_OUT,
    },
    Row {
        what: "a convolution of 6.9e10 products",
        body: "s = Constant <value_ints = [1, 2048, 128, 128]> () x = ConstantOfShape (s)
               k = Constant <value_ints = [2048, 2048, 1, 1]> () w = ConstantOfShape (k) y = Conv (x, w)",
        bytes: 4 << 30,
        error: TIMES_OUT,
    },
    Row {
        what: "a product of two matrices of 4096 by 4096",
        body: "s = Constant <value_ints = [4096, 4096]> () x = ConstantOfShape (s) y = MatMul (x, x)",
        bytes: 4 << 30,
        error: TIMES_OUT,
    },
    Row {
        what: "attention of 4096 queries to as many keys",
        body: "s = Constant <value_ints = [1, 1, 4096, 512]> () x = ConstantOfShape (s) y = Attention (x, x, x)",
        bytes: 4 << 30,
        error: TIMES_OUT,
    },
    Row {
        what: "a grid of 4096 by 4096 samples",
        body: "s = Constant <value_ints = [1, 1, 64, 64]> () x = ConstantOfShape (s)
               g = Constant <value_ints = [1, 4096, 4096, 2]> () grid = ConstantOfShape (g)
               y = GridSample <mode = \"cubic\"> (x, grid)",
        bytes: 4 << 30,
        error: TIMES_OUT,
    },
    Row {
        what: "a wide element type over a narrow one",
        body: "s = Constant <value_ints = [1073741824]> () x = ConstantOfShape <value = int8[1] {1}> (s) n = NonZero (x)
               y = Cast <to = 1> (n)",
        bytes: 1 << 30,
        error: OVER,
    },
    Row {
        what: "a loop that doubles a text",
        body: "t = Constant <value_string = \"onnx\"> () n = Constant <value_int = 60> () c = Constant <value_int = 1> ()
               b = Cast <to = 9> (c)
               y = Loop <body = g (int64 i, bool go, string before) => (bool on, string after) {
                   on = Identity (go) after = StringConcat (before, before) }> (n, b, t)",
        bytes: 64 << 20,
        error: OVER,
    },
    Row {
        what: "a loop that keeps a growing text of each trip",
        body: "t = Constant <value_string = \"onnx\"> () n = Constant <value_int = 100000> () c = Constant <value_int = 1> ()
               b = Cast <to = 9> (c)
               last, y = Loop <body = g (int64 i, bool go, string before) => (bool on, string after, string kept) {
                   on = Identity (go) after = StringConcat (before, t) kept = Identity (after) }> (n, b, t)",
        bytes: 16 << 20,
        error: OVER,
    },
];

fn outcome(element: &str, body: &str, bytes: usize, time: Duration) -> (Result<usize, String>, Duration) {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 23]> g () => ({element}[] y) {{ {body} }}");
    let proto = parse_model(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let started = Instant::now();
    let deadline = Deadline::new(move || started.elapsed() > time);
    let loading = LoadLimits { deadline: deadline.clone(), ..LoadLimits::default() };
    let model = read_model(proto.encode_to_vec().into(), &NoExternalData, &loading).unwrap();
    let limits = ExecutionLimits { bytes, deadline, ..ExecutionLimits::default() };
    let outputs = run(&model, BTreeMap::new(), limits).map(|outputs| outputs.len());
    (outputs.map_err(|error| error.to_string()), started.elapsed())
}

#[test]
fn a_small_model_costs_what_its_limits_say() {
    let _alone = alone();
    for Row { what, body, bytes, error } in ROWS {
        let element = if body.contains("StringConcat") { "string" } else { "float" };
        let mut last = (String::new(), Duration::MAX);
        for _ in 0..RUNS {
            // A model that reaches the limit of memory does so whatever else runs on the machine.
            let (end, time) = outcome(element, body, *bytes, if *error == OVER { LONG } else { TIME });
            last = (end.expect_err(what), time);
            assert!(last.0.contains(error) || last.0.contains(TIMES_OUT), "{what}: {}", last.0);
            if last.0.contains(error) && time < TIME + GRACE {
                break;
            }
        }
        let (message, time) = last;
        assert!(message.contains(error), "{what}: {message}");
        assert!(time < TIME + GRACE, "{what} took {time:?}");
    }
}

#[test]
fn an_elementwise_kernel_needs_no_wide_copy() {
    let _alone = alone();
    // 4 MB of int8 in and out. As i128 they would be 64 MB each.
    let body = "s = Constant <value_ints = [4194304]> () x = ConstantOfShape <value = int8[1] {1}> (s) y = Abs (x)";
    assert_eq!(outcome("int8", body, 10 << 20, LONG).0, Ok(1));
    assert!(outcome("int8", body, 6 << 20, LONG).0.is_err());
}
