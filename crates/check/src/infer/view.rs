//! Node with the known facts about its inputs, used by the rules for types, shapes and constants.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::{NodeProto, TensorProto};
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::facts::ValueFact;
use crate::finding::Described;
use crate::infer::attributes::Attributes;

/// Maximum number of elements of a constant to keep.
pub(super) const MAX_CONSTANT: usize = 1024;

/// Node with its operator version, attributes, and known facts about its inputs.
pub(super) struct NodeView<'a, 'm> {
    pub(super) node: &'m NodeProto,
    pub(super) spec: &'static OpSpec,
    pub(super) opset: i64,
    pub(super) attributes: Attributes<'a, 'm>,
    /// The inputs by position; `None` for an omitted one.
    pub(super) inputs: Vec<Option<&'a ValueFact>>,
}

impl NodeView<'_, '_> {
    /// The shape of an input, if known.
    pub(super) fn shape(&self, position: usize) -> Option<Vec<Dim>> {
        self.inputs.get(position).copied().flatten()?.shape.clone()
    }

    /// True if an input is present.
    pub(super) fn is_given(&self, position: usize) -> bool {
        self.inputs.get(position).is_some_and(Option::is_some)
    }

    /// The type of an input, if known.
    pub(super) fn value_type(&self, position: usize) -> Option<&ValueType> {
        self.inputs.get(position).copied().flatten()?.value_type.as_ref()
    }

    /// Describes the inputs for display.
    pub(super) fn describe(&self) -> Vec<Described> {
        self.node.input.iter().zip(&self.inputs).map(|(name, fact)| Described::new(name, *fact)).collect()
    }
}

/// The facts about a tensor in the model; the value itself if it is small.
pub(super) fn tensor_fact(tensor: &TensorProto) -> ValueFact {
    let element = ElementType::from_code(tensor.data_type());
    let shape: Option<Vec<usize>> = tensor.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let count = shape.as_ref().and_then(|shape| shape.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim)));
    let is_small = count.is_some_and(|count| count <= MAX_CONSTANT) && tensor.segment.is_none();
    if is_small && let Ok(tensor) = decode::tensor(tensor, &NoExternalData) {
        return ValueFact::from_value(Value::Tensor(tensor));
    }
    ValueFact {
        value_type: element.map(ValueType::Tensor),
        shape: shape.map(|shape| shape.into_iter().map(Dim::Size).collect()),
        constant: None,
    }
}

/// Normalizes an axis, counted from the front.
pub(super) fn axis_of(axis: i64, rank: Option<usize>) -> Option<usize> {
    let rank = i64::try_from(rank?).ok()?;
    let axis = if axis < 0 { axis + rank } else { axis };
    usize::try_from(axis).ok().filter(|_| axis < rank)
}
