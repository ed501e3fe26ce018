//! Values of an attribute, whether it has one or a list.

use crate::proto::onnx::{AttributeProto, GraphProto, SparseTensorProto, TensorProto, TypeProto};

impl AttributeProto {
    /// The graphs.
    pub fn all_graphs(&self) -> impl Iterator<Item = &GraphProto> {
        self.g.as_deref().into_iter().chain(&self.graphs)
    }

    /// The graphs, for a change.
    pub fn all_graphs_mut(&mut self) -> impl Iterator<Item = &mut GraphProto> {
        self.g.as_deref_mut().into_iter().chain(&mut self.graphs)
    }

    /// The tensors.
    pub fn all_tensors(&self) -> impl Iterator<Item = &TensorProto> + Clone {
        self.t.as_deref().into_iter().chain(&self.tensors)
    }

    /// The tensors, for a change.
    pub fn all_tensors_mut(&mut self) -> impl Iterator<Item = &mut TensorProto> {
        self.t.as_deref_mut().into_iter().chain(&mut self.tensors)
    }

    /// The sparse tensors.
    pub fn all_sparse_tensors(&self) -> impl Iterator<Item = &SparseTensorProto> + Clone {
        self.sparse_tensor.as_deref().into_iter().chain(&self.sparse_tensors)
    }

    /// The types.
    pub fn all_types(&self) -> impl Iterator<Item = &TypeProto> {
        self.tp.as_deref().into_iter().chain(&self.type_protos)
    }
}
