//! The ONNX messages, and their conversion to and from values.

mod attribute;
pub mod decode;
pub mod encode;
mod external;
mod fields;
pub mod measure;
pub mod node;
#[expect(missing_docs, clippy::pedantic, reason = "generated from proto/onnx.proto; ONNX documents the messages")]
pub mod onnx;

pub use node::{NodeProto, Text, Texts, texts};
pub use onnx::{
    AttributeProto, FunctionProto, GraphProto, MapProto, ModelProto, OperatorSetIdProto, OptionalProto, SequenceProto,
    SparseTensorProto, TensorProto, TypeProto, ValueInfoProto,
};
pub use prost::Message;
