//! A whole model on a runtime: loaded, run on generated inputs, and compared with the built-in executor.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use onnx_conformance_cases::case::{Named, external_locations};
use onnx_conformance_check::Limits;
use onnx_conformance_reference::proto::{GraphProto, ValueInfoProto, decode};
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Ask, Builtin, Ended, Host, Output, Phase, Ran, Request, Response};
use serde::Serialize;

use crate::models::comparison::{Roundings, difference, is_degenerate, requested_output};
use crate::models::generated_inputs::{InputGenerationError, InputPlan, resized_ways};
use crate::models::probe::RuntimeProbe;
use crate::models::proof::TrialInputs;
use crate::models::trace::accuracy::BoundAtZero;
use crate::models::trace::divided::DividedModel;
use crate::models::work::{TriedSizes, chosen_sizes};

/// Draws of the inputs; the last one has special values, and other sizes if the model runs with them.
const DRAWS: [usize; 2] = [0, 2];

/// Time limit of a run on the built-in executor.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum number of ways to generate inputs that are tried although their outputs are degenerate.
const MAX_DEGENERATE: usize = 24;

/// Maximum number of bytes of a requested output whose value is unknown.
const UNKNOWN_OUTPUT: u64 = 1 << 28;

/// Result of trying a whole model on a runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedModel {
    /// The result.
    pub result: TriedResult,
    /// Message of the runtime, or the first difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Chosen sizes of the unknown dimensions of the inputs: `N=1, H=32`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
}

/// Kind of result of trying a whole model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TriedResult {
    /// The outputs agree with the built-in executor's.
    Runs,
    /// The runtime gives outputs, but the built-in executor cannot compute them.
    RunsUncompared,
    /// The runtime loads the model. It fails on generated inputs, which may not fit.
    Loads,
    /// The outputs differ.
    Wrong,
    /// The runtime loads the model, and fails on inputs that the built-in executor accepts.
    Fails,
    /// The runtime ends without an answer.
    Crashes,
    /// The runtime does not load the model.
    WillNotLoad,
}

impl TriedModel {
    fn new(result: TriedResult, message: impl Into<Option<String>>) -> TriedModel {
        TriedModel { result, message: message.into(), sizes: None }
    }
}

/// Runs a whole model on a runtime, on the given inputs, or on generated ones if there are none. `Err` has the reason
/// why there is no result.
pub(in crate::models) fn try_model(
    probe: &RuntimeProbe,
    bytes: &Bytes,
    folder: Option<&Path>,
    limits: &Limits,
) -> Result<TriedModel, String> {
    let model = decode::model(bytes.clone()).map_err(|error| error.to_string())?;
    let graph = model.graph.as_ref().ok_or("the model has no graph")?;
    let divided = DividedModel::new(&model).ok_or("the model has no nodes")?;
    // A host copies the files of a folder.
    let folder = folder.filter(|_| !external_locations(&model).is_empty());
    let (host, bound) = (&*probe.host, probe.bound);
    let whole = Whole { host, bytes, folder, graph, divided: &divided, limits, bound };
    if !probe.inputs.is_empty() {
        return whole.on_given(&probe.inputs);
    }
    let plan = InputPlan::new(graph);
    let mut tried = TriedSizes::new(&model, limits);
    let Fitting { way, inputs, expected } = match whole.fitting(&plan, &mut tried) {
        Ok(fitting) => fitting,
        Err(NoFitting::NotRun) => return whole.uncompared(&plan, &tried),
        Err(NoFitting::NotTried(reason)) => return Err(reason),
    };
    let result = whole.compared(&inputs, &expected);
    for draw in DRAWS.into_iter().skip(1).filter(|_| result.result == TriedResult::Runs) {
        let mut ways =
            resized_ways(way, plan.ways()).into_iter().chain([way]).filter(|way| *way == 0 || plan.ways() > 1);
        let fitting = ways.find_map(|way| {
            let inputs = plan.inputs(way, draw, limits).ok()?;
            let expected = whole.expected(&inputs).ok()?;
            (way < plan.ways() || !is_degenerate(&expected)).then_some((inputs, expected))
        });
        let Some((inputs, expected)) = fitting else { continue };
        let other = whole.compared(&inputs, &expected);
        if other.result != TriedResult::Runs {
            return Ok(other);
        }
    }
    Ok(result)
}

/// Inputs on which the built-in executor runs a model, with its outputs.
struct Fitting {
    /// The way to generate them.
    way: usize,
    inputs: Vec<Named>,
    expected: Vec<Value>,
}

/// Reason why there are no inputs with outputs of the built-in executor.
enum NoFitting {
    /// The built-in executor does not run the model.
    NotRun,
    /// There is no result of the model, for this reason.
    NotTried(String),
}

/// A model to try on a runtime.
struct Whole<'a> {
    host: &'a dyn Host,
    bytes: &'a Bytes,
    folder: Option<&'a Path>,
    graph: &'a GraphProto,
    divided: &'a DividedModel<'a>,
    limits: &'a Limits,
    bound: BoundAtZero,
}

impl Whole<'_> {
    /// Runs the model on given inputs, until one shows a difference.
    fn on_given(&self, given: &[TrialInputs]) -> Result<TriedModel, String> {
        for (name, inputs) in given {
            let expected = self.expected(inputs).map_err(|ended| {
                format!("the built-in executor does not run it on the inputs of {name}: {}", ended.message())
            })?;
            let tried = self.compared(inputs, &expected);
            if tried.result != TriedResult::Runs {
                return Ok(tried);
            }
        }
        Ok(TriedModel::new(TriedResult::Runs, None))
    }

    /// Returns the first way to generate inputs that the built-in executor runs the model on, with its outputs.
    /// Degenerate ones count if there are no others. Sizes that make a run take too long are omitted.
    fn fitting(&self, plan: &InputPlan<'_>, tried: &mut TriedSizes<'_>) -> Result<Fitting, NoFitting> {
        let mut degenerate = None;
        for way in 0..plan.ways() {
            if degenerate.is_some() && (way > MAX_DEGENERATE || self.limits.deadline.is_over()) {
                break;
            }
            let inputs = match plan.inputs(way, DRAWS[0], self.limits) {
                Ok(inputs) => inputs,
                // Other sizes may be smaller.
                Err(InputGenerationError::TooLarge { .. }) if way > 0 => continue,
                Err(_) if degenerate.is_some() => break,
                Err(error) => return Err(NoFitting::NotTried(error.to_string())),
            };
            if !tried.admit(&inputs) {
                continue;
            }
            match self.expected(&inputs) {
                Ok(expected) if is_degenerate(&expected) => {
                    degenerate.get_or_insert(Fitting { way, inputs, expected });
                }
                Ok(expected) => return Ok(Fitting { way, inputs, expected }),
                // Other sizes do not help.
                Err(Ended::Answered(Response::Unsupported { .. } | Response::Error { phase: Phase::Load, .. })) => {
                    break;
                }
                Err(Ended::Timeout(_) | Ended::OutOfMemory(_)) if degenerate.is_some() => break,
                Err(Ended::Timeout(message) | Ended::OutOfMemory(message)) => {
                    return Err(NoFitting::NotTried(message));
                }
                Err(_) => {}
            }
            if degenerate.is_none() && self.limits.deadline.is_over() {
                let reason = format!("no inputs that fit were found in time{}", tried.text());
                return Err(NoFitting::NotTried(reason));
            }
        }
        degenerate.ok_or(NoFitting::NotRun)
    }

    /// Runs the model on the built-in executor.
    fn expected(&self, inputs: &[Named]) -> Result<Vec<Value>, Ended> {
        let builtin = Builtin::new(TIMEOUT).with_memory(self.limits.bytes).until(&self.limits.deadline);
        builtin.run(&self.request(inputs, &[])).ended.into_values()
    }

    /// Runs the model on the runtime, and compares its outputs.
    fn compared(&self, inputs: &[Named], expected: &[Value]) -> TriedModel {
        let names = self.graph.output.iter().map(ValueInfoProto::name);
        let outputs: Vec<Output> =
            names.clone().zip(expected).map(|(name, value)| requested_output(name, value)).collect();
        let actual = match self.run(inputs, &outputs) {
            Ok(actual) => actual,
            Err((result, message)) => {
                return TriedModel { sizes: chosen_sizes(self.graph, inputs), ..TriedModel::new(result, message) };
            }
        };
        let nodes: Vec<usize> = (0..self.divided.len()).collect();
        let random = self.divided.random_values(&nodes);
        let roundings = Roundings::of_graph(self.graph);
        let different = names.zip(expected.iter().zip(&actual)).find_map(|(name, (expected, actual))| {
            let message = if random.contains(name) {
                let (expected, actual) = (expected.value_type(), actual.value_type());
                (expected != actual).then(|| format!("expected {expected}, got {actual}"))
            } else {
                let absolute = self.divided.absolute_bound(name, expected.value_type().element_type(), self.bound);
                difference(expected, actual, Roundings { absolute, ..roundings })
            };
            message.map(|message| format!("output '{name}': {message}"))
        });
        let result = match different {
            Some(message) => TriedModel::new(TriedResult::Wrong, message),
            None => TriedModel::new(TriedResult::Runs, None),
        };
        TriedModel { sizes: chosen_sizes(self.graph, inputs), ..result }
    }

    /// Runs a model that the built-in executor does not run.
    fn uncompared(&self, plan: &InputPlan<'_>, tried: &TriedSizes<'_>) -> Result<TriedModel, String> {
        let inputs = plan.inputs(0, DRAWS[0], self.limits).map_err(|error| error.to_string())?;
        let output = |output: &ValueInfoProto| {
            let declared = output.r#type.as_ref().and_then(|declared| decode::value_type(declared).ok());
            let declared = declared.ok_or_else(|| format!("output '{}' has no type", output.name()))?;
            Ok(Output::new(output.name(), declared, UNKNOWN_OUTPUT))
        };
        let outputs: Vec<Output> = self.graph.output.iter().map(output).collect::<Result<_, String>>()?;
        Ok(match self.run(&inputs, &outputs) {
            Ok(_) => {
                let message = "the built-in executor does not run it, so the result is not compared".to_owned();
                TriedModel::new(TriedResult::RunsUncompared, message)
            }
            Err((TriedResult::Fails, message)) => {
                let message = format!("it fails on generated inputs, which may not fit: {message}{}", tried.text());
                TriedModel::new(TriedResult::Loads, message)
            }
            Err((result, message)) => TriedModel::new(result, message),
        })
    }

    /// Runs the model on the runtime.
    fn run(&self, inputs: &[Named], outputs: &[Output]) -> Result<Vec<Value>, (TriedResult, String)> {
        let Ran { ended, flaky, .. } = self.host.run(&self.request(inputs, outputs));
        if let Some(message) = flaky {
            return Err((TriedResult::Crashes, format!("in one of two runs: {message}")));
        }
        ended.into_values().map_err(|ended| {
            let result = match &ended {
                Ended::Answered(Response::Error { phase: Phase::Run, .. }) => TriedResult::Fails,
                Ended::Answered(_) => TriedResult::WillNotLoad,
                Ended::Timeout(_) | Ended::OutOfMemory(_) | Ended::Crash(_) | Ended::ProtocolError(_) => {
                    TriedResult::Crashes
                }
            };
            (result, ended.message().to_owned())
        })
    }

    fn request<'b>(&'b self, inputs: &'b [Named], outputs: &'b [Output]) -> Request<'b> {
        Request { id: "check", model: self.bytes, folder: self.folder, inputs, outputs, ask: Ask::RUN }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::proto::Message as _;
    use onnx_conformance_subject::Declaration;

    use crate::models::trace::accuracy::bound_at_zero;

    use super::*;

    /// Ends a run given as the outputs of the built-in executor.
    struct Tampered(fn(Ended) -> Ended);

    impl Host for Tampered {
        fn declaration(&self) -> Declaration {
            Declaration::named("tampered", "1")
        }

        fn run(&self, request: &Request<'_>) -> Ran {
            self.0(Builtin::new(TIMEOUT).run(request).ended).into()
        }
    }

    fn tried(text: &str, tamper: fn(Ended) -> Ended) -> Result<TriedModel, String> {
        let bytes = parse_model(text).unwrap().encode_to_vec().into();
        let host = Arc::new(Tampered(tamper));
        let probe = RuntimeProbe { host, measurement: None, inputs: Arc::new([]), bound: bound_at_zero };
        try_model(&probe, &bytes, None, &Limits::default())
    }

    fn result(text: &str, tamper: fn(Ended) -> Ended) -> TriedResult {
        tried(text, tamper).unwrap().result
    }

    const MODEL: &str = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, M] x, float[7, 5] w) => (float[N, 5] y) {
        a = MatMul (x, w)
        y = Exp (a)
    }"#;

    const FOREIGN: &str = r#"<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]> g (float[N] x) => (float[N] y) {
        a = com.microsoft.FastGelu (x)
        y = Relu (a)
    }"#;

    fn no_outputs(_: Ended) -> Ended {
        Ended::Answered(Response::outputs(Vec::new()))
    }

    #[test]
    fn the_end_of_a_whole_model_is_the_result() {
        let runs = tried(MODEL, |ended| ended).unwrap();
        assert_eq!((runs.result, runs.message), (TriedResult::Runs, None));
        assert!(runs.sizes.is_some_and(|sizes| sizes.starts_with("N=") && sizes.ends_with(", M=7")));
        let load = tried(MODEL, |_| Ended::Answered(Response::load_error("no"))).unwrap();
        assert_eq!((load.result, load.message.as_deref()), (TriedResult::WillNotLoad, Some("no")));
        assert_eq!(result(MODEL, |_| Ended::Answered(Response::run_error("no"))), TriedResult::Fails);
        assert_eq!(result(MODEL, |_| Ended::Crash("died".to_owned())), TriedResult::Crashes);
        let doubled = |ended: Ended| {
            let values = ended.into_values().unwrap();
            let tensor = values[0].as_tensor().unwrap();
            let floats: Vec<f64> = tensor.floats().into_iter().map(|value| value * 2.0).collect();
            let tensor =
                onnx_conformance_reference::tensor::Tensor::of_floats(tensor.element_type(), tensor.shape(), &floats);
            Ended::Answered(Response::outputs(vec![Value::Tensor(tensor.unwrap())]))
        };
        let wrong = tried(MODEL, doubled).unwrap();
        assert!(wrong.result == TriedResult::Wrong && wrong.message.unwrap().starts_with("output 'y': "));
    }

    /// A network for images: a window of 7 x 7 after convolutions that divide sizes by 32, and a list of 4000 classes.
    const IMAGES: &str = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, 3, H, W] x, float[3, 3, 1, 1] w, float[3, 4000] c)
        => (float[N, 4000] y) {
        a = Conv <strides = [32, 32]> (x, w)
        p = AveragePool <kernel_shape = [7, 7]> (a)
        m = ReduceMean <axes = [2, 3], keepdims = 0> (p)
        y = MatMul (m, c)
    }"#;

    #[test]
    fn images_are_as_large_as_a_model_needs() {
        let runs = tried(IMAGES, |ended| ended).unwrap();
        assert_eq!((runs.result, runs.sizes.as_deref()), (TriedResult::Runs, Some("N=1, H=224, W=224")));
        // No image of these sizes fits.
        let larger = IMAGES.replace("[7, 7]", "[9000, 9000]");
        let loads = tried(&larger, |ended| ended).unwrap();
        let message = loads.message.unwrap();
        assert!(loads.result == TriedResult::Loads && message.contains("sizes tried: N="), "{message}");
    }

    #[test]
    fn a_later_draw_has_other_sizes() {
        // The first draw has 7 rows, as the weights.
        let of_three_rows = |ended: Ended| {
            let values = ended.into_values().unwrap();
            let tensor = values[0].as_tensor().unwrap();
            let step = if tensor.shape()[0] == 3 { 1.0 } else { 0.0 };
            let floats: Vec<f64> = tensor.floats().into_iter().map(|value| value + step).collect();
            let tensor =
                onnx_conformance_reference::tensor::Tensor::of_floats(tensor.element_type(), tensor.shape(), &floats);
            Ended::Answered(Response::outputs(vec![Value::Tensor(tensor.unwrap())]))
        };
        assert_eq!(result(&MODEL.replace("Exp", "Sigmoid"), of_three_rows), TriedResult::Wrong);
    }

    #[test]
    fn inputs_that_are_too_small_do_not_count() {
        let zeros_for_nan = |ended: Ended| {
            let values = ended.into_values().unwrap();
            let tensor = values[0].as_tensor().unwrap();
            let floats: Vec<f64> =
                tensor.floats().into_iter().map(|value| if value.is_nan() { 0.0 } else { value }).collect();
            let tensor =
                onnx_conformance_reference::tensor::Tensor::of_floats(tensor.element_type(), tensor.shape(), &floats);
            Ended::Answered(Response::outputs(vec![Value::Tensor(tensor.unwrap())]))
        };
        // The mean of no elements is NaN; the model has the size 100.
        let text = |end: usize| {
            format!(
                r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N] x) => (float[1] y) <int64[1] s = {{4}}, int64[1] e = {{{end}}}> {{
                    p = Slice (x, s, e)
                    y = ReduceMean (p)
                }}"#
            )
        };
        assert_eq!(result(&text(100), zeros_for_nan), TriedResult::Runs);
        assert_eq!(result(&text(4), zeros_for_nan), TriedResult::Wrong);
    }

    #[test]
    fn an_output_is_as_close_as_its_operator_is_near_zero() {
        let shifted = |ended: Ended| {
            let values = ended.into_values().unwrap();
            let tensor = values[0].as_tensor().unwrap();
            let floats: Vec<f64> = tensor.floats().into_iter().map(|value| value + 5e-7).collect();
            let tensor =
                onnx_conformance_reference::tensor::Tensor::of_floats(tensor.element_type(), tensor.shape(), &floats);
            Ended::Answered(Response::outputs(vec![Value::Tensor(tensor.unwrap())]))
        };
        let text = |operator: &str| {
            format!(
                r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N] x) => (float[1, N] y) <float c = {{20}}, int64[2] s = {{1, -1}}> {{
                    a = Sub (x, c)
                    b = {operator} (a)
                    y = Reshape (b, s)
                }}"#
            )
        };
        assert_eq!(result(&text("Sigmoid"), shifted), TriedResult::Runs);
        assert_eq!(result(&text("Exp"), shifted), TriedResult::Wrong);
    }

    #[test]
    fn a_model_with_other_operators_is_loaded_and_run_without_a_comparison() {
        assert_eq!(result(FOREIGN, no_outputs), TriedResult::RunsUncompared);
        assert_eq!(result(FOREIGN, |_| Ended::Answered(Response::run_error("shapes"))), TriedResult::Loads);
        assert_eq!(result(FOREIGN, |_| Ended::Answered(Response::load_error("no"))), TriedResult::WillNotLoad);
    }

    #[test]
    fn a_model_without_ranks_has_no_result() {
        let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[] x) => (float[] y) { y = Relu (x) }"#;
        assert!(tried(text, |ended| ended).is_err_and(|why| why.contains("no declared rank")));
    }
}
