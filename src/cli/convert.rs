//! `convert`: converts a model to another opset or IR version, and verifies it on the built-in executor before writing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_cases::case::external_locations;
use onnx_conformance_check::convert::{Conversion, Refusal, Target, convert_within};
use onnx_conformance_check::rules::{Level, RuleId};
use onnx_conformance_check::scan::{Scan, scan};
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_reference::proto::ModelProto;
use onnx_conformance_reference::spec::canonical_domain;
use onnx_conformance_report::models::{Proof, broken_rule};

use crate::cli::limits::{Allowance, LimitOptions};
use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::target::TargetOptions;
use crate::cli::usage::Usage;
use crate::cli::verify::{Verification, verify};
use crate::cli::{options, print};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model
    model: PathBuf,

    #[command(flatten)]
    target: TargetOptions,

    /// Number of generated inputs on which both models are run and compared
    #[arg(long, value_name = "N", default_value = "3", value_parser = options::count)]
    verify: usize,

    /// Also compare both models on the inputs in this folder: `input_0.pb` and so on, in it or in its subfolders
    #[arg(long, value_name = "DIR")]
    inputs: Option<PathBuf>,

    /// Write the model to this file. Without it, only print the planned changes
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    limits: LimitOptions,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let (name, allowance) = (arguments.model.display().to_string(), arguments.limits.start());
    let file = allowance.read(&arguments.model)?;
    let model = scanned(&name, &file, &allowance)?.model;
    let target = target(arguments, &model)?;
    check_output(arguments, &model)?;
    let conversion = match convert_within(&model, &target, &allowance.limits()) {
        Ok(conversion) => conversion,
        Err(_) if allowance.deadline().is_over() => {
            return Err(allowance.limit_error(&format!("{name} was not converted")));
        }
        Err(refusal) => return refused(&refusal),
    };
    let converted = match conversion.file(&model, &file) {
        Ok(converted) => converted,
        Err(error) => {
            print::line("the model cannot be converted")?;
            print::line(&format!("  {}", line(&error.to_string())))?;
            return Ok(exit::REGRESSION);
        }
    };
    print_edits(&conversion)?;
    let verification = Verification {
        model: &arguments.model,
        count: arguments.verify,
        inputs: arguments.inputs.as_deref(),
        allowance,
    };
    let was_valid = broken_rule(&file, &allowance.limits()).is_none();
    let convert = |file: bytes::Bytes| converted.bytes(&file).into();
    let (proof, converted) = verify(&verification, model.graph.as_ref(), file, convert)?;
    if let Some(finding) = broken_rule(&converted, &allowance.limits()).filter(|_| was_valid) {
        if finding.rule == RuleId::FileLimit {
            return Err(
                allowance.limit_error(&format!("{name} was not checked after its conversion, so nothing is written"))
            );
        }
        print::line(&line(&format!("the converted model violates a rule, so it is not written: {finding}")))?;
        return Ok(exit::REGRESSION);
    }
    match proof {
        Proof::Same(text) | Proof::NotVerified(text) => print::line(&line(&text))?,
        Proof::Differs(text) => {
            print::line(&line(&format!("the converted model computes other outputs, so it is not written: {text}")))?;
            return Ok(exit::REGRESSION);
        }
    }
    if let Some(output) = &arguments.output {
        write_whole(output, &converted).with_context(|| output.display().to_string())?;
        print::line(&line(&format!("wrote {}", output.display())))?;
    }
    Ok(exit::SUCCESS)
}

/// Scans the model in a file, without the elements of its large tensors.
fn scanned(name: &str, file: &[u8], allowance: &Allowance) -> anyhow::Result<Scan> {
    let scan = match scan(file, &allowance.limits()) {
        Ok(scan) => scan,
        Err(finding) if finding.rule == RuleId::FileLimit => {
            return Err(allowance.limit_error(&format!("{name} was not read ({})", finding.message)));
        }
        Err(finding) => bail!("{name} is not a model: {}", finding.message),
    };
    match scan.findings.kept().iter().find(|finding| finding.level == Level::Error) {
        Some(finding) => bail!("{name} is not a model: {}", finding.message),
        None => Ok(scan),
    }
}

/// Returns the conversion target of the arguments.
fn target(arguments: &Arguments, model: &ModelProto) -> anyhow::Result<Target> {
    let questions = arguments.target.questions()?;
    if !questions.asks_for_conversion() {
        bail!(Usage("the target is missing; use --opset, --ir or --release".to_owned()));
    }
    let is_imported = |domain: &&String| model.opset_import.iter().any(|it| canonical_domain(it.domain()) == *domain);
    if let Some(domain) = questions.opsets.keys().find(|domain| !is_imported(domain)) {
        bail!(Usage(format!("the model does not import {domain}")));
    }
    Ok(questions.target(model))
}

/// Fails if the output is the model itself or a file of its external data.
fn check_output(arguments: &Arguments, model: &ModelProto) -> anyhow::Result<()> {
    let Some(output) = &arguments.output else { return Ok(()) };
    let shown = output.display();
    let home = arguments.model.parent().unwrap_or(Path::new(""));
    let data: Vec<PathBuf> = external_locations(model).iter().map(|location| home.join(location)).collect();
    OutputFiles::default()
        .reading("the model itself", [arguments.model.as_path()])
        .reading("an external data file of the model", data.iter().map(PathBuf::as_path))
        .add(output, Kind::Model)?;
    if output.exists() && !arguments.force {
        bail!(Usage(format!("{shown} already exists; choose another file, or overwrite it with --force")));
    }
    let folder = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::canonicalize(parent).ok()
    };
    if let Some(data) = external_locations(model).first()
        && folder(output) != folder(&arguments.model)
    {
        bail!(Usage(format!(
            "the model has external data in its folder, such as {data}; write {shown} to the same folder"
        )));
    }
    Ok(())
}

/// Prints a one-line summary of the conversion, followed by each edit.
fn print_edits(conversion: &Conversion) -> anyhow::Result<()> {
    let (of_model, of_nodes): (Vec<_>, Vec<_>) = conversion.edits.iter().partition(|edit| edit.concerns_model());
    let places: BTreeSet<&str> = of_nodes.iter().map(|edit| edit.place.as_str()).collect();
    print::line(&match places.len() {
        0 if of_model.is_empty() => "nothing to do: the model already has these versions".to_owned(),
        0 => "only version numbers change".to_owned(),
        1 => "1 edit".to_owned(),
        count => format!("{count} edits"),
    })?;
    for edit in of_model.iter().chain(&of_nodes) {
        print::line(&format!("  {}", line(&edit.to_string())))?;
    }
    Ok(())
}

fn refused(refusal: &Refusal) -> anyhow::Result<u8> {
    let count = refusal.reasons.iter().map(|reason| reason.place.as_str()).collect::<BTreeSet<_>>().len();
    print::line(&if count == 1 {
        "1 place cannot be converted".to_owned()
    } else {
        format!("{count} places cannot be converted")
    })?;
    for reason in &refusal.reasons {
        print::line(&format!("  {}", line(&reason.to_string())))?;
    }
    Ok(exit::REGRESSION)
}
