//! Conversion of one node: one pair of adjacent versions at a time, up or down.

use std::collections::BTreeMap;

use onnx_conformance_reference::proto::NodeProto;
use onnx_conformance_reference::spec::{MeaningChange, OpSpec, SilentChange, Specs, canonical_domain, model_domain};

use super::answer::{Answer, Fragment, Obstacle, Step, impossible, unknown};
use super::draft::{BodyNode, Draft, Names};
use super::rules;
use super::settle::settle;
use super::silent::holds;
use crate::facts::NodeFacts;

/// Converts a node of a model that will import `target` of its domain and `onnx_opset` of ai.onnx.
///
/// # Examples
///
/// ```
/// use std::collections::BTreeMap;
///
/// use onnx_conformance_check::convert::{Answer, answer};
/// use onnx_conformance_check::facts::NodeFacts;
/// use onnx_conformance_reference::proto::{NodeProto, texts};
///
/// let node = NodeProto {
///     op_type: Some("Identity".into()),
///     input: texts(["x"]),
///     output: texts(["y"]),
///     ..NodeProto::default()
/// };
/// let facts = NodeFacts { node: &node, opset: 13, inputs: vec![None], outputs: vec![None], subgraph_outputs: BTreeMap::new() };
/// assert_eq!(answer(&facts, 14, 14), Answer::AsIs);
/// ```
pub fn answer(facts: &NodeFacts, target: i64, onnx_opset: i64) -> Answer {
    match convert_node(facts, target, onnx_opset, &mut Names::default()) {
        Ok(fragment) if fragment.edits.is_empty() => Answer::AsIs,
        Ok(fragment) => Answer::Edits(fragment.edits),
        Err(Obstacle::Impossible(reason)) => Answer::Impossible(reason),
        Err(Obstacle::Unknown(what)) => Answer::Unknown(what),
    }
}

/// Returns the nodes that replace a node if its model imports `target` of its domain and `onnx_opset` of ai.onnx. New names are
/// taken from `names`.
pub fn convert_node(facts: &NodeFacts, target: i64, onnx_opset: i64, names: &mut Names) -> Result<Fragment, Obstacle> {
    let mut draft = Draft::new(facts, onnx_opset, names);
    let domain = canonical_domain(facts.node.domain()).to_owned();
    let mut at = facts.opset;
    loop {
        let (name, specs) = (draft.node.op_type().to_owned(), Specs::embedded());
        let from = match specs.find(&domain, &name, at) {
            Ok(from) => from,
            Err(error) => return unknown(error.to_string()),
        };
        let since = i64::from(from.version.since);
        if target >= at {
            let next = specs.versions(&domain, &name).find(|next| i64::from(*next) > at);
            let Some(next) = next.filter(|next| i64::from(*next) <= target) else {
                if from.deprecated && target > at && rules::modernize(&mut draft)? {
                    // The successor computes the same in the opset that deprecates the operator; later versions may not.
                    at = since;
                    fit(&mut draft, at)?;
                    continue;
                }
                break;
            };
            step(&mut draft, from, next, i64::from(next))?;
            at = i64::from(next);
        } else {
            if since <= target {
                break;
            }
            let earlier = specs.versions(&domain, &name).filter(|earlier| i64::from(*earlier) < since).last();
            if let Some(earlier) = earlier {
                step(&mut draft, from, earlier, since - 1)?;
            } else {
                rules::replace(&mut draft, from)?;
                convert_body(&mut draft, since - 1)?;
                fit(&mut draft, since - 1)?;
            }
            at = since - 1;
        }
    }
    Ok(draft.finish())
}

/// Converts the nodes of a function body, which are at `opset`, to the opset for new nodes.
fn convert_body(draft: &mut Draft, opset: i64) -> Step {
    let target = draft.onnx_opset();
    for BodyNode { node, inputs, outputs } in draft.take_body() {
        let facts = NodeFacts { node: &node, opset, inputs, outputs, subgraph_outputs: BTreeMap::new() };
        let fragment =
            convert_node(&facts, target, target, draft.names()).map_err(|obstacle| in_body(&node, obstacle))?;
        draft.before_fragment(fragment);
    }
    Ok(())
}

/// Adds the operator of a function body to the reason why it cannot be converted.
fn in_body(node: &NodeProto, obstacle: Obstacle) -> Obstacle {
    let place = |reason: String| format!("its function body has {}: {reason}", node.op_type());
    match obstacle {
        Obstacle::Impossible(reason) => Obstacle::Impossible(place(reason)),
        Obstacle::Unknown(reason) => Obstacle::Unknown(place(reason)),
    }
}

/// Converts a draft to the previous or next version; `at` is its opset afterwards.
fn step(draft: &mut Draft, from: &OpSpec, since: u32, at: i64) -> Step {
    let (domain, name) = (&from.version.domain, &from.version.name);
    let to = match Specs::embedded().find(domain, name, i64::from(since)) {
        Ok(to) => to,
        Err(error) => return unknown(error.to_string()),
    };
    let later = if from.version.since < to.version.since { to } else { from };
    let before: Vec<Option<bool>> =
        silent(later).map(|(_, silent)| holds(silent, later, draft.known_facts())).collect();
    if let Some(rule) = rules::find(from, to) {
        rule(draft, from, to)?;
        convert_body(draft, at)?;
    }
    let operator = draft.node.op_type().to_owned();
    if operator == *name && model_domain(domain) == model_domain(draft.node.domain()) {
        settle(draft, from, to)?;
        return if draft.take_equivalent() { Ok(()) } else { check_silent(draft, later, &before) };
    }
    fit(draft, at)
}

/// Checks that a replacement operator fits its version at an opset.
fn fit(draft: &mut Draft, at: i64) -> Step {
    match Specs::embedded().find(draft.node.domain(), draft.node.op_type(), at) {
        Ok(spec) => settle(draft, spec, spec),
        Err(error) => impossible(error.to_string()),
    }
}

/// Fails if a silent change of meaning applies to the node both before and after its edits.
fn check_silent(draft: &Draft, later: &OpSpec, before: &[Option<bool>]) -> Step {
    for ((change, silent), before) in silent(later).zip(before) {
        let sentence = || {
            let was = change.was.iter().fold(String::new(), |text, was| text + " Before, " + was + ".");
            format!("{}: {}{was}", later.version, change.says)
        };
        match (before, holds(silent, later, draft.known_facts())) {
            (Some(false), _) | (_, Some(false)) => {}
            (Some(true), Some(true)) => return impossible(sentence()),
            _ => {
                return unknown(format!("{} The known facts do not show whether this applies to the node", sentence()));
            }
        }
    }
    Ok(())
}

/// The conditions of the silent changes of a version, each with its change.
fn silent(spec: &OpSpec) -> impl Iterator<Item = (&MeaningChange, &SilentChange)> {
    spec.changes.iter().flat_map(|change| change.silent.iter().map(move |silent| (change, silent)))
}
