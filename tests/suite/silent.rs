//! Silent changes of meaning. For each pair of adjacent versions, the suite's cases of both are run at the other version if its
//! signature accepts them. A case with a different result there must be explained by a `silent` entry of the later version.
//! Each entry must have such a case as its example.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use onnx_conformance::check::convert::{NodeFactsRef, holds};
use onnx_conformance::check::facts::NodeFacts;
use onnx_conformance::check::{Limits, infer};
use onnx_conformance_cases::case::{Case, ExpectedOutput, Level};
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_reference::spec::{MeaningChange, OpSpec, SilentChange, Specs, canonical_domain};
use onnx_conformance_subject::{Ask, Builtin, Ended, Host, Request, Response};

use crate::{FOUND, Made, assert_none};

/// Results for a pair: the differing cases without an entry, and for each entry the cases that show it.
#[derive(Default)]
struct Found {
    unexplained: Vec<String>,
    shown: BTreeMap<usize, BTreeSet<(usize, String)>>,
}

/// Returns why a case gives a different result at another opset; `None` if it does not, or is refused there.
fn difference(case: &Case, model: &ModelProto, domain: &str, opset: u32) -> Option<String> {
    let mut model = model.clone();
    for import in model.opset_import.iter_mut().filter(|import| canonical_domain(import.domain()) == domain) {
        import.version = Some(i64::from(opset));
    }
    let bytes = model.encode_to_vec().into();
    for data in &case.data {
        let outputs = data.outputs.iter().map(ExpectedOutput::requested).collect::<Vec<_>>();
        let request = Request {
            id: &case.id,
            model: &bytes,
            folder: None,
            inputs: &data.inputs,
            outputs: &outputs,
            ask: Ask::RUN,
        };
        let Ended::Answered(Response::Outputs { values, .. }) =
            Builtin::new(Duration::from_mins(1)).run(&request).ended
        else {
            return None;
        };
        for (expected, actual) in data.outputs.iter().zip(&values) {
            if let Err(difference) = expected.expected.check(actual) {
                return Some(difference.message);
            }
        }
    }
    None
}

/// Returns the entries of the later version whose conditions hold for the operator's node.
fn entries(model: &ModelProto, later: &OpSpec) -> Vec<usize> {
    let inferred = infer::infer(model, &Limits::default());
    let mut facts = inferred.nodes().filter_map(|id| inferred.node_facts(id));
    let Some(NodeFacts { node, inputs, outputs, .. }) = facts.find(|facts| facts.node.op_type() == later.version.name)
    else {
        return Vec::new();
    };
    let known = NodeFactsRef { node, inputs: &inputs, outputs: &outputs };
    let is_met = |(_, (_, silent)): &(usize, (&_, &_))| holds(silent, later, known) == Some(true);
    silent(later).enumerate().filter(is_met).map(|(at, _)| at).collect()
}

/// The silent changes of a version, each with the change of meaning that it belongs to.
fn silent(spec: &OpSpec) -> impl Iterator<Item = (&MeaningChange, &SilentChange)> {
    spec.changes.iter().flat_map(|change| change.silent.iter().map(move |silent| (change, silent)))
}

fn size(case: &Case) -> usize {
    case.data.iter().flat_map(|data| &data.inputs).map(|input| input.value.size()).sum()
}

/// Returns the errors of the entries of the later of two adjacent versions.
pub(crate) fn check_pair(before: &Made, after: &Made) -> Vec<String> {
    let later = Specs::embedded().get(&after.version).unwrap();
    let mut found = Found::default();
    for (made, other) in [(before, after.version.since), (after, after.version.since - 1)] {
        for case in made.runnable().filter(|case| case.level != Level::Open) {
            let model = decode::model(case.model.clone()).unwrap();
            let Some(message) = difference(case, &model, &made.version.domain, other) else { continue };
            let entries = entries(&model, later);
            if entries.is_empty() {
                found.unexplained.push(format!("{} at opset {other}: {message}", case.id));
            }
            for entry in entries {
                found.shown.entry(entry).or_default().insert((size(case), case.id.clone()));
            }
        }
    }
    let mut wrong = found.unexplained;
    for (at, (change, silent)) in silent(later).enumerate() {
        let shown = found.shown.get(&at);
        if !shown.is_some_and(|shown| shown.iter().any(|(_, id)| *id == silent.example)) {
            let smallest = shown.and_then(|shown| shown.first()).map_or("no case", |(_, id)| id);
            wrong.push(format!(
                "{}: '{}' is shown by {smallest}, not by {}",
                after.version, change.says, silent.example
            ));
        }
    }
    wrong
}

#[test]
fn a_silent_change_of_meaning_is_listed_and_shown() {
    assert_none(&FOUND.silent);
}
