//! Model checks: validity, the opsets at which a model keeps its meaning, and the edits that convert it to another opset.
//!
//! The crate opens no files and never panics on its input: bytes come through [`scan::Source`], time through
//! [`Deadline`](onnx_conformance_reference::Deadline).
//!
//! ```
//! use onnx_conformance_check::{Limits, RuleId, Target, check, convert};
//! use onnx_conformance_reference::model::text::parse_model;
//! use onnx_conformance_reference::proto::Message as _;
//!
//! let text = r#"<ir_version: 8, opset_import: ["" : 12]> g (float[3] x) => (float[1] y) { y = ReduceSum <axes = [0]> (x) }"#;
//! let model = parse_model(text)?;
//! assert!(check(&model.encode_to_vec(), None, &Limits::default()).is_valid());
//!
//! // From version 13 on, `axes` is an input.
//! let converted = convert(&model, &Target::opset(13))?;
//! let graph = converted.model.graph.unwrap();
//! assert_eq!(graph.node.last().unwrap().input.len(), 2);
//!
//! let renamed = parse_model(&text.replace("(x)", "(z)"))?;
//! let report = check(&renamed.encode_to_vec(), None, &Limits::default());
//! assert_eq!(report.findings[0].rule, RuleId::ValueUndefined);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a user needs
//! [`check`] examines bytes within [`Limits`]; its [`Report`] has [`Finding`]s, each with a [`RuleId`] and a [`Level`]. Weights in other
//! files come through a [`Folder`]. [`convert()`] takes a model to a [`Target`] and gives a [`Conversion`], or a [`Refusal`] that lists
//! every node in the way. It does not run the models: `convert_file` of the crate `onnx-conformance` does, and so does the program. The
//! modules hold the rest, for the other crates of the project.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod bounded;
pub mod convert;
pub mod facts;
pub mod finding;
pub mod findings;
pub mod infer;
pub mod limits;
pub mod pattern;
pub mod rules;
pub mod scan;
pub mod settings;
mod shorten;
pub mod used_domains;
pub mod validity;

pub use convert::{Conversion, Refusal, Target, convert};
pub use finding::Finding;
pub use limits::Limits;
pub use rules::{Level, RuleId};
pub use scan::{Folder, Source};
pub use validity::{Report, check};
