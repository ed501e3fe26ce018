//! A runtime under test: anything that runs a model on inputs, and returns outputs or the reason why it cannot.
//!
//! A runtime implements [`Runtime`]. [`serve`] turns it into an adapter: a program that speaks the protocol on its
//! standard streams. The harness runs cases on a [`Host`]: an adapter in separate processes, a runtime in this process,
//! or the built-in executor.
//!
//! ```no_run
//! use onnx_conformance_subject::{Declaration, Request, Response, Runtime, serve};
//!
//! /// A runtime without operators.
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
mod contents;
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
mod model_file;
mod named;
mod operators;
mod pipes;
mod platform;
mod protocol;
mod question;
#[doc(hidden)]
pub mod run_folder;
#[cfg(test)]
mod schemas;
mod serve;
mod shared_data;
mod stderr;
mod stop;
mod subprocess;
#[doc(hidden)]
pub mod unique;
mod variant;
mod worker;

pub use onnx_conformance_reference as reference;
pub use onnx_conformance_reference::dtype::ElementType;
pub use onnx_conformance_reference::tensor::Tensor;
pub use onnx_conformance_reference::types::ValueType;
pub use onnx_conformance_reference::value::Value;

pub use declaration::{Accepted, Declaration, ElementName, Opsets};
pub use id::{CaseId, CaseOpset, OPSET};
pub use in_process::InProcess;
pub use missing_feature::{MissingFeature, MissingFeatureError, OperatorName};
pub use model_file::ModelFile;
pub use named::Named;
pub use operators::{OperatorCounts, Operators, count_operators};
pub use protocol::{Ended, Host, Output, Phase, Ran, Request, Response, Runtime};
pub use question::{AnswerKind, Ask, Direction, Models, Question, QuestionFacts, QuestionText, Variant, VariantFacts};
pub use serve::serve;
pub use worker::Limits;

// Used by the program and the harness to start runtimes.
#[doc(hidden)]
pub use accepted::{accepted, probe_if_undeclared};
#[doc(hidden)]
pub use adapters::{Adapters, installed_folders};
#[doc(hidden)]
pub use builtin::{Builtin, LoadedModel};
#[doc(hidden)]
pub use declaration::{name_problem, version_problem};
#[doc(hidden)]
pub use external::has_external_data;
#[doc(hidden)]
pub use folder_data::{FolderData, KeptData};
#[doc(hidden)]
pub use id::{LARGE, WRAPPED, folders, type_in_id};
#[doc(hidden)]
pub use in_process::catch_panics;
#[doc(hidden)]
pub use launch::{AdapterFile, CiCases, Launch, LaunchError, PythonCall};
#[doc(hidden)]
pub use stop::{Stop, StopReason};
#[doc(hidden)]
pub use subprocess::{Options, Report, StartError, Subprocess};
