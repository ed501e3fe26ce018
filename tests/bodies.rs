//! Function operators: the kernel and the operator's function body give the same outputs on the vendored inputs.

use std::path::Path;
use std::time::Duration;

use onnx_conformance::reference::value::Value;
use onnx_conformance_cases::case::{Case, Evidence};
use onnx_conformance_cases::compare::{UPSTREAM, compare};
use onnx_conformance_cases::suite::{Filter, Suite};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_subject::{Ask, Builtin, Ended, Host, Request, Response};

fn outputs(case: &Case) -> Vec<Value> {
    let data = &case.data[0];
    let request = Request {
        id: &case.id,
        model: &case.model,
        folder: case.folder.as_deref(),
        inputs: &data.inputs,
        outputs: &[],
        ask: Ask::RUN,
    };
    match Builtin::new(Duration::from_mins(1)).run(&request).ended {
        Ended::Answered(Response::Outputs { values, .. }) => values,
        other => panic!("{}: {other:?}", case.id),
    }
}

#[test]
fn kernels_and_function_bodies_agree() {
    let suite = Suite::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")).unwrap();
    let expanded = suite
        .ids(&Filter::new(&[format!("onnx-{}/node/*_expanded*", Specs::embedded().newest_release())]).unwrap())
        .unwrap();
    let mut compared = 0;
    for id in &expanded {
        let base = id.split("_expanded").next().unwrap_or(id);
        let (Some(body), Some(kernel)) = (suite.find(id).unwrap(), suite.find(base).unwrap()) else { continue };
        if !kernel.confirmed_by().contains(&Evidence::Body) {
            continue;
        }
        for (by_body, by_kernel) in outputs(&body).iter().zip(&outputs(&kernel)) {
            if let Err(difference) = compare(by_body, by_kernel, &UPSTREAM) {
                panic!("{base}: the kernel differs from the body: {}", difference.message);
            }
        }
        compared += 1;
    }
    assert!(compared > 400, "only {compared} pairs of a case and its expansion were found");
}
