//! Conversion of a model with its proof, as the program's `convert` does it, for Rust programs.

use std::collections::BTreeSet;
use std::fs::canonicalize;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use onnx_conformance_cases::case::{MAX_BINARY, external_locations, read_file};
use onnx_conformance_check::convert::{PlacedEdit, Refusal, Target, WriteError, convert_within};
use onnx_conformance_check::finding::Finding;
use onnx_conformance_check::rules::Level;
use onnx_conformance_check::scan::scan;
use onnx_conformance_check::{Limits, RuleId};
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::{GraphProto, ModelProto};
use onnx_conformance_reference::spec::canonical_domain;
use onnx_conformance_subject::{Builtin, Ended, KeptData, Phase, Response};
use thiserror::Error;

use crate::models::generated_inputs::InputPlan;
use crate::models::proof::{
    OverLimit, Proof, RunFailure, RunLoaded, TrialInputs, Trials, broken_rule, generated_trial,
};

/// Settings of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversionOptions {
    /// Number of generated inputs on which both models run; 3 by default. Without inputs, nothing is proved.
    pub inputs: usize,
    /// Time limit of the conversion and all runs; a minute by default.
    pub timeout: Duration,
    /// Maximum number of bytes in use for models, inputs and computed values; 4096 MB by default.
    pub memory: usize,
}

impl Default for ConversionOptions {
    fn default() -> ConversionOptions {
        ConversionOptions { inputs: 3, timeout: Duration::from_mins(1), memory: 4_096_000_000 }
    }
}

/// Reason why there is no converted model.
#[derive(Debug, Error)]
pub enum ConversionError {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The file contains no model.
    #[error("not a model: {0}")]
    NotAModel(String),
    /// The target has an opset of a domain that the model does not import.
    #[error("the model does not import {0}")]
    NotImported(String),
    /// The target has two opsets of a domain, under two spellings of its name.
    #[error("the target has two opsets of {0}")]
    TwoOpsets(String),
    /// Some places cannot be converted.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The file of the converted model cannot be made.
    #[error(transparent)]
    Unwritable(#[from] WriteError),
    /// The converted model violates a rule that the original follows.
    #[error("the converted model violates a rule: {0}")]
    Invalid(Box<Finding>),
    /// The converted model computes other outputs.
    #[error("the converted model computes other outputs: {0}")]
    Differs(String),
    /// The time or memory limit is exceeded.
    #[error("a limit is exceeded: {0}")]
    Limit(String),
    /// The model has external data, which is not in the folder of the new file.
    #[error("the model has external data, such as {location}, so it can only be saved in the folder of the original")]
    OtherFolder {
        /// The location of a data file.
        location: String,
    },
    /// The new file would replace a data file of the model.
    #[error("{location} is a file with external data of the model")]
    DataFile {
        /// The location of the data file.
        location: String,
    },
}

impl From<OverLimit> for ConversionError {
    fn from(error: OverLimit) -> ConversionError {
        ConversionError::Limit(error.0)
    }
}

/// Converted model that computes the same as the original, as far as runs of both show.
#[derive(Clone, Debug)]
pub struct ProvedConversion {
    /// The serialized model. Whatever the conversion does not change has the bytes of the original.
    pub model: Bytes,
    /// The edits; empty if the model is unchanged.
    pub edits: Vec<PlacedEdit>,
    /// Result of running both models: [`Proof::Same`], or [`Proof::NotVerified`] with the reason why there was nothing to compare.
    pub proof: Proof,
    /// Locations of external data. They are relative to the folder of the model, and unchanged.
    pub external: BTreeSet<String>,
    folder: Option<PathBuf>,
}

impl ProvedConversion {
    /// Writes the model to a file, which is replaced as a whole if it exists. A model with external data must be saved in the folder of
    /// the original, where its data is.
    pub fn save(&self, path: &Path) -> Result<(), ConversionError> {
        let file = |error| ConversionError::File { path: path.to_owned(), error };
        if let Some(first) = self.external.first() {
            let home = canonicalize(folder_of(path)).map_err(file)?;
            let original = self.folder.as_ref().and_then(|folder| canonicalize(folder).ok());
            if original.as_ref() != Some(&home) {
                return Err(ConversionError::OtherFolder { location: first.clone() });
            }
            let target = canonicalize(path).ok();
            let is_target = |location: &&String| target.is_some() && canonicalize(home.join(location)).ok() == target;
            if let Some(location) = self.external.iter().find(is_target) {
                return Err(ConversionError::DataFile { location: location.clone() });
            }
        }
        write_whole(path, &self.model).map_err(file)
    }
}

/// Converts the model in a file, and runs both models on the built-in executor. External data is read from the folder of the file.
pub fn convert_file(
    path: &Path,
    target: &Target,
    options: &ConversionOptions,
) -> Result<ProvedConversion, ConversionError> {
    let limit = u64::try_from(options.memory).map_or(MAX_BINARY, |memory| memory.min(MAX_BINARY));
    let file = read_file(path, limit).map_err(|error| ConversionError::File { path: path.to_owned(), error })?;
    Converter::new(Some(folder_of(path)), options).convert(&file.into(), target)
}

/// Converts a serialized model, and runs both models on the built-in executor. External data is read from `folder`.
pub fn convert_bytes(
    model: &[u8],
    folder: Option<&Path>,
    target: &Target,
    options: &ConversionOptions,
) -> Result<ProvedConversion, ConversionError> {
    Converter::new(folder, options).convert(&Bytes::copy_from_slice(model), target)
}

/// Conversion of a model within limits.
struct Converter<'a> {
    folder: Option<&'a Path>,
    options: &'a ConversionOptions,
    started: Instant,
}

impl<'a> Converter<'a> {
    fn new(folder: Option<&'a Path>, options: &'a ConversionOptions) -> Converter<'a> {
        Converter { folder, options, started: Instant::now() }
    }

    fn convert(&self, file: &Bytes, target: &Target) -> Result<ProvedConversion, ConversionError> {
        let limits = self.limits();
        let model = self.scanned(file, &limits)?;
        check_domains(&model, target)?;
        let conversion = convert_within(&model, target, &limits).map_err(|refusal| {
            if limits.deadline.is_over() { self.late() } else { ConversionError::Refused(refusal) }
        })?;
        let converted = Bytes::from(conversion.file(&model, file)?.bytes(file));
        if broken_rule(file, &limits).is_none()
            && let Some(finding) = broken_rule(&converted, &limits)
        {
            let is_limit = finding.rule == RuleId::FileLimit;
            return Err(if is_limit {
                ConversionError::Limit(finding.message)
            } else {
                ConversionError::Invalid(Box::new(finding))
            });
        }
        let proof = self.prove(model.graph.as_ref(), file, &converted, &limits)?;
        if let Proof::Differs(difference) = proof {
            return Err(ConversionError::Differs(difference));
        }
        let (external, folder) = (external_locations(&model), self.folder.map(Path::to_owned));
        Ok(ProvedConversion { model: converted, edits: conversion.edits, proof, external, folder })
    }

    /// Returns the message of the model, without the elements of its large tensors.
    fn scanned(&self, file: &Bytes, limits: &Limits) -> Result<ModelProto, ConversionError> {
        let scan = match scan(&**file, limits) {
            Ok(scan) => scan,
            Err(finding) if finding.rule == RuleId::FileLimit => return Err(ConversionError::Limit(finding.message)),
            Err(finding) => return Err(ConversionError::NotAModel(finding.message)),
        };
        if limits.deadline.is_over() {
            return Err(self.late());
        }
        match scan.findings.kept().iter().find(|finding| finding.level == Level::Error) {
            Some(finding) => Err(ConversionError::NotAModel(finding.message.clone())),
            None => Ok(scan.model),
        }
    }

    /// Runs both models on generated inputs.
    fn prove(
        &self,
        graph: Option<&GraphProto>,
        before: &Bytes,
        after: &Bytes,
        limits: &Limits,
    ) -> Result<Proof, ConversionError> {
        let Some(graph) = graph else { return Ok(Proof::not_verified("the model has no graph")) };
        let plan = InputPlan::new(graph);
        if self.options.inputs > 0 {
            match generated_trial(&plan, 0, 0, limits) {
                Ok(_) => {}
                Err(RunFailure::Limit(why)) => return Err(ConversionError::Limit(why)),
                Err(RunFailure::Model(why) | RunFailure::Never(why)) => return Ok(Proof::not_verified(&why)),
            }
        }
        let data = KeptData::default();
        let load = |model: &Bytes| {
            let left = self.options.timeout.saturating_sub(self.started.elapsed());
            let builtin = Builtin::new(left).with_memory(self.options.memory).sharing_data(&data);
            load_on_builtin(&builtin, model, self.folder)
        };
        let inputs = |number: usize, way: usize| -> Result<TrialInputs, RunFailure> {
            generated_trial(&plan, way, number, limits)
        };
        let trials = Trials { count: self.options.inputs, ways: &|_| plan.ways(), inputs: &inputs, load: &load };
        let expected = trials.before(before)?;
        Ok(trials.after(&expected, after)?)
    }

    fn limits(&self) -> Limits {
        let (started, timeout) = (self.started, self.options.timeout);
        let deadline = Deadline::new(move || started.elapsed() > timeout);
        Limits { bytes: self.options.memory, deadline, ..Limits::default() }
    }

    fn late(&self) -> ConversionError {
        ConversionError::Limit(format!("the time of {} s is over", self.options.timeout.as_secs_f64()))
    }
}

/// Fails for a domain that the model does not import, or that has two opsets.
fn check_domains(model: &ModelProto, target: &Target) -> Result<(), ConversionError> {
    let mut seen = BTreeSet::new();
    for domain in target.opsets.keys().map(|name| canonical_domain(name)) {
        if !seen.insert(domain) {
            return Err(ConversionError::TwoOpsets(domain.to_owned()));
        }
        if !model.opset_import.iter().any(|import| canonical_domain(import.domain()) == domain) {
            return Err(ConversionError::NotImported(domain.to_owned()));
        }
    }
    Ok(())
}

/// Loads a model on the built-in executor for the runs of a proof.
pub fn load_on_builtin(
    builtin: &Builtin,
    model: &Bytes,
    folder: Option<&Path>,
) -> Result<RunLoaded<'static>, RunFailure> {
    let loaded = builtin.load(model, folder).map_err(failure)?;
    Ok(Box::new(move |inputs, held| loaded.run(inputs, held).into_values().map_err(failure)))
}

fn failure(ended: Ended) -> RunFailure {
    match ended {
        Ended::Timeout(message) | Ended::OutOfMemory(message) => RunFailure::Limit(message),
        Ended::Answered(Response::Unsupported { message, .. } | Response::Error { phase: Phase::Load, message }) => {
            RunFailure::Never(message)
        }
        other => RunFailure::Model(other.message().to_owned()),
    }
}

/// Returns the folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::proto::Message as _;

    use super::*;

    const SUM: &str =
        r#"<ir_version: 8, opset_import: ["" : 12]> g (float[3] x) => (float[1] y) { y = ReduceSum <axes = [0]> (x) }"#;

    fn convert(text: &str, target: &Target) -> Result<ProvedConversion, ConversionError> {
        let model = parse_model(text).unwrap().encode_to_vec();
        convert_bytes(&model, None, target, &ConversionOptions::default())
    }

    #[test]
    fn a_conversion_is_proved_by_running_both_models() {
        let converted = convert(SUM, &Target::opset(13)).unwrap();
        assert_eq!(converted.proof, Proof::Same("verified: bit-identical outputs on 3 of 3 inputs".to_owned()));
        let texts: Vec<String> = converted.edits.iter().map(ToString::to_string).collect();
        assert!(texts.iter().any(|text| text.contains("opset 12 of ai.onnx becomes 13")), "{texts:?}");
        let unproved = ConversionOptions { inputs: 0, ..ConversionOptions::default() };
        let model = parse_model(SUM).unwrap().encode_to_vec();
        let converted = convert_bytes(&model, None, &Target::opset(13), &unproved).unwrap();
        assert!(matches!(converted.proof, Proof::NotVerified(_)));
    }

    #[test]
    fn a_target_without_effect_is_an_error() {
        let check = |opsets: &[(&str, i64)], expected: &str| {
            let opsets: BTreeMap<String, i64> =
                opsets.iter().map(|(domain, opset)| ((*domain).to_owned(), *opset)).collect();
            let error = convert(SUM, &Target { opsets, ..Target::default() }).unwrap_err().to_string();
            assert_eq!(error, expected);
        };
        check(&[("ai.onnx.ml", 3)], "the model does not import ai.onnx.ml");
        check(&[("ai.onx", 13)], "the model does not import ai.onx");
        check(&[("", 13), ("ai.onnx", 12)], "the target has two opsets of ai.onnx");
        assert!(convert(SUM, &Target { opsets: BTreeMap::from([(String::new(), 13)]), ..Target::default() }).is_ok());
        let text = r#"<ir_version: 8, opset_import: ["" : 18]> g (uint8[3] x) => (uint8[3] y) { y = BitwiseNot (x) }"#;
        let error = convert(text, &Target::opset(17)).unwrap_err();
        assert!(matches!(error, ConversionError::Refused(_)), "{error}");
    }

    #[test]
    fn bytes_that_are_no_model_are_an_error() {
        let error = convert_bytes(b"text", None, &Target::opset(13), &ConversionOptions::default());
        assert!(matches!(error, Err(ConversionError::NotAModel(_))), "{error:?}");
        let late = ConversionOptions { timeout: Duration::ZERO, ..ConversionOptions::default() };
        let model = parse_model(SUM).unwrap().encode_to_vec();
        let error = convert_bytes(&model, None, &Target::opset(13), &late);
        assert!(matches!(error, Err(ConversionError::Limit(_))), "{error:?}");
        let error = convert_file(Path::new("/no/such/model.onnx"), &Target::opset(13), &ConversionOptions::default());
        assert!(matches!(error, Err(ConversionError::File { .. })), "{error:?}");
    }

    #[test]
    fn external_data_is_read_from_the_folder_of_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"<ir_version: 8, opset_import: ["" : 12]> g (float[2] x) => (float[1] y)
            <float[2] w = ["location": "w.bin"]> { a = Mul (x, w) y = ReduceSum <axes = [0]> (a) }"#;
        let path = folder.path().join("model.onnx");
        fs::write(&path, parse_model(text).unwrap().encode_to_vec()).unwrap();
        let convert = || convert_file(&path, &Target::opset(13), &ConversionOptions::default()).unwrap();
        assert!(matches!(convert().proof, Proof::NotVerified(_)), "the data is missing");
        fs::write(folder.path().join("w.bin"), [2.0_f32.to_le_bytes(); 2].concat()).unwrap();
        let converted = convert();
        assert!(matches!(converted.proof, Proof::Same(_)), "{:?}", converted.proof);
        assert_eq!(converted.external, BTreeSet::from(["w.bin".to_owned()]));
        converted.save(&folder.path().join("new.onnx")).unwrap();
        assert_eq!(fs::read(folder.path().join("new.onnx")).unwrap(), converted.model);
        let error = converted.save(&folder.path().join("w.bin")).unwrap_err();
        assert!(matches!(&error, ConversionError::DataFile { location } if location == "w.bin"), "{error:?}");
        let other = tempfile::tempdir().unwrap();
        let error = converted.save(&other.path().join("new.onnx")).unwrap_err();
        assert!(matches!(error, ConversionError::OtherFolder { .. }), "{error:?}");
    }
}
