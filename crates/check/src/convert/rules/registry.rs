//! Registry of all rules.

use onnx_conformance_reference::spec::OpSpec;

use super::rule::{Replacement, Rule, RuleFn};
use super::{
    attention, axes, broadcast, cast, causal, constants, embedding, functions, gather, image, inputs, losses,
    normalization, quantize, random, recurrent, sampling, shapes, signal, softmax, trees, windows,
};
use crate::convert::answer::{Step, impossible};
use crate::convert::draft::Draft;

const FAMILIES: &[&[Rule]] = &[
    axes::RULES,
    broadcast::RULES,
    cast::RULES,
    constants::RULES,
    functions::RULES,
    gather::RULES,
    image::RULES,
    inputs::RULES,
    normalization::RULES,
    recurrent::RULES,
    shapes::RULES,
    softmax::RULES,
    trees::RULES,
    windows::RULES,
];

const REPLACEMENTS: &[&[Replacement]] = &[
    attention::REPLACEMENTS,
    causal::REPLACEMENTS,
    embedding::REPLACEMENTS,
    functions::REPLACEMENTS,
    image::REPLACEMENTS,
    losses::REPLACEMENTS,
    normalization::REPLACEMENTS,
    quantize::REPLACEMENTS,
    random::REPLACEMENTS,
    sampling::REPLACEMENTS,
    shapes::REPLACEMENTS,
    signal::REPLACEMENTS,
    trees::REPLACEMENTS,
];

/// Finds the rule from a version to an adjacent one.
pub(crate) fn find(from: &OpSpec, to: &OpSpec) -> Option<RuleFn> {
    let (before, after) = (from.version.since, to.version.since);
    let pair = (before.min(after), before.max(after));
    let is_match = |rule: &&Rule| rule.versions == pair && rule.operators.contains(&from.version.name.as_str());
    let rule = FAMILIES.iter().copied().flatten().find(is_match)?;
    Some(if before < after { rule.up } else { rule.down })
}

/// Replaces an operator, whose first version this is, by another one.
pub(crate) fn replace(draft: &mut Draft, from: &OpSpec) -> Step {
    let name = from.version.name.as_str();
    match REPLACEMENTS.iter().copied().flatten().find(|replacement| replacement.operator == name) {
        Some(replacement) => (replacement.replace)(draft, from, from),
        None => impossible(format!("{name} was added in opset {}", from.version.since)),
    }
}

/// Replaces an operator that its version deprecates by its successor of the same opset; false if there is none.
pub(crate) fn modernize(draft: &mut Draft) -> Step<bool> {
    match draft.node.op_type() {
        "Upsample" => image::modernize(draft)?,
        "Scatter" => shapes::modernize(draft)?,
        _ => return Ok(false),
    }
    Ok(true)
}
