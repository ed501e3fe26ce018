//! `check`: whether models are valid, and what they are at other opsets and IR versions.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use onnx_conformance_check::Limits;
use onnx_conformance_check::rules::Level;
use onnx_conformance_reference::deadline::Deadline;
use rayon::prelude::*;

use crate::cli::target::TargetOptions;
use crate::cli::usage::Usage;
use crate::cli::{exit, print};
use crate::measure::{Measurement, Measurements};
use crate::models::{ModelReport, Status, Wanted, examine, model_files};
use crate::report::models::{markdown_report, page, sarif, table, text};
use crate::whole_file::write_whole;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Model files, and folders whose .onnx files are checked
    #[arg(value_name = "MODEL|DIR", required = true)]
    models: Vec<PathBuf>,

    #[command(flatten)]
    target: TargetOptions,

    /// What a runtime does with each node, as it was measured: onnxruntime, or onnxruntime@1.20.1; all for the newest version
    /// of each runtime
    #[arg(long, value_name = "NAME[@VERSION]", value_delimiter = ',')]
    runtime: Vec<String>,

    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// End with exit code 1 for findings of this level or a worse one
    #[arg(long, value_enum, default_value = "error", value_name = "LEVEL")]
    fail_on: FailOn,

    /// Write the report to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Give up on a model after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    timeout: u32,
}

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Each model with its findings, worst first
    Text,
    /// One line a model
    Table,
    /// What `docs/schema/check.json` describes
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Markdown, for a comment or a summary
    Markdown,
    /// A page that needs nothing but a browser
    Html,
}

/// The levels that a check can fail on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// What breaks a rule, or cannot be what was asked for
    Error,
    /// Warnings, too, and edits that what was asked for takes
    Warning,
    /// Notes, too
    Note,
    /// Notes, and nodes of which no measurement says anything
    Unknown,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let wanted = Wanted { runtimes: measured(&arguments.runtime)?, ..arguments.target.wanted()? };
    let files = model_files(&arguments.models)?;
    let bar = bar(files.len());
    let ended = AtomicUsize::new(0);
    let reports: Vec<ModelReport> = files
        .par_iter()
        .map(|file| {
            let report = examine(file, &wanted, &limits(arguments.timeout));
            bar.set_position(u64::try_from(ended.fetch_add(1, Ordering::Relaxed) + 1).unwrap_or(u64::MAX));
            report
        })
        .collect();
    bar.finish_and_clear();
    let text = arguments.render(&reports, &wanted)?;
    match &arguments.output {
        Some(path) => write_whole(path, text.as_bytes()).with_context(|| path.display().to_string())?,
        None if arguments.format == Format::Text => print::styled(text.trim_end())?,
        None => print::line(text.trim_end())?,
    }
    let level = match arguments.fail_on {
        FailOn::Error => Level::Error,
        FailOn::Warning => Level::Warning,
        FailOn::Note | FailOn::Unknown => Level::Note,
    };
    Ok(match () {
        () if reports.iter().any(|report| report.status == Status::Unreadable) => exit::HARNESS,
        () if reports.iter().any(|report| report.fails_on(level)) => exit::REGRESSION,
        () if arguments.fail_on == FailOn::Unknown && reports.iter().any(ModelReport::has_unknown) => exit::REGRESSION,
        () => exit::SUCCESS,
    })
}

/// The measurements that are named.
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
        let (runtime, version) =
            name.split_once('@').map_or((name.as_str(), None), |(name, version)| (name, Some(version)));
        let measurement = match version {
            Some(version) => all.get(runtime, version)?,
            None => all.newest(runtime)?,
        };
        let unknown = || {
            let runtimes =
                all.runtimes().into_iter().map(|(name, versions)| format!("{name} ({})", versions.join(", ")));
            let known = runtimes.collect::<Vec<_>>().join(", ");
            Usage(format!("--runtime {name}: it was not measured; there are measurements of {known}"))
        };
        found.push(measurement.ok_or_else(unknown)?);
    }
    Ok(found)
}

fn limits(seconds: u32) -> Limits {
    let (started, time) = (Instant::now(), Duration::from_secs(u64::from(seconds)));
    Limits { deadline: Deadline::new(move || started.elapsed() > time), ..Limits::default() }
}

/// A bar on a terminal, for many models.
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
    fn render(&self, reports: &[ModelReport], wanted: &Wanted) -> anyhow::Result<String> {
        Ok(match self.format {
            Format::Text => {
                let mut sorted: Vec<&ModelReport> = reports.iter().collect();
                sorted.sort_by_key(|report| std::cmp::Reverse(report.status));
                sorted.into_iter().map(text).collect::<Vec<_>>().join("\n")
            }
            Format::Table => table(reports),
            Format::Json => {
                let label = Some(&wanted.label).filter(|label| !label.is_empty());
                serde_json::to_string_pretty(&serde_json::json!({
                    "format": 1,
                    "tool": env!("CARGO_PKG_VERSION"),
                    "asked": label,
                    "models": reports,
                }))?
            }
            Format::Sarif => serde_json::to_string_pretty(&sarif(reports))?,
            Format::Markdown => markdown_report(reports),
            Format::Html => page(reports),
        })
    }
}
