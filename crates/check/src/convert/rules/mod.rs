//! The rules of conversion: for pairs of adjacent versions whose difference the version files do not settle alone, by family.

#![expect(clippy::unnecessary_wraps, reason = "a rule has the signature of all rules")]

mod axes;
mod broadcast;
mod cast;
mod constants;
mod functions;
mod image;
mod inputs;
mod normalization;
mod recurrent;
mod shapes;
mod softmax;
mod windows;

use onnx_conformance_reference::spec::OpSpec;

use super::answer::{Step, impossible};
use super::draft::Draft;

/// What brings a draft from one version to another; what is left to be settled is a matter of the version files.
pub(crate) type RuleFn = fn(&mut Draft, &OpSpec, &OpSpec) -> Step;

/// A rule for a pair of adjacent versions of some operators.
pub(crate) struct Rule {
    /// The operators, which have both versions.
    pub(crate) operators: &'static [&'static str],
    /// The earlier and the later version.
    pub(crate) versions: (u32, u32),
    /// From the earlier to the later.
    pub(crate) up: RuleFn,
    /// From the later to the earlier.
    pub(crate) down: RuleFn,
}

/// What takes the place of an operator at an opset that does not have it yet.
pub(crate) struct Replacement {
    /// The operator.
    pub(crate) operator: &'static str,
    /// Puts another operator in its place, or says why none can.
    pub(crate) replace: RuleFn,
}

const FAMILIES: &[&[Rule]] = &[
    axes::RULES,
    broadcast::RULES,
    cast::RULES,
    constants::RULES,
    image::RULES,
    inputs::RULES,
    normalization::RULES,
    recurrent::RULES,
    shapes::RULES,
    softmax::RULES,
    windows::RULES,
];

const REPLACEMENTS: &[&[Replacement]] = &[functions::REPLACEMENTS, image::REPLACEMENTS, shapes::REPLACEMENTS];

/// The rule from a version to one beside it.
pub(crate) fn find(from: &OpSpec, to: &OpSpec) -> Option<RuleFn> {
    let (before, after) = (from.version.since, to.version.since);
    let pair = (before.min(after), before.max(after));
    let is_meant = |rule: &&Rule| rule.versions == pair && rule.operators.contains(&from.version.name.as_str());
    let rule = FAMILIES.iter().copied().flatten().find(is_meant)?;
    Some(if before < after { rule.up } else { rule.down })
}

/// Puts another operator in the place of one that begins with this version.
pub(crate) fn replace(draft: &mut Draft, from: &OpSpec) -> Step {
    let name = from.version.name.as_str();
    match REPLACEMENTS.iter().copied().flatten().find(|replacement| replacement.operator == name) {
        Some(replacement) => (replacement.replace)(draft, from, from),
        None => impossible(format!("{name} begins with opset {}", from.version.since)),
    }
}

/// Nothing to do: what differs is settled by the version files.
pub(crate) fn keep(_: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    Ok(())
}
