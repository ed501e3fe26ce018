//! `cargo xtask report`: runs the whole suite on the built-in executor, and writes a report of it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use onnx_conformance::cli::{TerminalReporter, read_expectations, today};
use onnx_conformance::reference::spec::Specs;
use onnx_conformance_cases::case::{TextRelease, Variant};
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_cases::suite::{Filter, Suite};
use onnx_conformance_harness::evidence::ConfirmingRuntimes;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::expectations::{ExpectationMatcher, GateResult, Scope};
use onnx_conformance_harness::failures::Show;
use onnx_conformance_harness::run::{Event, Header, Read, Runner, Selected, plan, write_header, write_result};
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_report::coverage::{CoverageCollector, Exclusions};
use onnx_conformance_report::reporter::{Collected, Finished, Reporter, Started};
use onnx_conformance_report::site::{Column, Extra, write_site};
use onnx_conformance_subject::{Builtin, Host as _, Stop};

use crate::{site, workspace};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Stop a case after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,

    /// Print at most this many unexpected failures; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    show: usize,
}

/// Runs the suite, writes the report and returns the exit code of the run.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let runtime = Builtin::new(Duration::from_secs(arguments.timeout));
    let declaration = runtime.declaration();
    let expectations_path = workspace::root().join("expectations").join(format!("{}.yaml", declaration.name));
    let expectations = read_expectations(&expectations_path, &declaration.name)?;
    let matcher = ExpectationMatcher::new(expectations, &declaration, true)?;
    let suite = Suite::open(&workspace::root().join("testdata"))?;
    let evidence = ConfirmingRuntimes::embedded()?;
    let everything = Filter::default();
    let plan = plan(&suite, &everything, Variant::Runtime)?.confirmed_by(&evidence);
    let (operators, exclusions) = (OperatorCatalog::embedded(), Exclusions::embedded()?);
    let survey = CoverageCollector::new(Specs::embedded(), &operators, &exclusions, &everything)?;
    let survey = survey.with_runtimes(&evidence);
    let show = Show::at_most(if arguments.show == 0 { usize::MAX } else { arguments.show });
    let (mut terminal, mut collected) = (TerminalReporter::new(show), Collected::default());
    let mut reporters: Vec<Box<dyn Reporter + '_>> = vec![Box::new(&mut terminal), Box::new(&mut collected)];
    let (started, mut gate) = (Instant::now(), GateResult::default());
    reporters.started(&Started { runtime: &declaration, cases: plan.selected })?;
    let mut reported = Ok(());
    let record = |case: &_, result: &_| survey.record(case, result);
    Runner::new(&plan, &runtime, &Stop::default()).inspected_by(&record).run(|event| {
        let verdict = gate.add(&event, &matcher);
        if let (Event::Finished(result), Some(verdict), Ok(())) = (&event, verdict, &reported) {
            reported = reporters.case_ended(result, verdict);
        }
    });
    reported?;
    reporters.cases_ended();
    gate.finish(&matcher, &Scope { filter: Some(&everything), variant: Variant::Runtime });
    reporters.finished(&Finished {
        runtime: &declaration,
        gate: &gate,
        text: Some(TextRelease::newest()),
        elapsed: started.elapsed(),
    })?;
    drop(reporters);
    let selected = Selected { cases: plan.selected, ..Selected::default() };
    let mut results: Vec<_> = collected.results.into_iter().map(|(result, _)| result).collect();
    results.sort_by(|a, b| a.id.cmp(&b.id));
    let digest = suite.digest()?;
    let read =
        Read { header: Header::new(declaration, digest.clone(), selected).dated(today()), results, is_torn: false };
    let (folder, coverage) = (workspace::target().join("report"), survey.finish());
    write_results(&folder, &read)?;
    let mut columns = Column::committed()?;
    columns.insert(0, Column::from_results("results.jsonl", &read, &digest));
    let reach =
        coverage.counts().into_iter().map(|(kind, count)| (kind.title(), [count.reached, count.excused, count.all]));
    let (reach, evidence, module) = (reach.collect(), coverage.evidence(), module());
    let extra = Extra { reach, evidence, module, ..Extra::default() };
    let written = write_site(&folder, columns, &digest, extra, &|_| ())?;
    write_whole(&folder.join("coverage.md"), coverage.markdown().as_bytes())?;
    anstream::println!("{}", coverage.cases_line());
    written.remarks.iter().for_each(|remark| anstream::eprintln!("note: {remark}"));
    anstream::println!("\ncoverage.md and results.jsonl are in the folder of file://{}", written.page.display());
    Ok(exit::code_for(gate.conclusion()))
}

/// Returns the program for browsers. A report without it is better than none.
fn module() -> Option<Vec<u8>> {
    site::module().unwrap_or_else(|error| {
        anstream::eprintln!("note: the pages cannot compute in the browser: {error:#}");
        None
    })
}

/// Writes results.jsonl. `onnx-conformance report` creates the same pages from it.
fn write_results(folder: &Path, read: &Read) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut lines = Vec::new();
    write_header(&mut lines, &read.header)?;
    read.results.iter().try_for_each(|result| write_result(&mut lines, result))?;
    let path = folder.join("results.jsonl");
    write_whole(&path, &lines).with_context(|| format!("cannot write {}", path.display()))
}
