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
//!
//! # Conversion with a proof
//! [`convert_file`] does what the program's `convert` does: it converts a model and checks the result. It runs both models on generated
//! inputs, and there is no result if they compute different outputs. External data is read from the folder of the model.
//!
//! ```
//! use onnx_conformance::check::{Limits, Target, check};
//! use onnx_conformance::reference::model::text::parse_model;
//! use onnx_conformance::reference::proto::Message as _;
//! use onnx_conformance::reference::{LoadLimits, read_model};
//! use onnx_conformance::{ConversionOptions, ModelFolder, Proof, convert_file};
//!
//! # let folder = std::env::temp_dir().join(format!("onnx-conformance-doctest-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("model.onnx");
//! // The weight `w` is in another file.
//! let model = parse_model(
//!     r#"<ir_version: 8, opset_import: ["" : 12]> g (float[2] x) => (float[1] y)
//!        <float[2] w = ["location": "w.bin"]> { a = Mul (x, w) y = ReduceSum <axes = [0]> (a) }"#,
//! )?;
//! std::fs::write(&path, model.encode_to_vec())?;
//! std::fs::write(folder.join("w.bin"), [2.0_f32.to_le_bytes(), 0.5_f32.to_le_bytes()].concat())?;
//!
//! let converted = convert_file(&path, &Target::opset(13), &ConversionOptions::default())?;
//! assert_eq!(converted.proof, Proof::Same("verified: bit-identical outputs on 3 of 3 inputs".to_owned()));
//! for edit in &converted.edits {
//!     println!("{edit}"); // node 1 (ReduceSum): axes moves from an attribute to input 1 of ReduceSum-13
//! }
//! converted.save(&folder.join("model-13.onnx"))?;
//!
//! // A domain that the model does not import is an error, as on the command line.
//! let target = Target { opsets: [("ai.onnx.ml".to_owned(), 3)].into(), ..Target::default() };
//! let error = convert_file(&path, &target, &ConversionOptions::default()).unwrap_err();
//! assert_eq!(error.to_string(), "the model does not import ai.onnx.ml");
//!
//! // `check` and `read_model` need the folder of a model for its external data.
//! let (file, data) = (std::fs::read(&path)?, ModelFolder::for_model(&path));
//! assert!(check(&file, Some(&data), &Limits::default()).is_valid());
//! assert_eq!(read_model(file.into(), &data, &LoadLimits::default())?.ir_version, 8);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
#[expect(rustdoc::invalid_html_tags, reason = "its comments are the help that the program prints")]
pub mod cli;

pub use onnx_conformance_check as check;
pub use onnx_conformance_reference as reference;
pub use onnx_conformance_report::models::{
    ConversionError, ConversionOptions, ModelFolder, Proof, ProvedConversion, convert_bytes, convert_file,
};
