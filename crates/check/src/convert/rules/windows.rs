//! Pooling windows, attention masks and label keys: preconditions under which two versions agree.

use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::vector;
use super::rule::{Rule, unchanged};
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_floats, get_int, get_ints, get_string};
use crate::convert::draft::{Draft, NewNode};
use crate::facts::ValueFact;

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["MaxPool"], versions: (11, 12), up: check_windows, down: check_windows },
    Rule { operators: &["AveragePool"], versions: (11, 19), up: check_windows, down: check_windows },
    Rule { operators: &["LpPool"], versions: (18, 22), up: check_windows, down: check_windows },
    Rule { operators: &["Attention"], versions: (23, 24), up: expand_mask, down: check_mask_length },
    Rule { operators: &["Attention"], versions: (24, 25), up: without_heads, down: unchanged },
    Rule { operators: &["LabelEncoder"], versions: (2, 4), up: check_keys, down: check_keys },
];

/// Checks that no window starts in the padding at the end; with `ceil_mode`, only one of the versions omits it.
fn check_windows(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let is_ceil = get_int(&draft.node, "ceil_mode")?.unwrap_or(0) != 0;
    let is_padded = get_string(&draft.node, "auto_pad")?.is_some_and(|value| value != "NOTSET");
    if !is_ceil || is_padded {
        return Ok(());
    }
    let kernel = get_ints(&draft.node, "kernel_shape")?.unwrap_or_default();
    let Some(shape) = draft.fact(0).shape else {
        let reason = "the rank of input 0, on whose sizes ceil_mode depends, is unknown; declare it (value_info)";
        return unknown(reason);
    };
    let list = |name: &str| -> Step<Vec<i64>> { Ok(get_ints(&draft.node, name)?.unwrap_or_default()) };
    let (axes, strides, dilations, pads) = (kernel.len(), list("strides")?, list("dilations")?, list("pads")?);
    for (axis, size) in shape.iter().skip(2).enumerate() {
        // i128, so that no product of two attributes overflows.
        let at = |values: &[i64], index: usize, default: i64| i128::from(values.get(index).copied().unwrap_or(default));
        let (stride, begin, end) = (at(&strides, axis, 1).max(1), at(&pads, axis, 0), at(&pads, axes + axis, 0));
        let extent = at(&dilations, axis, 1) * (at(&kernel, axis, 1) - 1) + 1;
        // The last window starts less than a stride after the last one that fits, so before the padding for every size.
        if stride + end <= extent {
            continue;
        }
        let Dim::Size(size) = size else {
            return unknown(format!(
                "the size of axis {} of input 0, on which ceil_mode depends, is unknown; --dim sets sizes of the model's inputs",
                axis + 2
            ));
        };
        let size = i128::from(super::axes::as_int(*size));
        let windows = (size + begin + end - extent).max(0).div_euclid(stride)
            + i128::from((size + begin + end - extent).rem_euclid(stride) != 0)
            + 1;
        if (windows - 1) * stride >= size + begin {
            return impossible(format!(
                "with ceil_mode, {} counts the windows differently that start in the padding at the end",
                to.version
            ));
        }
    }
    Ok(())
}

/// Expands a mask with one column to all keys: version 24 pads it instead.
fn expand_mask(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if !draft.has_input(3) {
        return Ok(());
    }
    let Some(mut shape) = draft.fact(3).shape.filter(|shape| matches!(shape.last(), None | Some(Dim::Size(1)))) else {
        return Ok(());
    };
    let length = total_length(draft);
    if length == Some(1) {
        return Ok(());
    }
    let Some(length) = length else {
        return unknown(format!("the number of keys is unknown, to which {} pads a mask with one column", to.version));
    };
    let columns = super::axes::as_int(length);
    shape.pop();
    let sizes: Vec<i64> = shape.iter().map(|_| 1).chain([columns]).collect();
    shape.push(Dim::Size(length));
    let (mask, element) = (draft.input(3), draft.element(3).ok());
    let stem = draft.stem("mask_shape");
    let sizes = draft.add_constant(&stem, &vector(&sizes)?);
    let wide = draft.before(NewNode { op: "Expand", inputs: &[&mask, &sizes], attributes: Vec::new(), element })?;
    let fact = ValueFact { shape: Some(shape), constant: None, ..draft.fact(3) };
    draft.set_input(3, wide, Some(fact));
    draft.edit(format!("the mask with one column is expanded to {columns} keys, since {} would pad it", to.version));
    Ok(())
}

/// Returns the number of keys with those of the cache; `None` if it is unknown.
fn total_length(draft: &Draft) -> Option<usize> {
    let length = |position| match draft.fact(position).shape?.iter().rev().nth(1)? {
        Dim::Size(size) => Some(*size),
        _ => None,
    };
    let past = if draft.has_input(4) { length(4)? } else { 0 };
    length(1)?.checked_add(past)
}

/// Checks that the mask covers the whole sequence, as required before version 24.
fn check_mask_length(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if !draft.has_input(3) {
        return Ok(());
    }
    let (Some(mask), Some(length)) = (draft.fact(3).sizes(), total_length(draft)) else {
        return unknown("the shapes of mask and keys are unknown");
    };
    if mask.last() == Some(&length) {
        return Ok(());
    }
    impossible(format!("the mask of {} must be as long as the keys", to.version))
}

/// Removes the numbers of heads for inputs of 4 axes, and rejects external cache lengths together with the operator's
/// own cache: version 25 allows neither.
fn without_heads(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.has_input(6) && (draft.has_output(1) || draft.has_output(2)) {
        return impossible(format!(
            "{} does not allow present_key and present_value together with nonpad_kv_seqlen",
            to.version
        ));
    }
    let heads = ["q_num_heads", "kv_num_heads"];
    let is_given = |name: &str| draft.node.attribute.iter().any(|attribute| attribute.name() == name);
    if !heads.into_iter().any(is_given) || draft.rank(0)? != 4 {
        return Ok(());
    }
    for name in heads {
        if attributes::remove(&mut draft.node, name) {
            draft.edit(format!(
                "attribute {name} is removed, since {} allows it for inputs with 3 axes only",
                to.version
            ));
        }
    }
    Ok(())
}

/// Keys that are neither zeros nor NaN match the same in both versions.
fn check_keys(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let keys = get_floats(&draft.node, "keys_floats")?.unwrap_or_default();
    if keys.iter().all(|key| *key != 0.0 && !key.is_nan()) {
        draft.mark_equivalent();
    }
    Ok(())
}
