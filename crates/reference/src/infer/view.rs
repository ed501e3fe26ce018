//! Node with the known facts about its inputs, as the rules for shapes and types see it.

use crate::infer::attributes::Attributes;
use crate::infer::fact::ValueFact;
use crate::infer::size::Size;
use crate::model::graph::Dim;
use crate::proto::NodeProto;
use crate::spec::{DefaultValue, OpSpec};
use crate::types::ValueType;

/// Dimensions of a tensor of known rank.
pub type Shape = Vec<Dim>;

/// Node with its operator version, attributes, and known facts about its inputs.
#[derive(Debug)]
pub struct NodeView<'a, 'm> {
    /// The node.
    pub node: &'m NodeProto,
    /// Its operator version.
    pub spec: &'static OpSpec,
    /// The opset of its domain.
    pub opset: i64,
    /// Its attributes.
    pub attributes: Attributes<'a, 'm>,
    /// The inputs by position; `None` for an omitted one.
    pub inputs: Vec<Option<&'a ValueFact>>,
}

/// Optional list of integers of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum List {
    /// Its values are unknown, because it is an input or a reference to a caller's attribute.
    Unknown,
    /// The node omits it.
    Absent,
    /// Its values.
    Given(Vec<i64>),
}

impl NodeView<'_, '_> {
    /// The fact about an input; `None` if the node omits it.
    pub fn input(&self, position: usize) -> Option<&ValueFact> {
        self.inputs.get(position).copied().flatten()
    }

    /// The shape of an input, if its rank is known.
    pub fn shape(&self, position: usize) -> Option<Shape> {
        self.input(position)?.shape.clone()
    }

    /// The rank of an input, if known.
    pub fn rank(&self, position: usize) -> Option<usize> {
        self.input(position)?.rank()
    }

    /// A dimension of an input; unknown if the rank is. `None` if the input has no such axis.
    pub fn dim(&self, position: usize, axis: usize) -> Option<Dim> {
        match self.input(position).map(|fact| fact.shape.as_ref()) {
            Some(Some(shape)) => shape.get(axis).cloned(),
            _ => Some(Dim::Unknown),
        }
    }

    /// True if an input is present.
    pub fn is_given(&self, position: usize) -> bool {
        self.inputs.get(position).is_some_and(Option::is_some)
    }

    /// The number of outputs, with omitted ones before the last.
    pub fn output_count(&self) -> usize {
        self.node.output.len()
    }

    /// The first opset of the operator version.
    pub fn since(&self) -> u32 {
        self.spec.version.since
    }

    /// The type of an input, if known.
    pub fn value_type(&self, position: usize) -> Option<&ValueType> {
        self.input(position)?.value_type.as_ref()
    }

    /// The default of an attribute by the operator version.
    fn default(&self, name: &str) -> Option<&'static DefaultValue> {
        self.spec.attributes.get(name)?.default.as_ref()
    }

    /// An integer attribute or its default; `None` if it is unknown, or absent without a default.
    pub fn int(&self, name: &str) -> Option<i64> {
        if self.attributes.is_open(name) {
            return None;
        }
        match (self.attributes.int(name), self.default(name)) {
            (Some(value), _) => Some(value),
            (None, Some(DefaultValue::Int(value))) => Some(*value),
            _ => None,
        }
    }

    /// An integer attribute as a flag.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.int(name).map(|value| value != 0)
    }

    /// A string attribute or its default; `None` if it is unknown, or absent without a default.
    pub fn text(&self, name: &str) -> Option<&str> {
        if self.attributes.is_open(name) {
            return None;
        }
        match (self.attributes.text(name), self.default(name)) {
            (Some(value), _) => Some(value),
            (None, Some(DefaultValue::String(value))) => Some(value),
            _ => None,
        }
    }

    /// A list attribute or its default.
    pub fn ints(&self, name: &str) -> List {
        if self.attributes.is_open(name) {
            return List::Unknown;
        }
        match (self.attributes.ints(name), self.default(name)) {
            (Some(values), _) => List::Given(values.to_vec()),
            (None, Some(DefaultValue::Ints(values))) => List::Given(values.clone()),
            _ => List::Absent,
        }
    }

    /// Reads integers from an attribute in old versions, and from an input in new ones.
    pub fn list(&self, name: &str, position: usize) -> List {
        match self.ints(name) {
            List::Absent => match self.input(position) {
                Some(fact) => fact.integers().map_or(List::Unknown, List::Given),
                None => List::Absent,
            },
            found => found,
        }
    }

    /// The elements of an integer input, as far as they are known; `None` if their number is unknown.
    pub fn elements(&self, position: usize) -> Option<Vec<Option<Size>>> {
        self.input(position)?.symbolic_elements()
    }

    /// The only element of an integer input, if it is a number.
    pub fn scalar(&self, position: usize) -> Option<i64> {
        match self.input(position)?.integers()?.as_slice() {
            [value] => Some(*value),
            _ => None,
        }
    }

    /// The shape given by the elements of an input; an unknown dimension for an unknown or negative element.
    pub fn shape_from_elements(&self, position: usize) -> Option<Shape> {
        let dim = |element: Option<Size>| element.map_or(Dim::Unknown, Size::dim);
        Some(self.elements(position)?.into_iter().map(dim).collect())
    }

    /// An axis attribute or its default, counted from the front.
    pub fn axis(&self, name: &str, rank: usize) -> Option<usize> {
        axis_of(self.int(name)?, Some(rank))
    }
}

/// Normalizes an axis, counted from the front.
pub fn axis_of(axis: i64, rank: Option<usize>) -> Option<usize> {
    let rank = i64::try_from(rank?).ok()?;
    let axis = if axis < 0 { axis.checked_add(rank)? } else { axis };
    usize::try_from(axis).ok().filter(|_| axis < rank)
}
