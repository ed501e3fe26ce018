//! `run --init`: creates the first expectation file of a runtime, from a run, from its results, or from a list of failing tests.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::{Filter, SUITE_VERSION, Suite};
use onnx_conformance_harness::exit;
use onnx_conformance_harness::expectations::{
    ExpectationMatcher, Expectations, Provenance, WholeRun, first_expectations, first_measurement,
    updated_expectations, with_accepted, with_provenance, with_rewrites, with_strict, with_suite,
};
use onnx_conformance_harness::failures::{Recorder, Show};
use onnx_conformance_harness::gate_file::{
    check_measured, check_text_of_measurement, default_path, lock_expectations, measured_path, write, write_accuracy,
    write_digests,
};
use onnx_conformance_harness::interrupt::stopped_by_interrupt;
use onnx_conformance_harness::measure::MeasuredDigests;
use onnx_conformance_harness::run::{CaseResult, Header, Plan, Rewrites, Selected, plan};
use onnx_conformance_report::reporter::Collected;
use onnx_conformance_report::terminal;
use onnx_conformance_subject::{Accepted, Declaration, Host as _, Stop, name_problem, probe_if_undeclared};

use crate::cli::denylist::{Denylist, ImportOptions};
use crate::cli::gate::GateOptions;
use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::results_file::{self, ResultsFile, ResultsPlace, today};
use crate::cli::run_mode::Mode;
use crate::cli::runtime::{BUILTIN, RuntimeOptions, ended_early};
use crate::cli::session::Session;
use crate::cli::terminal::TerminalReporter;
use crate::cli::usage::Usage;
use crate::cli::{options, print};

/// Options of a first run.
#[derive(Debug, Args)]
pub(crate) struct InitOptions {
    /// Write the first expectation file of the runtime from the results, to the file of --expectations [default:
    /// expectations/<runtime>.yaml, and expectations/<runtime>/<version>.yaml for a measurement]. If filters select cases, the file
    /// has them as `scope`
    #[arg(long)]
    pub(crate) init: bool,

    /// With --init: measure case by case. The file has `exact: true` and the runtime's version, date, platform and suite, with
    /// digests of the measured cases next to it
    #[arg(long, requires = "init")]
    exact: bool,

    /// With --init: run the cases this many times. A case whose outcome differs gets the worst one, with `varies: true` [default: 1]
    #[arg(long, value_name = "N", requires = "init", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,

    /// With --init: read the results of a run of the same cases from this file, and run nothing. Given several times, a case whose
    /// outcome differs gets the worst one, with `varies: true`. --update-expectations updates a file that exists
    #[arg(long, value_name = "RESULTS", requires = "init", conflicts_with = "runtime")]
    from_results: Vec<PathBuf>,

    /// With --init: write the file of --runtime from a list of upstream's tests that fail, and run nothing. Any outcome of these
    /// tests is as expected. Formats: opencv, onnx-mlir, migraphx, iree and onnxruntime read the lists of these projects; names
    /// reads one name on a line
    #[arg(long, value_name = "FORMAT:FILE", requires = "init", value_parser = Denylist::parse)]
    from_denylist: Option<Denylist>,

    /// With --from-denylist: skip tests that no release of ONNX has
    #[arg(long, requires = "from_denylist")]
    skip_unknown: bool,

    /// With --from-denylist onnxruntime:FILE: also read the tests of this execution provider, such as `OPENVINO_GPU`
    #[arg(long, value_name = "NAME", requires = "from_denylist")]
    provider: Option<String>,
}

/// Work of `run --init`.
pub(crate) struct Init<'a> {
    pub(crate) options: &'a InitOptions,
    pub(crate) source: &'a options::Sources,
    pub(crate) runtime: &'a RuntimeOptions,
    pub(crate) gate: &'a GateOptions,
    /// Patterns of the cases that the file covers.
    pub(crate) scope: Vec<String>,
    /// Results file of the run.
    pub(crate) results: Option<&'a Path>,
}

/// Results of runs of all cases that a file covers.
struct Outcomes {
    header: Header,
    accepted: Option<Accepted>,
    run: WholeRun<'static>,
}

impl InitOptions {
    /// Returns the mode of `run` that these options select.
    pub(crate) fn mode(&self) -> Mode {
        match () {
            () if !self.init => Mode::Cases,
            () if self.from_denylist.is_some() => Mode::InitFromDenylist,
            () if self.from_results.is_empty() => Mode::Init,
            () => Mode::InitFromResults,
        }
    }

    /// Returns the given options.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let options = [
            ("--exact", self.exact),
            ("--runs", self.runs.is_some()),
            ("--from-results", !self.from_results.is_empty()),
            ("--from-denylist", self.from_denylist.is_some()),
        ];
        options.into_iter().filter_map(|(option, is_given)| is_given.then_some(option)).collect()
    }
}

impl Init<'_> {
    /// Writes the file, and returns the exit code.
    pub(crate) fn write(&self) -> anyhow::Result<u8> {
        let filter = Filter::new(&self.scope)?;
        self.check_outputs()?;
        if let Some(list) = &self.options.from_denylist {
            return self.import(list);
        }
        let suite = self.source.open()?;
        let outcomes = if self.options.from_results.is_empty() {
            match self.run(&suite, &filter)? {
                Ok(outcomes) => outcomes,
                Err(code) => return Ok(code),
            }
        } else {
            self.read_all(&suite, &filter)?
        };
        let varying = outcomes.run.varying.len();
        let path = self.path(&outcomes.header.runtime);
        let _lock = lock_expectations(&path)?;
        let entries = if self.gate.update_expectations && path.exists() {
            self.update_file(&path, outcomes)?
        } else {
            self.check_free(&path)?;
            self.write_first(&path, &outcomes)?
        };
        if varying > 0 {
            print::line(&format!("{varying} cases differ from run to run"))?;
        }
        print::line(&format!("{entries} entries; add a `reason` and a `url` to each"))?;
        Ok(exit::SUCCESS)
    }

    /// Rejects outputs that the command reads, or that exist and are of another kind.
    fn check_outputs(&self) -> Result<(), Usage> {
        let reading =
            |files: OutputFiles, path: &PathBuf| files.reading("the file of --from-results", Some(path.as_path()));
        let list = self.options.from_denylist.as_ref().map(Denylist::path);
        let files = OutputFiles::default().reading("the list of --from-denylist", list);
        let mut files = self.options.from_results.iter().fold(files, reading);
        if self.runs() > 1 && self.results.is_some() {
            return Err(Usage(
                "--results is the file of one run; with --runs, write the results of each run with \
                 `onnx-conformance run --results r.jsonl`, and give the files to `run --init` with --from-results"
                    .to_owned(),
            ));
        }
        if let Some(path) = self.results {
            files.add(path, Kind::Results)?;
        }
        self.gate.expectations.as_ref().map_or(Ok(()), |path| files.add(path, Kind::Expectations))
    }

    fn runs(&self) -> u32 {
        self.options.runs.unwrap_or(1)
    }

    fn is_exact(&self) -> bool {
        self.options.exact
    }

    /// Returns the output file.
    fn path(&self, runtime: &Declaration) -> PathBuf {
        let by_default = || if self.is_exact() { measured_path(runtime) } else { default_path(runtime) };
        self.gate.expectations.clone().unwrap_or_else(by_default)
    }

    /// Writes a file from a list of failing tests, without a run.
    fn import(&self, list: &Denylist) -> anyhow::Result<u8> {
        let runtime = &self.runtime.runtime;
        if runtime == BUILTIN {
            bail!(Usage("--from-denylist needs the runtime that the file is for; add --runtime NAME".to_owned()));
        }
        if let Some(problem) = name_problem(runtime) {
            bail!(Usage(format!(
                "--runtime: {problem}; with --from-denylist, give the name that the adapter declares"
            )));
        }
        let path = self.path(&Declaration::named(runtime, "0"));
        self.check_free(&path)?;
        let InitOptions { provider, skip_unknown, .. } = self.options;
        let options = ImportOptions { provider: provider.as_deref(), skip_unknown: *skip_unknown };
        let releases = self.source.releases()?;
        let imported = list.import(&releases, options)?;
        let suite = format!("{SUITE_VERSION} {}", self.source.open()?.digest()?);
        let mut head = Expectations::empty(runtime);
        (head.strict, head.suite) = (self.gate.strict, Some(suite));
        let _lock = lock_expectations(&path)?;
        self.check_free(&path)?;
        write(&path, &imported.to_yaml(head))?;
        print::line(&format!(
            "{} entries, for which any outcome is as expected; write the file anew from a run to see changes",
            imported.count()
        ))?;
        Ok(exit::SUCCESS)
    }

    /// Runs the cases. Returns the exit code if there are no cases or a run was stopped.
    fn run(&self, suite: &Suite, filter: &Filter) -> anyhow::Result<Result<Outcomes, u8>> {
        let evidence = self.source.evidence()?;
        let plan = plan(suite, filter, Variant::Runtime)?.confirmed_by(&evidence);
        if plan.selected == 0 {
            print::note("no case matches");
            return Ok(Err(exit::NOTHING));
        }
        let mut place = self.results.map(ResultsPlace::lock).transpose()?;
        suite.remarks().for_each(|remark| print::note(&remark));
        let stop = stopped_by_interrupt();
        let (mut known, mut runs) = (None, Vec::new());
        for _ in 0..self.runs() {
            // Each run has processes of its own.
            let runtime = match self.runtime.open(&stop) {
                Err(_) if stop.is_set() => return Ok(Err(ended_early(&stop, false)?)),
                runtime => runtime?,
            };
            if known.is_none() {
                let accepted = self.source.are_probed().then(|| probe_if_undeclared(&*runtime)).flatten();
                let declaration = accepted.iter().fold(runtime.declaration(), Declaration::accepting);
                self.check_free(&self.path(&declaration))?;
                let selected = Selected { cases: plan.selected, filters: self.scope.clone(), ..Selected::default() };
                known = Some((Header::new(declaration, suite.digest()?, selected).dated(today()), accepted));
            }
            let Some((header, _)) = &known else { continue };
            let file = place.take().map(|place| place.begin(header, &[])).transpose()?;
            match self.run_once(&plan, &Recorder::new(Box::new(&*runtime), header.runtime.clone()), &stop, file)? {
                Ok(results) => runs.push(results),
                Err(code) => return Ok(Err(code)),
            }
        }
        let (header, accepted) = known.context("no run has begun")?;
        Ok(Ok(Outcomes { header, accepted, run: WholeRun::worst_of(runs, Variant::Runtime) }))
    }

    /// Runs the cases once. Returns the exit code if the run was stopped.
    fn run_once(
        &self,
        plan: &Plan<'_>,
        runtime: &Recorder<'_>,
        stop: &Stop,
        file: Option<ResultsFile>,
    ) -> anyhow::Result<Result<Vec<CaseResult>, u8>> {
        let declaration = runtime.declaration();
        let nothing = ExpectationMatcher::new(Expectations::empty(&declaration.name), &declaration, self.gate.strict)?;
        let mut all = Collected::default();
        let session = Session { plan, runtime, optimizer: None, stop, expectations: &nothing, kept: Vec::new(), file };
        let show = Show::at_most(0);
        let ended = match session.run(vec![Box::new(TerminalReporter::new(show)), Box::new(&mut all)])? {
            Ok(ended) => ended,
            Err(code) => return Ok(Err(code)),
        };
        if let Some(error) = ended.gate.broken.first() {
            bail!("some cases could not be loaded, so no file is written: {error}");
        }
        print::line(&terminal::summary(&ended.gate, ended.elapsed))?;
        Ok(Ok(all.results.into_iter().map(|(result, _)| result).collect()))
    }

    /// Reads the results of whole runs of this suite, all on the same runtime.
    fn read_all(&self, suite: &Suite, filter: &Filter) -> anyhow::Result<Outcomes> {
        let mut runs: Vec<(Header, Vec<CaseResult>)> = Vec::new();
        for path in &self.options.from_results {
            let (header, results) = self.read(path, suite, filter)?;
            if let Some((first, _)) = runs.first()
                && (&first.runtime.name, &first.runtime.version) != (&header.runtime.name, &header.runtime.version)
            {
                let named = |header: &Header| format!("{} {}", header.runtime.name, header.runtime.version);
                bail!(
                    "{}: is about {}, but the first results are about {}; give several runs of one version",
                    path.display(),
                    named(&header),
                    named(first)
                );
            }
            runs.push((header, results));
        }
        let (mut headers, results): (Vec<Header>, Vec<Vec<CaseResult>>) = runs.into_iter().unzip();
        let header = headers.pop().context("no results are given")?;
        let Declaration { ir, opsets, .. } = &header.runtime;
        let accepted = ir.zip(opsets.clone()).map(|(ir, opsets)| Accepted { ir, opsets });
        Ok(Outcomes { header, accepted, run: WholeRun::worst_of(results, Variant::Runtime) })
    }

    /// Reads the results of a whole run of this suite.
    fn read(&self, path: &Path, suite: &Suite, filter: &Filter) -> anyhow::Result<(Header, Vec<CaseResult>)> {
        let place = path.display();
        let read = results_file::read(path)?;
        let Header { selected, digest, suite: version, .. } = &read.header;
        if selected.variant != Variant::Runtime || selected.shard.is_some() || selected.filters != self.scope {
            bail!("{place}: covers only a part of the suite; run the whole suite, or give its filters");
        }
        if self.is_exact() {
            check_text_of_measurement(&place.to_string(), read.header.text)?;
        }
        let now = suite.digest()?;
        if *digest != now {
            bail!(
                "{place}: is about another suite ({version} {digest}, not {now}), whose cases may differ; run them \
                 again"
            );
        }
        let chosen = plan(suite, filter, Variant::Runtime)?.selected;
        if !read.is_complete() || read.results.len() != chosen {
            let command =
                format!("onnx-conformance run --runtime {} --resume {place} --keep-failures", read.header.runtime.name);
            bail!("{place}: {} of {chosen} cases have a result; `{command}` runs the others", read.results.len());
        }
        Ok((read.header, read.results))
    }

    /// Writes a new file, and returns its number of entries.
    fn write_first(&self, path: &Path, outcomes: &Outcomes) -> anyhow::Result<usize> {
        let Outcomes { header, accepted, run } = outcomes;
        let (runtime, strict) = (&header.runtime, self.gate.strict || header.runtime.name == BUILTIN);
        let mut expectations = if self.is_exact() {
            check_measured(path, &run.results)?;
            first_measurement(header, strict, run)
        } else {
            let mut first = first_expectations(&runtime.name, strict, run);
            first.scope.clone_from(&header.selected.filters);
            first
        };
        expectations.accepts.clone_from(accepted);
        if self.source.is_project() {
            expectations.suite = Some(header.suite_text());
        }
        write(path, &expectations.to_yaml())?;
        self.write_beside(path, &run.results)?;
        Ok(expectations.expect.len())
    }

    /// Updates a file, and returns its number of entries.
    fn update_file(&self, path: &Path, outcomes: Outcomes) -> anyhow::Result<usize> {
        let name = path.display().to_string();
        let text = onnx_conformance_cases::case::read_text(path)?;
        let Outcomes { header, accepted, run } = outcomes;
        let file = Expectations::parse(&name, &text)?.about(&name, &header.runtime.name)?;
        if file.exact != self.is_exact() || file.scope != self.scope {
            bail!("{name}: `exact` or `scope` differs from that of the results; run the cases that the file covers");
        }
        if file.exact {
            check_measured(path, &run.results)?;
        }
        let matcher = ExpectationMatcher::new(file, &header.runtime, self.gate.strict)?;
        let mut text = updated_expectations(&text, &matcher, &run)?;
        text = accepted.as_ref().map_or(text.clone(), |accepted| with_accepted(&text, accepted));
        if matcher.is_strict() {
            text = with_strict(&text);
        }
        text = if self.is_exact() {
            let text = with_provenance(&text, &Provenance::from_header(&header));
            Rewrites::of(&run.results).rewritten().map_or(text.clone(), |rewrites| with_rewrites(&text, &rewrites))
        } else if self.source.is_project() {
            with_suite(&text, &header)
        } else {
            text
        };
        write(path, &text)?;
        self.write_beside(path, &run.results)?;
        Ok(Expectations::parse(&name, &text)?.expect.len())
    }

    /// Writes the files beside a measurement.
    fn write_beside(&self, path: &Path, results: &[CaseResult]) -> anyhow::Result<()> {
        if !self.is_exact() {
            return Ok(());
        }
        let ids = results.iter().map(|result| result.id.as_str());
        write_digests(path, self.source.is_project().then(|| MeasuredDigests::for_cases(ids)), &[])?;
        write_accuracy(path, self.source.is_project().then_some(results), &[])
    }

    fn check_free(&self, path: &Path) -> anyhow::Result<()> {
        if !path.exists() {
            return Ok(());
        }
        let way_out = if self.options.from_denylist.is_some() {
            "write to another one with --expectations".to_owned()
        } else if self.options.from_results.is_empty() {
            format!("`onnx-conformance run{} --update-expectations` updates it", self.runtime.as_arguments())
        } else {
            "--update-expectations updates it".to_owned()
        };
        bail!("{}: the file already exists; {way_out}", path.display())
    }
}
