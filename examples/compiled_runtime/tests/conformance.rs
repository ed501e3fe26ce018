//! The tests that the build script has made. Rust's own harness runs them, so that nextest and the buttons of an editor know them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use compiled_runtime::{Compiled, NotCompiled};
use onnx_conformance_harness::{KnownFailures, Request, Response, SuiteCase, Tensor, Value, Verdict, cases};

include!(concat!(env!("OUT_DIR"), "/conformance.rs"));

/// The cases by id. A process makes them once.
static CASES: LazyLock<BTreeMap<String, SuiteCase>> = LazyLock::new(|| {
    let all = cases(PATTERNS).unwrap().map(Result::unwrap);
    all.map(|case| (case.id().to_owned(), case)).collect()
});

/// The failures that are known.
static KNOWN: LazyLock<KnownFailures> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/expectations.yaml");
    KnownFailures::read(path, "compiled-runtime", env!("CARGO_PKG_VERSION")).unwrap()
});

/// Judges the outputs of a compiled model. `control` is the valid model that belongs to one that must be refused.
fn check(id: &str, compiled: Compiled, control: Option<Compiled>) {
    let judgement = CASES[id].judge(|request| {
        let is_control = request.id != id;
        run(control.filter(|_| is_control).unwrap_or(compiled), request)
    });
    match KNOWN.verdict(&judgement) {
        Verdict::Pass | Verdict::ExpectedFailure | Verdict::NotJudged => {}
        Verdict::Improvement => panic!("better than expectations.yaml says: {judgement}"),
        Verdict::Regression => panic!("{judgement}"),
    }
}

/// Runs a compiled model.
fn run(compiled: Compiled, request: &Request<'_>) -> Response {
    let function = match compiled {
        Ok(function) => function,
        Err(NotCompiled::Unsupported(what)) => return Response::unsupported(what, format!("{what} is not supported")),
        Err(NotCompiled::Invalid(message)) => return Response::load_error(message),
    };
    let Some(x) = request.inputs.first().and_then(|input| input.value.as_tensor()) else {
        return Response::run_error("there is no tensor");
    };
    let Some(elements) = x.to_vec::<f32>() else { return Response::run_error("the tensor is not of float") };
    match Tensor::from_vec::<f32>(x.shape().to_vec(), elements.into_iter().map(function).collect()) {
        Ok(y) => Response::outputs(vec![Value::Tensor(y)]),
        Err(error) => Response::run_error(error.to_string()),
    }
}
