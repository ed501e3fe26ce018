//! Errors of single nodes, and the nodes that these errors keep in float.

use std::collections::BTreeMap;

use onnx_conformance_check::convert::half::HalfModel;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{ModelProto, NodeProto, Text};

use super::difference::Difference;

/// Maximum error of one node on its own, in unit roundoffs of the largest element of its output. Rounding the operands and the
/// result takes 3 of a product. The roundings of a sum of products have random signs, so they grow with the square root of its
/// length, as the sum itself does.
const NODE_ROUNDOFFS: f64 = 8.0;

/// Returns the node of the main graph at a position.
pub(super) fn main_node(model: &ModelProto, index: usize) -> Option<&NodeProto> {
    model.graph.as_ref()?.node.get(index)
}

/// Returns the node of the main graph that produces each value.
pub(super) fn producers(model: &ModelProto) -> BTreeMap<&str, usize> {
    let nodes = model.graph.iter().flat_map(|graph| &graph.node).enumerate();
    nodes.flat_map(|(index, node)| node.output.iter().map(move |name| (name.as_str(), index))).collect()
}

/// Returns the maximum error of a node on its own.
pub(super) fn bound(element: ElementType) -> f64 {
    element.float_format().map_or(0.0, |format| NODE_ROUNDOFFS * format.unit_roundoff())
}

/// Error of a single node.
#[derive(Clone, Debug)]
pub(super) struct Alone {
    /// The output.
    pub(super) value: String,
    pub(super) difference: Difference,
    /// The largest error that it may have.
    pub(super) bound: f64,
    /// True if rounding its inputs alone is an error beyond the bound.
    pub(super) is_by_inputs: bool,
}

impl Alone {
    pub(super) fn is_worse_than(&self, other: &Alone) -> bool {
        let key = |alone: &Alone| (alone.difference.overflows, alone.difference.error);
        key(self) > key(other)
    }

    pub(super) fn exceeds(&self) -> bool {
        self.difference.overflows > 0 || self.difference.error > self.bound
    }

    /// Describes the error.
    fn reason(&self, element: ElementType) -> String {
        match self.difference.overflows {
            0 => format!(
                "alone it changes '{}' by {} of its largest element, more than {}",
                self.value,
                fraction(self.difference.error),
                fraction(self.bound)
            ),
            count => overflow(&self.value, count, element),
        }
    }
}

/// Describes an overflow.
pub(super) fn overflow(value: &str, count: usize, element: ElementType) -> String {
    match count {
        1 => format!("1 element of '{value}' exceeds the range of {element}"),
        count => format!("{count} elements of '{value}' exceed the range of {element}"),
    }
}

/// Formats a fraction with two digits.
pub(super) fn fraction(value: f64) -> String {
    format!("{value:.1e}")
}

/// Returns the nodes that stay in float because of their own errors, with the reasons. If rounded inputs are the error, the nodes
/// that compute these stay in float, too.
pub(super) fn kept_alone(
    half: &HalfModel,
    model: &ModelProto,
    alone: &BTreeMap<usize, Alone>,
    element: ElementType,
) -> BTreeMap<usize, String> {
    let mut kept = BTreeMap::new();
    for node in &half.nodes {
        let Some(found) = alone.get(&node.index).filter(|found| found.exceeds()) else { continue };
        kept.insert(node.index, found.reason(element));
    }
    for node in &half.nodes {
        let found = alone.get(&node.index).filter(|found| found.exceeds() && found.is_by_inputs);
        for producer in node.producers.iter().filter(|_| found.is_some()) {
            let output = main_node(model, *producer).and_then(|node| node.output.first()).map_or("", Text::as_str);
            kept.entry(*producer).or_insert_with(|| format!("{} needs '{output}' in float", node.place));
        }
    }
    kept
}
