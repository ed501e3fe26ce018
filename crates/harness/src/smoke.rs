//! Small models that test an adapter, independent of the features of its runtime.

mod model;
mod usual;

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::TensorError;
use onnx_conformance_reference::value::Value;

use model::{Expected, OPTIMIZED, Probe, probes};
use onnx_conformance_cases::case::{self, Case, DataSet, ExpectedOutput};
use onnx_conformance_cases::compare::{Accuracy, compare};
use onnx_conformance_subject::{Ask, Ended, Host, Phase, Request, Response};
use usual::{UsualValue, change, usual_values};

/// Result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The adapter is correct.
    Correct,
    /// The runtime reports a missing feature, which is allowed.
    Unsupported(String),
    /// The runtime fails or dies, which is not a fault of the adapter.
    Runtime(String),
    /// The adapter is wrong.
    Wrong(String),
}

/// Runs all probes on a runtime. `sink` receives each result immediately, with the subject of the probe, and the model
/// and inputs as a case.
pub fn smoke(runtime: &dyn Host, mut sink: impl FnMut(&str, Verdict, &Case)) -> Result<(), TensorError> {
    let (mut earlier, mut runs_floats) = (None, None);
    let declaration = runtime.declaration();
    for probe in probes()? {
        let missing = probe.elements().into_iter().find(|element| !declaration.has_type(*element));
        let verdict = match missing {
            Some(element) => Verdict::Unsupported(format!("the type {element} is not declared")),
            None => run_probe(&probe, runtime, earlier.as_ref()),
        };
        if let Expected::Outputs(values) = &probe.expected {
            earlier = Some(values.clone());
        }
        runs_floats = runs_floats.or(Some(verdict == Verdict::Correct));
        sink(probe.about, verdict, &probe.case());
        if probe.about == OPTIMIZED && declaration.reports_rewrites() {
            sink(
                "the operators of a model before and after optimization",
                judge_operators(&probe, runtime),
                &probe.case(),
            );
        }
    }
    // Otherwise every value would show the same fault again.
    if runs_floats == Some(true) {
        try_usual_values(runtime, &mut sink)?;
    }
    Ok(())
}

/// Passes values of the usual types and ranks through the runtime. Values that change in the same way are one result.
///
/// A changed type or shape is not a fault of the adapter: docs/protocol.md lets it pass on what the runtime returns.
fn try_usual_values(runtime: &dyn Host, sink: &mut dyn FnMut(&str, Verdict, &Case)) -> Result<(), TensorError> {
    let declaration = runtime.declaration();
    let mut results: Vec<(String, Vec<String>, Verdict, Case)> = Vec::new();
    for UsualValue { name, probe } in usual_values()? {
        let is_declared = probe.elements().into_iter().all(|element| declaration.has_type(element));
        let verdict = if is_declared {
            judge_usual(&probe, runtime)
        } else {
            Verdict::Unsupported("the type is not declared".to_owned())
        };
        let cause = match &verdict {
            Verdict::Correct => "correct".to_owned(),
            Verdict::Unsupported(_) => "unsupported".to_owned(),
            Verdict::Runtime(message) | Verdict::Wrong(message) => message.replace(&name, "T"),
        };
        match results.iter_mut().find(|(known, ..)| *known == cause) {
            Some((_, names, ..)) if names.contains(&name) => {}
            Some((_, names, ..)) => names.push(name),
            None => results.push((cause, vec![name], verdict, probe.case())),
        }
    }
    for (_, names, verdict, case) in results {
        let is_correct = verdict == Verdict::Correct;
        let about = if is_correct { format!("{} usual types and ranks", names.len()) } else { names.join(", ") };
        sink(&about, verdict, &case);
    }
    Ok(())
}

fn judge_usual(probe: &Probe, runtime: &dyn Host) -> Verdict {
    match (&probe.expected, ask(probe, runtime)) {
        (Expected::Outputs(expected), Ok(Response::Outputs { values, .. })) => match change(expected, &values) {
            Some(change) => Verdict::Runtime(change),
            None => Verdict::Correct,
        },
        (_, Ok(response)) => judge_response(probe, response, None),
        (_, Err(verdict)) => verdict,
    }
}

/// Asks for the operators of a model of two Identity nodes.
fn judge_operators(probe: &Probe, runtime: &dyn Host) -> Verdict {
    let operators = match runtime.optimize(&probe.model) {
        Some(Ok(operators)) => operators,
        Some(Err(message)) => {
            return Verdict::Wrong(format!("the adapter declares `optimize`, but the answer is: {message}"));
        }
        None => return Verdict::Unsupported("no answer".to_owned()),
    };
    if operators.before.as_ref().is_some_and(BTreeMap::is_empty) {
        return Verdict::Wrong("`before` is empty, but the model has two nodes".to_owned());
    }
    let all = operators.before.iter().flatten().chain(&operators.after);
    match all.map(|(operator, _)| operator).find(|operator| !operator.contains('/')) {
        Some(operator) => {
            Verdict::Wrong(format!("the operator '{operator}' has no domain; write it as `ai.onnx/Identity`"))
        }
        None => Verdict::Correct,
    }
}

fn run_probe(probe: &Probe, runtime: &dyn Host, earlier: Option<&Vec<Value>>) -> Verdict {
    ask(probe, runtime).map_or_else(|verdict| verdict, |response| judge_response(probe, response, earlier))
}

/// Runs the model of a probe. Returns the verdict if there is no answer.
fn ask(probe: &Probe, runtime: &dyn Host) -> Result<Response, Verdict> {
    let ran = runtime.run(&Request {
        id: probe.about,
        model: &probe.model,
        folder: None,
        inputs: &probe.inputs,
        outputs: &probe.outputs,
        ask: Ask::RUN,
    });
    match (ran.ended, ran.flaky) {
        (Ended::Answered(response), None) => Ok(response),
        (Ended::Timeout(message) | Ended::Crash(message) | Ended::OutOfMemory(message), _)
        | (Ended::Answered(_), Some(message)) => {
            let message = format!("the process did not survive: {message}");
            Err(if probe.is_basic { Verdict::Wrong(message) } else { Verdict::Runtime(message) })
        }
        (Ended::ProtocolError(message), _) => Err(Verdict::Wrong(message)),
    }
}

fn judge_response(probe: &Probe, response: Response, earlier: Option<&Vec<Value>>) -> Verdict {
    match (&probe.expected, response) {
        (Expected::Outputs(values), Response::Outputs { values: actual, .. }) => judge(values, &actual, earlier),
        (Expected::Outputs(_), Response::Unsupported { message, .. } | Response::Error { message, .. })
            if probe.is_basic =>
        {
            Verdict::Wrong(format!("every runtime can do this, but the answer is: {message}"))
        }
        (Expected::Outputs(_), Response::Unsupported { message, .. }) => Verdict::Unsupported(message),
        (Expected::Outputs(_), Response::Error { message, phase, .. }) => {
            let phase = if phase == Phase::Load { "load" } else { "run" };
            Verdict::Runtime(format!(
                "an error at `{phase}`; for a missing feature, the answer should be `unsupported`: {message}"
            ))
        }
        (Expected::NoModel, Response::Error { phase: Phase::Load, .. })
        | (Expected::Failure, Response::Error { .. } | Response::Unsupported { .. }) => Verdict::Correct,
        (Expected::NoModel, Response::Error { .. }) => {
            Verdict::Wrong("an error before the whole model is read has phase `load`, not `run`".to_owned())
        }
        (Expected::NoModel, Response::Unsupported { .. }) => Verdict::Wrong(
            "a file that is not a model is an `error` at `load`; `unsupported` is for features of the standard"
                .to_owned(),
        ),
        (Expected::NoModel, Response::Outputs { .. }) => {
            Verdict::Wrong("a file that is not a model was run".to_owned())
        }
        (Expected::Failure, Response::Outputs { .. }) => Verdict::Wrong(
            "the answer claims that an operator ran which no runtime has; does the adapter run the model at all?"
                .to_owned(),
        ),
        (_, other) => Verdict::Wrong(format!("unknown kind of answer: {other:?}")),
    }
}

fn judge(expected: &[Value], actual: &[Value], earlier: Option<&Vec<Value>>) -> Verdict {
    if expected == actual {
        return Verdict::Correct;
    }
    if expected.len() > 1 && expected.iter().rev().eq(actual) {
        return Verdict::Wrong("the outputs are in the wrong order; each has its own `path`".to_owned());
    }
    if earlier.is_some_and(|earlier| earlier == actual) {
        return Verdict::Wrong(
            "the outputs are those of an earlier request; every request has its own \
        inputs"
                .to_owned(),
        );
    }
    for (expected, actual) in expected.iter().zip(actual) {
        if let Err(difference) = compare(expected, actual, &Accuracy::Exact) {
            return Verdict::Wrong(format!("the output differs from the input: {}", difference.message));
        }
    }
    let is_float = |value: &Value| value.value_type().element_type().is_float();
    Verdict::Wrong(if expected.iter().any(is_float) {
        "the bits of the value changed: the sign of a zero, or those of a NaN".to_owned()
    } else {
        "the bits of the value changed".to_owned()
    })
}

impl Probe {
    /// Converts the probe to a case, for a test folder.
    fn case(&self) -> Case {
        let outputs = match &self.expected {
            Expected::Outputs(values) => values.as_slice(),
            Expected::NoModel | Expected::Failure => &[],
        };
        let expected = self.outputs.iter().zip(outputs).map(|(output, value)| ExpectedOutput {
            name: output.name.clone(),
            expected: case::Expected::Value(value.clone(), Accuracy::Exact),
        });
        Case::new(
            self.about,
            self.model.clone(),
            vec![DataSet { inputs: self.inputs.clone(), outputs: expected.collect() }],
        )
    }

    /// Returns the element types of inputs and outputs.
    fn elements(&self) -> Vec<ElementType> {
        let inputs = self.inputs.iter().map(|input| input.value.value_type());
        let outputs = self.outputs.iter().map(|output| output.value_type.clone());
        inputs.chain(outputs).map(|value_type| value_type.element_type()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use bytes::Bytes;
    use onnx_conformance_reference::tensor::Tensor;
    use onnx_conformance_subject::{Builtin, Declaration, Operators, Ran};

    /// The built-in executor with a function that corrupts its responses.
    struct Tampered(fn(Response) -> Response);

    impl Host for Tampered {
        fn declaration(&self) -> Declaration {
            Declaration::named("tampered", "1")
        }

        fn run(&self, request: &Request<'_>) -> Ran {
            match Builtin::new(Duration::from_mins(1)).run(request).ended {
                Ended::Answered(response) => Ended::Answered(self.0(response)).into(),
                other => other.into(),
            }
        }
    }

    fn failing(tamper: fn(Response) -> Response) -> Vec<(String, Verdict)> {
        let mut all = Vec::new();
        smoke(&Tampered(tamper), |about, verdict, _| all.push((about.to_owned(), verdict))).unwrap();
        assert!(all.len() >= 12, "{all:?}");
        all.retain(|(_, verdict)| *verdict != Verdict::Correct);
        all
    }

    fn tampered(response: Response, tamper: impl FnOnce(&mut Vec<Value>)) -> Response {
        match response {
            Response::Outputs { mut values, cells } => {
                tamper(&mut values);
                Response::Outputs { values, cells }
            }
            other => other,
        }
    }

    /// The built-in executor with an answer to `optimize`.
    struct Optimizing(&'static str);

    impl Host for Optimizing {
        fn declaration(&self) -> Declaration {
            Declaration { optimize: Some(true), ..Declaration::named("optimizing", "1") }
        }

        fn run(&self, request: &Request<'_>) -> Ran {
            Builtin::new(Duration::from_mins(1)).run(request)
        }

        fn optimize(&self, _: &Bytes) -> Option<Result<Operators, String>> {
            Some(serde_json::from_str(self.0).map_err(|error| error.to_string()))
        }
    }

    #[test]
    fn the_operators_of_a_model_are_asked_for_if_declared() {
        let failed = |answer| {
            let (mut asked, mut wrong) = (0, Vec::new());
            let sink = |about: &str, verdict, _: &Case| {
                asked += usize::from(about.starts_with("the operators of a model"));
                wrong.extend((verdict != Verdict::Correct).then(|| format!("{verdict:?}")));
            };
            smoke(&Optimizing(answer), sink).unwrap();
            assert_eq!(asked, 1);
            wrong.join(" ")
        };
        assert_eq!(failed(r#"{"after":{"ai.onnx/Identity":2}}"#), "");
        assert_eq!(failed(r#"{"before":{"ai.onnx/Identity":2},"after":{}}"#), "");
        assert!(failed(r#"{"before":{},"after":{}}"#).contains("`before` is empty"));
        assert!(failed(r#"{"after":{"Identity":2}}"#).contains("'Identity' has no domain"));
        assert!(failed("no").contains("the adapter declares `optimize`, but the answer is"));
    }

    #[test]
    fn the_builtin_executor_passes() {
        assert_eq!(failing(|response| response), []);
    }

    #[test]
    fn changed_types_and_ranks_are_one_line_each() {
        let to_floats = |response| {
            tampered(response, |values| {
                for value in values {
                    let Some(tensor) = value.as_tensor() else { continue };
                    if [ElementType::Float16, ElementType::Double].contains(&tensor.element_type()) {
                        *value =
                            Tensor::of_floats(ElementType::Float, tensor.shape(), &tensor.floats()).unwrap().into();
                    }
                }
            })
        };
        let check = |tamper: fn(Response) -> Response, lines: &[(&str, &str)]| {
            let found: Vec<(String, String)> = failing(tamper)
                .into_iter()
                .filter_map(|(about, verdict)| match verdict {
                    Verdict::Runtime(message) => Some((about, message)),
                    _ => None,
                })
                .collect();
            let expected: Vec<(String, String)> =
                lines.iter().map(|(about, message)| ((*about).to_owned(), (*message).to_owned())).collect();
            assert_eq!(found, expected);
        };
        check(to_floats, &[("float16, double", "came back as float")]);
        let to_rank_1 = |response| {
            tampered(response, |values| {
                for value in values {
                    let Some(tensor) = value.as_tensor().filter(|tensor| tensor.shape().is_empty()) else { continue };
                    if tensor.element_type() == ElementType::Int64 {
                        let bytes = tensor.bytes().clone();
                        *value = Tensor::from_bytes(ElementType::Int64, vec![1], bytes).unwrap().into();
                    }
                }
            })
        };
        check(to_rank_1, &[("a scalar", "came back as [1]")]);
    }

    #[test]
    fn outputs_in_the_wrong_order_are_reported() {
        let failed = failing(|response| tampered(response, |values| values.reverse()));
        let says = |text: &str| failed.iter().any(|(_, verdict)| format!("{verdict:?}").contains(text));
        assert!(failed.len() == 1 && says("in the wrong order"), "{failed:?}");
    }

    #[test]
    fn an_adapter_that_answers_every_request_is_caught() {
        let run = |response| match response {
            Response::Error { .. } | Response::Unsupported { .. } => {
                Response::Outputs { values: Vec::new(), cells: Vec::new() }
            }
            other => other,
        };
        let failed = failing(run);
        assert!(failed.len() == 2 && format!("{failed:?}").contains("no runtime has"), "{failed:?}");
    }

    #[test]
    fn a_missing_feature_is_not_an_error_of_the_adapter() {
        let declines = |_| Response::Unsupported { what: "model".to_owned(), message: "no".to_owned() };
        let failed = failing(declines);
        let faults = failed.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Wrong(_))).count();
        assert!(faults == 6 && failed.len() > 18, "{failed:?}");
    }
}
