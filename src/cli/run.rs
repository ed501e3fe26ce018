//! `run`: cases on a runtime, held against what is expected.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;

use crate::cli::{exit, options, output};
use crate::report::terminal;
use crate::run::{
    CaseResult, Event, Expectations, Header, Outcome, Standing, Summary, plan, run, write_header, write_result,
};
use crate::runtime::{Builtin, Runtime};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: options::Selection,

    /// Write one line a case, as JSON, to this file
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,

    /// What is expected besides passing [default: expectations/<runtime>.yaml for the project's suite, else nothing]
    #[arg(long, value_name = "FILE")]
    expectations: Option<PathBuf>,

    /// Rewrite the expectation file to what came, keeping reasons
    #[arg(long)]
    update_expectations: bool,

    /// Stop a case after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,

    /// Print at most this many failing cases; 0 for all
    #[arg(long, value_name = "N", default_value_t = 30)]
    show: usize,
}

/// What a whole run came to.
#[derive(Default)]
struct Tally {
    summary: Summary,
    regressions: Vec<CaseResult>,
    improvements: Vec<CaseResult>,
    expected: usize,
    used: BTreeSet<usize>,
    broken: Vec<String>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let filter = arguments.selection.filter()?;
    if arguments.update_expectations && !filter.is_everything() {
        bail!("--update-expectations needs a run of the whole suite; leave out the filters");
    }
    let suite = arguments.selection.open()?;
    let plan = plan(&suite, &filter)?;
    if plan.selected == 0 {
        output::note("no case matches");
        return Ok(exit::NOTHING);
    }
    let runtime = Builtin::new(Duration::from_secs(arguments.timeout));
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
    run(&plan, &runtime, |event| match event {
        Event::Finished(result) => {
            if let Some(file) = &mut results
                && let Err(error) = write_result(file, &result)
            {
                unwritten.get_or_insert(error);
            }
            if arguments.update_expectations {
                all.push((*result).clone());
            }
            tally.add(*result, &expectations);
        }
        Event::Broken(error) => tally.broken.push(error.to_string()),
    });
    let elapsed = started.elapsed();
    if let Some(file) = &mut results {
        file.flush()?;
    }
    if let Some(error) = unwritten {
        return Err(error).context("the results file could not be written");
    }
    if arguments.update_expectations {
        let path = path.context("there is no expectation file to rewrite; name one with --expectations")?;
        all.sort_by(|a, b| a.id.cmp(&b.id));
        std::fs::write(&path, expectations.updated(&all, true).to_yaml())
            .with_context(|| path.display().to_string())?;
        output::note(&format!("wrote {}", path.display()));
        return Ok(exit::SUCCESS);
    }
    let stale: Vec<String> = if filter.is_everything() && arguments.selection.suite.is_none() {
        expectations.unused(&tally.used).map(|entry| format!("{entry:?}")).collect()
    } else {
        Vec::new()
    };
    tally.print(arguments, elapsed, &stale)?;
    Ok(tally.exit_code(!stale.is_empty()))
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
    let none = Expectations { runtime: runtime.to_owned(), expect: Vec::new() };
    let Some(path) = path else { return Ok((None, none)) };
    if !path.exists() && (arguments.expectations.is_none() || arguments.update_expectations) {
        return Ok((Some(path), none));
    }
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let expectations = Expectations::parse(&text).with_context(|| path.display().to_string())?;
    if expectations.runtime != runtime {
        bail!("{} is about '{}', not '{runtime}'", path.display(), expectations.runtime);
    }
    Ok((Some(path), expectations))
}

impl Tally {
    fn add(&mut self, result: CaseResult, expectations: &Expectations) {
        self.summary.add(&result);
        match expectations.standing(&result, true, &mut self.used) {
            Standing::Regression => self.regressions.push(result),
            Standing::Improvement => self.improvements.push(result),
            Standing::Expected => self.expected += 1,
            Standing::Pass | Standing::Silent => {}
        }
    }

    fn print(&mut self, arguments: &Arguments, elapsed: Duration, stale: &[String]) -> anyhow::Result<()> {
        for (what, results) in [("unexpected", &mut self.regressions), ("better than expected", &mut self.improvements)]
        {
            results.sort_by(|a, b| a.id.cmp(&b.id));
            let most = if arguments.show == 0 { results.len() } else { arguments.show };
            for result in results.iter().take(most) {
                output::line(&terminal::failure(what, result))?;
            }
            if results.len() > most {
                output::line(&format!("... and {} more; --show 0 prints all", results.len() - most))?;
            }
        }
        for error in &self.broken {
            output::line(&format!("broken case: {error}"))?;
        }
        for entry in stale {
            output::line(&format!("expectation that matches nothing: {entry}"))?;
        }
        output::line(&terminal::summary(&self.summary, self.expected, elapsed))?;
        if !self.improvements.is_empty() || !stale.is_empty() || !self.regressions.is_empty() {
            output::note("to accept what came: onnx-conformance run --update-expectations");
        }
        Ok(())
    }

    fn exit_code(&self, stale: bool) -> u8 {
        if !self.broken.is_empty() {
            exit::HARNESS
        } else if !self.regressions.is_empty() {
            exit::REGRESSION
        } else if stale || !self.improvements.is_empty() {
            exit::STALE
        } else if self.summary.count(Outcome::Pass) + self.expected + self.summary.open == 0 {
            exit::NOTHING
        } else {
            exit::SUCCESS
        }
    }
}
