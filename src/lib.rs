//! A conformance test harness and opset compatibility checker for ONNX: the program.
//!
//! The libraries are separate crates: [`reference`](mod@reference) has the specs, the values and the built-in executor,
//! [`check`](mod@check) the checker and the converter, `onnx-conformance-subject` what an adapter in Rust needs, and
//! `onnx-conformance-harness` the suite as the tests of a runtime. The modules here belong to the program and change without
//! notice.
//!
//! ```
//! use onnx_conformance::reference::spec::Specs;
//!
//! let sum = Specs::embedded().find("ai.onnx", "Sum", 12).unwrap();
//! assert_eq!(sum.version.to_string(), "Sum-8");
//! ```

#[doc(hidden)]
#[expect(rustdoc::invalid_html_tags, reason = "its comments are the help that the program prints")]
pub mod cli;

pub use onnx_conformance_check as check;
pub use onnx_conformance_reference as reference;
