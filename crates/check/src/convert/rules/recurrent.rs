//! RNN, GRU and LSTM: the outputs for the sequence, and the layout of the batch.

use onnx_conformance_reference::spec::OpSpec;

use super::rule::Rule;
use crate::convert::answer::Step;
use crate::convert::attributes::{self, get_int, get_string};
use crate::convert::draft::{Draft, NewNode};

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["GRU"], versions: (1, 3), up: forward, down: forward },
    Rule { operators: &["GRU"], versions: (3, 7), up: without_sequence, down: with_sequence },
    Rule { operators: &["LSTM", "RNN"], versions: (1, 7), up: without_sequence, down: with_sequence },
    Rule { operators: &["GRU", "LSTM", "RNN"], versions: (7, 14), up: super::rule::unchanged, down: time_first },
];

/// Corrects direction, whose default is misspelled in version 1 of GRU.
fn forward(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    draft.same_default("direction");
    if get_string(&draft.node, "direction")?.as_deref() == Some("foward") {
        attributes::set(&mut draft.node, attributes::string("direction", "forward"));
        draft.edit("the misspelled direction 'foward' is corrected to 'forward'");
    }
    Ok(())
}

fn without_sequence(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    draft.same_default("output_sequence");
    if attributes::remove(&mut draft.node, "output_sequence") {
        draft.edit(format!("attribute output_sequence, which {} does not have, is removed", to.version));
    }
    Ok(())
}

fn with_sequence(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.has_output(0) {
        attributes::set(&mut draft.node, attributes::int("output_sequence", 1));
        draft.edit(format!("attribute output_sequence=1 is set, so that {} returns output 0", to.version));
    }
    Ok(())
}

/// Converts batch-first layout to time-first with Transpose nodes around the node.
fn time_first(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if get_int(&draft.node, "layout")?.unwrap_or(0) == 0 {
        return Ok(());
    }
    attributes::remove(&mut draft.node, "layout");
    let (swapped, sequence) = ([1, 0, 2], [2, 0, 1, 3]);
    for position in [0, 5, 6] {
        if draft.has_input(position) {
            let (input, element) = (draft.input(position), draft.element(position).ok());
            let moved = draft.before(NewNode {
                op: "Transpose",
                inputs: &[&input],
                attributes: vec![attributes::ints("perm", &swapped)],
                element,
            })?;
            let mut fact = draft.fact(position);
            (fact.constant, fact.shape) = (None, None);
            draft.set_input(position, moved, Some(fact));
        }
    }
    for position in 0..draft.node.output.len() {
        if draft.has_output(position) {
            let element = draft.element(0).ok();
            let (inner, output) = draft.redirect_output(position)?;
            let perm =
                if position == 0 { attributes::ints("perm", &sequence) } else { attributes::ints("perm", &swapped) };
            draft.after(&output, NewNode { op: "Transpose", inputs: &[&inner], attributes: vec![perm], element })?;
        }
    }
    draft.edit(format!(
        "the batch axis is moved after the time axis, as {} requires: Transpose before and after",
        to.version
    ));
    Ok(())
}
