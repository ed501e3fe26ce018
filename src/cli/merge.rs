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
use onnx_conformance_harness::run::{CaseResult, Header, Read, Selected, plan};
use onnx_conformance_report::groups::sort_by_gravity;
use onnx_conformance_report::reporter::{Finished, Reporter, Started};
use onnx_conformance_report::terminal::{By, Show};

use crate::cli::gate::GateOptions;
use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::reports::ReportOptions;
use crate::cli::results_file::{self, ResultsPlace};
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
    let (header, results) = arguments.read()?;
    let missing = arguments.missing(&header, &results)?;
    ResultsPlace::lock(&arguments.output)?.begin(&header, &results)?;
    print::note(&format!("wrote {}: {} results", arguments.output.display(), results.len()));
    if !missing.is_empty() {
        note_missing(&missing);
    }
    let gate = arguments.gate.open(&header.runtime, &arguments.source)?;
    let variant = header.selected.variant;
    if arguments.gate.update_expectations {
        let is_part = !header.selected.within.is_empty() || !gate.is_whole(&header.selected.filters);
        if !missing.is_empty() || is_part {
            bail!("--update-expectations needs the results of the whole suite; the expectation file is unchanged");
        }
        gate.update(WholeRun::new(results, variant), None, Some(&header))?;
        return Ok(exit::SUCCESS);
    }
    let elapsed = Duration::try_from_secs_f64(results.iter().map(|result| result.ms).sum::<f64>() / 1e3);
    let (mut gate_result, mut reporters) = (GateResult::default(), arguments.reporters());
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

impl Arguments {
    /// Returns the terminal reporter and every requested report.
    fn reporters(&self) -> Vec<Box<dyn Reporter>> {
        let terminal =
            Box::new(TerminalReporter::new(Show { by: self.by, ..Show::at_most(self.show) })) as Box<dyn Reporter>;
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

    /// Returns the combined header, and all results by id.
    fn read(&self) -> anyhow::Result<(Header, Vec<CaseResult>)> {
        let reads: Vec<(String, Read)> = self
            .files
            .iter()
            .map(|path| Ok((path.display().to_string(), results_file::read(path)?)))
            .collect::<anyhow::Result<_>>()?;
        let (_, first) = reads.first().context("no file to merge")?;
        let mut header = first.header.clone();
        let mut all: BTreeMap<String, (usize, CaseResult)> = BTreeMap::new();
        for (number, (place, read)) in reads.iter().enumerate() {
            results_file::check_same(place, &read.header, &header)?;
            let (own, first) = (&read.header.selected, &header.selected);
            if (&own.filters, &own.within) != (&first.filters, &first.within) {
                bail!("{place}: the filters differ from those of {}; merge only parts of the same run", reads[0].0);
            }
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
        let chosen = reads.iter().map(|(_, read)| read.header.selected.cases).sum();
        header.selected = Selected { cases: chosen, shard: None, ..header.selected };
        Ok((header, all.into_values().map(|(_, result)| result).collect()))
    }

    /// Returns the cases of the suite that should have a result but have none.
    fn missing(&self, header: &Header, results: &[CaseResult]) -> anyhow::Result<Vec<String>> {
        let suite = self.source.open()?;
        if suite.digest()? != header.digest {
            bail!(
                "the results are of another suite, so missing cases cannot be determined; merge them with the program \
                 and data that produced them"
            );
        }
        let plan = plan(&suite, &filter_of(header)?, header.selected.variant)?;
        let have: BTreeSet<&str> = results.iter().map(|result| result.id.as_str()).collect();
        Ok(plan.ids().map(|id| plan.variant().id(id)).filter(|id| !have.contains(id.as_str())).collect())
    }
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
