//! `run`: cases on a runtime, held against what is expected.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;

use crate::cli::command::Usage;
use crate::cli::runtime::{RuntimeOptions, ended_early, stopped_by_interrupt};
use crate::cli::{Progress, exit, options, output};
use crate::report::terminal;
use crate::run::{Conclusion, Event, Expectations, Header, Tally, plan, run, write_header, write_result};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: options::Selection,

    #[command(flatten)]
    runtime: RuntimeOptions,

    /// Write one line a case, as JSON, to this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,

    /// What is expected besides passing [default: expectations/<runtime>.yaml for the project's suite, else nothing]
    #[arg(long, value_name = "FILE")]
    expectations: Option<PathBuf>,

    /// Rewrite the expectation file to what came, keeping reasons
    #[arg(long)]
    update_expectations: bool,

    /// Print at most this many failing cases; 0 for all
    #[arg(long, value_name = "N", default_value_t = 30)]
    show: usize,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let filter = arguments.selection.filter()?;
    if arguments.update_expectations && !filter.is_everything() {
        let message = "--update-expectations needs a run of the whole suite; leave out the filters";
        bail!(Usage(message.to_owned()));
    }
    let suite = arguments.selection.open()?;
    let plan = plan(&suite, &filter)?;
    if plan.selected == 0 {
        output::note("no case matches");
        return Ok(exit::NOTHING);
    }
    let stop = stopped_by_interrupt()?;
    let runtime = match arguments.runtime.open(&stop) {
        Err(_) if stop.is_set() => return ended_early(&stop),
        runtime => runtime?,
    };
    let declaration = runtime.declaration();
    let (path, expectations) = expectations(arguments, &declaration.name)?;
    let mut results = match &arguments.results {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("{}", path.display()))?;
            let mut file = BufWriter::new(file);
            write_header(&mut file, &Header::new(declaration, plan.selected))?;
            Some(file)
        }
        None => None,
    };
    let started = Instant::now();
    let (mut tally, mut all, mut unwritten) = (Tally::default(), Vec::new(), None);
    let mut progress = Progress::new(plan.selected);
    run(&plan, &*runtime, &stop, |event| {
        tally.add(&event, &expectations);
        progress.show(&tally.summary);
        let Event::Finished(result) = event else { return };
        if let Some(file) = &mut results
            && let Err(error) = write_result(file, &result)
        {
            unwritten.get_or_insert(error);
        }
        if arguments.update_expectations {
            all.push(*result);
        }
    });
    progress.finish();
    let elapsed = started.elapsed();
    if let Some(file) = &mut results {
        file.flush()?;
    }
    if let Some(error) = unwritten {
        return Err(error).context("the results file could not be written");
    }
    let problems = runtime.finish();
    for problem in &problems {
        output::note(&format!("{}: {problem}", runtime.declaration().name));
    }
    if stop.is_set() {
        return ended_early(&stop);
    }
    if arguments.update_expectations {
        let path = path.context("there is no expectation file to rewrite; name one with --expectations")?;
        all.sort_by(|a, b| a.id.cmp(&b.id));
        std::fs::write(&path, expectations.updated(&all, true).to_yaml())
            .with_context(|| path.display().to_string())?;
        output::note(&format!("wrote {}", path.display()));
        return Ok(exit::SUCCESS);
    }
    // The expectations that go without saying are about the project's suite; a file that is named is about this one.
    let is_about_suite = arguments.selection.suite.is_none() || arguments.expectations.is_some();
    tally.finish(&expectations, filter.is_everything() && is_about_suite);
    let most = if arguments.show == 0 { usize::MAX } else { arguments.show };
    output::line(&terminal::closing(&tally, most, elapsed))?;
    if matches!(tally.conclusion(), Conclusion::Regressions | Conclusion::Improvements) {
        output::note("to accept what came: onnx-conformance run --update-expectations");
    }
    let code = exit::of(tally.conclusion());
    let is_clean = matches!(code, exit::SUCCESS | exit::STALE);
    Ok(if is_clean && !problems.is_empty() { exit::REGRESSION } else { code })
}

/// The expectation file that applies, and where it is.
fn expectations(arguments: &Arguments, runtime: &str) -> anyhow::Result<(Option<PathBuf>, Expectations)> {
    let path = match &arguments.expectations {
        Some(path) => Some(path.clone()),
        None if arguments.selection.suite.is_none() => {
            Some(options::project_folder("expectations").join(format!("{runtime}.yaml")))
        }
        None => None,
    };
    let Some(path) = path else {
        return Ok((None, Expectations { runtime: runtime.to_owned(), expect: Vec::new() }));
    };
    if arguments.expectations.is_some() && !arguments.update_expectations && !path.exists() {
        bail!(
            "{}: there is no such file; leave out --expectations, or write it with --update-expectations",
            path.display()
        );
    }
    let expectations = options::read_expectations(&path, runtime)?;
    Ok((Some(path), expectations))
}
