//! `init`: the first expectation file of a runtime.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use crate::case::Variant;
use crate::cli::actual::Recorder;
use crate::cli::gate::{check_measured, default_path, hold, write, write_digests};
use crate::cli::results_file::ResultsPlace;
use crate::cli::runtime::{BUILTIN, RuntimeOptions, ended_early, found_of, stopped_by_interrupt};
use crate::cli::session::Session;
use crate::cli::terminal::TerminalReporter;
use crate::cli::{exit, options, print};
use crate::evidence::MeasuredDigests;
use crate::expectations::{ExpectationMatcher, Expectations, first_expectations, first_measurement};
use crate::report::reporter::Collected;
use crate::report::terminal::{self, Show};
use crate::run::{CaseResult, Header, Selected, plan};
use crate::runtime::Declaration;
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

    /// Measure the cases of this pattern case by case (once for each pattern; one with a leading ! excludes): the file says
    /// `exact: true`, its scope and the runtime's version, and what was measured stands beside it
    #[arg(long, value_name = "GLOB")]
    scope: Vec<String>,

    /// Write one line a case, as JSON, to this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let filter = Filter::new(&arguments.scope)?;
    let suite = arguments.source.open_for(&filter)?;
    let evidence = arguments.source.evidence()?;
    let plan = plan(&suite, &filter, Variant::Runtime)?.confirmed_by(&evidence);
    if plan.selected == 0 {
        print::note("no case matches");
        return Ok(exit::NOTHING);
    }
    let place = arguments.results.as_deref().map(ResultsPlace::lock).transpose()?;
    let stop = stopped_by_interrupt()?;
    let runtime = match arguments.runtime.open(&stop) {
        Err(_) if stop.is_set() => return ended_early(&stop),
        runtime => runtime?,
    };
    let accepted = arguments.source.suite.is_none().then(|| found_of(&*runtime)).flatten();
    let declaration = accepted.iter().fold(runtime.declaration(), Declaration::accepting);
    let path = arguments.output.clone().unwrap_or_else(|| default_path(&declaration.name));
    check_free(&path, &arguments.runtime)?;
    let begin = |place: ResultsPlace| {
        let selected = Selected { cases: plan.selected, filters: arguments.scope.clone(), ..Selected::default() };
        place.begin(&Header::new(declaration.clone(), suite.digest()?, selected), &[])
    };
    let file = place.map(begin).transpose()?;
    suite.remarks().for_each(|remark| print::note(&remark));
    let nothing = ExpectationMatcher::new(Expectations::none(&declaration.name), &declaration, arguments.strict)?;
    let (recorder, mut all) = (Recorder::new(&*runtime, declaration.clone()), Collected::default());
    let session =
        Session { plan: &plan, runtime: &recorder, stop: &stop, expectations: &nothing, kept: Vec::new(), file };
    let show = Show::at_most(0);
    let ended = match session.run(vec![Box::new(TerminalReporter::new(show)), Box::new(&mut all)])? {
        Ok(ended) => ended,
        Err(code) => return Ok(code),
    };
    if let Some(error) = ended.gate.broken.first() {
        bail!("some cases could not be loaded, so that no file is written: {error}");
    }
    let mut results: Vec<CaseResult> = all.results.into_iter().map(|(result, _)| result).collect();
    results.sort_by(|a, b| a.id.cmp(&b.id));
    let strict = arguments.strict || declaration.name == BUILTIN;
    let mut expectations = if arguments.scope.is_empty() {
        first_expectations(&declaration.name, strict, &results)
    } else {
        first_measurement(&declaration, arguments.scope.clone(), strict, &results)
    };
    expectations.accepts = accepted;
    if expectations.exact {
        check_measured(&path, &results)?;
    }
    let _held = hold(&path)?;
    check_free(&path, &arguments.runtime)?;
    write(&path, &expectations.to_yaml())?;
    if !arguments.scope.is_empty() {
        let ids = results.iter().map(|result| result.id.as_str());
        write_digests(&path, arguments.source.is_project().then(|| MeasuredDigests::of_cases(ids)), &[])?;
    }
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
