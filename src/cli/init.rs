//! `init`: the first expectation file of a runtime.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use crate::case::Variant;
use crate::cli::actual::Recorder;
use crate::cli::gate::{default_path, hold, write};
use crate::cli::results_file::ResultsPlace;
use crate::cli::runtime::{BUILTIN, RuntimeOptions, ended_early, stopped_by_interrupt};
use crate::cli::session::Session;
use crate::cli::terminal::TerminalReporter;
use crate::cli::{exit, options, print};
use crate::report::reporter::Collected;
use crate::report::terminal::{self, Show};
use crate::run::{CaseResult, ExpectationMatcher, Expectations, Header, Selected, first_expectations, plan};
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
    suite.remarks().for_each(|remark| print::note(&remark));
    let nothing = ExpectationMatcher::new(Expectations::none(&declaration.name), &declaration, arguments.strict)?;
    let (recorder, mut all) = (Recorder::new(&*runtime), Collected::default());
    let session =
        Session { plan: &plan, runtime: &recorder, stop: &stop, expectations: &nothing, kept: Vec::new(), file };
    let show = Show::at_most(0);
    let ended = match session.run(vec![Box::new(TerminalReporter::new(show)), Box::new(&mut all)])? {
        Ok(ended) => ended,
        Err(code) => return Ok(code),
    };
    if let Some(error) = ended.gate.broken.first() {
        bail!("no file is written, since not all cases could be made: {error}");
    }
    let mut results: Vec<CaseResult> = all.results.into_iter().map(|(result, _)| result).collect();
    results.sort_by(|a, b| a.id.cmp(&b.id));
    let strict = arguments.strict || declaration.name == BUILTIN;
    let expectations = first_expectations(&declaration.name, strict, &results);
    let _held = hold(&path)?;
    check_free(&path, &arguments.runtime)?;
    write(&path, &expectations.to_yaml())?;
    print::line(&terminal::summary(&ended.gate.summary, 0, ended.elapsed))?;
    print::line(&format!("{} entries; write beside each why, and where it is discussed", expectations.expect.len()))?;
    Ok(exit::SUCCESS)
}

fn check_free(path: &Path, runtime: &RuntimeOptions) -> anyhow::Result<()> {
    if path.exists() {
        let command = format!("onnx-conformance run{} --update-expectations", runtime.as_arguments());
        bail!("{}: there is such a file already; `{command}` brings it up to date", path.display());
    }
    Ok(())
}
