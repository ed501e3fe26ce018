//! `check`: checks if models are valid, and their behaviour at other opsets and IR versions.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use onnx_conformance_cases::case::{MAX_BINARY, read_file};
use onnx_conformance_check::Limits;
use onnx_conformance_check::rules::Level;
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::interrupt::stopped_by_interrupt;
use onnx_conformance_harness::measure::{Measurement, Measurements};
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::{ModelProto, decode};
use onnx_conformance_report::json_format::versioned_json;
use onnx_conformance_report::model_reports::{markdown_report, opsets_text, page, sarif, table, text};
use onnx_conformance_report::models::{
    CheckQuestions, InputPlan, ModelReport, OpsetHistogram, RuntimeProbe, Saving, Status, TrialInputs, bound_at_zero,
    examine, is_stdin, model_files, opset_histogram,
};
use onnx_conformance_subject::{Stop, StopReason};
use rayon::prelude::*;

use crate::cli::fixed_model::{Wanted, write_edited};
use crate::cli::input_files::input_sets;
use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::runtime::RuntimeOptions;
use crate::cli::runtime_name::{RuntimeName, runtime_parser};
use crate::cli::screen::ScreenOptions;
use crate::cli::target::TargetOptions;
use crate::cli::usage::Usage;
use crate::cli::{options, pool, print};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Arguments {
    /// Model files, folders with .onnx files, or - for standard input
    #[arg(value_name = "MODEL|DIR", required = true)]
    models: Vec<PathBuf>,

    #[command(flatten, next_help_heading = "Target")]
    target: TargetOptions,

    /// Show the measured behaviour of a runtime for each node: onnxruntime, onnxruntime@1.20.1, or all for the newest version of
    /// each runtime
    #[arg(long, help_heading = "Runtime", value_name = "NAME[@VERSION]", value_delimiter = ',', value_parser = runtime_parser())]
    runtime: Vec<String>,

    /// Start the runtime, run the model on it, and compare the outputs. If that gives no answer, run nodes as separate
    /// models. --runtime is then the name or command line of an adapter, as for `run`
    #[arg(long, help_heading = "Runtime", requires = "runtime")]
    probe: bool,

    /// Inputs for the run of the whole model instead of generated ones: a .npz file, or a folder with x.npy or `input_0.pb` and so on
    #[arg(long, help_heading = "Runtime", value_name = "FILE|DIR", requires = "probe")]
    inputs: Option<PathBuf>,

    /// Write nodes as separate models to this folder: nodes that are not known to run on the runtime, nodes with
    /// findings, or the nodes of --node
    #[arg(long, help_heading = "Written models", value_name = "DIR")]
    save_node: Option<PathBuf>,

    /// Node to write: its name, position in the main graph or output, or all. May be given several times
    #[arg(long, help_heading = "Written models", value_name = "NODE", requires = "save_node")]
    node: Vec<String>,

    /// Show the inferred type and shape of every value of the main graph
    #[arg(long, help_heading = "Output")]
    shapes: bool,

    /// Show the parameters, their bytes, and the operations per operator. For several models, also count them by opset
    #[arg(long, help_heading = "Output")]
    summary: bool,

    /// Write the model to the file of -o with all safe edits: they change neither its outputs nor which runtimes load it
    #[arg(long, help_heading = "Written models", requires = "output")]
    fix: bool,

    /// Write the model to the file of -o, with the inferred type and shape of each value of the main graph
    #[arg(long, help_heading = "Written models", requires = "output")]
    write_shapes: bool,

    /// Output format
    #[arg(long, help_heading = "Output", value_enum, default_value = "text")]
    format: Format,

    /// Exit with code 1 for findings of this level or worse
    #[arg(long, help_heading = "Output", value_enum, default_value = "error", value_name = "LEVEL")]
    fail_on: FailOn,

    /// Write the report to this file instead of standard output; with --fix or --write-shapes, write the model to it
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Output")]
    screen: ScreenOptions,

    /// Give up on a model after this many seconds
    #[arg(long, help_heading = "Limits", value_name = "SECONDS", default_value = "60")]
    timeout: u32,

    /// Give up on a model if its check needs more memory than this
    #[arg(long, help_heading = "Limits", value_name = "MB", default_value = "4096", value_parser = options::megabytes)]
    #[arg(allow_negative_numbers = true)]
    memory: usize,
}

/// Maximum number of findings per level to keep for one model, and for all models together.
const FINDINGS: (usize, usize) = (10_000, 100_000);

/// Number of findings per level that are kept for each model in any case.
const MIN_FINDINGS: usize = 100;

/// Report formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Each model with its findings, worst first
    Text,
    /// One line per model
    Table,
    /// JSON as described by `docs/schema/check.json`
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Markdown, for a comment or a summary
    Markdown,
    /// A self-contained HTML page
    Html,
}

/// Levels at which a check fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Violated rules and impossible conversions
    Error,
    /// Also warnings, and edits that the conversion requires
    Warning,
    /// Also notes
    Note,
    /// Also nodes without a measurement
    Unknown,
}

impl FailOn {
    fn level(self) -> Level {
        match self {
            FailOn::Error => Level::Error,
            FailOn::Warning => Level::Warning,
            FailOn::Note | FailOn::Unknown => Level::Note,
        }
    }
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let mut files = model_files(&arguments.models)?;
    arguments.check_output(&files)?;
    if files.len() > 1 || arguments.probe {
        pool::open()?;
    } else {
        pool::use_current_thread()?;
    }
    let stop = stopped_by_interrupt();
    if let Some(output) = arguments.edited_model() {
        let [model] = files.as_slice() else {
            bail!(Usage("--fix and --write-shapes edit one model; name one".to_owned()));
        };
        files = vec![arguments.edit(model, output, &stop)?];
    }
    let questions = arguments.questions(&stop, &files)?;
    let bar = bar(files.len());
    let ended = AtomicUsize::new(0);
    let reports: Vec<ModelReport> = files
        .par_iter()
        .filter_map(|file| {
            if stop.is_set() {
                return None;
            }
            let report = examine(file, &questions, &arguments.limits(files.len(), &stop));
            bar.set_position(u64::try_from(ended.fetch_add(1, Ordering::Relaxed) + 1).unwrap_or(u64::MAX));
            // A check that was cut off has no verdict.
            (!stop.is_set()).then_some(report)
        })
        .collect();
    bar.finish_and_clear();
    if let Some(StopReason::Failed(reason)) = stop.reason() {
        bail!("{reason}; no more nodes can be probed");
    }
    if stop.is_set() {
        print::note(&format!("stopped after {} of {} models", reports.len(), files.len()));
    } else {
        check_saved(&reports, &arguments.node)?;
    }
    let text = arguments.render(&reports, &questions)?;
    match arguments.output.as_ref().filter(|_| arguments.edited_model().is_none()) {
        Some(path) => write_whole(path, text.as_bytes()).with_context(|| path.display().to_string())?,
        None if arguments.format == Format::Text => print::styled(text.trim_end())?,
        None if matches!(arguments.format, Format::Json | Format::Sarif) => print::json_text(&text)?,
        None => print::line(text.trim_end())?,
    }
    let level = arguments.fail_on.level();
    Ok(match () {
        () if stop.is_set() => exit::INTERRUPTED,
        () if reports.iter().any(|report| matches!(report.status, Status::Unreadable | Status::Failed)) => {
            exit::HARNESS
        }
        () if reports.iter().any(|report| report.fails_on(level)) => exit::REGRESSION,
        () if arguments.fail_on == FailOn::Unknown && reports.iter().any(ModelReport::has_unknown) => exit::REGRESSION,
        () => exit::SUCCESS,
    })
}

/// Fails if a named node does not exist or a file could not be written.
fn check_saved(reports: &[ModelReport], names: &[String]) -> anyhow::Result<()> {
    let saved = || reports.iter().flat_map(|report| report.saved.iter().flatten());
    let is_missing = |name: &&String| *name != "all" && !saved().any(|node| node.asked.contains(name));
    if let Some(name) = names.iter().find(is_missing) {
        bail!(Usage(format!("--node {name}: no node has this name, position or output; `--node all` writes all")));
    }
    if let Some(failed) = saved().find(|node| node.has_failed) {
        bail!("{}", failed.why.as_deref().unwrap_or_default());
    }
    Ok(())
}

/// Starts the named runtimes, each with the measurement of its version, or else of the newest measured version.
fn started(
    names: &[String],
    inputs: &Arc<[TrialInputs]>,
    timeout: u32,
    stop: &Stop,
) -> anyhow::Result<Vec<RuntimeProbe>> {
    let all = Measurements::embedded();
    let start = |name: &String| {
        if name == "all" {
            bail!(Usage("--probe needs the names of the runtimes to start; `all` is not a name".to_owned()));
        }
        let version = name.rsplit_once('@').filter(|(name, _)| all.runtimes().iter().any(|(known, _)| known == name));
        let (command, version) = version.map_or((name.as_str(), None), |(name, version)| (name, Some(version)));
        let time = Duration::from_secs(u64::from(timeout));
        let host = RuntimeOptions::plain(command, time).open_trusted(stop).with_context(|| {
            format!("--probe: cannot start {name}; without --probe, `check --runtime` shows the measured behaviour")
        })?;
        let declaration = host.declaration();
        if let Some(version) = version.filter(|version| *version != declaration.version) {
            bail!(Usage(format!(
                "--probe: the installed version of {command} is {}, not {version}; omit the version",
                declaration.version
            )));
        }
        let of_version = all.get(&declaration.name, &declaration.version)?;
        let measurement = if of_version.is_some() { of_version } else { all.newest(&declaration.name)? };
        Ok(RuntimeProbe { host: Arc::from(host), measurement, inputs: Arc::clone(inputs), bound: bound_at_zero })
    };
    names.iter().map(start).collect()
}

/// Returns the named measurements.
fn measured(names: &[String]) -> anyhow::Result<Vec<&'static Measurement>> {
    let all = Measurements::embedded();
    let mut found = Vec::new();
    for name in names {
        if name == "all" {
            for (runtime, _) in all.runtimes() {
                found.extend(all.newest(runtime)?);
            }
            continue;
        }
        let measurement = RuntimeName::parse(name).measurement("--runtime: ");
        found.push(measurement.map_err(|error| match error.downcast::<Usage>() {
            Ok(Usage(text)) => Usage(format!("{text}; --probe tries a runtime that was not measured")).into(),
            Err(error) => error,
        })?);
    }
    Ok(found)
}

/// Creates a progress bar for many models on a terminal.
fn bar(models: usize) -> ProgressBar {
    if models < 10 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::try_from(models).unwrap_or(u64::MAX));
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len} models, {eta} left") {
        bar.set_style(style);
    }
    bar
}

impl Arguments {
    /// Returns true if the report is shortened to the screen of a terminal.
    pub(crate) fn is_shortened(&self) -> bool {
        matches!(self.format, Format::Text | Format::Table) && self.screen.is_shortened()
    }

    /// Writes the edited model, prints the edits, and returns the file to report on.
    fn edit(&self, model: &Path, output: &Path, stop: &Stop) -> anyhow::Result<PathBuf> {
        let wanted = Wanted { fix: self.fix, shapes: self.write_shapes };
        let edited = write_edited(model, output, wanted, &self.limits(1, stop))?;
        for text in edited.lines {
            match self.format {
                Format::Text => print::line(&line(&text))?,
                // A program reads only the report.
                _ => print::note(&line(&text)),
            }
        }
        Ok(edited.file)
    }

    /// Returns the limits for checking one of this many models.
    fn limits(&self, models: usize, stop: &Stop) -> Limits {
        let (started, time, stop) = (Instant::now(), Duration::from_secs(u64::from(self.timeout)), stop.clone());
        let (of_one, of_all) = FINDINGS;
        Limits {
            bytes: self.memory,
            deadline: Deadline::new(move || stop.is_set() || started.elapsed() > time),
            findings: (of_all / models.max(1)).clamp(MIN_FINDINGS, of_one),
        }
    }

    /// Returns the file of the edited model, if one is requested.
    fn edited_model(&self) -> Option<&Path> {
        self.output.as_deref().filter(|_| self.fix || self.write_shapes)
    }

    /// Fails if the report would replace a model, or a file that is not such a report.
    fn check_output(&self, models: &[PathBuf]) -> anyhow::Result<()> {
        let kind = match self.format {
            Format::Text | Format::Table => Kind::Text,
            Format::Json => Kind::CheckJson,
            Format::Sarif => Kind::Sarif,
            Format::Markdown => Kind::CheckMarkdown,
            Format::Html => Kind::CheckHtml,
        };
        let Some(output) = self.output.as_ref().filter(|_| self.edited_model().is_none()) else { return Ok(()) };
        Ok(OutputFiles::default().reading("a model", models.iter().map(PathBuf::as_path)).add(output, kind)?)
    }

    /// Returns the questions about the models.
    fn questions(&self, stop: &Stop, models: &[PathBuf]) -> anyhow::Result<CheckQuestions> {
        let mut questions = self.target.questions()?;
        if self.probe {
            let inputs = self.given_inputs(models)?;
            questions.probes = started(&self.runtime, &inputs, self.timeout, stop)?;
        } else {
            questions.runtimes = measured(&self.runtime)?;
        }
        let save = |folder: &PathBuf| Saving::new(folder.clone(), self.node.clone(), models.len() == 1);
        questions.save = self.save_node.as_ref().map(save);
        questions.shapes = self.shapes;
        questions.summary = self.summary;
        Ok(questions)
    }

    /// Reads the inputs of the model that are given.
    fn given_inputs(&self, models: &[PathBuf]) -> anyhow::Result<Arc<[TrialInputs]>> {
        let Some(inputs) = &self.inputs else { return Ok(Arc::default()) };
        let [model] = models else { bail!(Usage("--inputs is for one model; name one".to_owned())) };
        if is_stdin(model) {
            bail!(Usage("--inputs needs the model in a file, not on standard input".to_owned()));
        }
        let file = read_file(model, MAX_BINARY).with_context(|| model.display().to_string())?;
        // The check reports on a file without a model.
        let Ok(ModelProto { graph: Some(graph), .. }) = decode::model(file.into()) else { return Ok(Arc::default()) };
        let plan = InputPlan::new(&graph);
        input_sets(inputs)?.iter().map(|set| set.read(plan.wanted())).collect()
    }

    /// Counts the models by opset, if a summary of several is requested.
    fn opsets(&self, reports: &[ModelReport]) -> Option<OpsetHistogram> {
        let facts = reports.iter().filter_map(|report| report.facts.as_ref());
        (self.summary && reports.len() > 1).then(|| opset_histogram(facts.map(|facts| &facts.opsets)))
    }

    fn render(&self, reports: &[ModelReport], questions: &CheckQuestions) -> anyhow::Result<String> {
        Ok(match self.format {
            Format::Text => {
                let mut sorted: Vec<&ModelReport> = reports.iter().collect();
                sorted.sort_by_key(|report| std::cmp::Reverse(report.status));
                let mut texts: Vec<String> = sorted.into_iter().map(text).collect();
                texts.extend(self.opsets(reports).map(|opsets| opsets_text(&opsets)));
                texts.join("\n")
            }
            Format::Table => table(reports),
            Format::Json => {
                let label = Some(&questions.label).filter(|label| !label.is_empty());
                let mut report = serde_json::json!({
                    "tool": env!("CARGO_PKG_VERSION"),
                    "asked": label,
                    "models": reports,
                });
                if let Some(opsets) = self.opsets(reports) {
                    report["opsets"] = serde_json::json!(opsets);
                }
                versioned_json(&report)?
            }
            Format::Sarif => serde_json::to_string_pretty(&sarif(reports))?,
            Format::Markdown => markdown_report(reports),
            Format::Html => page(reports),
        })
    }
}
