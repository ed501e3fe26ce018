//! Shape of some axes, and Scatter, which `ScatterElements` replaced.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::vector;
use super::rule::{Replacement, Rule, unchanged};
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get_int, get_string};
use crate::convert::draft::{Draft, NewNode};

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["Shape"], versions: (13, 15), up: unchanged, down: slice_of_shape },
    Rule { operators: &["Scatter"], versions: (9, 11), up: to_scatter_elements, down: unchanged },
];

pub(super) const REPLACEMENTS: &[Replacement] = &[Replacement { operator: "ScatterElements", replace: to_scatter }];

/// Computes the whole shape and takes the part with Slice.
fn slice_of_shape(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let (start, end) = (get_int(&draft.node, "start")?.unwrap_or(0), get_int(&draft.node, "end")?);
    if start == 0 && end.is_none() {
        return Ok(());
    }
    for name in ["start", "end"] {
        attributes::remove(&mut draft.node, name);
    }
    let (inner, output) = draft.redirect_output(0)?;
    let end = end.unwrap_or(i64::MAX);
    if draft.onnx_opset() < 10 {
        let bounds = vec![
            attributes::ints("starts", &[start]),
            attributes::ints("ends", &[end]),
            attributes::ints("axes", &[0]),
        ];
        draft.after(
            &output,
            NewNode { op: "Slice", inputs: &[&inner], attributes: bounds, element: Some(ElementType::Int64) },
        )?;
    } else {
        let starts = draft.add_constant("starts", &vector(&[start])?);
        let ends = draft.add_constant("ends", &vector(&[end])?);
        draft.after(
            &output,
            NewNode {
                op: "Slice",
                inputs: &[&inner, &starts, &ends],
                attributes: Vec::new(),
                element: Some(ElementType::Int64),
            },
        )?;
    }
    draft.edit(format!("start and end are replaced by Slice({start}, {end}) after"));
    Ok(())
}

fn to_scatter_elements(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    draft.node.op_type = Some("ScatterElements".to_owned());
    draft.edit("Scatter, which is deprecated, is replaced by ScatterElements");
    Ok(())
}

fn to_scatter(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if get_string(&draft.node, "reduction")?.is_some_and(|reduction| reduction != "none") {
        return impossible("Scatter has no reduction");
    }
    if draft.known_ints(1, "indices")?.iter().any(|index| *index < 0) {
        return impossible("Scatter-9 does not support negative indices");
    }
    draft.node.op_type = Some("Scatter".to_owned());
    draft.edit("ScatterElements is replaced by Scatter");
    Ok(())
}
