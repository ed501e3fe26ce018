//! `cargo xtask report`: the whole suite on the built-in executor, and what came of it as files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use onnx_conformance::case::Variant;
use onnx_conformance::cli::{Progress, exit, read_expectations};
use onnx_conformance::evidence::ConfirmingRuntimes;
use onnx_conformance::expectations::{ExpectationMatcher, GateResult, Scope};
use onnx_conformance::generate::OperatorCatalog;
use onnx_conformance::reference::spec::Specs;
use onnx_conformance::report::coverage::{Coverage, CoverageCollector, Exclusions};
use onnx_conformance::report::matrix::{Matrix, Measured};
use onnx_conformance::report::{html, markdown, terminal};
use onnx_conformance::run::{CaseResult, Event, Header, Selected, plan, run_inspected, write_header, write_result};
use onnx_conformance::runtime::{Builtin, Host as _, Stop};
use onnx_conformance::suite::{Filter, Suite};
use onnx_conformance::whole_file::write_whole;

use crate::workspace;

/// The options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Stop a case after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// Print at most this many cases that did not go as expected; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    show: usize,
}

/// Runs the suite, writes the report and returns the exit code of the run.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let runtime = Builtin::new(Duration::from_secs(arguments.timeout));
    let declaration = runtime.declaration();
    let expectations_path = workspace::root().join("expectations").join(format!("{}.yaml", declaration.name));
    let expectations = read_expectations(&expectations_path, &declaration.name)?;
    let book = ExpectationMatcher::new(expectations, &declaration, true)?;
    let suite = Suite::open(&workspace::root().join("testdata"))?;
    let evidence = ConfirmingRuntimes::embedded()?;
    let plan = plan(&suite, &Filter::default(), Variant::Runtime)?.confirmed_by(&evidence);

    let (operators, exclusions) = (OperatorCatalog::embedded(), Exclusions::embedded()?);
    let survey = CoverageCollector::new(Specs::embedded(), &operators, &exclusions, &Filter::default())?;
    let survey = survey.with_runtimes(&evidence);
    let started = Instant::now();
    let (mut tally, mut results) = (GateResult::default(), Vec::new());
    let mut progress = Progress::new(plan.selected);
    run_inspected(&plan, &runtime, &Stop::default(), &|case, result| survey.record(case, result), |event| {
        tally.add(&event, &book);
        progress.show(&tally.summary);
        if let Event::Finished(result) = event {
            results.push(*result);
        }
    });
    progress.finish();
    let elapsed = started.elapsed();
    let everything = Filter::default();
    tally.finish(&book, &Scope { filter: Some(&everything), variant: Variant::Runtime });
    results.sort_by(|a, b| a.id.cmp(&b.id));

    let matrix = Matrix::new(Specs::embedded(), &[Measured { runtime: &declaration, results: &results }])?;
    let coverage = survey.finish();
    let selected = Selected { cases: plan.selected, ..Selected::default() };
    let header = Header::new(declaration.clone(), suite.digest()?, selected);
    let page = write_files(&header, &results, &matrix, &coverage)?;
    let most = if arguments.show == 0 { usize::MAX } else { arguments.show };
    anstream::println!("{}", terminal::closing(&tally, &terminal::Show::at_most(most), elapsed));
    anstream::println!("{}", coverage.cases_line());
    for column in &matrix.runtimes {
        anstream::print!("\n{}", markdown::totals(&matrix, column));
    }
    anstream::println!("\nmatrix.md and results.jsonl are beside file://{}", page.display());
    Ok(exit::of(tally.conclusion()))
}

/// Writes the files of the report and returns where its page is.
fn write_files(
    header: &Header,
    results: &[CaseResult],
    matrix: &Matrix<'_>,
    coverage: &Coverage<'_>,
) -> Result<PathBuf> {
    let folder = workspace::target().join("report");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut lines = Vec::new();
    write_header(&mut lines, header)?;
    for result in results {
        write_result(&mut lines, result)?;
    }
    write(&folder.join("results.jsonl"), &lines)?;
    let text = markdown::matrix(matrix) + &coverage.markdown();
    write(&folder.join("matrix.md"), text.as_bytes())?;
    let page = folder.join("index.html");
    write(&page, html::page(matrix, Specs::embedded(), &coverage.counts(), coverage.evidence())?.as_bytes())?;
    Ok(page)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
