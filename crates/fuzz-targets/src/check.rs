//! Fuzz target for checks and conversions of models, compared with each other and with the executor.

use std::collections::{BTreeMap, HashMap};
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
use onnx_conformance_reference::executor::{RunError, Step, run_traced};
use onnx_conformance_reference::infer::Size;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::kernels::framework::error::KernelError;
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::model::{LoadLimits, ModelError, read_model};
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{GraphProto, Message as _, ModelProto};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::value::Value;
use onnx_conformance_report::model_reports::{markdown_report, page, sarif, table, text};
use onnx_conformance_report::models::{
    CheckQuestions, InputPlan, ModelReport, NamedModel, Saving, examine_source, generated_trial, proof_accuracy,
};

use crate::{Bug, Difference};

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
pub(crate) fn check_model(input: &[u8]) -> Result<bool, Bug> {
    let folder = tempfile::tempdir()?;
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
    compare_with_executor(&model, &plain)?;
    Ok(!has_errors(&plain))
}

fn has_errors(report: &ModelReport) -> bool {
    report.findings.iter().any(|finding| finding.level == Level::Error)
}

fn render(report: &ModelReport) {
    let reports = std::slice::from_ref(report);
    let _ = (text(report), table(reports), markdown_report(reports), page(reports), sarif(reports));
}

/// Compares the inferred facts of a value with the value: type, dimensions, elements. Formulas are evaluated with the
/// sizes of named dimensions.
fn contradicts(fact: &ValueFact, value: &Value, sizes: &HashMap<String, usize>) -> Option<String> {
    if let Some(known) = fact.value_type.as_ref().filter(|known| **known != value.value_type()) {
        return Some(format!("is inferred as {known}, but is {}", value.value_type()));
    }
    let tensor = value.as_tensor()?;
    if let Some(shape) = &fact.shape {
        let fits = |(dim, size): (&Dim, &usize)| {
            let known = Size::from_dim(dim).and_then(|known| known.evaluate(&|name| sizes.get(name).copied()));
            known.is_none_or(|known| i64::try_from(*size) == Ok(known))
        };
        if shape.len() != tensor.rank() || !shape.iter().zip(tensor.shape()).all(fits) {
            return Some(format!("is inferred with shape {shape:?}, but has {:?}", tensor.shape()));
        }
    }
    if let Some(elements) = &fact.elements {
        let fits = |(element, value): (&Option<Size>, &i64)| {
            let known = element.as_ref().and_then(|known| known.evaluate(&|name| sizes.get(name).copied()));
            known.is_none_or(|known| known == *value)
        };
        let values = tensor.indices();
        if elements.len() != values.len() || !elements.iter().zip(&values).all(fits) {
            return Some(format!("is inferred as {elements:?}, but is {values:?}"));
        }
    }
    let constant = fact.constant.as_ref()?;
    (constant != value && compare(constant, value, &Accuracy::Exact).is_err())
        .then(|| format!("is inferred as {constant:?}, but is {value:?}"))
}

/// Returns the sizes of the named dimensions of a graph's inputs.
fn named_sizes(graph: &GraphProto, inputs: &[Named]) -> HashMap<String, usize> {
    let mut sizes = HashMap::new();
    for info in &graph.input {
        let value = inputs.iter().find(|input| input.name == info.name()).and_then(|input| input.value.as_tensor());
        let kind = info.r#type.as_ref().and_then(|kind| kind.value.as_ref());
        let (Some(tensor), Some(type_proto::Value::TensorType(declared))) = (value, kind) else { continue };
        for (dim, size) in declared.shape.iter().flat_map(|shape| &shape.dim).zip(tensor.shape()) {
            if let Some(dimension::Value::DimParam(name)) = &dim.value {
                sizes.entry(name.clone()).or_insert(*size);
            }
        }
    }
    sizes
}

/// Checks that the inferred facts of the main graph are true of its values, and that a model with errors in its nodes does not
/// run.
fn compare_with_executor(model: &ModelProto, report: &ModelReport) -> Result<(), Bug> {
    // If a model contradicts its own declarations, facts derive from both.
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
    let Some(graph) = &model.graph else { return Ok(()) };
    let Some((_, inputs)) = generated_trial(&InputPlan::new(graph), 0, 0, &limits).ok() else { return Ok(()) };
    let sizes = named_sizes(graph, &inputs);
    let first_bug = Mutex::new(None);
    let step = |step: &Step<'_>| {
        if step.depth > 0 {
            return;
        }
        for (name, value) in step.node.outputs.iter().zip(step.outputs) {
            let Some(value) = value else { continue };
            let fact = inferred.value(BodyId::MAIN, name);
            let contradiction = fact.and_then(|fact| contradicts(fact, value, &sizes));
            if let (Some(contradiction), Ok(mut first_bug)) = (contradiction, first_bug.lock()) {
                let operator = step.node.op_type.clone();
                first_bug.get_or_insert(Bug::Inference { name: name.clone(), operator, contradiction });
            }
        }
    };
    let Some(ran) = run_on(model, &inputs, &step) else { return Ok(()) };
    if let Some(bug) = first_bug.into_inner().ok().flatten() {
        return Err(bug);
    }
    // The executor skips nodes without used outputs, so their errors do not appear.
    let is_dead = |finding: &Finding| {
        let is_note = |other: &&Finding| other.rule == RuleId::NodeDead && other.place == finding.place;
        report.findings.iter().any(|other| is_note(&other))
    };
    let is_in_main_graph = |finding: &&&Finding| finding.place.path.len() == 1 && !is_dead(finding);
    match errors.iter().find(is_in_main_graph) {
        Some(error) if ran.is_ok() => Err(Bug::FalseError(error.to_string())),
        _ => Ok(()),
    }
}

/// Reason why a model has no outputs.
#[derive(Debug, thiserror::Error)]
enum NoOutputs {
    #[error(transparent)]
    Load(#[from] ModelError),
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs the model; `None` if it does not load.
fn run_on(
    model: &ModelProto,
    inputs: &[Named],
    step: &(dyn Fn(&Step<'_>) + Sync),
) -> Option<Result<Vec<Value>, NoOutputs>> {
    let deadline = limits().deadline;
    let loading = LoadLimits { deadline: deadline.clone(), bytes: RUN_BYTES };
    let loaded = match read_model(Bytes::from(model.encode_to_vec()), &NoExternalData, &loading) {
        Ok(loaded) => loaded,
        // A limit depends on the clock, so it is not a property of the model.
        Err(error @ ModelError::Limit(_)) => return Some(Err(error.into())),
        Err(_) => return None,
    };
    let limits =
        ExecutionLimits { elements: 1 << 18, bytes: RUN_BYTES, trips: 100, deadline, ..ExecutionLimits::default() };
    let inputs: BTreeMap<String, Value> =
        inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
    Some(run_traced(&loaded, inputs, limits, step).map_err(NoOutputs::from))
}

/// Converts a valid model to other opsets and checks that the results are valid and give the same outputs.
pub(crate) fn convert_model(input: &[u8]) -> Result<bool, Bug> {
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
        let target = format!("{target:?}");
        if let Some(error) = first_error(&file) {
            return Err(Bug::InvalidConversion { target, error });
        }
        compare_outputs(&before, &after).map_err(|difference| Bug::DifferentConversion { target, difference })?;
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

fn compare_outputs(before: &ModelProto, after: &ModelProto) -> Result<(), Difference> {
    let Some(graph) = &before.graph else { return Ok(()) };
    let Some((_, inputs)) = generated_trial(&InputPlan::new(graph), 0, 0, &limits()).ok() else { return Ok(()) };
    let Some(Ok(expected)) = run_on(before, &inputs, &|_| ()) else { return Ok(()) };
    let actual = match run_on(after, &inputs, &|_| ()) {
        Some(Ok(actual)) => actual,
        Some(Err(error)) if is_limit(&error) => return Ok(()),
        Some(Err(error)) => return Err(Difference::Run(error.to_string())),
        None => return Err(Difference::Load),
    };
    for (position, (expected, actual)) in expected.iter().zip(&actual).enumerate() {
        if let Err(difference) = compare(expected, actual, &proof_accuracy(expected)) {
            return Err(Difference::Output { position, message: difference.message });
        }
    }
    Ok(())
}

/// True if the run ended at a limit, which the nodes of a conversion may reach earlier than the original node.
fn is_limit(error: &NoOutputs) -> bool {
    match error {
        NoOutputs::Load(error) => matches!(error, ModelError::Limit(_)),
        NoOutputs::Run(RunError::Kernel(error)) => {
            matches!(error.root(), KernelError::Limit(_) | KernelError::Depth(_) | KernelError::Deadline)
        }
        NoOutputs::Run(_) => false,
    }
}
