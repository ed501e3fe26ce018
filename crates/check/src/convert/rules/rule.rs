//! Rule: conversion of a node between adjacent versions of its operator.

use onnx_conformance_reference::spec::OpSpec;

use crate::convert::answer::Step;
use crate::convert::draft::Draft;

/// Function that converts a draft from one version to another; the version files settle the rest.
pub(crate) type RuleFn = fn(&mut Draft, &OpSpec, &OpSpec) -> Step;

/// A rule for a pair of adjacent versions of some operators.
pub(crate) struct Rule {
    /// The operators that have both versions.
    pub(crate) operators: &'static [&'static str],
    /// The earlier and the later version.
    pub(crate) versions: (u32, u32),
    /// Converts from the earlier to the later version.
    pub(crate) up: RuleFn,
    /// Converts from the later to the earlier version.
    pub(crate) down: RuleFn,
}

/// Replacement of an operator at an opset that does not have it yet.
pub(crate) struct Replacement {
    /// The operator.
    pub(crate) operator: &'static str,
    /// Replaces the operator by another one, or fails with the reason.
    pub(crate) replace: RuleFn,
}

/// Leaves the draft unchanged: the version files settle the difference.
pub(crate) fn unchanged(_: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    Ok(())
}
