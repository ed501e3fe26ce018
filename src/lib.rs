//! A conformance test harness and opset compatibility checker for ONNX.
//!
//! Cases come from the vendored ONNX node tests and from the specs of every operator version. A runtime takes a case and
//! gives outputs or a reason; the harness compares them, checks the outcome against what is expected, and reports.

#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports, reason = "much is for the command line alone"))]

pub mod case;
pub mod cli;
pub mod compare;
pub mod evidence;
pub mod expectations;
pub mod findings;
pub mod generate;
pub mod harness;
pub mod measure;
pub mod models;
pub mod report;
pub mod run;
pub mod runtime;
pub mod suite;
pub mod whole_file;

pub use onnx_conformance_check as check;
pub use onnx_conformance_reference as reference;
