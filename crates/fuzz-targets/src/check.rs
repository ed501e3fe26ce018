//! Fuzz target for checks and conversions of models, compared with each other and with the executor.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_cases::compare::{Accuracy, compare};
use onnx_conformance_check::convert::{Target, convert};
use onnx_conformance_check::facts::ValueFact;
use onnx_conformance_check::finding::Finding;
use onnx_conformance_check::infer::{BodyId, infer};
use onnx_conformance_check::rules::{Level, RuleId};
use onnx_conformance_check::{Limits, check};
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::executor::{Step, run_traced};
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::model::{LoadLimits, ModelError, read_model};
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::{Message as _, ModelProto};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::value::Value;
use onnx_conformance_report::model_reports::{markdown_report, page, sarif, table, text};
use onnx_conformance_report::models::{
    CheckQuestions, ModelReport, NamedModel, Saving, examine_source, generated_trial, inputs_to_give, proof_accuracy,
};

/// Processor time limit per input, in an unoptimized build.
pub(crate) const TIME: Duration = Duration::from_secs(2);

/// Memory limit per input.
pub(crate) const BYTES: usize = 64 << 20;

/// Memory limit of a run on the executor.
const RUN_BYTES: usize = 16 << 20;

fn limits() -> Limits {
    let started = Instant::now();
    Limits { bytes: BYTES, deadline: Deadline::new(move || started.elapsed() > TIME / 4), findings: 1000 }
}

/// Checks a model with all options, renders the report in every format, and compares the inferred facts and the reported errors
/// of nodes with the executor.
pub(crate) fn examined(input: &[u8]) -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let onnxruntime = Measurements::embedded().newest("onnxruntime").ok().flatten();
    let saving = Saving::new(folder.path().to_owned(), Vec::new(), true);
    let wanted =
        CheckQuestions { runtimes: onnxruntime.into_iter().collect(), save: Some(saving), ..CheckQuestions::default() };
    let source = input.to_vec();
    let model = NamedModel { name: "m.onnx", bytes: &source, folder: None };
    let plain = examine_source(&model, &CheckQuestions::default(), &limits());
    let with_runtime = examine_source(&model, &wanted, &limits());
    for report in [&plain, &with_runtime] {
        render(report);
    }
    let Ok(model) = decode::model(Bytes::from(source)) else { return Ok(false) };
    agree_with_executor(&model, &plain)?;
    Ok(!has_errors(&plain))
}

fn has_errors(report: &ModelReport) -> bool {
    report.findings.iter().any(|finding| finding.level == Level::Error)
}

fn render(report: &ModelReport) {
    let reports = std::slice::from_ref(report);
    let _ = (text(report), table(reports), markdown_report(reports), page(reports), sarif(reports));
}

/// Compares the inferred facts of a value with the value: type, dimensions, elements.
fn contradicts(fact: &ValueFact, value: &Value) -> Option<String> {
    if let Some(known) = fact.value_type.as_ref().filter(|known| **known != value.value_type()) {
        return Some(format!("is inferred as {known}, and is {}", value.value_type()));
    }
    let tensor = value.as_tensor()?;
    if let Some(shape) = &fact.shape {
        let fits = |(dim, size): (&Dim, &usize)| !matches!(dim, Dim::Size(known) if known != size);
        if shape.len() != tensor.rank() || !shape.iter().zip(tensor.shape()).all(fits) {
            return Some(format!("is inferred with shape {shape:?}, and has {:?}", tensor.shape()));
        }
    }
    let constant = fact.constant.as_ref()?;
    (constant != value && compare(constant, value, &Accuracy::Exact).is_err())
        .then(|| format!("is inferred as {constant:?}, and is {value:?}"))
}

/// Checks that the inferred facts of the main graph are true of its values, and that a model with errors in its nodes does not
/// run.
fn agree_with_executor(model: &ModelProto, report: &ModelReport) -> Result<(), String> {
    // In a model that contradicts its own declarations, facts come from both sides.
    let is_about_nodes = |rule: RuleId| matches!(rule, RuleId::NodeConstraint | RuleId::NodeType | RuleId::NodeArity);
    let errors: Vec<_> = report.findings.iter().filter(|finding| finding.level == Level::Error).collect();
    if errors.iter().any(|finding| !is_about_nodes(finding.rule)) {
        return Ok(());
    }
    // Declarations are removed, because they may be wrong where nothing is inferred.
    let mut undeclared = model.clone();
    if let Some(graph) = &mut undeclared.graph {
        graph.value_info.clear();
        graph.output.iter_mut().for_each(|output| output.r#type = None);
    }
    let limits = limits();
    let inferred = infer(&undeclared, &limits);
    let wrong = Mutex::new(None);
    let step = |step: &Step<'_>| {
        if step.depth > 0 {
            return;
        }
        for (name, value) in step.node.outputs.iter().zip(step.outputs) {
            let Some(value) = value else { continue };
            let fact = inferred.value(BodyId::MAIN, name);
            let contradiction = fact.and_then(|fact| contradicts(fact, value));
            if let (Some(text), Ok(mut wrong)) = (contradiction, wrong.lock()) {
                wrong.get_or_insert(format!("'{name}' of {} {text}", step.node.op_type));
            }
        }
    };
    let Some(ran) = run(model, &step) else { return Ok(()) };
    if let Some(text) = wrong.into_inner().ok().flatten() {
        return Err(text);
    }
    // The executor skips a node without used outputs, so that an error of it does not show.
    let is_dead = |finding: &Finding| {
        let is_note = |other: &&Finding| other.rule == RuleId::NodeDead && other.place == finding.place;
        report.findings.iter().any(|other| is_note(&other))
    };
    let in_main_graph = |finding: &&&Finding| finding.place.path.len() == 1 && !is_dead(finding);
    match errors.iter().find(in_main_graph) {
        Some(error) if ran.is_ok() => Err(format!("the model runs, in spite of: {error}")),
        _ => Ok(()),
    }
}

/// Runs the model on generated inputs; `None` if no inputs can be generated, or if the model does not load.
fn run(model: &ModelProto, step: &(dyn Fn(&Step<'_>) + Sync)) -> Option<Result<Vec<Value>, String>> {
    let (_, inputs) = generated_trial(&inputs_to_give(model.graph.as_ref()?), 0, &limits()).ok()?;
    run_on(model, &inputs, step)
}

fn run_on(
    model: &ModelProto,
    inputs: &[Named],
    step: &(dyn Fn(&Step<'_>) + Sync),
) -> Option<Result<Vec<Value>, String>> {
    let deadline = limits().deadline;
    let loading = LoadLimits { deadline: deadline.clone(), bytes: RUN_BYTES };
    let loaded = match read_model(Bytes::from(model.encode_to_vec()), &NoExternalData, &loading) {
        Ok(loaded) => loaded,
        // A limit, which is time on the clock, is no property of the model.
        Err(error @ ModelError::Limit(_)) => return Some(Err(error.to_string())),
        Err(_) => return None,
    };
    let limits =
        ExecutionLimits { elements: 1 << 18, bytes: RUN_BYTES, trips: 100, deadline, ..ExecutionLimits::default() };
    let inputs: BTreeMap<String, Value> =
        inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
    Some(run_traced(&loaded, inputs, limits, step).map_err(|error| error.to_string()))
}

/// Converts a valid model to other opsets and checks that the results are valid and give the same outputs.
pub(crate) fn converted(input: &[u8]) -> Result<bool, String> {
    if has_error(input) {
        return Ok(false);
    }
    let Ok(before) = decode::model(Bytes::copy_from_slice(input)) else { return Ok(false) };
    let mut is_converted = false;
    for target in targets(input, &before) {
        let Ok(conversion) = convert(&before, &target) else { continue };
        let after = conversion.model;
        is_converted = true;
        let file = after.encode_to_vec();
        if let Some(error) = first_error(&file) {
            return Err(format!("valid, and after its conversion to {target:?}: {error}"));
        }
        same_outputs(&before, &after).map_err(|text| format!("converted to {target:?}: {text}"))?;
    }
    Ok(is_converted)
}

fn first_error(file: &[u8]) -> Option<String> {
    let report = check(file, None, &limits());
    let error = report.findings.iter().find(|finding| finding.level == Level::Error);
    error.filter(|error| error.rule != RuleId::FileLimit).map(ToString::to_string)
}

fn has_error(file: &[u8]) -> bool {
    check(file, None, &limits()).findings.iter().any(|finding| finding.level == Level::Error)
}

/// Three opsets of each imported domain, derived from the input.
fn targets(input: &[u8], model: &ModelProto) -> Vec<Target> {
    let mut targets = Vec::new();
    let mixed = input.iter().fold(7_i64, |sum, byte| sum.wrapping_mul(31).wrapping_add(i64::from(*byte)));
    for import in &model.opset_import {
        let domain = onnx_conformance_reference::spec::canonical_domain(import.domain()).to_owned();
        let Ok(newest) = Specs::embedded().newest_opset(&domain) else { continue };
        for part in 0..3 {
            let opset = 1 + mixed.wrapping_shr(8 * part).rem_euclid(i64::from(newest));
            targets.push(Target { opsets: BTreeMap::from([(domain.clone(), opset)]), ir: None, relabel_only: false });
        }
    }
    targets
}

fn same_outputs(before: &ModelProto, after: &ModelProto) -> Result<(), String> {
    let Some(graph) = &before.graph else { return Ok(()) };
    let Some((_, inputs)) = generated_trial(&inputs_to_give(graph), 0, &limits()).ok() else { return Ok(()) };
    let Some(Ok(expected)) = run_on(before, &inputs, &|_| ()) else { return Ok(()) };
    let actual = match run_on(after, &inputs, &|_| ()) {
        Some(Ok(actual)) => actual,
        Some(Err(error)) if is_limit(&error) => return Ok(()),
        Some(Err(error)) => return Err(format!("the model ran, and does not any more: {error}")),
        None => return Err("the model loaded, and does not any more".to_owned()),
    };
    for (position, (expected, actual)) in expected.iter().zip(&actual).enumerate() {
        if let Err(difference) = compare(expected, actual, &proof_accuracy(expected).0) {
            return Err(format!("output {position} differs: {}", difference.message));
        }
    }
    Ok(())
}

/// True if the run ended at a limit, which the nodes of a conversion may reach earlier than the original node.
fn is_limit(error: &str) -> bool {
    error.contains("limit") || error.contains("the time for")
}
