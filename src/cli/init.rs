//! `init`: the first expectation file of a runtime.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use crate::case::Variant;
use crate::cli::gate::{default_path, hold, write};
use crate::cli::results_file::ResultsPlace;
use crate::cli::runtime::{BUILTIN, RuntimeOptions, ended_early, stopped_by_interrupt};
use crate::cli::session::Job;
use crate::cli::{exit, options, print};
use crate::report::terminal;
use crate::expectations::first_expectations;
use crate::run::{CaseResult, Event, Header, Selected, Summary, plan};
use crate::suite::Filter;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: options::Sources,

    #[command(flatten)]
    runtime: RuntimeOptions,

    /// Where the file is written [default: expectations/<runtime>.yaml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Hold the runtime to what is recommended, too
    #[arg(long)]
    strict: bool,

    /// Write one line a case, as JSON, to this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let suite = arguments.source.open()?;
    let plan = plan(&suite, &Filter::default(), Variant::Runtime)?;
    let place = arguments.results.as_deref().map(ResultsPlace::lock).transpose()?;
    let stop = stopped_by_interrupt()?;
    let runtime = match arguments.runtime.open(&stop) {
        Err(_) if stop.is_set() => return ended_early(&stop),
        runtime => runtime?,
    };
    let declaration = runtime.declaration();
    let path = arguments.output.clone().unwrap_or_else(|| default_path(&declaration.name));
    check_free(&path, &arguments.runtime)?;
    let begin = |place: ResultsPlace| {
        let selected = Selected { cases: plan.selected, ..Selected::default() };
        place.begin(&Header::new(declaration.clone(), suite.digest()?, selected), &[])
    };
    let file = place.map(begin).transpose()?;
    let (mut results, mut broken, mut summary): (Vec<CaseResult>, _, _) = (Vec::new(), None, Summary::default());
    let total = plan.selected;
    suite.remarks().for_each(|remark| print::note(&remark));
    let job = Job { plan: &plan, runtime: &*runtime, stop: &stop, total, file };
    let ended = job.run(|event, progress| match event {
        Event::Finished(result) => {
            summary.add(&result);
            progress(&summary);
            results.push(*result);
        }
        Event::Broken(error) => drop(broken.get_or_insert(error)),
    })?;
    let ended = match ended {
        Ok(ended) => ended,
        Err(code) => return Ok(code),
    };
    if let Some(error) = broken {
        bail!("not all cases could be had, so that no file is written: {error}");
    }
    results.sort_by(|a, b| a.id.cmp(&b.id));
    let strict = arguments.strict || declaration.name == BUILTIN;
    let expectations = first_expectations(&declaration.name, strict, &results);
    let _held = hold(&path)?;
    check_free(&path, &arguments.runtime)?;
    write(&path, &expectations.to_yaml())?;
    print::line(&terminal::summary(&summary, 0, ended.elapsed))?;
    print::line(&format!("{} entries; write beside each why, and where it is discussed", expectations.expect.len()))?;
    Ok(exit::SUCCESS)
}

fn check_free(path: &Path, runtime: &RuntimeOptions) -> anyhow::Result<()> {
    if path.exists() {
        let command = format!("onnx-conformance run{} --update-expectations", runtime.spelt());
        bail!("{}: there is such a file already; `{command}` brings it up to date", path.display());
    }
    Ok(())
}
