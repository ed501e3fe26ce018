//! `run`: cases on a runtime, held against what is expected.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;

use crate::case::{Case, Variant, files};
use crate::cli::command::Usage;
use crate::cli::results::{ResultsFile, read};
use crate::cli::runtime::{BUILTIN, RuntimeOptions, ended_early, stopped_by_interrupt};
use crate::cli::{Progress, exit, options, output};
use crate::report::{junit, markdown, shields, terminal};
use crate::run::{
    CaseResult, Event, Expectations, Expected, Header, Outcome, Plan, Shard, Standing, Tally, Used, plan, run_inspected,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: options::Selection,

    #[command(flatten)]
    runtime: RuntimeOptions,

    /// In what form cases are put to the runtime: runtime, constants, initializers or dynamic-shapes
    #[arg(long, value_name = "VARIANT", default_value = "runtime", value_parser = variant)]
    variant: Variant,

    /// Gate on recommendations too, not only on what the standard requires; builtin always is
    #[arg(long)]
    strict: bool,

    /// Write one line a case, as JSON, to this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,

    /// Take over the passes of an earlier run from its results, and run what failed, did not run, or is new
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,

    /// Run one of N parts, which are disjoint and together the whole
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,

    /// What is expected besides passing [default: expectations/<runtime>.yaml for the project's suite, else nothing]
    #[arg(long, value_name = "FILE")]
    expectations: Option<PathBuf>,

    /// Rewrite the expectation file to what came, keeping comments and reasons
    #[arg(long)]
    update_expectations: bool,

    /// Write each unexpected case that is printed as a test folder below this one
    #[arg(long, value_name = "DIR", default_value = "target/failures")]
    failures: PathBuf,

    /// Write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Write a summary in markdown to this file, as for a CI job
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Write the JSON of a shields.io endpoint badge to this file
    #[arg(long, value_name = "FILE")]
    shields: Option<PathBuf>,

    /// Print at most this many failing cases; 0 for all
    #[arg(long, value_name = "N", default_value_t = 30)]
    show: usize,
}

fn variant(text: &str) -> Result<Variant, String> {
    let names = || Variant::ALL.map(Variant::name).join(", ");
    Variant::ALL
        .into_iter()
        .find(|variant| variant.name() == text)
        .ok_or_else(|| format!("one of {} is needed", names()))
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let filter = arguments.selection.filter()?;
    let is_whole = filter.is_everything() && arguments.shard.is_none() && arguments.resume.is_none();
    if arguments.update_expectations && !is_whole {
        let message = "--update-expectations needs a run of the whole suite; leave out filters, --shard and --resume";
        bail!(Usage(message.to_owned()));
    }
    let suite = arguments.selection.open()?;
    let mut plan = plan(&suite, &filter, arguments.variant)?;
    let chosen = plan.selected;
    if let Some(shard) = arguments.shard {
        plan.keep_shard(shard);
    }
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
    let expected = Expected::new(&expectations, &declaration);
    let strict = arguments.strict || arguments.runtime.runtime == BUILTIN;
    let is_kept = arguments.results.is_some() || arguments.resume.is_some();
    let digest = if is_kept { suite.digest()? } else { String::new() };
    let header = Header::new(declaration, arguments.variant, digest, chosen, plan.selected);
    let carried = carried_over(arguments, &header, &mut plan)?;
    let mut file = arguments.results.as_deref().map(|path| ResultsFile::create(path, &header)).transpose()?;

    let started = Instant::now();
    let (mut tally, mut all) = (Tally::default(), Vec::new());
    let mut progress = Progress::new(plan.selected + carried.len());
    let (mut unwritten, failures) = (None, Failures::new(arguments));
    let inspect = |case: &Case, result: &CaseResult| {
        if expected.standing(result, strict, &mut Used::default()) == Standing::Regression {
            failures.add(case);
        }
    };
    let mut sink = |event: Event| {
        tally.add(&event, &expected, strict);
        progress.show(&tally.summary);
        let Event::Finished(result) = event else { return };
        if let Some(Err(error)) = file.as_mut().map(|file| file.add(&result)) {
            unwritten.get_or_insert(error);
            // Nothing that comes now could be kept.
            stop.set(crate::runtime::StopReason::Interrupted);
        }
        all.push(*result);
    };
    carried.into_iter().for_each(|result| sink(Event::Finished(Box::new(result))));
    run_inspected(&plan, &*runtime, &stop, &inspect, sink);
    progress.finish();
    let elapsed = started.elapsed();
    let problems = runtime.finish();
    if let Some(error) = unwritten {
        return Err(error);
    }
    if stop.is_set() {
        return ended_early(&stop);
    }
    all.sort_by(|a, b| a.id.cmp(&b.id));
    if arguments.update_expectations {
        let path = path.context("there is no expectation file to rewrite; name one with --expectations")?;
        return rewrite(&path, &expectations, &header, &all, strict);
    }
    for problem in problems {
        output::note(&format!("{}: {problem}", header.runtime.name));
        tally.add_fault(problem);
    }
    // The expectations that go without saying are about the project's suite; a file that is named is about this one.
    let is_about_suite = arguments.selection.suite.is_none() || arguments.expectations.is_some();
    tally.finish(&expected, is_whole && arguments.variant == Variant::Runtime && is_about_suite);
    write_reports(arguments, &header, &tally, &all, &expected, strict)?;
    let options = arguments.runtime.spelt();
    let most = if arguments.show == 0 { usize::MAX } else { arguments.show };
    output::line(&terminal::closing(&tally, most, &options, elapsed))?;
    if tally.has_surprises() {
        failures.tell(&arguments.failures);
        output::note(&format!("to accept what came: onnx-conformance run{options} --update-expectations"));
    }
    Ok(exit::of(tally.conclusion()))
}

/// Writes the expectation file that asks for what came.
pub(crate) fn rewrite(
    path: &Path,
    expectations: &Expectations,
    header: &Header,
    all: &[CaseResult],
    strict: bool,
) -> anyhow::Result<u8> {
    let old = if path.exists() {
        std::fs::read_to_string(path).with_context(|| path.display().to_string())?
    } else {
        String::new()
    };
    let text = expectations.updated(&old, &header.runtime, all, strict);
    write(path, &text)?;
    output::note(&format!("wrote {}", path.display()));
    Ok(exit::SUCCESS)
}

/// Writes a whole file or nothing.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let temporary = path.with_extension("new");
    std::fs::write(&temporary, text).with_context(|| temporary.display().to_string())?;
    std::fs::rename(&temporary, path).with_context(|| path.display().to_string())
}

/// The passes of an earlier run that this one need not run again, taken from the plan.
fn carried_over(arguments: &Arguments, header: &Header, plan: &mut Plan<'_>) -> anyhow::Result<Vec<CaseResult>> {
    let Some(path) = &arguments.resume else { return Ok(Vec::new()) };
    let (old, results) = read(path)?;
    let mut same = Header { chosen: header.chosen, ..old.clone() };
    if old.suite != header.suite {
        output::note(&format!("{}: is of another suite, so every case is run again", path.display()));
        same.suite.clone_from(&header.suite);
    }
    if let Some(conflict) = header.conflict(&same) {
        bail!("{}: cannot be resumed: {conflict}", path.display());
    }
    if old.suite != header.suite {
        return Ok(Vec::new());
    }
    let suffix = format!("@{}", arguments.variant);
    let mut passed: BTreeMap<String, CaseResult> = results
        .into_iter()
        .filter(|result| result.outcome == Outcome::Pass)
        .map(|result| (result.id.trim_end_matches(&suffix).to_owned(), result))
        .collect();
    let mut carried = Vec::new();
    let planned: Vec<String> = plan.ids().map(str::to_owned).collect();
    for id in planned {
        carried.extend(passed.remove(&id));
    }
    let done: std::collections::BTreeSet<String> =
        carried.iter().map(|result: &CaseResult| result.id.trim_end_matches(&suffix).to_owned()).collect();
    plan.keep(|id| !done.contains(id));
    Ok(carried)
}

/// Writes the files for other programs that were asked for.
fn write_reports(
    arguments: &Arguments,
    header: &Header,
    tally: &Tally,
    all: &[CaseResult],
    expected: &Expected<'_>,
    strict: bool,
) -> anyhow::Result<()> {
    if let Some(path) = &arguments.junit {
        write(path, &junit::report(header, all, expected, strict).context("JUnit")?)?;
    }
    if let Some(path) = &arguments.markdown {
        write(path, &markdown::summary(header, tally))?;
    }
    if let Some(path) = &arguments.shields {
        write(path, &shields::badge(header, &tally.summary))?;
    }
    Ok(())
}

/// The unexpected cases that are written as test folders.
struct Failures<'a> {
    folder: &'a Path,
    most: usize,
    count: AtomicUsize,
}

impl<'a> Failures<'a> {
    fn new(arguments: &'a Arguments) -> Failures<'a> {
        let most = if arguments.show == 0 { usize::MAX } else { arguments.show };
        Failures { folder: &arguments.failures, most, count: AtomicUsize::new(0) }
    }

    /// Writes a case, unless there are as many already as are printed.
    fn add(&self, case: &Case) {
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.most {
            return;
        }
        let home = self.folder.join(case.id.replace(['=', ',', '@', ':'], "_"));
        let failed = files(case).into_iter().find_map(|(name, bytes)| {
            let path = home.join(name);
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, bytes)).err()
        });
        if let Some(error) = failed {
            output::note(&format!("{}: cannot be written: {error}", home.display()));
        }
    }

    fn tell(&self, folder: &Path) {
        if self.count.load(Ordering::Relaxed) > 0 {
            output::note(&format!("models, inputs and expected outputs of what failed: {}", folder.display()));
        }
    }
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
        return Ok((None, Expectations::none(runtime)));
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
