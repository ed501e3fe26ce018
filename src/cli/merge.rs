//! `merge`: combines the results of the parts of a run into one file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::expectations::{GateResult, Scope, WholeRun};
use onnx_conformance_harness::failures::{Grouping, Show, rerun_command, sort_by_gravity};
use onnx_conformance_harness::gate_file::Gate;
use onnx_conformance_harness::run::{
    CaseResult, Header, Machine, MissingShards, Part, Read, Selected, check_parts, plan,
};
use onnx_conformance_harness::shell::word;
use onnx_conformance_report::reporter::{Finished, Reporter, Started};
use onnx_conformance_report::terminal::By;
use onnx_conformance_subject::Declaration;

use crate::cli::gate::GateOptions;
use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::reports::ReportOptions;
use crate::cli::results_file::{self, ResultsPlace};
use crate::cli::runtime::BUILTIN;
use crate::cli::terminal::TerminalReporter;
use crate::cli::usage::Usage;
use crate::cli::{options, print};

/// Maximum number of missing ids to name.
const MAX_NAMED: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Results files with the same suite, runtime and variant, such as the shards of a run
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,

    /// Write all results to this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Also write the results if cases of the run have none, such as those of a missing shard
    #[arg(long)]
    allow_incomplete: bool,

    #[command(flatten)]
    source: options::Sources,

    #[command(flatten)]
    gate: GateOptions,

    #[command(flatten)]
    reports: ReportOptions,

    /// Print at most this many failing cases; 0 for all
    #[arg(long, value_name = "N", default_value = "30", value_parser = options::shown, allow_negative_numbers = true)]
    show: usize,

    /// Group failures by cause or by operator version [default: by operator version, or by cause if there are more groups than
    /// --show]
    #[arg(long, value_enum)]
    by: Option<By>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    arguments.check_outputs()?;
    let merged = arguments.read()?;
    let missing = arguments.missing(&merged.header, &merged.results)?;
    if !missing.is_empty() && !arguments.allow_incomplete {
        bail!("{}", merged.refusal(&missing));
    }
    let Merged { mut header, results, .. } = merged;
    header.selected.cases = results.len() + missing.len();
    ResultsPlace::lock(&arguments.output)?.begin(&header, &results)?;
    print::note(&format!("wrote {}: {} results", arguments.output.display(), results.len()));
    if !missing.is_empty() {
        note_missing(&missing);
    }
    let gate = arguments.gate.open(&header.runtime, &arguments.source)?;
    let variant = header.selected.variant;
    if arguments.gate.update_expectations {
        if !missing.is_empty() || !arguments.is_whole(&header, &gate)? {
            bail!("--update-expectations needs the results of the whole suite; the expectation file is unchanged");
        }
        gate.update(WholeRun::new(results, variant), None, Some(&header))?;
        return Ok(exit::SUCCESS);
    }
    let elapsed = Duration::try_from_secs_f64(results.iter().map(|result| result.ms).sum::<f64>() / 1e3);
    let (mut gate_result, mut reporters) = (GateResult::default(), arguments.reporters(&header.runtime));
    reporters.started(&Started { runtime: &header.runtime, cases: results.len() })?;
    for result in &results {
        let verdict = gate_result.add_result(result, &gate.matcher);
        reporters.case_ended(result, verdict)?;
    }
    reporters.cases_ended();
    let filter = if gate.is_whole(&header.selected.filters) { Filter::default() } else { filter_of(&header)? };
    let is_whole = missing.is_empty() && gate.is_about_suite;
    gate_result.finish(&gate.matcher, &Scope { filter: is_whole.then_some(&filter), variant });
    sort_by_gravity(&mut gate_result.regressions);
    let elapsed = elapsed.unwrap_or_default();
    reporters.finished(&Finished { runtime: &header.runtime, gate: &gate_result, text: header.text, elapsed })?;
    if !missing.is_empty() {
        return Ok(exit::HARNESS);
    }
    Ok(exit::code_for(gate_result.conclusion()))
}

/// The results of all parts of a run.
struct Merged {
    header: Header,
    /// Sorted by id.
    results: Vec<CaseResult>,
    missing_shards: MissingShards,
    /// The first part that ended early.
    unfinished: Option<String>,
}

impl Merged {
    /// Returns the sentence that refuses to merge an incomplete run.
    fn refusal(&self, missing: &[String]) -> String {
        let (count, first) = (missing.len(), missing.first().map(|id| escape::line(id)).unwrap_or_default());
        let shards = &self.missing_shards;
        let hint = match (&self.unfinished, shards.count) {
            (None, 0) => "run them".to_owned(),
            (None, 1) => format!("add shard {shards}"),
            (None, _) => format!("add shards {shards}"),
            (Some(place), _) => format!("continue {place} with --resume"),
        };
        format!(
            "nothing is written, since {count} cases have no result, such as {first}; {hint}, or merge what there is with \
             --allow-incomplete"
        )
    }
}

impl Arguments {
    /// Returns the terminal reporter, whose commands name the runtime, and every requested report.
    fn reporters(&self, runtime: &Declaration) -> Vec<Box<dyn Reporter>> {
        let option =
            if runtime.name == BUILTIN { String::new() } else { format!(" --runtime {}", word(&runtime.name)) };
        let show = Show { by: self.by.map(Grouping::from), ..Show::at_most(self.show) }
            .rerun_by(move |id| rerun_command(&format!("onnx-conformance run{option}"), id));
        let terminal = Box::new(TerminalReporter::new(show)) as Box<dyn Reporter>;
        std::iter::once(terminal).chain(self.reports.reporters()).collect()
    }

    /// Rejects outputs that the command reads, or that exist and are of another kind.
    fn check_outputs(&self) -> Result<(), Usage> {
        let mut files = OutputFiles::default()
            .reading("one of the files to merge", self.files.iter().map(PathBuf::as_path))
            .reading("an expectation file", self.gate.expectations.as_deref());
        files.add(&self.output, Kind::Results)?;
        self.reports.check(files)
    }

    /// Combines the parts, or fails if they are not of the same run.
    fn read(&self) -> anyhow::Result<Merged> {
        let reads: Vec<(String, Read)> = self
            .files
            .iter()
            .map(|path| Ok((path.display().to_string(), results_file::read(path)?)))
            .collect::<anyhow::Result<_>>()?;
        let (_, first) = reads.first().context("no file to merge")?;
        let mut header = first.header.clone();
        for (place, read) in &reads {
            results_file::check_same(place, &read.header, &header)?;
            header.machine = common_machine(place, &header.machine, &read.header.machine)?;
        }
        let parts: Vec<Part<'_>> =
            reads.iter().map(|(place, read)| Part { place, selected: &read.header.selected }).collect();
        let missing_shards = check_parts(&parts)?;
        let mut all: BTreeMap<String, (usize, CaseResult)> = BTreeMap::new();
        for (number, (place, read)) in reads.iter().enumerate() {
            for result in &read.results {
                if let Some((other, _)) = all.insert(result.id.clone(), (number, result.clone())) {
                    bail!(
                        "{place}: has a result of {}, which {} also has; give each part once",
                        result.id,
                        reads[other].0
                    );
                }
            }
        }
        header.selected = Selected { shard: None, times: None, ..header.selected };
        let results = all.into_values().map(|(_, result)| result).collect();
        let unfinished = reads.iter().find(|(_, read)| !read.is_complete()).map(|(place, _)| place.clone());
        Ok(Merged { header, results, missing_shards, unfinished })
    }

    /// Returns true if the merged run covers the expectation file: the whole suite, or exactly the cases in the scope of the file.
    fn is_whole(&self, header: &Header, gate: &Gate) -> anyhow::Result<bool> {
        let Selected { filters, within, variant, .. } = &header.selected;
        if within.is_empty() && gate.is_whole(filters) {
            return Ok(true);
        }
        let suite = self.source.open()?;
        Ok(gate.covers_exactly(&suite, &plan(&suite, &filter_of(header)?, *variant)?)?)
    }

    /// Returns the cases of the suite that should have a result but have none.
    fn missing(&self, header: &Header, results: &[CaseResult]) -> anyhow::Result<Vec<String>> {
        let suite = self.source.open()?;
        if suite.digest()? != header.digest {
            bail!(
                "the results are of another suite, so missing cases cannot be determined; give the --suite, --specs or \
                 --testdata of the runs, or merge with the program that ran them"
            );
        }
        let plan = plan(&suite, &filter_of(header)?, header.selected.variant)?;
        let have: BTreeSet<&str> = results.iter().map(|result| result.id.as_str()).collect();
        Ok(plan.ids().map(|id| plan.variant().id(id)).filter(|id| !have.contains(id.as_str())).collect())
    }
}

/// Returns the machine of results that two machines made: the same platform, with the processor features that both have.
fn common_machine(place: &str, first: &Machine, other: &Machine) -> anyhow::Result<Machine> {
    if (&first.os, &first.arch) != (&other.os, &other.arch) {
        let [first, other] =
            [first, other].map(|machine| escape::line(&format!("{}-{}", machine.os, machine.arch)).into_owned());
        bail!("{place}: was run on {other}, and other parts on {first}; run all parts on one platform");
    }
    let both = first.features.as_ref().zip(other.features.as_ref());
    let features = both.map(|(first, other)| first.intersection(other).copied().collect());
    Ok(Machine { features, ..first.clone() })
}

/// Returns the filter of a run, for any variant.
fn filter_of(header: &Header) -> anyhow::Result<Filter> {
    let filters: Vec<&str> = header.selected.filters.iter().map(|filter| Variant::split_id(filter).0).collect();
    Ok(Filter::new(&filters)?.within(header.selected.within.clone()))
}

fn note_missing(missing: &[String]) {
    print::note(&format!("{} cases have no result:", missing.len()));
    for id in missing.iter().take(MAX_NAMED) {
        print::note(&format!("    {}", escape::line(id)));
    }
    if missing.len() > MAX_NAMED {
        print::note(&format!("    ... and {} more", missing.len() - MAX_NAMED));
    }
    print::note("run the missing cases with `onnx-conformance run --resume FILE`, then merge again");
}
