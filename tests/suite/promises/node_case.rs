//! Single-node cases with their filled values.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::Case;
use onnx_conformance_cases::generate::{AccuracyFile, OperatorFile, ResolvedAccuracy};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto};
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::tensor::shape::normalize_axis;

/// A case and its node.
pub(crate) struct NodeCase<'a> {
    pub(crate) operator: &'a str,
    pub(crate) since: u32,
    pub(crate) case: &'a Case,
    /// Names of the node's inputs.
    pub(crate) names: Vec<String>,
    /// Names of the node's outputs.
    pub(crate) outputs: Vec<String>,
    /// Names of the filled inputs.
    pub(crate) filled: BTreeSet<String>,
    attributes: Vec<AttributeProto>,
    accuracy: &'a AccuracyFile,
    sizes: BTreeMap<String, i64>,
}

impl NodeCase<'_> {
    pub(crate) fn tensor(&self, position: usize) -> Option<&Tensor> {
        let name = self.names.get(position)?;
        self.case.data[0].inputs.iter().find(|input| input.name == *name)?.value.as_tensor()
    }

    /// Returns an input if it is filled.
    pub(crate) fn fill(&self, position: usize) -> Option<&Tensor> {
        let name = self.names.get(position)?;
        self.filled.contains(name).then(|| self.tensor(position))?
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.attributes.iter().find(|attribute| attribute.name() == name)
    }

    pub(crate) fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, AttributeProto::i)
    }

    /// Returns the axis of the operator for a tensor of this rank.
    pub(crate) fn axis(&self, default: i64, rank: usize) -> usize {
        normalize_axis(self.int("axis", default), rank).unwrap_or(0)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.attribute(name).map_or_else(String::new, |attribute| String::from_utf8_lossy(attribute.s()).into_owned())
    }

    /// Returns the accuracy of op.yaml for outputs of an element type.
    pub(crate) fn accuracy(&self, element: ElementType) -> ResolvedAccuracy {
        self.accuracy.resolve(element, &self.sizes).unwrap_or_else(|error| panic!("{}: {error}", self.case.id))
    }
}

/// Violations of a rule: the operand, the position in it, and the problem.
pub(crate) type Found = Vec<(String, usize, String)>;

/// Returns the node of a case; `None` if there are several.
pub(crate) fn node_case<'a>(spec: &'a OpSpec, file: &'a OperatorFile, case: &'a Case) -> Option<NodeCase<'a>> {
    let rest = case.id.strip_prefix(&format!("{}/", spec.version.qualified()))?;
    let rest = rest.strip_prefix("large/").unwrap_or(rest);
    let is_named = |name: &str| {
        rest.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with('@'))
    };
    let own = file.cases.iter().filter(|own| is_named(&own.name)).max_by_key(|own| own.name.len());
    let own = own.unwrap_or_else(|| panic!("{}: op.yaml has no such case", case.id));
    if own.nodes.is_some() {
        return None;
    }
    let mut filled = BTreeSet::new();
    for (name, input) in &own.inputs.0 {
        let older = file.rename.get(name).into_iter().flatten();
        let mut spellings = std::iter::once(name).chain(older);
        let formal = spellings.find_map(|name| spec.inputs.iter().find(|formal| formal.name == *name))?;
        for (at, _) in input.values().0.iter().enumerate().filter(|(_, value)| value.is_filled()) {
            filled.insert(if formal.is_variadic() { format!("{}_{at}", formal.name) } else { formal.name.clone() });
        }
    }
    let mut sizes = BTreeMap::new();
    for (name, size) in &own.names.0 {
        let value = size.value(&sizes).unwrap_or_else(|error| panic!("{}: {error}", case.id));
        sizes.insert(name.clone(), value);
    }
    let graph = decode::model(case.model.clone()).ok()?.graph?;
    let NodeProto { input, output, attribute, .. } = graph.node.into_iter().next()?;
    Some(NodeCase {
        operator: &spec.version.name,
        since: spec.version.since,
        case,
        names: input.iter().map(ToString::to_string).collect(),
        outputs: output.iter().map(ToString::to_string).collect(),
        filled,
        attributes: attribute,
        accuracy: own.accuracy.as_ref().unwrap_or(&file.accuracy),
        sizes,
    })
}

/// Returns the elements of an operand that satisfy a predicate.
pub(crate) fn places(
    operand: &str,
    values: impl IntoIterator<Item = f64>,
    is_wrong: impl Fn(f64) -> bool,
    what: &str,
) -> Found {
    let values = values.into_iter().enumerate().filter(|(_, value)| is_wrong(*value));
    values.map(|(at, value)| (operand.to_owned(), at, format!("{value} {what}"))).collect()
}

/// Sets of elements that are compared with each other.
pub(crate) enum Lanes {
    /// Elements along an axis.
    Along(usize),
    /// Elements of all axes from this one on.
    From(usize),
}

impl Lanes {
    pub(crate) fn of(&self, shape: &[usize]) -> Vec<Vec<usize>> {
        let count: usize = shape.iter().product();
        let (size, inner) = match *self {
            Lanes::Along(axis) => (shape.get(axis).copied().unwrap_or(1), shape.iter().skip(axis + 1).product()),
            Lanes::From(axis) => (shape.iter().skip(axis).product::<usize>(), 1),
        };
        let (size, inner): (usize, usize) = (size.max(1), inner);
        let starts = (0..count).filter(|at| at / inner.max(1) % size == 0);
        starts.map(|start| (0..size).map(|along| start + along * inner).collect()).collect()
    }
}
