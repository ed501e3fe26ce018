//! A runtime under test: anything that takes a model and inputs, and gives outputs or a reason.
//!
//! A runtime is a [`Runtime`]. [`serve`] makes a program of it that is an adapter, which speaks the protocol on its standard streams; a
//! [`Host`] is what the harness runs cases on: an adapter in processes of its own, a runtime in this process, or the built-in executor.
//!
//! ```no_run
//! use onnx_conformance_subject::{Declaration, Request, Response, Runtime, serve};
//!
//! /// A runtime that has no operator.
//! struct Nothing;
//!
//! impl Runtime for Nothing {
//!     fn declaration(&self) -> Declaration {
//!         Declaration::named("nothing", "0.1.0")
//!     }
//!
//!     fn run(&self, _request: &Request<'_>) -> Response {
//!         Response::load_error("there is no operator")
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     serve(&Nothing)
//! }
//! ```

mod accepted;
pub mod adapter;
mod adapters;
mod builtin;
mod declaration;
mod exchange;
mod exchange_folder;
mod external;
#[doc(hidden)]
pub mod files;
mod folder_data;
mod id;
mod in_process;
mod launch;
pub mod message;
mod missing_feature;
mod named;
mod pipes;
mod platform;
mod protocol;
#[doc(hidden)]
pub mod run_folder;
#[cfg(test)]
mod schemas;
mod serve;
mod stderr;
mod stop;
mod subprocess;
mod variant;
mod worker;

pub use onnx_conformance_reference as reference;
pub use onnx_conformance_reference::dtype::ElementType;
pub use onnx_conformance_reference::tensor::Tensor;
pub use onnx_conformance_reference::types::ValueType;
pub use onnx_conformance_reference::value::Value;

pub use declaration::{Accepted, Declaration, ElementName, Opsets};
pub use id::CaseId;
pub use missing_feature::{MissingFeature, MissingFeatureError, OperatorName};
pub use named::Named;
pub use protocol::{Host, Output, Phase, Ran, Request, Response, Runtime};
pub use serve::serve;
pub use variant::Variant;
pub use worker::Limits;

// What the program and the harness start runtimes with.
#[doc(hidden)]
pub use accepted::{accepted, found_of};
#[doc(hidden)]
pub use adapters::Adapters;
#[doc(hidden)]
pub use builtin::Builtin;
#[doc(hidden)]
pub use declaration::{is_name, name_problem, version_problem};
#[doc(hidden)]
pub use external::has_external_data;
#[doc(hidden)]
pub use folder_data::FolderData;
#[doc(hidden)]
pub use id::{folders, type_in_id};
#[doc(hidden)]
pub use in_process::InProcess;
#[doc(hidden)]
pub use launch::{AdapterFile, Launch, LaunchError};
#[doc(hidden)]
pub use protocol::Ended;
#[doc(hidden)]
pub use stop::{Stop, StopReason};
#[doc(hidden)]
pub use subprocess::{Options, Report, StartError, Subprocess};
