//! Weights of a model: initializers and Constant nodes, rounded to half precision.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::onnx::tensor_proto::DataLocation;
use onnx_conformance_reference::proto::{NodeProto, TensorProto, decode, encode, texts};
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder};

use crate::convert::attributes;

/// Tensor rounded to half precision.
#[derive(Clone, Debug)]
pub(super) struct Rounded {
    /// The rounded tensor.
    pub(super) tensor: Tensor,
    /// Number of finite elements that became infinite.
    pub(super) overflows: usize,
    /// Number of nonzero elements that became zero.
    pub(super) underflows: usize,
}

impl Rounded {
    /// Rounds a float tensor to the nearest values, ties to even.
    pub(super) fn new(tensor: &Tensor, half: ElementType) -> Option<Rounded> {
        let builder = TensorBuilder::unlimited(half, tensor.shape().to_vec()).ok()?;
        let rounded = builder.floats(tensor.stream(Tensor::floats)).ok()?;
        let (mut overflows, mut underflows) = (0, 0);
        for (before, after) in tensor.stream(Tensor::floats).zip(rounded.stream(Tensor::floats)) {
            overflows += usize::from(before.is_finite() && !after.is_finite());
            underflows += usize::from(before != 0.0 && after == 0.0);
        }
        Some(Rounded { tensor: rounded, overflows, underflows })
    }
}

/// Weight of a model.
#[derive(Clone, Copy, Debug)]
pub(super) enum Weight<'m> {
    /// An initializer.
    Initializer(&'m TensorProto),
    /// A Constant node.
    Constant(&'m NodeProto),
}

impl<'m> Weight<'m> {
    /// True if the data is in the model.
    pub(super) fn is_readable(self) -> bool {
        let is_elided = |tensor: &TensorProto| tensor.segment.is_some();
        let is_elsewhere = |tensor: &TensorProto| tensor.data_location() == DataLocation::External || is_elided(tensor);
        !self.proto().is_some_and(is_elsewhere)
    }

    fn proto(self) -> Option<&'m TensorProto> {
        match self {
            Weight::Initializer(tensor) => Some(tensor),
            Weight::Constant(node) => node.attribute.iter().find_map(|attribute| attribute.t.as_deref()),
        }
    }

    /// Returns the tensor; `None` if its data is elsewhere or broken.
    pub(super) fn tensor(self) -> Option<Tensor> {
        if let Some(proto) = self.proto() {
            return decode::tensor(proto, &NoExternalData).ok();
        }
        let Weight::Constant(node) = self else { return None };
        let [attribute] = node.attribute.as_slice() else { return None };
        match attribute.name() {
            "value_float" => Tensor::of_floats(ElementType::Float, &[], &[f64::from(attribute.f())]).ok(),
            "value_floats" => {
                let values: Vec<f64> = attribute.floats.iter().copied().map(f64::from).collect();
                Tensor::of_floats(ElementType::Float, &[values.len()], &values).ok()
            }
            _ => None,
        }
    }
}

/// Returns a copy of a Constant node with another value and output.
pub(super) fn constant(node: &NodeProto, tensor: &Tensor, output: &str) -> NodeProto {
    let value = attributes::tensor("value", encode::tensor(tensor, ""));
    NodeProto { attribute: vec![value], output: texts([output]), ..node.clone() }
}
