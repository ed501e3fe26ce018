//! Patterns of the wrong outputs of printed failures: a pattern of the values, or a match with another version of the operator.

use std::time::Duration;

use onnx_conformance_cases::case::{Case, CaseId, DataSet, Expected};
use onnx_conformance_cases::compare::{Accuracy, compare};
use onnx_conformance_cases::suite::Suite;
use onnx_conformance_reference::proto::{Message as _, decode};
use onnx_conformance_reference::spec::{Specs, canonical_domain};
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Ask, Builtin, Ended, Host as _, Request, Response};

use crate::failures::actual::Recorder;
use crate::failures::groups::failure_groups;
use crate::failures::pattern::pattern;
use crate::run::{CaseResult, Outcome};

/// Maximum number of groups whose worst case is examined.
const MAX_GROUPS: usize = 30;

/// Time limit of another version.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Tolerance between the outputs of another version and the actual ones.
const CLOSE: Accuracy = Accuracy::Close { relative: 1e-3, absolute: 1e-5 };

/// Adds the pattern of its outputs to the message of each group's worst case. Cases that cannot be regenerated stay unchanged.
pub fn add_patterns(results: &mut [CaseResult], suite: &Suite, outputs: &Recorder<'_>) {
    let with_output = [Outcome::Mismatch, Outcome::WrongShape];
    let worst: Vec<String> = failure_groups(results)
        .into_iter()
        .map(|group| group.worst)
        .filter(|result| with_output.contains(&result.outcome))
        .take(MAX_GROUPS)
        .map(|result| result.id.clone())
        .collect();
    let ids: Vec<&str> = worst.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    // Errors of a case are reported when it runs.
    let _ = suite.find_each(&ids, &mut |case| {
        found.extend(outputs.outputs(&case.id).and_then(|sets| looks_like(&case, &sets)).map(|words| (case.id, words)));
        Ok(())
    });
    for (id, words) in found {
        if let Some(result) = results.iter_mut().find(|result| result.id == id) {
            result.message = format!("{}\n{words}", result.message);
        }
    }
}

fn looks_like(case: &Case, sets: &[Vec<Value>]) -> Option<String> {
    other_version(case, sets).or_else(|| {
        case.data.iter().zip(sets).find_map(|(data, values)| {
            data.outputs.iter().zip(values).find_map(|(output, actual)| {
                let Expected::Value(Value::Tensor(expected), _) = &output.expected else { return None };
                let input = data.inputs.first().and_then(|input| input.value.as_tensor());
                let input = input.filter(|input| input.len() == expected.len());
                pattern(expected, actual.as_tensor()?, input)
            })
        })
    })
}

/// Returns the version of the operator whose kernel gives the actual outputs, by running the case's model at its opset.
fn other_version(case: &Case, sets: &[Vec<Value>]) -> Option<String> {
    let version = CaseId::parse(&case.id).version()?;
    let model = decode::model(case.model.clone()).ok()?;
    let mut sinces: Vec<u32> =
        Specs::embedded().versions(&version.domain, &version.name).filter(|since| *since != version.since).collect();
    sinces.sort_by_key(|since| since.abs_diff(version.since));
    let gives_it = |since: &&u32| {
        let mut other = model.clone();
        let import = other.opset_import.iter_mut().find(|import| canonical_domain(import.domain()) == version.domain);
        let Some(import) = import else { return false };
        import.version = Some(i64::from(**since));
        let bytes = other.encode_to_vec().into();
        !sets.is_empty() && case.data.iter().zip(sets).all(|(data, actual)| is_given(&bytes, data, actual))
    };
    sinces.iter().find(gives_it).map(|since| format!("the outputs are those of {}-{since}", version.name))
}

fn is_given(model: &bytes::Bytes, data: &DataSet, actual: &[Value]) -> bool {
    let request = Request { id: "pattern", model, folder: None, inputs: &data.inputs, outputs: &[], ask: Ask::RUN };
    match Builtin::new(TIMEOUT).run(&request).ended {
        Ended::Answered(Response::Outputs { values, .. }) => {
            values.len() == actual.len() && values.iter().zip(actual).all(|(a, b)| compare(a, b, &CLOSE).is_ok())
        }
        _ => false,
    }
}
