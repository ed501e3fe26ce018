//! Comparison of both models as a whole, and the nodes that it keeps in float.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_check::convert::half::{HalfModel, HalfNode};
use onnx_conformance_check::infer::{BodyId, NodeId};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{ModelProto, Text};
use onnx_conformance_reference::value::Value;

use super::alone::{Alone, fraction, main_node, overflow};
use super::difference::Difference;
use crate::models::proof::Proof;
use crate::models::single_node::names_read;

/// Error of a value in half precision.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeError {
    /// The node that computes it.
    pub node: String,
    /// Its name in the original model.
    pub value: String,
    /// Largest error of an element, as a fraction of the largest element.
    pub error: f64,
    /// Number of finite elements that became infinite or NaN.
    pub overflows: usize,
    /// Number of nonzero elements that became zero.
    pub underflows: usize,
}

/// Values of subgraphs by name, one for each time that they are computed.
pub(super) type InnerValues = BTreeMap<String, Vec<Value>>;

/// Node that computes in half precision.
struct ComputedNode<'a> {
    id: NodeId,
    place: &'a str,
    /// Its outputs in the original model.
    outputs: &'a [Text],
}

/// Returns the nodes that compute in half precision, those of the main graph first.
fn computed<'a>(half: &'a HalfModel, model: &'a ModelProto) -> Vec<ComputedNode<'a>> {
    let main = half.nodes.iter().map(|node| ComputedNode {
        id: NodeId { body: BodyId::MAIN, index: node.index },
        place: &node.place,
        outputs: main_node(model, node.index).map_or(&[][..], |node| &node.output),
    });
    let inner = half.inner_nodes.iter();
    main.chain(inner.map(|node| ComputedNode { id: node.id, place: &node.place, outputs: &node.outputs })).collect()
}

/// Comparison of both models.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Number of inputs.
    runs: usize,
    /// Differences of values by original name and new type.
    values: BTreeMap<(String, ElementType), Difference>,
    outputs: Difference,
    /// Number of outputs that have no floats and differ, in all runs.
    changed: usize,
    /// True if the values of subgraphs took too much memory.
    is_inner_unknown: bool,
}

/// Values that a model in half precision is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HalfReference {
    /// Values of the original model in double.
    Double,
    /// Values of the original model in float, and the reason why it does not run in double.
    Float(String),
}

impl Compared {
    /// Starts a comparison on this number of inputs.
    pub(super) fn new(runs: usize) -> Compared {
        Compared { runs, ..Compared::default() }
    }

    /// Adds the difference of a value on one input, by its original name and its type.
    pub(super) fn add_value(&mut self, original: &str, element: ElementType, difference: Option<Difference>) {
        let Some(difference) = difference else { return };
        let worst = self.values.entry((original.to_owned(), element)).or_default();
        *worst = worst.max(difference);
    }

    /// Compares the values of subgraphs, run by run.
    pub(super) fn add_inner(&mut self, half: &HalfModel, before: Option<&InnerValues>, after: Option<&InnerValues>) {
        let Some((before, after)) = before.zip(after) else {
            self.is_inner_unknown = true;
            return;
        };
        for (new, (original, element)) in &half.inner_values {
            let lists = before.get(original).zip(after.get(new)).filter(|_| *element != ElementType::Float);
            for (before, after) in lists.into_iter().flat_map(|(before, after)| before.iter().zip(after)) {
                self.add_value(original, *element, Difference::new(before, after));
            }
        }
    }

    /// Compares an output. Fails if its shape differs, or its type other than in precision.
    pub(super) fn add_output(&mut self, before: &Value, after: &Value) -> Result<(), String> {
        if let Some(difference) = Difference::of_contents(before, after) {
            self.outputs = self.outputs.max(difference);
            return Ok(());
        }
        let shape = |value: &Value| value.as_tensor().map(|tensor| tensor.shape().to_vec());
        if shape(before) != shape(after) {
            return Err(format!(
                "has shape {:?}, not {:?}",
                shape(after).unwrap_or_default(),
                shape(before).unwrap_or_default()
            ));
        }
        self.changed += usize::from(before != after);
        Ok(())
    }

    /// Returns the nodes whose values exceed the range in the converted model.
    pub(super) fn overflowing(
        &self,
        half: &HalfModel,
        model: &ModelProto,
        element: ElementType,
    ) -> BTreeMap<NodeId, String> {
        let over = |outputs: &[Text]| {
            outputs.iter().find_map(|name| {
                let difference = self.values.get(&(name.to_string(), element))?;
                (difference.overflows > 0).then(|| overflow(name, difference.overflows, element))
            })
        };
        let nodes = computed(half, model).into_iter();
        nodes.filter_map(|node| Some((node.id, over(node.outputs)?))).collect()
    }

    /// Returns the nodes in half precision before the nodes that stay in float because of their inputs, if the error of
    /// the outputs of the latter is still too large. For a difference of close values, all nodes that compute these
    /// must stay in float.
    pub(super) fn before_sensitive(
        &self,
        half: &HalfModel,
        model: &ModelProto,
        alone: &BTreeMap<usize, Alone>,
        producers: &BTreeMap<&str, usize>,
    ) -> BTreeMap<usize, String> {
        let halves: BTreeMap<usize, &HalfNode> = half.nodes.iter().map(|node| (node.index, node)).collect();
        let mut kept = BTreeMap::new();
        for found in alone.values().filter(|found| found.is_by_inputs) {
            let of_value = self.values.iter().filter(|((name, _), _)| *name == found.value);
            let error = of_value.map(|(_, difference)| difference.error).fold(0.0, f64::max);
            let Some(index) = producers.get(found.value.as_str()).filter(|_| error > found.bound) else { continue };
            let (mut open, mut seen) = (vec![*index], BTreeSet::new());
            while let Some(index) = open.pop() {
                if halves.contains_key(&index) {
                    kept.entry(index).or_insert_with(|| format!("'{}' depends on it and needs float", found.value));
                } else if seen.insert(index) {
                    let names = main_node(model, index).map(names_read).unwrap_or_default();
                    open.extend(names.iter().filter_map(|name| producers.get(name.as_str())));
                }
            }
        }
        kept
    }

    /// Returns the errors of the values that nodes compute in half precision, the largest first.
    pub(super) fn nodes(&self, half: &HalfModel, model: &ModelProto) -> Vec<NodeError> {
        let mut seen = BTreeSet::new();
        let mut errors = Vec::new();
        for node in computed(half, model) {
            for value in node.outputs.iter().filter(|name| seen.insert((*name).clone())) {
                let found = self
                    .values
                    .iter()
                    .find(|((name, element), _)| *name == value.as_str() && *element != ElementType::Float);
                errors.extend(found.map(|(_, difference)| NodeError {
                    node: node.place.to_owned(),
                    value: value.to_string(),
                    error: difference.error,
                    overflows: difference.overflows,
                    underflows: difference.underflows,
                }));
            }
        }
        errors.sort_by(|one, other| other.error.total_cmp(&one.error));
        errors
    }

    /// Returns the result for the outputs.
    pub(super) fn proof(&self, reference: &HalfReference, count: usize) -> Proof {
        if self.outputs.overflows > 0 {
            let text = match self.outputs.overflows {
                1 => "1 element of an output was finite, and is infinite or NaN".to_owned(),
                count => format!("{count} elements of an output were finite, and are infinite or NaN"),
            };
            return Proof::Differs(text);
        }
        let [none, some] = match reference {
            HalfReference::Double => ["are those in double", "differ from those in double"],
            HalfReference::Float(_) => ["do not change", "change"],
        };
        let change = match self.outputs.error {
            0.0 => format!("outputs {none}"),
            error => format!("outputs {some} by at most {} of their largest element", fraction(error)),
        };
        let changed = match self.changed {
            0 => String::new(),
            1 => "; an output without floats differs".to_owned(),
            count => format!("; outputs without floats differ {count} times"),
        };
        let unknown =
            if self.is_inner_unknown { "; values of subgraphs take too much memory to be compared" } else { "" };
        Proof::Same(format!("verified: {change} on {} of {count} inputs{changed}{unknown}", self.runs))
    }
}
