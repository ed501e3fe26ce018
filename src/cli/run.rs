//! `run`: runs cases on a runtime, and compares their outcomes with the expectations.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_cases::case::{CaseId, TextRelease, Variant, open_regular};
use onnx_conformance_cases::suite::{Filter, GraphId, SUITE_VERSION, Suite};
use onnx_conformance_harness::expectations::{Conclusion, GateResult, Scope, WholeRun};
use onnx_conformance_harness::failures::{
    FailureFolder, Grouping, Recorder, Show, add_patterns, rerun_command, sort_by_gravity,
};
use onnx_conformance_harness::gate_file::Gate;
use onnx_conformance_harness::interrupt::stopped_by_interrupt;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_harness::promises::{
    FrozenList, Renames, changes_since, describe_changes, is_later, suite_version, unchanged_since,
};
use onnx_conformance_harness::run::{
    CaseResult, Confirm, Header, Outcome, Plan, ProcessorFeature, Read, Selected, plan,
};
use onnx_conformance_harness::shell::word;
use onnx_conformance_harness::{escape, exit};
use onnx_conformance_report::reporter::{Collected, Finished, Reporter};
use onnx_conformance_report::terminal::By;
use onnx_conformance_subject::{Accepted, Declaration, Host, Question, Stop, probe_if_undeclared};

use crate::cli::gate::{GateOptions, check_selection, update_of_a_part};
use crate::cli::init::{Init, InitOptions};
use crate::cli::json_reporter::JsonReporter;
use crate::cli::options::Form;
use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::reports::ReportOptions;
use crate::cli::results_file::{self, ResultsPlace, today};
use crate::cli::rewrites::{RewriteReporter, open_optimizer};
use crate::cli::run_mode::Mode;
use crate::cli::runtime::{RuntimeOptions, ended_early};
use crate::cli::session::{Ended, Session};
use crate::cli::shard::{OpenShard, ShardOptions};
use crate::cli::smoke::check_adapter;
use crate::cli::suggest::note_nothing_matches;
use crate::cli::terminal::TerminalReporter;
use crate::cli::usage::{Usage, ValueError};
use crate::cli::{last_failures, options, print};

/// Number of failing cases that are printed without `--show`.
const SHOWN: usize = 30;

/// Way to print more failing cases than fit the screen.
const SHOW_HINT: &str = "--show 30 prints 30 failing cases, and --show 0 all";

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten, next_help_heading = "Cases")]
    selection: options::Selection,

    #[command(flatten, next_help_heading = "Runtime")]
    runtime: RuntimeOptions,

    #[command(flatten, next_help_heading = "Verdict")]
    text: options::TextOptions,

    #[command(flatten, next_help_heading = "Cases")]
    shard: ShardOptions,

    /// Variant of the cases: runtime, constants, initializers, all-constants, dynamic-shapes or wrapped; or a question to a tool about
    /// the model, such as optimize, check or upgrade; `list measured --tools` lists measured tools [default: runtime]
    #[arg(long, help_heading = "Cases", value_parser = variant)]
    variant: Option<Variant>,

    /// Keep the passes in this results file, and run the cases that failed, did not run or are new
    #[arg(long, help_heading = "Cases", value_name = "FILE")]
    resume: Option<PathBuf>,

    /// With --resume: also keep failures, and run only cases that did not run or are new
    #[arg(long, help_heading = "Cases", requires = "resume")]
    keep_failures: bool,

    /// Keep the outcomes of the embedded measurement of the runtime's version, and run the cases that are new or have changed since
    #[arg(long, help_heading = "Cases", conflicts_with_all = ["resume", "failed", "shard", "variant"])]
    stale: bool,

    /// Re-run the unexpected failures of the last run, which are recorded in the folder of --failures
    #[arg(long, help_heading = "Cases", conflicts_with_all = ["filters", "from"])]
    failed: bool,

    /// Ask the runtime which graphs its optimizer rewrites, in additional processes. The results then have `rewritten` for each
    /// case below graph/, and --stale runs these cases again
    #[arg(long, help_heading = "Runtime", conflicts_with = "variant")]
    rewrites: bool,

    /// Output format of the summary
    #[arg(long, help_heading = "Output", value_enum, default_value_t)]
    format: Form,

    /// Write one line of JSON per case to this file [default: the one of --resume]
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    results: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Verdict")]
    gate: GateOptions,

    #[command(flatten, next_help_heading = "Output")]
    reports: ReportOptions,

    /// Write each printed unexpected failure as a test folder to this folder [default: target/failures]. With --smoke: write each
    /// model that is not ok [default: none is written]
    #[arg(long, help_heading = "Output", value_name = "DIR")]
    failures: Option<PathBuf>,

    /// Print at most this many failing cases; 0 for all [default: 30, and on a terminal those that fit the screen]
    #[arg(long, help_heading = "Output", value_name = "N", value_parser = options::shown, allow_negative_numbers = true)]
    show: Option<usize>,

    /// Group failures by cause or by operator version [default: by operator version, or by cause if there are more groups than
    /// --show]
    #[arg(long, help_heading = "Output", value_enum)]
    by: Option<By>,

    /// Run a few small models to check the adapter, and report its errors
    #[arg(long, help_heading = "First run")]
    smoke: bool,

    #[command(flatten, next_help_heading = "First run")]
    first: InitOptions,
}

/// Checks the adapter, writes the first expectation file, or runs the selected cases. Returns the exit code.
pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let mode = if arguments.smoke { Mode::Smoke } else { arguments.first.mode() };
    mode.check(&arguments.given())?;
    match mode {
        Mode::Smoke => check_adapter(&arguments.runtime, arguments.failures.as_deref()),
        Mode::Cases => run_cases(arguments),
        Mode::Init | Mode::InitFromResults | Mode::InitFromDenylist => arguments.write_first_file(),
    }
}

/// Runs the selected cases, and reports their results or updates the expectation file to them. Returns the exit code.
fn run_cases(arguments: &Arguments) -> anyhow::Result<u8> {
    let patterns = arguments.patterns()?;
    let (filter, variant) = arguments.filter(&patterns)?;
    arguments.check()?;
    arguments.check_outputs()?;
    let suite = arguments.runtime.within_memory(arguments.selection.sources.open_by(arguments.text.release())?);
    let evidence = arguments.selection.sources.evidence()?;
    arguments.text.note_later();
    let mut plan = plan(&suite, &filter, variant)?.confirmed_by(&evidence);
    if plan.selected == 0 {
        note_nothing_matches(&suite, &patterns);
        return Ok(exit::NOTHING);
    }
    let (shard, (place, resumed)) = (arguments.shard.open()?, arguments.lock_results()?);
    let stop = stopped_by_interrupt();
    let runtime = match arguments.runtime.open(&stop) {
        Err(_) if stop.is_set() => return ended_early(&stop, false),
        runtime => runtime?,
    };
    let gated = GatedRuntime::open(arguments, &*runtime)?;
    check_question(&gated.declaration, variant)?;
    if arguments.gate.update_expectations {
        gated.gate.check_text(arguments.text_of_cases())?;
        check_selection(&gated.gate, &suite, &filter, &plan)?;
    }
    let filters = restrict(&mut plan, patterns, &gated.gate, &shard)?;
    if plan.selected == 0 {
        print::note("no case matches");
        return Ok(exit::NOTHING);
    }
    let mut header = arguments.header(&suite, &plan, filters, &gated.declaration)?;
    shard.describe(&mut header.selected);
    let optimizer = arguments.open_optimizer(&gated.declaration, &stop)?;
    let kept = match resumed {
        Some(read) => arguments.keep_results(read, &header, &suite, &mut plan)?,
        None if arguments.stale => keep_measured(&mut header, &mut plan, optimizer.is_some())?,
        None => Vec::new(),
    };
    let file = place.map(|place| place.begin(&header, &kept)).transpose()?;
    suite.remarks().for_each(|remark| print::note(&remark));
    let recorder = Recorder::new(Box::new(&*runtime), gated.declaration.clone());
    let (mut all, mut reporters) = (Collected::default(), arguments.reporters());
    let mut during: Vec<Box<dyn Reporter + '_>> = vec![Box::new(&mut reporters)];
    during.extend(arguments.gate.update_expectations.then(|| Box::new(&mut all) as Box<dyn Reporter>));
    let expectations = &gated.gate.matcher;
    let optimizer = optimizer.as_deref().map(|host| host as &dyn Host);
    let session = Session { plan: &plan, runtime: &recorder, optimizer, stop: &stop, expectations, kept, file };
    let ended = match session.run(during)? {
        Ok(ended) => ended,
        Err(code) => return Ok(code),
    };
    if arguments.gate.update_expectations {
        let run = WholeRun::new(complete_results(&ended.gate, all)?, variant);
        gated.gate.update(run, gated.accepted.as_ref(), Some(&header))?;
        return Ok(exit::SUCCESS);
    }
    let report =
        Report { arguments, filter: &filter, variant, suite: &suite, evidence: &evidence, recorder: &recorder };
    report.finish(ended, &gated, reporters)
}

/// Restricts the plan to the scope of the expectation file, unless cases were selected, and to one shard. Returns the patterns that
/// select the cases.
fn restrict(
    plan: &mut Plan<'_>,
    mut patterns: Vec<String>,
    gate: &Gate,
    shard: &OpenShard,
) -> anyhow::Result<Vec<String>> {
    if patterns.is_empty() && !gate.scope().is_empty() {
        patterns = gate.scope().to_vec();
        let all = plan.selected;
        plan.retain(|id| gate.matcher.is_in_scope(id));
        let (kept, path) = (plan.selected, gate.matcher.expectations().path());
        print::note(&format!("running {kept} of {all} cases, the scope of {path}; use filters to run others"));
    }
    shard.retain(plan)?;
    Ok(patterns)
}

/// A runtime and the expectations of its results.
struct GatedRuntime {
    declaration: Declaration,
    /// The files that the runtime accepts, if they were probed.
    accepted: Option<Accepted>,
    gate: Gate,
}

impl GatedRuntime {
    fn open(arguments: &Arguments, runtime: &dyn Host) -> anyhow::Result<GatedRuntime> {
        let sources = &arguments.selection.sources;
        let accepted = sources.are_probed().then(|| probe_if_undeclared(runtime)).flatten();
        let declaration = accepted.iter().fold(runtime.declaration(), Declaration::accepting);
        let gate = arguments.gate.open(&declaration, sources)?;
        Ok(GatedRuntime { declaration, accepted, gate })
    }
}

/// Returns the results of a run, unless some cases could not be loaded.
fn complete_results(gate_result: &GateResult, all: Collected) -> anyhow::Result<Vec<CaseResult>> {
    if let Some(error) = gate_result.broken.first() {
        bail!("the expectation file is unchanged, since some cases could not be loaded: {error}");
    }
    Ok(all.results.into_iter().map(|(result, _)| result).collect())
}

/// Report on a run in which every case ended.
struct Report<'a> {
    arguments: &'a Arguments,
    filter: &'a Filter,
    variant: Variant,
    suite: &'a Suite,
    evidence: &'a dyn Confirm,
    recorder: &'a Recorder<'a>,
}

impl Report<'_> {
    /// Checks the entries of the expectation file, finishes the reports, and writes the failing cases. Returns the exit code.
    fn finish(&self, ended: Ended, gated: &GatedRuntime, mut reporters: Vec<Box<dyn Reporter>>) -> anyhow::Result<u8> {
        let Report { arguments, filter, variant, suite, evidence, recorder } = *self;
        let (gate, Ended { gate: mut gate_result, elapsed }) = (&gated.gate, ended);
        let is_whole = !arguments.shard.is_given() && gate.is_about_suite;
        let printed = gate_result.problems.len();
        gate_result.finish(&gate.matcher, &Scope { filter: is_whole.then_some(filter), variant });
        gate_result.problems.extend(gated.accepted.as_ref().and_then(|accepted| gate.other_than(accepted)));
        gate_result.problems.iter().skip(printed).for_each(|problem| print::note(problem));
        sort_by_gravity(&mut gate_result.regressions);
        add_patterns(&mut gate_result.regressions, suite, recorder);
        last_failures::note(arguments.failures(), &gate_result.regressions);
        note_changed_cases(gate, &gate_result, suite)?;
        let finished =
            Finished { runtime: &gated.declaration, gate: &gate_result, text: arguments.text_of_cases(), elapsed };
        let reported = reporters.finished(&finished);
        let shown = gate_result.regressions.len().min(arguments.show());
        let folder = FailureFolder { path: arguments.failures(), suite, evidence, outputs: recorder };
        if let Some(note) = folder.write(&gate_result.regressions[..shown]) {
            print::note(&note);
        }
        arguments.suggest_update(&gate_result, gate);
        reported?;
        Ok(exit::code_for(gate_result.conclusion()))
    }
}

/// Prints the number of unexpected failures in cases that changed since the suite version of the expectation file.
fn note_changed_cases(gate: &Gate, gate_result: &GateResult, suite: &Suite) -> anyhow::Result<()> {
    let expectations = gate.matcher.expectations();
    let Some(version) = expectations.suite.as_deref().and_then(suite_version) else { return Ok(()) };
    // The gate has a note about a later version.
    if gate_result.regressions.is_empty() || version == SUITE_VERSION || is_later(version) {
        return Ok(());
    }
    let path = expectations.path();
    let frozen = match FrozenList::embedded(version) {
        Ok(frozen) => frozen,
        Err(error) => {
            print::note(&format!(
                "{path}: {error}, so the run cannot say which unexpected failures are of changed cases; write the file anew \
                 with --update-expectations"
            ));
            return Ok(());
        }
    };
    let ids: Vec<&str> = gate_result.regressions.iter().map(|regression| regression.id.as_str()).collect();
    let changed = changes_since(&frozen, Renames::embedded(), suite, &ids)?;
    if !changed.is_empty() {
        print::note(&describe_changes(path, version, ids.len(), &changed));
    }
    Ok(())
}

/// Keeps the results of unchanged cases from an earlier version of the suite. If the version has no list, all results
/// are kept.
fn keep_unchanged(place: &str, read: &mut Read, header: &Header, suite: &Suite) -> anyhow::Result<()> {
    let version = read.header.suite.clone();
    if version == header.suite {
        return Ok(());
    }
    let Ok(frozen) = FrozenList::embedded(&version) else { return Ok(()) };
    let ids: Vec<&str> = read.results.iter().map(|result| result.id.as_str()).collect();
    let (count, unchanged) = (ids.len(), unchanged_since(&frozen, Renames::embedded(), suite, &ids)?);
    read.results.retain(|result| unchanged.contains(CaseId::parse(&result.id).path));
    print::note(&format!(
        "{place}: {} of {} results are of cases that are the same in suite {version} and in suite {}",
        read.results.len(),
        count,
        header.suite
    ));
    (read.header.suite, read.header.digest) = (header.suite.clone(), header.digest.clone());
    Ok(())
}

/// Returns the outcomes of the embedded measurement for the cases that have not changed since, and removes the cases
/// from the plan. The header then names the features that both processors have, or none if the measurement does not
/// name its processor. Graphs are run again if the runtime's rewrites are requested.
fn keep_measured(header: &mut Header, plan: &mut Plan<'_>, is_asked: bool) -> anyhow::Result<Vec<CaseResult>> {
    let runtime = &header.runtime;
    let place = format!("{} {}", escape::line(&runtime.name), escape::line(&runtime.version));
    let Some(measurement) = Measurements::among(&runtime.name).get(&runtime.name, &runtime.version)? else {
        print::note(&format!("{place} was not measured, so all cases run"));
        return Ok(Vec::new());
    };
    let here = ProcessorFeature::here();
    header.machine.features = measurement.processor().map(|features| features.intersection(&here).copied().collect());
    let ids = plan.ids().filter(|id| !is_asked || GraphId::parse(id).is_none());
    let kept: Vec<CaseResult> = ids.filter_map(|id| measurement.result(id)).collect();
    print::note(&format!("{} cases are unchanged since {place} was measured, and are not run again", kept.len()));
    let done: BTreeSet<&str> = kept.iter().map(|result| result.id.as_str()).collect();
    plan.retain(|id| !done.contains(id));
    Ok(kept)
}

/// Returns an error if a tool, which runs no models, would have to compute outputs.
fn check_question(subject: &Declaration, variant: Variant) -> Result<(), Usage> {
    if variant.question() != Question::Run || subject.answers(Question::Run) {
        return Ok(());
    }
    let questions = subject.does.iter().flatten().flat_map(|question| Variant::asking(*question));
    let options: Vec<String> = questions.map(|variant| format!("--variant {variant}")).collect();
    Err(Usage(format!("{} does not run models; ask it with {}", escape::line(&subject.name), options.join(" or "))))
}

fn variant(name: &str) -> Result<Variant, ValueError> {
    Variant::ALL.into_iter().find(|variant| variant.name() == name).ok_or(ValueError::Variant)
}

impl Arguments {
    /// Returns the given options, besides those of the runtime.
    fn given(&self) -> Vec<&'static str> {
        let options = [
            ("--init", self.first.init && self.smoke),
            ("--text", self.text.other().is_some()),
            ("--shard", self.shard.is_given()),
            ("--variant", self.variant.is_some()),
            ("--resume", self.resume.is_some()),
            ("--stale", self.stale),
            ("--failed", self.failed),
            ("--rewrites", self.rewrites),
            ("--format json", self.format == Form::Json),
            ("--results", self.results.is_some()),
            ("--expectations", self.gate.expectations.is_some()),
            ("--update-expectations", self.gate.update_expectations),
            ("--strict", self.gate.strict),
            ("--report", self.reports.are_given()),
            ("--failures", self.failures.is_some()),
            ("--show", self.show.is_some()),
            ("--by", self.by.is_some()),
        ];
        let given = options.into_iter().filter_map(|(option, is_given)| is_given.then_some(option));
        given.chain(self.selection.given()).chain(self.first.given()).collect()
    }

    /// Writes the first expectation file of the runtime. Returns the exit code.
    fn write_first_file(&self) -> anyhow::Result<u8> {
        let scope = self.selection.patterns()?;
        if let Some(pattern) = scope.iter().find(|pattern| Variant::split_id(pattern).1 != Variant::Runtime) {
            let plain = Variant::split_id(pattern).0;
            bail!(Usage(format!(
                "an expectation file is about cases, not their variants; write '{plain}' for '{pattern}'"
            )));
        }
        let Arguments { first: options, selection, runtime, gate, results, .. } = self;
        Init { options, source: &selection.sources, runtime, gate, scope, results: results.as_deref() }.write()
    }

    fn failures(&self) -> &Path {
        self.failures.as_deref().unwrap_or(Path::new("target/failures"))
    }

    fn show(&self) -> usize {
        self.show.unwrap_or(SHOWN)
    }

    /// Returns the patterns of the cases to run.
    fn patterns(&self) -> anyhow::Result<Vec<String>> {
        let patterns = self.selection.patterns()?;
        if self.failed { last_failures::patterns(self.failures()) } else { Ok(patterns) }
    }

    /// Returns the filter of the patterns, and the variant given by them or by `--variant`.
    fn filter(&self, patterns: &[String]) -> anyhow::Result<(Filter, Variant)> {
        let (mut plain, mut named) = (Vec::new(), self.variant);
        for pattern in patterns {
            let (base, variant) = Variant::split_id(pattern);
            if variant != Variant::Runtime && *named.get_or_insert(variant) != variant {
                bail!(Usage(format!(
                    "'{pattern}' selects another variant than the other filters; run one variant at a time"
                )));
            }
            plain.push(base);
        }
        Ok((self.selection.narrowed(Filter::new(&plain)?)?, named.unwrap_or_default()))
    }

    /// Rejects incompatible options.
    fn check(&self) -> Result<(), Usage> {
        if let Some(text) = self.text.other().filter(|_| self.stale) {
            let newest = TextRelease::newest();
            return Err(Usage(format!(
                "--stale keeps outcomes that were judged by the texts of ONNX {newest}, not {text}; omit --stale or --text"
            )));
        }
        let part = [("--shard", self.shard.is_given()), ("--resume", self.resume.is_some())];
        match part.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) if self.gate.update_expectations => Err(update_of_a_part(&format!("omit {option}"))),
            _ => Ok(()),
        }
    }

    /// Returns the release whose texts decide the levels of the cases; `None` for those of a folder.
    fn text_of_cases(&self) -> Option<TextRelease> {
        self.selection.sources.suite.is_none().then(|| self.text.release())
    }

    /// Rejects outputs that the command reads, or that exist and are of another kind.
    fn check_outputs(&self) -> Result<(), Usage> {
        let files = OutputFiles::default().reading("the file of --from", self.selection.list());
        let files = files.reading("the file of --times", self.shard.times());
        let files = files.reading("the archive of --suite", self.selection.sources.suite.as_deref());
        let mut results = files.reading("an expectation file", self.gate.expectations.as_deref());
        // The file to resume is read before it is replaced.
        if let Some(path) = &self.results {
            results.add(path, Kind::Results)?;
        }
        self.reports.check(results.reading("the file of --resume", self.resume.as_deref()))
    }

    fn results_path(&self) -> Option<&Path> {
        self.results.as_deref().or(self.resume.as_deref())
    }

    /// Locks the file for the results, and reads the one to resume.
    fn lock_results(&self) -> anyhow::Result<(Option<ResultsPlace>, Option<Read>)> {
        if let Some(path) = &self.resume {
            // Locking creates a missing file.
            open_regular(path).with_context(|| path.display().to_string())?;
        }
        let place = self.results_path().map(ResultsPlace::lock).transpose()?;
        let resumed = self.resume.as_deref().map(results_file::read).transpose()?;
        Ok((place, resumed))
    }

    /// Returns the header of the results.
    fn header(
        &self,
        suite: &Suite,
        plan: &Plan<'_>,
        filters: Vec<String>,
        declaration: &Declaration,
    ) -> anyhow::Result<Header> {
        let (within, variant) = (self.selection.groups()?, plan.variant());
        let selected = Selected { cases: plan.selected, filters, within, variant, ..Selected::default() };
        // Computing the digest takes longer than a case.
        let is_stored = self.results_path().is_some() || self.gate.update_expectations;
        let digest = if is_stored { suite.digest()? } else { String::new() };
        Ok(Header::new(declaration.clone(), digest, selected).by_text(self.text_of_cases()).dated(today()))
    }

    /// Returns the results of an earlier run that are kept, the passes or all, and removes their cases from the plan.
    fn keep_results(
        &self,
        mut read: Read,
        header: &Header,
        suite: &Suite,
        plan: &mut Plan<'_>,
    ) -> anyhow::Result<Vec<CaseResult>> {
        let variant = plan.variant();
        let chosen: BTreeSet<String> = plan.ids().map(|id| variant.id(id)).collect();
        let place = self.resume.as_deref().unwrap_or(Path::new("")).display().to_string();
        if self.text_of_cases().is_some() {
            keep_unchanged(&place, &mut read, header, suite)?;
        }
        results_file::check_same(&place, &read.header, header)?;
        let (inside, outside): (Vec<_>, Vec<_>) =
            read.results.into_iter().partition(|result| chosen.contains(&result.id));
        if !outside.is_empty() && (self.results.is_none() || self.results == self.resume) {
            let count = outside.len();
            bail!(
                "{place}: {count} results of cases that are not selected now would be lost; choose another file with \
                 --results"
            );
        }
        let is_kept = |result: &CaseResult| self.keep_failures || result.outcome == Outcome::Pass;
        let kept: Vec<CaseResult> = inside.into_iter().filter(is_kept).collect();
        let how = if self.keep_failures { "ended" } else { "passed" };
        print::note(&format!("{} cases {how} before and are not run again", kept.len()));
        let done: BTreeSet<&str> = kept.iter().map(|result| result.id.as_str()).collect();
        plan.retain(|id| !done.contains(variant.id(id).as_str()));
        Ok(kept)
    }

    /// Returns the terminal reporter and every requested report.
    fn reporters(&self) -> Vec<Box<dyn Reporter>> {
        let command = self.command();
        let show = Show { by: self.by.map(Grouping::from), ..Show::at_most(self.show()) };
        let show = show.rerun_by(move |id| rerun_command(&command, id));
        let terminal: Box<dyn Reporter> = match self.format {
            Form::Text if self.show.is_none() => Box::new(TerminalReporter::new(show).shortened(SHOW_HINT)),
            Form::Text => Box::new(TerminalReporter::new(show)),
            Form::Json => Box::new(JsonReporter),
        };
        let rewrites = self.rewrites.then(|| Box::new(RewriteReporter::new(self.show())) as Box<dyn Reporter>);
        std::iter::once(terminal).chain(rewrites).chain(self.reports.reporters()).collect()
    }

    /// Starts the runtime that reports its rewrites, if they are requested.
    fn open_optimizer(&self, declaration: &Declaration, stop: &Stop) -> anyhow::Result<Option<Box<dyn Host + Send>>> {
        if self.rewrites { open_optimizer(&self.runtime, declaration, stop) } else { Ok(None) }
    }

    /// Returns the command line of this run, without filters and output files.
    fn command(&self) -> String {
        let mut words = vec![format!("onnx-conformance run{}", self.runtime.as_arguments())];
        let folders = [("--suite", &self.selection.sources.suite), ("--specs", &self.selection.sources.specs)];
        words.extend(folders.into_iter().filter_map(|(option, folder)| {
            Some(format!("{option} {}", word(&folder.as_ref()?.display().to_string())))
        }));
        words.extend(
            self.gate.expectations.as_ref().map(|path| format!("--expectations {}", word(&path.display().to_string()))),
        );
        words.extend(self.text.other().map(|text| format!("--text {text}")));
        words.extend(self.gate.strict.then(|| "--strict".to_owned()));
        words.join(" ")
    }

    /// Prints how to accept the results of this run, if they differ from the expectations: with a first file, or with an update.
    fn suggest_update(&self, gate_result: &GateResult, gate: &Gate) {
        if !matches!(gate_result.conclusion(), Conclusion::Regressions | Conclusion::Improvements)
            || !gate.is_about_suite
        {
            return;
        }
        let variant = self.variant.filter(|variant| *variant != Variant::Runtime);
        let (command, filters) = (self.command(), self.selection.filter_arguments());
        let is_first = !gate.has_file() && variant.is_none() && self.text.other().is_none();
        let variant = variant.map_or(String::new(), |variant| format!(" --variant {variant}"));
        print::note(&match filters {
            Some(filters) if is_first => format!("to accept these results: {command} --init{filters}"),
            Some(filters) if filters.is_empty() => {
                format!("to accept these results: {command}{variant} --update-expectations")
            }
            // An entry may cover cases that the filters exclude.
            _ => format!("to accept the results of all cases: {command}{variant} --update-expectations"),
        });
    }
}
