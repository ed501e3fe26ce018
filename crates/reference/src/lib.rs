//! The semantics of ONNX: element types, values, messages, models, the specs of every operator version, and an
//! executor.
//!
//! The crate knows no case, tolerance or expectation. It opens no files and never panics on its input.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use onnx_conformance_reference::model::text::parse_model;
//! use onnx_conformance_reference::proto::Message as _;
//! use onnx_conformance_reference::{
//!     ElementType, ExecutionLimits, LoadLimits, NoExternalData, Specs, Tensor, read_model, run,
//! };
//!
//! let text = r#"<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#;
//! let bytes = parse_model(text)?.encode_to_vec();
//! let model = read_model(bytes.into(), &NoExternalData, &LoadLimits::default())?;
//! let x = Tensor::from_vec(vec![2], vec![1_f32, -2.0])?;
//! let outputs = run(&model, BTreeMap::from([("x".to_owned(), x.into())]), ExecutionLimits::default())?;
//! let y = outputs[0].as_tensor().unwrap();
//! assert_eq!((y.element_type(), y.floats()), (ElementType::Float, vec![-1.0, 2.0]));
//!
//! let neg = Specs::embedded().find("ai.onnx", "Neg", 18)?;
//! assert_eq!(neg.version.to_string(), "Neg-13");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a user needs
//! Values: [`Tensor`] of an [`ElementType`], [`Value`], [`ValueType`]. Models: [`read_model`] within [`LoadLimits`] gives a [`Model`],
//! which [`run`] executes within [`ExecutionLimits`] until its [`Deadline`]; files beside a model come through [`ExternalData`].
//! Operators: [`Specs`] finds the [`OpSpec`] of an [`OperatorVersion`] by domain, name and opset. The modules hold the rest, for the other
//! crates of the project.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod deadline;
pub mod dtype;
pub mod executor;
pub mod infer;
pub mod kernels;
pub mod model;
#[doc(hidden)]
pub mod parallel;
pub mod proto;
pub mod spec;
pub mod tensor;
#[cfg(test)]
mod testing;
pub mod types;
pub mod value;

pub use deadline::Deadline;
pub use dtype::ElementType;
pub use executor::{RunError, run};
pub use kernels::framework::budget::ExecutionLimits;
pub use model::{LoadLimits, Model, ModelError, read_model};
pub use proto::decode::{ExternalData, NoExternalData};
pub use spec::{OpSpec, OperatorVersion, Specs};
pub use tensor::{Tensor, TensorError};
pub use types::ValueType;
pub use value::Value;
