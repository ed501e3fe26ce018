//! A rule: what brings a node from one version of its operator to the one beside it.

use onnx_conformance_reference::spec::OpSpec;

use crate::convert::answer::Step;
use crate::convert::draft::Draft;

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

/// Nothing to do: what differs is settled by the version files.
pub(crate) fn keep(_: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    Ok(())
}
