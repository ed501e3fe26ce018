//! `coverage`: items that the selected cases cover, and items that they miss.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_cases::case::{Variant, read_text};
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_harness::run::{Event, Plan, Runner, Summary, plan};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_report::coverage::{
    Conversions, Count, Coverage, CoverageCollector, CoverageKind, CoverageRecord, Exclusions, GraphCoverage,
    OperatorText, Thread,
};
use onnx_conformance_subject::{Builtin, Stop};
use serde_json::json;

use crate::cli::coverage_text::{self, Format, Question};
use crate::cli::progress::{Progress, Waiting};
use crate::cli::screen::ScreenOptions;
use crate::cli::suggest::note_nothing_matches;
use crate::cli::usage::Usage;
use crate::cli::{options, print};

/// Number of cases whose recorded coverage takes seconds to read.
const MANY_CASES: usize = 20_000;

/// The options of `coverage`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten, next_help_heading = "Cases")]
    selection: options::Selection,

    /// Output format. JSON has the totals, the missing items and the evidence
    #[arg(long, help_heading = "Output", value_enum, default_value_t)]
    format: Format,

    #[command(flatten, next_help_heading = "Output")]
    screen: ScreenOptions,

    /// Print only the totals, without the missing items
    #[arg(long, help_heading = "Question")]
    totals: bool,

    /// Print the cases whose outputs only the built-in executor confirms, instead of the missing items
    #[arg(long, help_heading = "Question", conflicts_with = "totals")]
    unconfirmed: bool,

    /// Print the element counts of the largest values of each operator's cases, instead of the missing items
    #[arg(long, help_heading = "Question", conflicts_with_all = ["totals", "unconfirmed"])]
    sizes: bool,

    /// Print the recorded results of `convert` for the cases of each operator version, at every opset where the operator has
    /// another version: unchanged, edited, refused, wrong
    #[arg(long, help_heading = "Question", conflicts_with_all = ["totals", "unconfirmed", "sizes"])]
    conversions: bool,

    /// Print the reports of wrong rewrites that graphs are about, and the measured versions that fail such a graph
    #[arg(long, help_heading = "Question", conflicts_with_all = ["totals", "unconfirmed", "sizes", "conversions"])]
    threads: bool,

    /// Print the patterns of graphs: which measured runtimes rewrite them, and which patterns none rewrites. With --totals only
    /// the sums
    #[arg(long, help_heading = "Question", conflicts_with_all = ["unconfirmed", "sizes", "conversions"])]
    graphs: bool,

    /// Print the sentences of the standard about the selected operators, or of a document such as IR.md, each with the rules and
    /// cases that test it. With --totals only the sums
    #[arg(long, help_heading = "Question", conflicts_with_all = ["unconfirmed", "sizes", "conversions", "threads", "graphs"])]
    text: bool,

    /// End with exit code 1 if the cases miss something, or if an exclusion is not needed
    #[arg(long, help_heading = "Output", conflicts_with_all = ["unconfirmed", "sizes", "conversions", "threads", "graphs", "text"])]
    check: bool,

    /// Run all cases, also those of groups whose coverage is recorded, and compare both
    #[arg(long, help_heading = "Question", hide = true)]
    recount: bool,

    /// With --text and a table: count the cases of each sentence that pass in these results of a run
    #[arg(long, help_heading = "Question", value_name = "RESULTS", requires = "text")]
    results: Option<PathBuf>,
}

impl Arguments {
    /// Returns true if the output is shortened to the screen of a terminal.
    pub(crate) fn is_shortened(&self) -> bool {
        self.format == Format::Text && self.screen.is_shortened()
    }
}

/// Collects the coverage of the selected cases and prints the missing items, a line per operator version and group, then the totals.
pub fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let mut patterns = arguments.selection.patterns()?;
    let mut documents = Vec::new();
    if arguments.text {
        (documents, patterns) = coverage_text::documents(patterns);
        patterns = patterns.iter().map(|named| coverage_text::pattern(named)).collect();
    }
    let filter = arguments.selection.narrowed(Filter::new(&patterns)?)?;
    if arguments.text {
        let (format, totals, results) = (arguments.format, arguments.totals, arguments.results.as_deref());
        let (documents, patterns) = (documents.as_slice(), patterns.as_slice());
        return coverage_text::main(&Question { filter: &filter, documents, patterns, format, totals, results });
    }
    if matches!(arguments.format, Format::Csv | Format::Html) {
        bail!(Usage("csv and html are formats of --text".to_owned()));
    }
    if arguments.conversions {
        return conversions(&filter, &patterns);
    }
    if arguments.threads {
        return threads(&filter, arguments.format);
    }
    if arguments.graphs {
        return graphs(arguments, &filter, &patterns);
    }
    let suite = arguments.selection.open()?;
    let evidence = arguments.selection.sources.evidence()?;
    let plan = plan(&suite, &filter, Variant::Runtime)?;
    if plan.selected == 0 {
        note_nothing_matches(&suite, &patterns);
        return Ok(exit::NOTHING);
    }
    let (operators, exclusions) = (arguments.selection.operators()?, exclusions(arguments)?);
    let survey = CoverageCollector::new(Specs::embedded(), &operators, &exclusions, &filter)?;
    let survey = survey.with_runtimes(&evidence);
    let selected = plan.selected;
    let record = arguments.selection.sources.is_project().then(|| CoverageRecord::embedded(&suite)).transpose()?;
    let is_broken = match record.as_ref().filter(|_| !arguments.recount) {
        Some(record) => run_unrecorded(plan, record, &survey),
        None => run_all(&plan, &survey),
    };
    let unlike = record.filter(|_| arguments.recount).map(|record| survey.unlike(&record, filter.is_everything()));
    let is_recorded = note_unlike(&unlike.unwrap_or_default());
    let coverage = finish(survey, selected);
    let is_complete = coverage.missing().is_empty() && coverage.unused_exclusions().is_empty();
    let code = match () {
        () if is_broken => exit::HARNESS,
        () if arguments.check && !(is_complete && is_recorded) => exit::REGRESSION,
        () => exit::SUCCESS,
    };
    if arguments.format == Format::Json {
        print_json(&coverage)?;
        return Ok(code);
    }
    print_items(arguments, &coverage)?;
    print::line(&coverage.summary())?;
    print_texts(&filter, &patterns)?;
    Ok(code)
}

/// Prints the number of sentences by state: those of the selected operators and, without a pattern, those of the documents.
fn print_texts(filter: &Filter, patterns: &[String]) -> anyhow::Result<()> {
    let mut texts = OperatorText::chosen(filter)?;
    if patterns.is_empty() {
        texts.extend(OperatorText::documents(&[])?);
    }
    if !texts.is_empty() {
        print::line(&OperatorText::summary(&texts))?;
    }
    Ok(())
}

/// Takes the coverage of groups from the record, and runs the cases of the others. Returns true if cases cannot be loaded.
fn run_unrecorded(mut plan: Plan<'_>, record: &CoverageRecord, survey: &CoverageCollector<'_>) -> bool {
    let waiting = waiting(plan.selected, "reading the recorded coverage");
    survey.take_recorded(record, &mut plan);
    drop(waiting);
    plan.selected > 0 && run_all(&plan, survey)
}

/// Counts what the cases cover, and what confirms them.
fn finish(survey: CoverageCollector<'_>, selected: usize) -> Coverage<'_> {
    let waiting = waiting(selected, "counting what confirms the cases");
    let coverage = survey.finish();
    drop(waiting);
    coverage
}

/// Shows what is being done if there are many cases.
fn waiting(selected: usize, what: &'static str) -> Option<Waiting> {
    (selected > MANY_CASES).then(|| Waiting::new(what))
}

/// Prints a note about groups whose coverage differs from the record. Returns true if there is none.
fn note_unlike(groups: &[String]) -> bool {
    if let Some(first) = groups.first() {
        print::note(&format!(
            "records/coverage.txt differs from the coverage of {} groups of cases, the first is {first}; remove their lines and run \
             `cargo xtask gen`",
            groups.len()
        ));
    }
    groups.is_empty()
}

/// Runs the cases on the built-in executor, and records what they cover. Returns true if cases cannot be loaded.
fn run_all(plan: &Plan<'_>, survey: &CoverageCollector<'_>) -> bool {
    let mut is_broken = false;
    let runtime = Builtin::new(Duration::from_mins(1));
    let record = |case: &_, result: &_| survey.record(case, result);
    let (mut progress, mut summary) = (Progress::new(plan.selected), Summary::default());
    Runner::new(plan, &runtime, &Stop::default()).inspected_by(&record).run(|event| match event {
        Event::Broken(error) => {
            is_broken = true;
            print::note(&format!("broken case: {error}"));
        }
        Event::Finished(result) => {
            summary.add(&result);
            progress.show(&summary);
        }
    });
    progress.finish();
    is_broken
}

/// Prints the items that the options choose, a line each.
fn print_items(arguments: &Arguments, coverage: &Coverage) -> anyhow::Result<()> {
    if arguments.sizes {
        for line in coverage.sizes() {
            print::line(&line)?;
        }
    } else if arguments.unconfirmed {
        for line in coverage.unconfirmed() {
            print::line(&line)?;
        }
    } else if !arguments.totals {
        for missing in coverage.missing() {
            print::line(&missing)?;
        }
        for unused_exclusions in coverage.unused_exclusions() {
            print::line(&format!("{unused_exclusions} is excluded but covered; correct specs/exclusions.yaml"))?;
        }
    }
    Ok(())
}

/// Prints the totals and the missing items as JSON.
fn print_json(coverage: &Coverage) -> anyhow::Result<()> {
    let total = |(kind, count): (&CoverageKind, &Count)| {
        (kind.title().to_owned(), json!({ "reached": count.reached, "excused": count.excused, "all": count.all }))
    };
    print::json(&json!({
        "totals": coverage.counts().iter().map(total).collect::<serde_json::Map<_, _>>(),
        "missing": coverage.missing(),
        "unconfirmed": coverage.unconfirmed(),
        "evidence": coverage.evidence().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "unused_exclusions": coverage.unused_exclusions(),
    }))?;
    Ok(())
}

/// Prints a line per topic, a line per pattern with the runtimes that rewrite it, and the totals.
fn graphs(arguments: &Arguments, filter: &Filter, patterns: &[String]) -> anyhow::Result<u8> {
    let coverage = GraphCoverage::new(filter, &Measurements::embedded().all()?)?;
    if coverage.patterns.is_empty() {
        print::note(&format!("no pattern of a graph matches {}", patterns.join(" ")));
        return Ok(exit::NOTHING);
    }
    if arguments.format == Format::Json {
        print::json(&json!(coverage))?;
        return Ok(exit::SUCCESS);
    }
    for pattern in coverage.patterns.iter().filter(|_| !arguments.totals) {
        let by = match pattern.rewritten_by.as_slice() {
            [] if coverage.asked.is_empty() => "unknown".to_owned(),
            [] => "none".to_owned(),
            some => some.join(", "),
        };
        print::line(&format!("{}: rewritten by {by}: {}", pattern.id, pattern.says))?;
    }
    for topic in coverage.topics() {
        print::line(&topic)?;
    }
    print::line(&coverage.summary())?;
    Ok(exit::SUCCESS)
}

/// Prints a line per pair of an operator version and an opset, then the totals.
fn conversions(filter: &Filter, patterns: &[String]) -> anyhow::Result<u8> {
    let chosen = Conversions::chosen(filter);
    if chosen.is_empty() {
        print::note(&format!("no operator with several versions matches {}", patterns.join(" ")));
        return Ok(exit::NOTHING);
    }
    for pair in &chosen {
        print::line(&pair.to_string())?;
    }
    print::line(&Conversions::summary(&chosen))?;
    Ok(exit::SUCCESS)
}

/// Prints a line per report of a wrong rewrite, then the totals.
fn threads(filter: &Filter, format: Format) -> anyhow::Result<u8> {
    let threads = Thread::all(filter)?;
    if threads.is_empty() {
        print::note("none of the selected graphs is about a report; `coverage --threads 'graph/**'` lists all reports");
        return Ok(exit::NOTHING);
    }
    if format == Format::Json {
        print::json(&json!({ "threads": threads }))?;
        return Ok(exit::SUCCESS);
    }
    for thread in &threads {
        print::line(&thread.to_string())?;
    }
    print::line(&Thread::summary(&threads))?;
    Ok(exit::SUCCESS)
}

/// Returns the exclusions in the folder of the specs, or else the embedded ones.
fn exclusions(arguments: &Arguments) -> anyhow::Result<Exclusions> {
    let path = arguments.selection.sources.specs.as_ref().map(|folder| folder.join("exclusions.yaml"));
    let Some(path) = path.filter(|path| path.exists()) else { return Ok(Exclusions::embedded()?) };
    let display = path.display().to_string();
    let text = read_text(&path).with_context(|| display.clone())?;
    Ok(Exclusions::read(&display, &text)?)
}
