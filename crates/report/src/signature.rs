//! Signature of an operator version as text, and diffs of signatures by line and word.

use onnx_conformance_reference::spec::{FormalParameter, OpSpec, Presence};
use serde::Serialize;
use similar::{ChangeTag, DiffOp, TextDiff, capture_diff_slices};

/// A row of a side-by-side diff. Lines are given by position; marks are character ranges of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Row {
    /// Number of equal lines from these positions on.
    Same {
        /// The first line in the old text, the first in the new one, and how many follow.
        same: (usize, usize, usize),
    },
    /// Corresponding lines of either side, with the marked differences in each.
    Other {
        /// The old line and its marks.
        #[serde(skip_serializing_if = "Option::is_none")]
        old: Option<(usize, Vec<(usize, usize)>)>,
        /// The new line and its marks.
        #[serde(skip_serializing_if = "Option::is_none")]
        new: Option<(usize, Vec<(usize, usize)>)>,
    },
}

/// Formats the signature in one line: `Y = Conv <auto_pad, group> (X, W, B?)`.
pub fn line(spec: &OpSpec) -> String {
    let names = |formals: &[FormalParameter]| {
        let name = |formal: &FormalParameter| match formal.presence {
            Presence::Single => formal.name.clone(),
            Presence::Optional => format!("{}?", formal.name),
            Presence::Variadic { .. } => format!("{}...", formal.name),
        };
        formals.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let attributes = spec.attributes.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let attributes = if attributes.is_empty() { String::new() } else { format!(" <{attributes}>") };
    format!("{} = {}{attributes} ({})", names(&spec.outputs), spec.version.name, names(&spec.inputs))
}

/// Formats the signature in several lines, without the version number.
pub fn lines(spec: &OpSpec) -> Vec<String> {
    let mut lines = Vec::new();
    let mut section = |title: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            lines.push(title.to_owned());
            lines.extend(entries.into_iter().map(|entry| format!("  {entry}")));
        }
    };
    let attribute = |(name, attribute): (&String, &onnx_conformance_reference::spec::AttributeSpec)| {
        let rest = match (&attribute.default, attribute.required) {
            (Some(default), _) => format!(" = {default}"),
            (None, true) => ", required".to_owned(),
            (None, false) => String::new(),
        };
        format!("{name}: {}{rest}", attribute.kind)
    };
    let formal = |formal: &FormalParameter| match formal.presence {
        Presence::Single => format!("{}: {}", formal.name, formal.kind),
        other => format!("{}: {}, {other}", formal.name, formal.kind),
    };
    section("attributes", spec.attributes.iter().map(attribute).collect());
    section("inputs", spec.inputs.iter().map(formal).collect());
    section("outputs", spec.outputs.iter().map(formal).collect());
    for (parameter, types) in &spec.types {
        section(&format!("types of {parameter}"), types.iter().map(ToString::to_string).collect());
    }
    let mut properties = Vec::new();
    properties.push(format!("shape inference: {}", if spec.shape_inference { "yes" } else { "no" }));
    properties.extend(spec.function.map(|kind| format!("function: {kind}")));
    properties.extend(spec.deprecated.then(|| "deprecated".to_owned()));
    properties.extend(spec.experimental.then(|| "experimental".to_owned()));
    section("properties", properties);
    lines
}

/// Compares two signatures.
pub fn compare(old: &[String], new: &[String]) -> Vec<Row> {
    let mut rows = Vec::new();
    for op in capture_diff_slices(similar::Algorithm::Myers, old, new) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            rows.push(Row::Same { same: (old_index, new_index, len) });
            continue;
        }
        let (before, after) = (op.old_range(), op.new_range());
        let count = before.len().max(after.len());
        for (left, right) in padded(before, count).zip(padded(after, count)) {
            let text =
                |lines: &[String], at: Option<usize>| at.and_then(|at| lines.get(at)).cloned().unwrap_or_default();
            let is_pair = left.is_some() && right.is_some();
            let (marks_left, marks_right) =
                if is_pair { marks(&text(old, left), &text(new, right)) } else { Default::default() };
            rows.push(Row::Other { old: left.map(|at| (at, marks_left)), new: right.map(|at| (at, marks_right)) });
        }
    }
    rows
}

/// Returns the positions, padded with gaps to `count`.
fn padded(range: std::ops::Range<usize>, count: usize) -> impl Iterator<Item = Option<usize>> {
    range.map(Some).chain(std::iter::repeat(None)).take(count)
}

type Marks = Vec<(usize, usize)>;

/// Returns the differing words, as character ranges of either line.
fn marks(old: &str, new: &str) -> (Marks, Marks) {
    let diff = TextDiff::from_words(old, new);
    let (mut left, mut right) = ((0, Marks::new()), (0, Marks::new()));
    for change in diff.iter_all_changes() {
        let length = change.value().chars().count();
        let step = |side: &mut (usize, Marks), is_marked: bool| {
            if is_marked {
                side.1.push((side.0, side.0 + length));
            }
            side.0 += length;
        };
        match change.tag() {
            ChangeTag::Equal => {
                step(&mut left, false);
                step(&mut right, false);
            }
            ChangeTag::Delete => step(&mut left, true),
            ChangeTag::Insert => step(&mut right, true),
        }
    }
    (left.1, right.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::spec::Specs;

    fn spec(name: &str, opset: u32) -> &'static OpSpec {
        Specs::embedded().find("", name, opset).unwrap()
    }

    #[test]
    fn a_signature_fits_a_line() {
        assert_eq!(
            line(spec("Conv", 22)),
            "Y = Conv <auto_pad, dilations, group, kernel_shape, pads, strides> (X, W, B?)"
        );
        assert_eq!(line(spec("Sum", 13)), "sum = Sum (data_0...)");
    }

    #[test]
    fn signatures_are_compared_by_line_and_word() {
        let (old, new) = (lines(spec("Cast", 6)), lines(spec("Cast", 9)));
        let rows = compare(&old, &new);
        let added = |row: &&Row| matches!(row, Row::Other { old: None, new: Some(_) });
        assert_eq!(rows.iter().filter(added).count(), 2, "tensor(string) in T1 and in T2: {rows:?}");
        let row = compare(&["a: int = 0".to_owned()], &["a: int = 1".to_owned()]);
        assert_eq!(row, [Row::Other { old: Some((0, vec![(9, 10)])), new: Some((0, vec![(9, 10)])) }]);
        assert!(compare(&old, &old).iter().all(|row| matches!(row, Row::Same { .. })));
    }

    #[test]
    fn the_number_of_a_version_is_no_difference() {
        for (name, from, to) in [("Sum", 8, 13), ("Abs", 6, 13), ("Size", 19, 21)] {
            assert!(!lines(spec(name, from)).iter().chain(&lines(spec(name, to))).any(|line| line.contains("since")));
        }
    }
}
