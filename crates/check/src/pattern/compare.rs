//! Comparison of a model's nodes and values with those of a pattern.

use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto, Text};
use onnx_conformance_reference::spec::OpSpec;

use crate::facts::ValueFact;
use crate::pattern::constant::{NumberKind, agree};
use crate::pattern::index::Source;
use crate::pattern::shape::{PatternNode, PatternValue};
use crate::pattern::strictness::{Constants, Sizes, Strictness};
use crate::settings::is_default;

/// Attributes that hold sizes.
const SIZES: [&str; 6] = ["kernel_shape", "strides", "dilations", "pads", "output_padding", "output_shape"];

/// Float attributes that only have to be of the same kind.
const SMALL: &str = "epsilon";

/// Lowest rank of a value whose first axis is a batch.
const RANK_OF_BATCHES: usize = 3;

/// Returns true if a node of the same operator version has the attributes, inputs and outputs of a pattern's node.
pub(super) fn nodes_agree(pattern: &PatternNode, node: &NodeProto, strictness: Strictness) -> bool {
    let are_given = |pattern: &[Option<usize>], names: &[Text]| {
        let given = |position: usize| names.get(position).is_some_and(|name| !name.is_empty());
        (0..pattern.len().max(names.len())).all(|at| pattern.get(at).is_some_and(Option::is_some) == given(at))
    };
    are_given(&pattern.inputs, &node.input)
        && are_given(&pattern.outputs, &node.output)
        && attributes_agree(pattern.spec, &pattern.node, node, strictness.constants)
}

fn attributes_agree(spec: &OpSpec, pattern: &NodeProto, node: &NodeProto, strictness: Constants) -> bool {
    let find = |node: &NodeProto, name: &str| node.attribute.iter().position(|attribute| attribute.name() == name);
    let mut names = pattern.attribute.iter().chain(&node.attribute).map(AttributeProto::name);
    names.all(|name| {
        let given = find(pattern, name).and_then(|at| pattern.attribute.get(at));
        let other = find(node, name).and_then(|at| node.attribute.get(at));
        match (given, other) {
            (Some(given), Some(other)) => values_agree(given, other, strictness),
            (Some(only), None) | (None, Some(only)) => is_default(spec, only),
            (None, None) => true,
        }
    })
}

fn values_agree(pattern: &AttributeProto, other: &AttributeProto, strictness: Constants) -> bool {
    if strictness == Constants::Kind && SIZES.contains(&pattern.name()) {
        let kinds = |values: &[i64]| {
            values.iter().map(|value| NumberKind::from_integer(i128::from(*value))).collect::<Vec<_>>()
        };
        return kinds(&pattern.ints) == kinds(&other.ints);
    }
    if strictness == Constants::Kind && pattern.name() == SMALL {
        return (pattern.f() > 0.0) == (other.f() > 0.0);
    }
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    pattern.ref_attr_name() == other.ref_attr_name()
        && pattern.i() == other.i()
        && pattern.f().to_bits() == other.f().to_bits()
        && pattern.s() == other.s()
        && pattern.ints == other.ints
        && bits(&pattern.floats) == bits(&other.floats)
        && pattern.strings == other.strings
        && pattern.t == other.t
        && pattern.tp == other.tp
}

/// Returns true if a value of a model, with its source there, has the type, the sizes and the elements of a pattern's
/// value.
pub(super) fn facts_agree(pattern: &PatternValue, fact: &ValueFact, source: Source, strictness: Strictness) -> bool {
    let has_type = pattern.fact.value_type.is_none() || pattern.fact.value_type == fact.value_type;
    let is_computed = pattern.source == Source::Computed;
    let rank = fact.rank().unwrap_or_default();
    let has_shape = match (&pattern.fact.shape, &fact.shape) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(pattern), Some(other)) => {
            pattern.len() == other.len()
                && pattern.iter().zip(other).enumerate().all(|(axis, (pattern, other))| {
                    let is_batch = axis == 0 && is_computed && rank >= RANK_OF_BATCHES;
                    let sizes = if is_batch { strictness.sizes } else { strictness.sizes.without_batches() };
                    sizes_agree(pattern, other, sizes)
                })
        }
    };
    if !has_type || !has_shape {
        return false;
    }
    if pattern.is_inner {
        return true;
    }
    if source != pattern.source {
        return false;
    }
    let tensor = |fact: &ValueFact| fact.constant.as_ref().and_then(|value| value.as_tensor().cloned());
    match (source, tensor(&pattern.fact)) {
        // A value that follows from constants is none that a run supplies.
        (Source::Computed, None) => fact.constant.is_none(),
        // Nothing is known of the elements of a default.
        (Source::Default, None) => true,
        (Source::Computed | Source::Default, Some(_)) | (Source::Constant, None) => false,
        (Source::Constant, Some(known)) => agree(&known, tensor(fact).as_ref(), pattern.used, strictness.constants),
    }
}

fn sizes_agree(pattern: &Dim, other: &Dim, sizes: Sizes) -> bool {
    match (pattern, other) {
        (Dim::Size(0), other) => *other == Dim::Size(0),
        (Dim::Size(1), other) => *other == Dim::Size(1),
        (_, Dim::Size(0)) => false,
        (_, Dim::Size(1)) => sizes == Sizes::Batches,
        (Dim::Size(_), Dim::Size(_)) => true,
        (Dim::Size(_), _) => sizes != Sizes::Known,
        _ => true,
    }
}
