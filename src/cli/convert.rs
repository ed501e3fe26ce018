//! `convert`: converts a model to another opset, IR version or half precision, and verifies it on the built-in executor before
//! writing.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use onnx_conformance_cases::case::external_locations;
use onnx_conformance_check::Finding;
use onnx_conformance_check::convert::{Conversion, ConvertedFile, PlacedEdit, Target, convert_within};
use onnx_conformance_check::rules::{Level, RuleId};
use onnx_conformance_check::scan::{Scan, scan};
use onnx_conformance_harness::exit;
use onnx_conformance_harness::whole_file::WholeFile;
use onnx_conformance_reference::proto::ModelProto;
use onnx_conformance_reference::spec::canonical_domain;
use onnx_conformance_report::models::{Proof, broken_rule, model_name};

use crate::cli::conversion_report::{ConversionReport, Ended};
use crate::cli::external_data::{self, DataFiles, External};
use crate::cli::half::{HalfConversion, HalfOptions, convert_to_half, without_calls};
use crate::cli::limits::{Allowance, LimitOptions};
use crate::cli::model_edits::EditOptions;
use crate::cli::options::{self, Form};
use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::runtime_target::{RuntimeTarget, runtime_target};
use crate::cli::target::TargetOptions;
use crate::cli::usage::{NotAModel, Usage};
use crate::cli::verify::{Verification, folder_of, verify};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model, or - for standard input
    model: PathBuf,

    #[command(flatten, next_help_heading = "Target")]
    target: TargetOptions,

    /// Use the opsets and IR version nearest to the model's that this measured runtime accepts, such as onnxruntime@1.20.1
    #[arg(long, help_heading = "Target", value_name = "NAME[@VERSION]", conflicts_with_all = ["opset", "ir", "release"])]
    runtime: Option<String>,

    #[command(flatten, next_help_heading = "Edits")]
    edits: EditOptions,

    #[command(flatten, next_help_heading = "Half precision")]
    half: HalfOptions,

    /// Number of generated inputs on which both models are run and compared
    #[arg(long, help_heading = "Proof", value_name = "N", default_value = "3", value_parser = options::count)]
    verify: usize,

    /// Also compare both models on these inputs: a .npz file, or a folder with x.npy or `input_0.pb` and so on
    #[arg(long, help_heading = "Proof", value_name = "FILE|DIR")]
    inputs: Option<PathBuf>,

    /// Fail and write nothing if the outputs of both models were not compared
    #[arg(long, help_heading = "Proof")]
    require_proof: bool,

    /// Write the model to this file. Without it, only print the planned changes
    #[arg(long, short, help_heading = "Output", value_name = "FILE")]
    output: Option<PathBuf>,

    /// Treatment of external data. Without it, the data stays, so FILE must be in the folder of the model
    #[arg(long, help_heading = "Output", value_enum, value_name = "HOW", requires = "output")]
    external: Option<External>,

    /// Overwrite an existing file
    #[arg(long, help_heading = "Output")]
    force: bool,

    /// Output format. `docs/schema/convert.json` describes the JSON
    #[arg(long, help_heading = "Output", value_enum, default_value_t)]
    format: Form,

    #[command(flatten, next_help_heading = "Limits")]
    limits: LimitOptions,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let mut report = ConversionReport::new(&model_name(&arguments.model), arguments.format);
    let code = match convert(arguments, &mut report) {
        Err(error) if error.is::<NotAModel>() && arguments.format == Form::Json => {
            report.end(Ended::Unreadable, &error.to_string())?;
            exit::HARNESS
        }
        done => done?,
    };
    report.finish()?;
    Ok(code)
}

/// Converts the model, and reports each step.
fn convert(arguments: &Arguments, report: &mut ConversionReport) -> anyhow::Result<u8> {
    let (name, allowance) = (model_name(&arguments.model), arguments.limits.start());
    let file = allowance.read(&arguments.model)?;
    let original = scanned(&name, &file, &allowance)?.model;
    let edited = arguments.edits.edits(&original)?.apply(&file)?;
    let (model, plan) = if let Some(edited) = &edited {
        let bytes = edited.bytes(&file);
        let model = scanned(&name, &bytes, &allowance)?.model;
        let plan = planned(arguments, &model, &bytes, &allowance, report)?;
        (model, plan)
    } else {
        let plan = planned(arguments, &original, &file, &allowance, report)?;
        (original, plan)
    };
    let Some(Planned { conversion, converted, reason, data }) = plan else { return Ok(exit::REGRESSION) };
    let is_half = arguments.half.element().is_some();
    let is_half_alone = is_half && edited.is_none() && conversion.edits.is_empty();
    let (has_calls, mut inlined) = (is_half && !model.functions.is_empty(), Vec::new());
    let was_broken = broken_rule(&file, &allowance.limits());
    let verification = Verification {
        model: &arguments.model,
        count: arguments.verify,
        inputs: arguments.inputs.as_deref(),
        allowance,
    };
    let mut convert = |file: Bytes| -> anyhow::Result<Bytes> {
        let bytes = match &edited {
            Some(edited) => converted.bytes(&edited.bytes(&file)),
            None => converted.bytes(&file),
        };
        drop(file);
        let converted = with_external_data(arguments, bytes.into(), allowance)?;
        if has_calls { without_calls(&arguments.half, converted, allowance, &mut inlined) } else { Ok(converted) }
    };
    let (proof, converted) = if is_half_alone && !has_calls {
        (None, convert(file)?)
    } else {
        let (proof, converted) = verify(&verification, model.graph.as_ref(), file, convert)?;
        (Some(proof), converted)
    };
    let half =
        arguments.half.element().map(|element| convert_to_half(&arguments.half, element, &converted, &verification));
    let half = half.transpose()?;
    let converted = half.as_ref().map_or(converted, |half| half.file.clone());
    let is_broken = if was_broken.is_none() { broken_after(&name, &converted, allowance)? } else { None };
    let proofs: Vec<Proof> = proof.into_iter().chain(half.as_ref().map(|half| half.proof.clone())).collect();
    let outcome = Outcome {
        failure: failure(is_broken.as_ref(), &proofs, arguments.require_proof),
        has_edits: !is_half_alone,
        edits: edited.iter().flat_map(|edited| edited.edits.clone()).chain(data.edit()).collect(),
        conversion: &conversion,
        remarks: reason.into_iter().chain(inlined).collect(),
        proofs: if is_broken.is_none() { proofs } else { Vec::new() },
        half,
    };
    if !outcome.report(was_broken.as_ref(), report)? {
        return Ok(exit::REGRESSION);
    }
    write_model(arguments, &converted, &data, report)?;
    Ok(exit::SUCCESS)
}

/// Outcome of a conversion, before anything is written.
struct Outcome<'a> {
    /// The reason why the converted model is not written.
    failure: Option<(Ended, String)>,
    /// True if versions or parts of the model change, besides a conversion to half precision.
    has_edits: bool,
    /// Edits of the file before the conversion, and of its data files.
    edits: Vec<PlacedEdit>,
    conversion: &'a Conversion,
    remarks: Vec<String>,
    proofs: Vec<Proof>,
    half: Option<HalfConversion>,
}

impl Outcome<'_> {
    /// Reports the outcome. Returns true if the model may be written.
    fn report(self, broken_before: Option<&Finding>, report: &mut ConversionReport) -> anyhow::Result<bool> {
        let is_accepted = self.failure.is_none();
        if self.has_edits {
            report.edits(self.failure.clone(), &self.edits, self.conversion)?;
        }
        for remark in self.remarks.iter().chain(self.half.iter().flat_map(|half| &half.remarks)) {
            report.remark(remark)?;
        }
        if let Some(finding) = broken_before {
            let hint = if finding.fixable { "; check --fix corrects it" } else { "" };
            report.remark(&format!("the model is not valid before the conversion: {finding}{hint}"))?;
        }
        if let Some(half) = self.half {
            report.half(half.report)?;
        }
        for proof in &self.proofs {
            match proof {
                Proof::Same(text) => report.verified(true, text)?,
                Proof::NotVerified(text) => report.verified(false, text)?,
                Proof::Differs(_) => {}
            }
        }
        report.half_errors()?;
        if let Some((status, text)) = self.failure.filter(|_| !self.has_edits) {
            report.end(status, &text)?;
        }
        Ok(is_accepted)
    }
}

/// Writes a model and its data files, or nothing, if an output is requested.
fn write_model(
    arguments: &Arguments,
    converted: &[u8],
    data: &DataFiles,
    report: &mut ConversionReport,
) -> anyhow::Result<()> {
    let Some(output) = &arguments.output else { return Ok(()) };
    let context = || output.display().to_string();
    let mut created = data.create_folder(output)?;
    // If the model cannot be written, no data file of an older model is replaced.
    let mut file = WholeFile::beside(output).with_context(context)?;
    file.write_all(converted).with_context(context)?;
    data.create(&mut created)?;
    file.put().with_context(context)?;
    created.retain();
    report.wrote(output)
}

/// Moves external data into a model if that is requested.
fn with_external_data(arguments: &Arguments, file: Bytes, allowance: Allowance) -> anyhow::Result<Bytes> {
    match arguments.external {
        Some(External::Inline) => external_data::inline(file, folder_of(&arguments.model), allowance),
        _ => Ok(file),
    }
}

/// Returns a rule that the converted model violates.
fn broken_after(name: &str, converted: &Bytes, allowance: Allowance) -> anyhow::Result<Option<Finding>> {
    let found = broken_rule(converted, &allowance.limits());
    if found.as_ref().is_some_and(|finding| finding.rule == RuleId::FileLimit) {
        let text = format!("{name} was not checked after its conversion, so nothing is written");
        return Err(allowance.limit_error(&text));
    }
    Ok(found)
}

/// Returns the reason why the converted model is not written, if there is one.
fn failure(broken: Option<&Finding>, proofs: &[Proof], is_proof_required: bool) -> Option<(Ended, String)> {
    if let Some(finding) = broken {
        let text = format!("the converted model violates a rule, so it is not written: {finding}");
        return Some((Ended::Invalid, text));
    }
    proofs.iter().find_map(|proof| match proof {
        Proof::Differs(text) => {
            let text = format!("the converted model computes other outputs, so it is not written: {text}");
            Some((Ended::Differs, text))
        }
        Proof::NotVerified(_) if is_proof_required => {
            let text = "the outputs were not compared, so with --require-proof nothing is written";
            Some((Ended::Unverified, text.to_owned()))
        }
        Proof::Same(_) | Proof::NotVerified(_) => None,
    })
}

/// Planned conversion.
struct Planned {
    conversion: Conversion,
    converted: ConvertedFile,
    /// Facts that determine the target.
    reason: Option<String>,
    /// Data files to create.
    data: DataFiles,
}

/// Plans the conversion of a model, or reports why there is none.
fn planned(
    arguments: &Arguments,
    model: &ModelProto,
    file: &[u8],
    allowance: &Allowance,
    report: &mut ConversionReport,
) -> anyhow::Result<Option<Planned>> {
    let (target, reason) = target(arguments, model)?;
    let data = check_output(arguments, model)?;
    let conversion = match convert_within(model, &target, &allowance.limits()) {
        Ok(conversion) => conversion,
        Err(_) if allowance.deadline().is_over() => {
            let name = model_name(&arguments.model);
            return Err(allowance.limit_error(&format!("{name} was not converted")));
        }
        Err(refusal) => {
            report.refused(&refusal)?;
            return Ok(None);
        }
    };
    match conversion.file(model, file) {
        Ok(converted) => Ok(Some(Planned { conversion, converted, reason, data })),
        Err(error) => {
            report.end(Ended::Refused, "the model cannot be converted")?;
            report.reason("", &error.to_string())?;
            Ok(None)
        }
    }
}

/// Scans the model in a file, without the elements of its large tensors.
fn scanned(name: &str, file: &[u8], allowance: &Allowance) -> anyhow::Result<Scan> {
    let scan = match scan(file, &allowance.limits()) {
        Ok(scan) => scan,
        Err(finding) if finding.rule == RuleId::FileLimit => {
            return Err(allowance.limit_error(&format!("{name} was not read ({})", finding.message)));
        }
        Err(finding) => bail!(NotAModel(format!("{name} is not a model: {}", finding.message))),
    };
    match scan.findings.kept().iter().find(|finding| finding.level == Level::Error) {
        Some(finding) => bail!(NotAModel(format!("{name} is not a model: {}", finding.message))),
        None => Ok(scan),
    }
}

/// Returns the conversion target of the arguments, and the reason for a runtime's.
fn target(arguments: &Arguments, model: &ModelProto) -> anyhow::Result<(Target, Option<String>)> {
    let questions = arguments.target.questions()?;
    if let Some(runtime) = &arguments.runtime {
        let RuntimeTarget { target, reason } = runtime_target(runtime, model)?;
        return Ok((Target { relabel_only: questions.relabel_only, ..target }, Some(reason)));
    }
    let is_edited = !arguments.edits.is_empty() || arguments.external.is_some() || arguments.half.element().is_some();
    if !questions.asks_for_conversion() && !is_edited {
        let text = "the target is missing; use --opset, --ir, --release, --runtime, --float16 or --bfloat16";
        bail!(Usage(text.to_owned()));
    }
    let is_imported = |domain: &&String| model.opset_import.iter().any(|it| canonical_domain(it.domain()) == *domain);
    if let Some(domain) = questions.opsets.keys().find(|domain| !is_imported(domain)) {
        bail!(Usage(format!("the model does not import {domain}")));
    }
    Ok((questions.target(model), None))
}

/// Fails if the output is the model itself or a file of its external data. Returns the data files to create beside it.
fn check_output(arguments: &Arguments, model: &ModelProto) -> anyhow::Result<DataFiles> {
    let Some(output) = &arguments.output else { return Ok(DataFiles::default()) };
    let shown = output.display();
    let locations = external_locations(model);
    let data: Vec<PathBuf> = locations.iter().map(|location| folder_of(&arguments.model).join(location)).collect();
    OutputFiles::default()
        .reading("the model itself", [arguments.model.as_path()])
        .reading("an external data file of the model", data.iter().map(PathBuf::as_path))
        .add(output, Kind::Model)?;
    if output.exists() && !arguments.force {
        bail!(Usage(format!("{shown} already exists; choose another file, or overwrite it with --force")));
    }
    let folder = |path: &Path| fs::canonicalize(folder_of(path)).ok();
    match (arguments.external, locations.first()) {
        (Some(how @ (External::Copy | External::Link)), _) => {
            DataFiles::plan(how, &locations, (folder_of(&arguments.model), output), arguments.force)
        }
        (Some(External::Inline), _) => Ok(DataFiles::inlined(locations.len())),
        (None, Some(data)) if folder(output) != folder(&arguments.model) => bail!(Usage(format!(
            "the model has external data in its folder, such as {data}; write {shown} to the same folder, or use --external \
             copy, link or inline"
        ))),
        _ => Ok(DataFiles::default()),
    }
}
