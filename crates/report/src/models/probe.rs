//! Probing: runs a node that no measurement covers on the runtime itself, and compares it with the built-in executor.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_check::Limits;
use onnx_conformance_harness::measure::{Measurement, NodeVerdict};
use onnx_conformance_reference::proto::{GraphProto, Message as _, ModelProto};
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Ask, Builtin, Ended, Host, Output, Phase, Request, Response};

use crate::models::comparison::{Roundings, difference, differs_in_kind, draws, requested_output};
use crate::models::generated_inputs::{InputGenerationError, InputPlan};
use crate::models::proof::TrialInputs;
use crate::models::trace::BoundAtZero;

/// Time limit of the built-in executor.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A started runtime and its measurement.
#[derive(Clone)]
pub struct RuntimeProbe {
    /// The runtime.
    pub host: Arc<dyn Host + Send>,
    /// Measurement of its version, or else of its newest measured version.
    pub measurement: Option<&'static Measurement>,
    /// Inputs of the whole model, instead of generated ones.
    pub inputs: Arc<[TrialInputs]>,
    /// Bound of an operator near 0: [`bound_at_zero`](crate::models::bound_at_zero). The browser starts no runtime, and does not
    /// contain the files of operators.
    pub bound: BoundAtZero,
}

impl fmt::Debug for RuntimeProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeProbe").field("runtime", &self.host.declaration()).finish_non_exhaustive()
    }
}

/// Result of a probe.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Probed {
    /// Verdict on the node, and the reason.
    Verdict(NodeVerdict, Option<String>),
    /// Reason why the node could not be tried.
    NotProbed(String),
}

/// Reason why the built-in executor gives no outputs to compare with.
#[derive(Debug, thiserror::Error)]
enum TrialError {
    /// No inputs can be generated.
    #[error(transparent)]
    Inputs(#[from] InputGenerationError),
    /// The built-in executor fails on every input.
    #[error("the built-in executor fails on generated inputs: {0}")]
    Executor(String),
}

/// Runs a single-node model on a runtime.
pub(super) fn probe(host: &dyn Host, model: &ModelProto) -> Probed {
    let Some(graph) = &model.graph else { return Probed::NotProbed("the model has no graph".to_owned()) };
    let bytes = Bytes::from(model.encode_to_vec());
    let (inputs, expected) = match trial(graph, &bytes) {
        Ok(trial) => trial,
        Err(error) => return Probed::NotProbed(error.to_string()),
    };
    let outputs: Vec<Output> =
        graph.output.iter().zip(&expected).map(|(info, value)| requested_output(info.name(), value)).collect();
    let ran = host.run(&Request {
        id: "probe",
        model: &bytes,
        folder: None,
        inputs: &inputs,
        outputs: &outputs,
        ask: Ask::RUN,
    });
    if let Some(message) = ran.flaky {
        return Probed::Verdict(NodeVerdict::Crashes, Some(format!("in one of two runs: {message}")));
    }
    let ended = match ran.ended.into_values() {
        Ok(values) => return judge(graph, &expected, &values),
        Err(ended) => ended,
    };
    let verdict = match &ended {
        Ended::Answered(Response::Error { phase: Phase::Run, .. }) => NodeVerdict::Fails,
        Ended::Answered(_) => NodeVerdict::NotHere,
        Ended::Timeout(_) | Ended::OutOfMemory(_) | Ended::Crash(_) | Ended::ProtocolError(_) => NodeVerdict::Crashes,
    };
    Probed::Verdict(verdict, Some(ended.message().to_owned()))
}

/// Returns inputs that the built-in executor accepts, and its outputs for them.
fn trial(graph: &GraphProto, model: &Bytes) -> Result<(Vec<Named>, Vec<Value>), TrialError> {
    let plan = InputPlan::new(graph);
    let mut message = None;
    for way in 0..plan.ways() {
        let inputs = plan.inputs(way, 0, &Limits::default())?;
        let request = Request { id: "probe", model, folder: None, inputs: &inputs, outputs: &[], ask: Ask::RUN };
        match Builtin::new(TIMEOUT).run(&request).ended.into_values() {
            Ok(values) => return Ok((inputs, values)),
            // The first way is the most likely one.
            Err(ended) => drop(message.get_or_insert_with(|| ended.message().to_owned())),
        }
    }
    Err(TrialError::Executor(message.unwrap_or_default()))
}

fn judge(graph: &GraphProto, expected: &[Value], actual: &[Value]) -> Probed {
    let is_random = graph.node.iter().any(draws);
    let roundings = Roundings::of_graph(graph);
    for ((info, expected), actual) in graph.output.iter().zip(expected).zip(actual) {
        let difference =
            if is_random { differs_in_kind(expected, actual) } else { difference(expected, actual, roundings) };
        if let Some(difference) = difference {
            return Probed::Verdict(NodeVerdict::Wrong, Some(format!("output '{}': {difference}", info.name())));
        }
    }
    let note = is_random.then(|| "the outputs are random, so only types and shapes were compared".to_owned());
    Probed::Verdict(NodeVerdict::Runs, note)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::tensor::Tensor;

    use super::*;
    use onnx_conformance_subject::{Declaration, Ran};

    /// The built-in executor with tampered answers.
    struct Tampered(fn(Vec<Value>) -> Ended);

    impl Host for Tampered {
        fn declaration(&self) -> Declaration {
            Declaration::named("tampered", "1")
        }

        fn run(&self, request: &Request<'_>) -> Ran {
            match Builtin::new(TIMEOUT).run(request).ended {
                Ended::Answered(Response::Outputs { values, .. }) => (self.0)(values).into(),
                other => other.into(),
            }
        }
    }

    fn right(values: Vec<Value>) -> Ended {
        Ended::Answered(Response::outputs(values))
    }

    fn verdict(text: &str, tamper: fn(Vec<Value>) -> Ended) -> (NodeVerdict, String) {
        match probe(&Tampered(tamper), &parse_model(text).unwrap()) {
            Probed::Verdict(verdict, reason) => (verdict, reason.unwrap_or_default()),
            Probed::NotProbed(why) => (NodeVerdict::Unknown, why),
        }
    }

    const CLIP: &str =
        r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, 3] x) => (float[N, 3] y) { y = Relu (x) }"#;

    #[test]
    fn a_probed_outcome_becomes_a_verdict() {
        assert_eq!(verdict(CLIP, right), (NodeVerdict::Runs, String::new()));
        let (wrong, reason) = verdict(CLIP, |values| {
            let shape = values[0].as_tensor().unwrap().shape().to_vec();
            let zeros = vec![9.0; shape.iter().product()];
            let element = values[0].as_tensor().unwrap().element_type();
            right(vec![Value::Tensor(Tensor::of_floats(element, &shape, &zeros).unwrap())])
        });
        assert!(wrong == NodeVerdict::Wrong && reason.starts_with("output 'y': "), "{reason}");
        let declined = |_| Ended::Answered(Response::unsupported("operator ai.onnx/Relu", "there is none"));
        assert_eq!(verdict(CLIP, declined), (NodeVerdict::NotHere, "there is none".to_owned()));
        let died = |_| Ended::Crash("it died".to_owned());
        assert_eq!(verdict(CLIP, died), (NodeVerdict::Crashes, "it died".to_owned()));
    }

    #[test]
    fn of_draws_types_and_shapes_count() {
        let text =
            r#"<ir_version: 8, opset_import: ["" : 13]> g () => (float[3] y) { y = RandomNormal <shape = [3]> () }"#;
        let (runs, note) = verdict(text, right);
        assert!(runs == NodeVerdict::Runs && note.contains("outputs are random"), "{note}");
        let longer = |_| {
            right(vec![Value::Tensor(
                Tensor::of_floats(onnx_conformance_reference::dtype::ElementType::Float, &[4], &[0.0; 4]).unwrap(),
            )])
        };
        assert_eq!(verdict(text, longer).0, NodeVerdict::Wrong);
    }

    #[test]
    fn sizes_that_are_not_known_follow_those_that_are() {
        let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[A, B] x, float[7, 5] w) => (float[A, 5] y) { y = MatMul (x, w) }"#;
        assert_eq!(verdict(text, right), (NodeVerdict::Runs, String::new()));
    }

    #[test]
    fn a_node_that_cannot_be_probed_has_a_reason() {
        let no_rank = r#"<ir_version: 8, opset_import: ["" : 13]> g (float x) => (float y) { y = NoSuch (x) }"#;
        let (unknown, why) = verdict(no_rank, right);
        assert!(unknown == NodeVerdict::Unknown && why.contains("NoSuch"), "{why}");
    }
}
