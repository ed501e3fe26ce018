//! `trace MODEL --runtime NAME`: finds the first nodes of a model that a runtime computes differently.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use clap::Args;
use onnx_conformance_cases::case::Named;
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::Target;
use onnx_conformance_check::infer::{BodyId, infer_facts};
use onnx_conformance_check::scan::scan;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::interrupt::stopped_by_interrupt;
use onnx_conformance_harness::shell::word;
use onnx_conformance_harness::whole_folder::write_whole_folder;
use onnx_conformance_reference::proto::{GraphProto, ModelProto, OperatorSetIdProto, decode};
use onnx_conformance_reference::spec::canonical_domain;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use onnx_conformance_report::models::{
    InputPlan, OtherOpsets, Reference, RunFailure, Trace, TraceError, TraceOutcome, TraceQuestion, TraceReport,
    TrialInputs, generated_trial, is_degenerate, model_name, resized_ways, trace_model,
};
use onnx_conformance_subject::{Ask, Builtin, Ended, Host, Phase, Request, Response, Stop, StopReason};

use crate::cli::case_folder::check_new;
use crate::cli::input_files::{InputSet, input_sets};
use crate::cli::limits::Allowance;
use crate::cli::options::Form;
use crate::cli::print;
use crate::cli::runtime::{BUILTIN, RuntimeOptions};
use crate::cli::runtime_name::runtime_parser;
use crate::cli::target::{opset_label, opset_of};
use crate::cli::usage::{NotAModel, Usage};

/// Number of draws of generated inputs: outputs may agree by chance. One has special values, and the later ones have other sizes if
/// the model runs with them.
const DRAWS: usize = 3;

/// Maximum number of ways to generate inputs that are tried although the outputs are only NaN or empty.
const MAX_DEGENERATE: usize = 24;

/// Options for a model file.
#[derive(Debug, Args)]
pub(crate) struct SearchOptions {
    /// Of a model: find the first node that this runtime computes differently; a name or command line as for `run`
    #[arg(long, value_name = "NAME|COMMAND", value_parser = runtime_parser())]
    pub(crate) runtime: Option<String>,

    /// Runtime whose values are taken as correct, or an opset: @13 or @ai.onnx.ml=3 is the model itself, converted to it, on the
    /// same runtime
    #[arg(long, value_name = "NAME|COMMAND|@OPSET", default_value = BUILTIN, value_parser = runtime_parser())]
    against: String,

    /// Inputs of the model instead of generated ones: a .npz file, or a folder with x.npy or `input_0.pb` and so on
    #[arg(long, value_name = "FILE|DIR")]
    inputs: Option<PathBuf>,

    /// Write the nodes that differ to this new folder, as a case folder of ONNX with a text for an issue
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Output format of the answer about a runtime. `docs/schema/trace.json` describes the JSON
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Form,
}

impl SearchOptions {
    /// Returns true if an option is given.
    pub(crate) fn is_given(&self) -> bool {
        self.runtime.is_some() || self.inputs.is_some() || self.asks_about_runtime()
    }

    /// Returns true if an option is given that needs `--runtime`.
    pub(crate) fn asks_about_runtime(&self) -> bool {
        self.has_reference() || self.output.is_some() || self.format != Form::Text
    }

    /// Returns true if the values of another runtime than the built-in executor are taken as correct.
    fn has_reference(&self) -> bool {
        self.against != BUILTIN
    }
}

/// Returns the folder of a model file.
pub(crate) fn home(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the first inputs of a model: those of `--inputs`, or generated ones on which the built-in executor runs it.
pub(crate) fn first_inputs(
    path: &Path,
    model: &Bytes,
    options: &SearchOptions,
    allowance: &Allowance,
) -> anyhow::Result<TrialInputs> {
    let decoded = decoded(path, model)?;
    let source = InputSource::new(path, model, graph(path, &decoded)?, options, allowance)?;
    source.trial(0, source.way)?.with_context(|| format!("{}: there are no inputs", model_name(path)))
}

/// Finds the first nodes of a model that a runtime computes differently, and prints them.
pub(crate) fn search(path: &Path, options: &SearchOptions, allowance: Allowance) -> anyhow::Result<u8> {
    match search_model(path, options, allowance) {
        Err(error) if error.is::<NotAModel>() && options.format == Form::Json => {
            print::json(&TraceReport::unreadable(model_name(path), error.to_string()))?;
            Ok(exit::HARNESS)
        }
        done => done,
    }
}

fn search_model(path: &Path, options: &SearchOptions, allowance: Allowance) -> anyhow::Result<u8> {
    let Some(runtime) = &options.runtime else { bail!(Usage("--runtime is missing".to_owned())) };
    if let Some(output) = &options.output {
        check_new(output)?;
    }
    let bytes = allowance.read(path)?;
    let model = decoded(path, &bytes)?;
    let graph = graph(path, &model)?;
    let stop = stopped_by_interrupt();
    let opsets = options.against.strip_prefix('@').map(|text| other_opsets(text, &model, &allowance)).transpose()?;
    let host = started(runtime, &allowance, &stop)?;
    let is_runtime = options.has_reference() && opsets.is_none();
    let other = if is_runtime { Some(started(&options.against, &allowance, &stop)?) } else { None };
    let reference = match (&other, &opsets) {
        (Some(other), _) => Reference::Host(&**other),
        (None, Some(opsets)) => Reference::Converted(&*host, opsets),
        (None, None) => Reference::Builtin(allowance.memory()),
    };
    let types = if options.has_reference() { inferred_types(&bytes, &allowance) } else { BTreeMap::new() };
    let source = InputSource::new(path, &bytes, graph, options, &allowance)?;
    let trace = |inputs: &[Named]| {
        trace_model(&TraceQuestion {
            model: &bytes,
            folder: Some(home(path)),
            inputs,
            runtime: &*host,
            reference,
            types: types.clone(),
            deadline: allowance.deadline(),
            bytes: allowance.memory(),
        })
    };
    let mut same = None;
    for number in 0.. {
        let Some((name, traced)) = source.traced(number, &trace)? else {
            let (name, trace) = same.with_context(|| format!("{}: there are no inputs", model_name(path)))?;
            let inputs = if number > 1 { format!("{number} sets of inputs") } else { name };
            return report(path, &inputs, &trace, options);
        };
        let given = source.is_given().then_some(name.as_str());
        let traced = traced.map_err(|error| explained(path, given, error, &allowance));
        if let Some(StopReason::Failed(reason)) = stop.reason() {
            bail!("{reason}; the search cannot go on");
        }
        if stop.is_set() {
            print::note("stopped before the search ended");
            return Ok(exit::INTERRUPTED);
        }
        let traced = traced?;
        if !traced.is_same() {
            return report(path, &name, &traced, options);
        }
        same = Some((name, traced));
    }
    Ok(exit::SUCCESS)
}

/// Writes the nodes that differ, and prints the result.
fn report(path: &Path, inputs: &str, trace: &Trace, options: &SearchOptions) -> anyhow::Result<u8> {
    let name = model_name(path);
    if options.format == Form::Text {
        print::line(&escape::line(&format!("{name}, {inputs}")))?;
        for text in trace.text().lines() {
            print::line(&escape::line(text))?;
        }
    }
    let (written, hint) = match (&trace.outcome, &options.output) {
        (TraceOutcome::Found(found), Some(folder)) => {
            let files = found.files(trace, Some(home(path)), &command(options));
            write_whole_folder(folder, &files.files, &files.linked, home(path))?;
            (Some(folder.display().to_string()), format!("wrote {}", folder.display()))
        }
        (TraceOutcome::Found(_), None) => {
            (None, "-o DIR writes the nodes with these values as a case folder, with a text for an issue".to_owned())
        }
        (_, Some(_)) => (None, "nothing was written: there are no nodes to write".to_owned()),
        (_, None) => (None, String::new()),
    };
    if options.format == Form::Json {
        let mut report = TraceReport::new(name, inputs.to_owned(), trace);
        report.written = written;
        print::json(&report)?;
    } else if !hint.is_empty() {
        print::line(&escape::line(&hint))?;
    }
    Ok(if trace.is_same() { exit::SUCCESS } else { exit::REGRESSION })
}

/// Returns the command that shows the difference again in the written folder.
fn command(options: &SearchOptions) -> String {
    let runtime = options.runtime.as_deref().unwrap_or_default();
    // The path of an adapter's folder has no meaning on another machine, but its last part is the name of the adapter.
    let is_path = !runtime.contains(char::is_whitespace);
    let runtime = if is_path { runtime.rsplit('/').next().unwrap_or(runtime) } else { runtime };
    let runtime = RuntimeOptions::plain(runtime, std::time::Duration::ZERO).as_arguments();
    let against =
        if options.has_reference() { format!(" --against {}", word(&options.against)) } else { String::new() };
    format!("onnx-conformance trace model.onnx{runtime}{against} --inputs test_data_set_0")
}

/// Returns the opset to convert the model to, in `13` or `ai.onnx.ml=3`.
fn other_opsets(text: &str, model: &ModelProto, allowance: &Allowance) -> anyhow::Result<OtherOpsets> {
    let option = format!("--against @{text}");
    let (domain, opset) = opset_of(text, &option)?;
    let import = model.opset_import.iter().find(|import| canonical_domain(import.domain()) == domain);
    match import.map(OperatorSetIdProto::version) {
        None => bail!(Usage(format!("{option}: the model does not import {domain}"))),
        Some(own) if own == opset => {
            bail!(Usage(format!("{option}: the model already has {}; name another", opset_label(&domain, opset))));
        }
        Some(_) => {}
    }
    let label = opset_label(&domain, opset);
    let target = Target { opsets: BTreeMap::from([(domain, opset)]), ..Target::default() };
    Ok(OtherOpsets { target, label, limits: allowance.limits() })
}

/// Starts a runtime.
fn started(runtime: &str, allowance: &Allowance, stop: &Stop) -> anyhow::Result<Box<dyn Host + Send>> {
    let host = RuntimeOptions::plain(runtime, allowance.time_left()).open_trusted(stop);
    host.with_context(|| format!("cannot start {runtime}"))
}

fn decoded(path: &Path, bytes: &Bytes) -> anyhow::Result<ModelProto> {
    let error = match decode::model(bytes.clone()) {
        Ok(model) if !bytes.is_empty() => return Ok(model),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    // The scanner describes the actual format of the file.
    let found = scan(&bytes[..], &Limits::default()).err().map(|finding| finding.message).or(error).unwrap_or_default();
    bail!(NotAModel(format!("{} is not a model: {found}", model_name(path))))
}

fn graph<'a>(path: &Path, model: &'a ModelProto) -> anyhow::Result<&'a GraphProto> {
    model.graph.as_ref().with_context(|| format!("{}: the model has no graph", model_name(path)))
}

/// Returns the inferred types of the values of the main graph.
fn inferred_types(bytes: &Bytes, allowance: &Allowance) -> BTreeMap<String, ValueType> {
    let limits = allowance.limits();
    let Ok(scan) = scan(&bytes[..], &limits) else { return BTreeMap::new() };
    let inferred = infer_facts(&scan.model, &limits);
    let nodes = scan.model.graph.iter().flat_map(|graph| &graph.node);
    let types = nodes.flat_map(|node| &node.output).filter_map(|name| {
        let fact = inferred.value(BodyId::MAIN, name)?;
        Some((name.to_string(), fact.value_type.clone()?))
    });
    types.collect()
}

/// Adds the file, the name of given inputs, and a remedy to an error.
fn explained(path: &Path, given: Option<&str>, error: TraceError, allowance: &Allowance) -> anyhow::Error {
    let name = model_name(path);
    match error {
        TraceError::Late | TraceError::Memory(_) => allowance.limit_error(&format!("{name} was not traced ({error})")),
        TraceError::NotConverted { .. } => anyhow!("{name}: {error}; `convert` lists what another opset needs"),
        TraceError::NotLoaded(_) => anyhow!("{name}: {error}; --against compares with another runtime"),
        TraceError::Reference { .. } => match given {
            Some(inputs) => anyhow!("{name}, inputs of {inputs}: {error}"),
            None => anyhow!("{name}: {error}; give inputs that fit with --inputs"),
        },
        error => anyhow!("{name}: {error}"),
    }
}

/// Result of a search.
type TraceResult = Result<Trace, TraceError>;

/// Traces a model on inputs.
type TraceInputs<'a> = &'a dyn Fn(&[Named]) -> TraceResult;

/// Inputs of a model: from files, or generated.
struct InputSource<'a> {
    path: &'a Path,
    model: &'a Bytes,
    plan: InputPlan<'a>,
    /// The way to generate inputs on which the built-in executor runs the model.
    way: usize,
    given: Vec<InputSet>,
    allowance: &'a Allowance,
}

impl<'a> InputSource<'a> {
    fn new(
        path: &'a Path,
        model: &'a Bytes,
        graph: &'a GraphProto,
        options: &SearchOptions,
        allowance: &'a Allowance,
    ) -> anyhow::Result<InputSource<'a>> {
        let plan = InputPlan::new(graph);
        let given = options.inputs.as_deref().map(input_sets).transpose()?.unwrap_or_default();
        let mut source = InputSource { path, model, plan, way: 0, given, allowance };
        let mut degenerate = None;
        // Other inputs do not help a model that does not load.
        let fits = |way: usize| {
            let Ok(inputs) = source.plan.inputs(way, 0, &allowance.limits()) else {
                return Some(degenerate.unwrap_or(way));
            };
            match source.run(&inputs) {
                Ok(values) if is_degenerate(&values) => {
                    let first = *degenerate.get_or_insert(way);
                    (way >= MAX_DEGENERATE).then_some(first)
                }
                Ok(_) => Some(way),
                Err(Ended::Answered(Response::Error { phase: Phase::Run, .. })) => None,
                Err(_) => Some(degenerate.unwrap_or(0)),
            }
        };
        // If none fits, the first one gives the error.
        if source.given.is_empty() && source.plan.ways() > 1 {
            source.way = (0..source.plan.ways()).find_map(fits).or(degenerate).unwrap_or(0);
        }
        Ok(source)
    }

    /// Runs the model on the built-in executor.
    fn run(&self, inputs: &[Named]) -> Result<Vec<Value>, Ended> {
        let folder = Some(home(self.path));
        let request = Request { id: "trace", model: self.model, folder, inputs, outputs: &[], ask: Ask::RUN };
        let builtin = Builtin::new(self.allowance.time_left()).with_memory(self.allowance.memory());
        builtin.run(&request).ended.into_values()
    }

    fn is_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// Traces the model on the inputs of a run by its number; `None` after the last one. A later run has other sizes, unless the
    /// reference does not run the model with them.
    fn traced(&self, number: usize, trace: TraceInputs<'_>) -> anyhow::Result<Option<(String, TraceResult)>> {
        let ways = self.plan.ways();
        let is_resized = number > 0 && ways > 1 && !self.is_given();
        for way in is_resized.then(|| resized_ways(self.way, ways)).into_iter().flatten() {
            // Other sizes may exceed a limit.
            let Ok(Some((name, inputs))) = self.trial(number, way) else { continue };
            if self.run(&inputs).is_ok_and(|values| is_degenerate(&values)) {
                continue;
            }
            match trace(&inputs) {
                Err(TraceError::Reference { .. } | TraceError::Memory(_)) => {}
                traced => return Ok(Some((name, traced))),
            }
        }
        let Some((name, inputs)) = self.trial(number, self.way)? else { return Ok(None) };
        Ok(Some((name, trace(&inputs))))
    }

    /// Returns the inputs of a run by its number, in this way; `None` after the last one.
    fn trial(&self, number: usize, way: usize) -> anyhow::Result<Option<TrialInputs>> {
        if let Some(set) = self.given.get(number) {
            return set.read(self.plan.wanted()).map(Some);
        }
        let is_generated = self.given.is_empty() && number < DRAWS;
        if !is_generated || (number > 0 && self.plan.wanted().is_empty()) {
            return Ok(None);
        }
        let generated = generated_trial(&self.plan, way, number, &self.allowance.limits());
        generated.map(Some).map_err(|failure| match failure {
            RunFailure::Limit(why) => self.allowance.limit_error(&why),
            RunFailure::Model(why) | RunFailure::Never(why) => anyhow!("{why}; provide inputs with --inputs"),
        })
    }
}
