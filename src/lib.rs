//! A conformance test harness and opset compatibility checker for ONNX: the program.
//!
//! Cases come from the backend tests of ONNX's releases and from the specs of every operator version. A runtime runs a case and
//! returns outputs or a reason. The harness compares the outputs, checks the outcome against the expectations, and reports.
//!
//! # For authors of runtimes
//! Implement [`Runtime`], and pass it to [`Harness`] in a test with `harness = false`, or to [`serve`] in a program, which is
//! then an adapter. The suite becomes the tests of the crate: one per operator version, and one per backend test.
//!
//! ```
//! use onnx_conformance::{Declaration, ElementType, Request, Response, Runtime, Tensor, Value, adapter};
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
//! A test file then looks like this:
//!
//! ```no_run
//! # use onnx_conformance::{Declaration, Harness, Request, Response, Runtime};
//! # struct Negation;
//! # impl Runtime for Negation {
//! #     fn declaration(&self) -> Declaration { Declaration::named("negation", "0.1.0") }
//! #     fn run(&self, _: &Request<'_>) -> Response { Response::load_error("") }
//! # }
//! fn main() -> std::process::ExitCode {
//!     Harness::new(Negation, "expectations.yaml").cases(&["ai.onnx/Neg-*/**"]).run()
//! }
//! ```
//!
//! # For owners of models and readers of specs
//! [`check`](mod@check) is the checker and the converter, [`reference`](mod@reference) has the specs, the values and the built-in
//! executor. Both are crates of their own.
//!
//! ```
//! use onnx_conformance::reference::spec::Specs;
//!
//! let sum = Specs::embedded().find("ai.onnx", "Sum", 12).unwrap();
//! assert_eq!(sum.version.to_string(), "Sum-8");
//! ```
//!
//! # Public API
//! These pages show the public API. The program and the project's own tools use hidden modules, which change without notice.

#[doc(hidden)]
#[expect(rustdoc::invalid_html_tags, reason = "its comments are the help that the program prints")]
pub mod cli;

pub use onnx_conformance_check as check;
pub use onnx_conformance_reference as reference;
