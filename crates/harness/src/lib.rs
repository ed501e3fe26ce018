//! The conformance suite for ONNX as the tests of a runtime's own crate.
//!
//! Implement [`Runtime`], and give it to [`Harness`] in a test with `harness = false`. The suite becomes the tests of the crate: one for
//! each operator version, and one for each backend test of ONNX's releases. Results are compared with an expectation file.
//!
//! ```
//! use onnx_conformance_harness::{Declaration, ElementType, Request, Response, Runtime, Tensor, Value, adapter};
//!
//! /// A runtime that negates floats.
//! struct Negation;
//!
//! impl Runtime for Negation {
//!     fn declaration(&self) -> Declaration {
//!         Declaration::named("negation", "0.1.0")
//!     }
//!
//!     fn run(&self, request: &Request<'_>) -> Response {
//!         if let Some(missing) = adapter::missing_operator(request.model, |name| name == "Neg") {
//!             return missing;
//!         }
//!         let Some(input) = request.inputs.first().and_then(|input| input.value.as_tensor()) else {
//!             return Response::load_error("the model has no tensor for an input");
//!         };
//!         let Some(elements) = input.to_vec::<f32>() else {
//!             return Response::unsupported(format!("tensor({})", input.element_type()), "there is nothing but float");
//!         };
//!         let negated = elements.into_iter().map(|element| -element).collect();
//!         match Tensor::from_vec::<f32>(input.shape().to_vec(), negated) {
//!             Ok(output) => Response::outputs(vec![Value::Tensor(output)]),
//!             Err(error) => Response::run_error(error.to_string()),
//!         }
//!     }
//! }
//!
//! assert_eq!(Tensor::from_vec(vec![2], vec![1_f32, -0.0]).unwrap().element_type(), ElementType::Float);
//! ```
//!
//! A test file then is
//!
//! ```no_run
//! # use onnx_conformance_harness::{Declaration, Harness, Request, Response, Runtime};
//! # struct Negation;
//! # impl Runtime for Negation {
//! #     fn declaration(&self) -> Declaration { Declaration::named("negation", "0.1.0") }
//! #     fn run(&self, _: &Request<'_>) -> Response { Response::load_error("") }
//! # }
//! fn main() -> std::process::ExitCode {
//!     Harness::new(Negation, "expectations.yaml").cases(&["ai.onnx/Neg-*/**"]).run()
//! }
//! ```

mod cases;
#[doc(hidden)]
pub mod escape;
#[doc(hidden)]
pub mod evidence;
#[doc(hidden)]
pub mod exit;
#[doc(hidden)]
pub mod expectations;
#[doc(hidden)]
pub mod failures;
#[doc(hidden)]
pub mod findings;
#[doc(hidden)]
pub mod gate_file;
#[doc(hidden)]
pub mod interrupt;
mod libtest;
#[doc(hidden)]
pub mod measure;
#[doc(hidden)]
pub mod note;
/// Promises of the suite: the frozen list of each version, and what changed between two of them.
pub mod promises;
pub mod questions;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod runtimes;
#[doc(hidden)]
pub mod shell;
#[doc(hidden)]
pub mod smoke;
#[doc(hidden)]
pub mod whole_file;
#[doc(hidden)]
pub mod whole_folder;

pub use cases::{Cases, CasesError, Judgement, KnownFailures, SuiteCase, cases, cases_with_testdata};
pub use expectations::Verdict;
pub use libtest::{Harness, UPDATE, libtest};
pub use onnx_conformance_cases::suite::Profile;
pub use onnx_conformance_reference as reference;
pub use onnx_conformance_subject::{
    Declaration, ElementType, Ended, Host, InProcess, ModelFile, Named, OperatorCounts, Operators, Output, Phase, Ran,
    Request, Response, Runtime, Tensor, Value, ValueType, Variant, adapter, serve,
};
pub use run::Outcome;
