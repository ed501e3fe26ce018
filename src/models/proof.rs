//! The proof of a conversion: the model before and after runs on the same inputs, and gives the same.

use bytes::Bytes;
use onnx_conformance_reference::proto::{GraphProto, Message as _, ModelProto, ValueInfoProto};
use onnx_conformance_reference::value::Value;

use crate::case::Named;
use crate::compare::{Accuracy, compare};
use crate::models::made_up::made_up_inputs;

/// How near an element that is not the same must be: upstream's rule.
const CLOSE: Accuracy = Accuracy::Close { relative: 1e-3, absolute: 1e-7 };

/// What the trials showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Both models gave the same.
    Same(String),
    /// Nothing could be compared, because of this.
    NotVerified(String),
    /// Some output differs.
    Differs(String),
}

impl Proof {
    /// Nothing could be compared, because of this.
    pub fn not_verified(why: &str) -> Proof {
        Proof::NotVerified(format!("not verified: {why}"))
    }
}

/// Inputs of a run, with what they are called.
pub type TrialInputs = (String, Vec<Named>);

/// Runs a model, given as its bytes, on inputs; an error is in words.
pub type RunModel<'a> = &'a dyn Fn(&Bytes, &[Named]) -> Result<Vec<Value>, String>;

/// Runs both models on the inputs by `run`, and compares.
pub fn prove(before: &ModelProto, after: &ModelProto, inputs: &[TrialInputs], run: RunModel<'_>) -> Proof {
    if inputs.is_empty() {
        return Proof::not_verified("no inputs were asked for");
    }
    let [before, after] = [before, after].map(|model| Bytes::from(model.encode_to_vec()));
    let (mut compared, mut exact, mut why) = (0, true, String::new());
    for (name, values) in inputs {
        let expected = match run(&before, values) {
            Ok(values) => values,
            Err(error) => {
                why = error;
                continue;
            }
        };
        let actual = match run(&after, values) {
            Ok(values) => values,
            Err(error) => {
                return Proof::Differs(format!("on {name} the model runs, and converted it does not: {error}"));
            }
        };
        for (position, (expected, actual)) in expected.iter().zip(&actual).enumerate() {
            exact &= expected == actual;
            if let Err(difference) = compare(expected, actual, &CLOSE) {
                return Proof::Differs(format!("on {name}, output {position}: {}", difference.message));
            }
        }
        compared += 1;
    }
    if compared == 0 {
        return Proof::not_verified(&format!("the model does not run on the inputs: {why}"));
    }
    let how = if exact { "the same to the last bit" } else { "the same within 1e-3 of each element" };
    Proof::Same(format!("verified: {compared} of {} inputs give {how}", inputs.len()))
}

/// The inputs of a graph that no initializer gives a default.
pub fn inputs_to_give(graph: &GraphProto) -> Vec<&ValueInfoProto> {
    let is_default = |input: &ValueInfoProto| graph.initializer.iter().any(|tensor| tensor.name() == input.name());
    graph.input.iter().filter(|input| !is_default(input)).collect()
}

/// Inputs that are made up, the same at every call; or why none can be.
pub fn made_up_trials(graph: &GraphProto, count: usize) -> Result<Vec<TrialInputs>, String> {
    let wanted = inputs_to_give(graph);
    (0..count).map(|trial| Ok((format!("made-up input {trial}"), made_up_inputs(&wanted, trial)?))).collect()
}
