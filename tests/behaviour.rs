//! Silent changes of meaning: for each pair of adjacent versions, the suite's own cases of both are run at the other version, where
//! its signature takes them. A case that gives something else there is one of a `behaviour` entry of the later version, and each
//! entry has such a case for its example.
//!
//! `BEHAVIOUR_ONLY=Softmax,Clip` takes these operators.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use onnx_conformance::case::{Case, Level};
use onnx_conformance::check::convert::{Known, holds};
use onnx_conformance::check::facts::NodeFacts;
use onnx_conformance::check::{Limits, infer};
use onnx_conformance::generate::{OperatorCatalog, cases};
use onnx_conformance::runtime::{Builtin, Ended, Host, Output, Request, Response};
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_reference::spec::{OpSpec, OperatorVersion, Specs, canonical_domain};
use rayon::prelude::*;

/// What was found of a pair: the cases that differ without an entry, and for each entry those that show it.
#[derive(Default)]
struct Found {
    unexplained: Vec<String>,
    shown: BTreeMap<usize, BTreeSet<(usize, String)>>,
}

/// Why the case gives something else at another opset; nothing where it gives the same, or is refused there.
fn difference(case: &Case, model: &ModelProto, domain: &str, opset: u32) -> Option<String> {
    let mut model = model.clone();
    for import in model.opset_import.iter_mut().filter(|import| canonical_domain(import.domain()) == domain) {
        import.version = Some(i64::from(opset));
    }
    let bytes = model.encode_to_vec().into();
    for data in &case.data {
        let outputs = Output::of_expected(&data.outputs);
        let request = Request { id: &case.id, model: &bytes, folder: None, inputs: &data.inputs, outputs: &outputs };
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

/// The entries of the later version whose conditions hold for the operator's node.
fn entries(model: &ModelProto, later: &OpSpec) -> Vec<usize> {
    let inferred = infer::infer(model, &Limits::default());
    let mut facts = inferred.nodes().filter_map(|id| inferred.node_facts(id));
    let Some(NodeFacts { node, inputs, outputs, .. }) = facts.find(|facts| facts.node.op_type() == later.version.name)
    else {
        return Vec::new();
    };
    let known = Known { node, inputs: &inputs, outputs: &outputs };
    let is_met = |(_, behaviour): &(usize, &_)| holds(behaviour, later, known) == Some(true);
    later.behaviour.iter().enumerate().filter(is_met).map(|(at, _)| at).collect()
}

fn size(case: &Case) -> usize {
    case.data.iter().flat_map(|data| &data.inputs).map(|input| input.value.size()).sum()
}

fn check_pair(operators: &OperatorCatalog, before: &OperatorVersion, after: &OperatorVersion) -> Found {
    let later = Specs::embedded().get(after).unwrap();
    let mut found = Found::default();
    for (version, other) in [(before, after.since), (after, after.since - 1)] {
        let made = cases(operators, version, &|id| !id.contains("/refuse/")).unwrap_or_else(|error| panic!("{error}"));
        for case in made.iter().filter(|case| case.refusal.is_none() && case.level != Level::Open) {
            let model = decode::model(case.model.clone()).unwrap();
            let Some(message) = difference(case, &model, &version.domain, other) else { continue };
            let entries = entries(&model, later);
            if entries.is_empty() {
                found.unexplained.push(format!("{} at opset {other}: {message}", case.id));
            }
            for entry in entries {
                found.shown.entry(entry).or_default().insert((size(case), case.id.clone()));
            }
        }
    }
    found
}

#[test]
fn a_silent_change_of_meaning_is_listed_and_shown() {
    let operators = OperatorCatalog::embedded();
    let only = std::env::var("BEHAVIOUR_ONLY").ok();
    let is_meant = |version: &OperatorVersion| {
        only.as_ref().is_none_or(|only| only.split(',').any(|name| name == version.name)) && operators.has(version)
    };
    let versions: Vec<OperatorVersion> = Specs::embedded().all().filter(is_meant).collect();
    let is_pair = |pair: &[OperatorVersion]| pair[0].name == pair[1].name && pair[0].domain == pair[1].domain;
    let pairs: Vec<(OperatorVersion, OperatorVersion)> =
        versions.windows(2).filter(|pair| is_pair(pair)).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    let wrong = |(before, after): &(OperatorVersion, OperatorVersion)| {
        let found = check_pair(&operators, before, after);
        let mut wrong = found.unexplained;
        for (at, behaviour) in Specs::embedded().get(after).unwrap().behaviour.iter().enumerate() {
            let shown = found.shown.get(&at);
            if !shown.is_some_and(|shown| shown.iter().any(|(_, id)| *id == behaviour.example)) {
                let smallest = shown.and_then(|shown| shown.first()).map_or("no case", |(_, id)| id);
                wrong.push(format!(
                    "{after}: '{}' is shown by {smallest}, not by {}",
                    behaviour.says, behaviour.example
                ));
            }
        }
        wrong
    };
    let wrong: Vec<String> = pairs.par_iter().flat_map_iter(wrong).collect();
    assert!(wrong.is_empty(), "{} of {} pairs:\n{}", wrong.len(), pairs.len(), wrong.join("\n"));
}
