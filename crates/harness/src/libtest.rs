//! The suite as the tests of a runtime's own crate: a test binary for `cargo test` and cargo-nextest.

mod accepted;
mod arguments;
mod choice;
mod command;
mod names;
mod printer;
mod results;
mod runner;
mod trial;
mod trials;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Write as _, stdout};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context as _, bail};
use onnx_conformance_cases::case::{TextRelease, Variant};
use onnx_conformance_cases::suite::{Filter, Generated, Profile, Suite, remove_temporary};
use onnx_conformance_subject::{
    Declaration, Host, InProcess, Launch, Limits, Options, Runtime, Stop, Subprocess, serve,
};

use crate::expectations::Doubts;
use crate::failures::{Options as ShowOptions, Recorder, Show};
use crate::findings::Findings;
use crate::gate_file::{GateOptions, SuiteOrigin};
use crate::interrupt::stopped_by_interrupt;
use crate::note::note;
use arguments::{Action, Arguments};
use choice::{Choice, choose};
use names::{arguments_of, check_names, test_name};
use results::{RESUME, ResultsFiles};
use runner::Batch;
use trial::{Completion, FAILED, Failed, Trial};
use trials::{EXPECTATIONS, SMOKE, Trials};

pub use trials::UPDATE;

/// Environment variable of child processes of the test binary. If set, the process serves the adapter protocol and runs no tests. It is
/// the name of a runtime, or anything else for the first.
const SERVE: &str = "ONNX_CONFORMANCE_SERVE";

/// Environment variable with the profile to run, instead of the one of [`Harness::profile`].
const PROFILE: &str = "ONNX_CONFORMANCE_PROFILE";

/// Environment variable that calls the runtime in the process of the tests, as [`Harness::in_process`] does: for debuggers and
/// profilers.
const IN_PROCESS: &str = "ONNX_CONFORMANCE_IN_PROCESS";

/// Environment variable with the maximum number of unexpected results to print, 0 for all.
const SHOW: &str = "ONNX_CONFORMANCE_SHOW";

/// Maximum number of unexpected results to print by default.
const MAX_SHOWN: usize = 30;

/// Environment variable with the folder for the files of failing cases, by default `failures` in Cargo's target folder.
const FAILURES: &str = "ONNX_CONFORMANCE_FAILURES";

/// Runs the project's suite on a runtime as a test binary, and returns its exit code. This is all that `main` of a test with
/// `harness = false` has to do. [`Harness`] describes the tests and has more options.
pub fn libtest(runtime: impl Runtime + Send + 'static, expectations: impl Into<PathBuf>) -> ExitCode {
    Harness::new(runtime, expectations).run()
}

/// A test binary: a trial for each vendored case, and one for each operator version whose cases come from the specs.
///
/// The binary starts itself again, once per thread, and runs the cases in those processes. If the runtime aborts, hangs,
/// overflows its stack or exhausts the memory, that is the outcome of a single case.
///
/// A trial fails if a case differs from the expectation file. It is ignored, with the reason, if all its cases are expected
/// failures. After a run of all trials in one process, as `cargo test` does, an expectation that matches nothing fails the run as
/// well. `UPDATE_EXPECTATIONS=1` makes such a run rewrite the file. A case id as a command-line filter runs only that case; a glob
/// over ids runs the cases that match. The first trial, `smoke`, tests small models of every kind of value.
///
/// After the last test, the causes of unexpected failures are printed on standard error, as `run` prints them. The first failing
/// cases are written to `target/failures`: model, inputs, expected and actual outputs. `ONNX_CONFORMANCE_SHOW` is the number of results
/// to print, and `ONNX_CONFORMANCE_FAILURES` another folder. `ONNX_CONFORMANCE_RESULTS` is a file for the results of a run of all tests.
/// `ONNX_CONFORMANCE_RESUME` names such a file: the cases that passed are not run again, and the file is completed.
///
/// A test binary may have [several runtimes](Harness::and), each with its own file, limits and bound.
///
/// `ONNX_CONFORMANCE_PROFILE=pr` runs the cases of a [`Profile`], and `ONNX_CONFORMANCE_IN_PROCESS=1` calls the runtime in the
/// process of the tests, where a debugger is attached. A process with `ONNX_CONFORMANCE_SERVE` serves the adapter protocol on its
/// standard streams instead of running tests: `ONNX_CONFORMANCE_SERVE=1 path/to/test-binary` is an adapter for `--runtime`.
pub struct Harness {
    /// Name of the runtime in the test binary.
    name: Option<String>,
    /// The further runtimes of the test binary.
    others: Vec<Harness>,
    place: Place,
    expectations: PathBuf,
    testdata: Option<PathBuf>,
    filters: Vec<String>,
    profile: Option<Profile>,
    strict: bool,
    variant: Variant,
    text: Option<String>,
    ulps: Option<u64>,
    is_smoked: bool,
    limits: Limits,
    jobs: Option<NonZeroUsize>,
    restarts: usize,
    rerun_command: Box<dyn Fn(&str) -> String + Send + Sync>,
}

/// Test of a runtime.
type Test = Box<dyn FnOnce(&Trials) -> Result<Completion, Failed> + Send>;

/// Cases of a run.
struct Selection {
    suite: &'static Suite,
    /// The release whose texts decide the levels.
    text: TextRelease,
    patterns: Vec<String>,
    filter: Filter,
    /// Names of the groups.
    groups: BTreeSet<String>,
    /// True if all trials of the runtime run.
    is_whole: bool,
}

/// Place where the runtime runs.
enum Place {
    /// Cases run in separate processes.
    Subprocess(Box<dyn Runtime + Send>),
    /// Cases run in this process.
    InProcess(Box<dyn Host + Send>),
}

impl Harness {
    /// Compares a runtime with an expectation file, which need not exist yet.
    pub fn new(runtime: impl Runtime + Send + 'static, expectations: impl Into<PathBuf>) -> Harness {
        Harness::at(Place::Subprocess(Box::new(runtime)), expectations.into())
    }

    /// Compares a host's results with an expectation file. Limits and the number of processes are up to the host.
    pub fn from_host(host: impl Host + Send + 'static, expectations: impl Into<PathBuf>) -> Harness {
        Harness::at(Place::InProcess(Box::new(host)), expectations.into())
    }

    fn at(place: Place, expectations: PathBuf) -> Harness {
        Harness {
            name: None,
            others: Vec::new(),
            place,
            expectations,
            testdata: None,
            filters: Vec::new(),
            profile: None,
            strict: false,
            variant: Variant::Runtime,
            text: None,
            ulps: None,
            is_smoked: true,
            limits: Limits::default(),
            jobs: None,
            restarts: Options::default().restarts,
            rerun_command: Box::new(command::rerun_command),
        }
    }

    /// Names the runtime, for a test binary with several. The names of its tests begin with it: `f16::ai.onnx/Abs-13`. The name has
    /// letters, digits, `.`, `_` and `-`.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Harness {
        Harness { name: Some(name.into()), ..self }
    }

    /// Adds a runtime to the test binary, or another configuration of the same one. It has its own expectation file, cases and limits,
    /// and its tests run after those of the others. At most one runtime has no [name](Harness::named).
    ///
    /// ```no_run
    /// # use onnx_conformance_harness::{Declaration, Harness, Profile, Request, Response, Runtime};
    /// # struct Engine { half: bool }
    /// # impl Runtime for Engine {
    /// #     fn declaration(&self) -> Declaration { Declaration::named("engine", "0.1.0") }
    /// #     fn run(&self, _: &Request<'_>) -> Response { Response::load_error("") }
    /// # }
    /// fn main() -> std::process::ExitCode {
    ///     let half = Harness::new(Engine { half: true }, "expectations/half.yaml").named("half");
    ///     Harness::new(Engine { half: false }, "expectations/single.yaml")
    ///         .named("single")
    ///         .and(half.profile(Profile::Float).ulps(1 << 13))
    ///         .run()
    /// }
    /// ```
    #[must_use]
    pub fn and(mut self, mut other: Harness) -> Harness {
        let further = std::mem::take(&mut other.others);
        self.others.push(other);
        self.others.extend(further);
        self
    }

    /// Reads the vendored cases from this folder, `testdata` of a checkout of the project.
    #[must_use]
    pub fn testdata(self, folder: impl Into<PathBuf>) -> Harness {
        Harness { testdata: Some(folder.into()), ..self }
    }

    /// Runs only the cases that these patterns select, as in `onnx-conformance list`.
    #[must_use]
    pub fn cases(self, filters: &[&str]) -> Harness {
        Harness { filters: filters.iter().map(|&filter| filter.to_owned()).collect(), ..self }
    }

    /// Runs only cases of this profile. The environment variable `ONNX_CONFORMANCE_PROFILE` names another.
    #[must_use]
    pub fn profile(self, profile: Profile) -> Harness {
        Harness { profile: Some(profile), ..self }
    }

    /// Also counts recommended cases.
    #[must_use]
    pub fn strict(self) -> Harness {
        Harness { strict: true, ..self }
    }

    /// Runs the cases in another variant.
    #[must_use]
    pub fn variant(self, variant: Variant) -> Harness {
        Harness { variant, ..self }
    }

    /// Judges by the texts of this ONNX release, such as `1.18.0`, or of a later one, instead of the suite's own
    /// release. Cases that other texts decide are open.
    #[must_use]
    pub fn text(self, release: impl Into<String>) -> Harness {
        Harness { text: Some(release.into()), ..self }
    }

    /// Accepts inexact outputs within this distance of the expected ones, in representable values of their type, even if the suite
    /// allows less. For configurations that are less precise on purpose.
    #[must_use]
    pub fn ulps(self, distance: u64) -> Harness {
        Harness { ulps: Some(distance), ..self }
    }

    /// Omits the trial `smoke`, for a runtime that is known to change values of some types.
    #[must_use]
    pub fn without_smoke(self) -> Harness {
        Harness { is_smoked: false, ..self }
    }

    /// Stops a case after this time, by default one minute. Applies to runtimes in separate processes.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Harness {
        Harness { limits: Limits { timeout, ..self.limits }, ..self }
    }

    /// Kills a process that uses more bytes of memory than this, by default 4096 MB. Applies to runtimes in separate processes.
    #[must_use]
    pub fn memory(self, bytes: u64) -> Harness {
        Harness { limits: Limits { memory: Some(bytes), ..self.limits }, ..self }
    }

    /// Runs this many cases at a time, regardless of the runtime's declaration.
    #[must_use]
    pub fn jobs(self, jobs: NonZeroUsize) -> Harness {
        Harness { jobs: Some(jobs), ..self }
    }

    /// Gives up when this many processes in a row have ended without an answer, by default 200.
    #[must_use]
    pub fn restarts(self, restarts: usize) -> Harness {
        Harness { restarts, ..self }
    }

    /// Calls the runtime in this process. A panic is the outcome of its case. An abort, a stack overflow and `exit` end the run,
    /// a hang never ends, and neither time nor memory is limited.
    #[must_use]
    pub fn in_process(self) -> Harness {
        let place = match self.place {
            Place::Subprocess(runtime) => Place::InProcess(Box::new(InProcess(runtime))),
            host @ Place::InProcess(_) => host,
        };
        Harness { place, ..self }
    }

    /// Sets the command that re-runs a trial, or the case of a failure.
    #[must_use]
    pub fn rerun_command(self, command: impl Fn(&str) -> String + Send + Sync + 'static) -> Harness {
        Harness { rerun_command: Box::new(command), ..self }
    }

    /// Runs the trials selected by the command line.
    pub fn run(self) -> ExitCode {
        if let Some(name) = std::env::var_os(SERVE)
            && let Place::Subprocess(runtime) = &self.find(&name.to_string_lossy()).place
        {
            return serve(runtime);
        }
        let arguments = match Arguments::from_process() {
            Ok(arguments) if arguments.action == Action::Help => {
                let _ = stdout().write_all(arguments::help().as_bytes());
                return ExitCode::SUCCESS;
            }
            Ok(arguments) => arguments,
            Err(error) => {
                note(&format!("error: {error}"));
                return ExitCode::from(FAILED);
            }
        };
        let code = self.run_all(&arguments).unwrap_or_else(|error| {
            note(&format!("error: {error:#}"));
            ExitCode::from(crate::exit::HARNESS)
        });
        remove_temporary();
        code
    }

    /// Returns the runtime of this name, or else the first.
    fn find(&self, name: &str) -> &Harness {
        let mut all = std::iter::once(self).chain(&self.others);
        all.find(|harness| harness.name.as_deref() == Some(name)).unwrap_or(self)
    }

    /// Runs the trials of all runtimes, one runtime after the other.
    fn run_all(mut self, arguments: &Arguments) -> anyhow::Result<ExitCode> {
        let others = std::mem::take(&mut self.others);
        let all: Vec<Harness> = std::iter::once(self).chain(others).collect();
        let names: Vec<Option<String>> = all.iter().map(|harness| harness.name.clone()).collect();
        check_names(names.iter().map(Option::as_deref))?;
        let given: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        let calls_here = std::env::var_os(IN_PROCESS).is_some_and(|value| value != "0");
        let (mut batches, mut opened) = (Vec::new(), Vec::new());
        for harness in all {
            let Some(own) = arguments_of(arguments, harness.name.as_deref(), &given) else { continue };
            let harness = if calls_here { harness.in_process() } else { harness };
            let (batch, trials) = harness.batch(own)?;
            batches.push(batch);
            opened.extend(trials);
        }
        if arguments.means_cases() && batches.iter().all(|batch| batch.trials.is_empty()) {
            note(&format!("error: no test or case matches {}; --list lists the tests", arguments.filters.join(", ")));
            return Ok(ExitCode::from(FAILED));
        }
        let conclusion = runner::run(arguments, batches, &mut stdout())?;
        let mut is_right = true;
        for trials in opened {
            is_right &= trials.finish()?;
        }
        Ok(if is_right { conclusion.exit_code() } else { ExitCode::FAILURE })
    }

    /// Returns the patterns of the cases, and whether the environment names their profile.
    fn patterns(&self) -> anyhow::Result<(Vec<String>, bool)> {
        let named = match std::env::var(PROFILE) {
            Ok(name) => Some(Profile::named(&name).context(PROFILE)?),
            Err(_) => None,
        };
        let mut patterns = self.filters.clone();
        patterns.extend(named.or(self.profile).map(Profile::pattern));
        Ok((patterns, named.is_some()))
    }

    /// Returns the selected trials of this runtime, and the state that they share, unless none of them runs.
    fn batch(self, mut arguments: Arguments) -> anyhow::Result<(Batch<'static>, Option<Arc<Trials>>)> {
        let (patterns, is_other_profile) = self.patterns()?;
        let filter = Filter::new(&patterns)?;
        // The trials outlive this function's scope. They live until the program ends.
        let text = self.text.as_deref().map_or_else(|| Ok(TextRelease::newest()), TextRelease::known)?;
        let suite = Suite::project(self.testdata.as_deref(), Generated::embedded().by_text(text))?;
        let suite: &'static Suite = Box::leak(Box::new(suite));
        let groups = choose(suite, &filter, &arguments)?;
        if groups.is_empty() && arguments.filters.is_empty() {
            bail!("no case matches {}; `onnx-conformance list` lists all ids", patterns.join(", "));
        }
        let (name, is_smoked) = (self.name.clone(), self.is_smoked);
        let jobs = self.requests_at_a_time(arguments.test_threads);
        arguments.test_threads = Some(jobs);
        let is_selected = |name: &str| arguments.selects(name);
        let is_any_selected = is_smoked && is_selected(SMOKE)
            || is_selected(EXPECTATIONS)
            || groups.iter().any(|group| is_selected(&group.name) || group.is_chosen && !arguments.omits(&group.name));
        let trials = if arguments.action == Action::Run && is_any_selected {
            let is_whole = arguments.is_whole() && !is_other_profile;
            let names = groups.iter().map(|group| group.name.clone()).collect();
            let selection = Selection { suite, text, patterns, filter, groups: names, is_whole };
            Some(Arc::new(self.open(selection, &arguments)?))
        } else {
            None
        };
        let batch = Batch::select(&arguments, tests(trials.as_ref(), is_smoked, groups));
        Ok((batch.renamed(|test| test_name(name.as_deref(), test)), trials))
    }

    /// Starts the runtime, and reads its expectations.
    fn open(self, selection: Selection, arguments: &Arguments) -> anyhow::Result<Trials> {
        let Selection { suite, text, patterns, filter, groups, is_whole } = selection;
        let files = ResultsFiles::of(self.name.as_deref(), arguments)?;
        let updates = std::env::var_os(UPDATE).is_some_and(|value| value != "0");
        if updates && !is_whole {
            bail!(
                "{UPDATE} rewrites the expectation file after a run of all tests of a runtime in one process, as by `cargo test` without \
                 filters and {PROFILE}; cargo-nextest starts a process for each test"
            );
        }
        if updates && files.resumed.is_some() {
            bail!("{UPDATE} rewrites the expectation file to results of one build of the runtime; omit {RESUME}");
        }
        let workers = arguments.test_threads.map_or(1, NonZeroUsize::get);
        let options = Options { workers, limits: self.limits, restarts: self.restarts, ..Options::default() };
        let (host, stop) = open_host(self.place, options, self.name.as_deref())?;
        // A missing file has no expectations.
        let gate = GateOptions {
            expectations: Some(&self.expectations),
            update_expectations: !self.expectations.exists(),
            strict: self.strict,
            origin: SuiteOrigin::Project,
        };
        let gate = gate.open(&host.declaration())?;
        let accepted = accepted::accepted(&*host, &gate, arguments.selects(EXPECTATIONS), self.name.as_deref());
        let declaration = accepted.iter().fold(host.declaration(), Declaration::accepting);
        let failures = failures_folder(self.name.as_deref());
        let (name, rerun) = (self.name, self.rerun_command);
        let show = show()?.rerun_by(move |id| rerun(&test_name(name.as_deref(), id)));
        let trials = Trials {
            gate,
            host: Recorder::new(host, declaration.clone()),
            suite,
            text,
            patterns,
            results: files.written,
            kept: BTreeMap::new(),
            findings: Findings::embedded()?,
            doubts: Doubts::default(),
            declaration,
            accepted,
            filter,
            variant: self.variant,
            ulps: self.ulps,
            show,
            failures,
            stop,
            is_whole,
            updates,
            groups,
            seen: std::sync::Mutex::default(),
        };
        trials.resuming(files.resumed.as_deref())
    }

    /// Returns the number of requests that the runtime gets at a time, at most one per thread.
    fn requests_at_a_time(&self, threads: Option<NonZeroUsize>) -> NonZeroUsize {
        let declared = match &self.place {
            Place::Subprocess(runtime) => runtime.jobs(),
            Place::InProcess(host) => host.jobs(),
        };
        let declared = declared.map(|jobs| NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN));
        match (self.jobs.or(declared), threads) {
            (Some(jobs), threads) => jobs.min(threads.unwrap_or(jobs)),
            (None, Some(threads)) => threads,
            (None, None) => available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// Returns the display settings of failures, without the command that re-runs a case.
fn show() -> anyhow::Result<Show> {
    let most = match std::env::var(SHOW) {
        Ok(text) => text
            .parse::<usize>()
            .with_context(|| format!("{SHOW}={text}: expected a number of results, or 0 for all"))?,
        Err(_) => MAX_SHOWN,
    };
    let most = if most == 0 { usize::MAX } else { most };
    Ok(Show { options: ShowOptions::Tests(SHOW), ..Show::at_most(most) })
}

/// Returns the folder for the files of failing cases.
fn failures_folder(runtime: Option<&str>) -> PathBuf {
    let named = std::env::var_os(FAILURES).map(PathBuf::from);
    let folder = named.unwrap_or_else(command::failures_folder);
    runtime.map_or_else(|| folder.clone(), |name| folder.join(name))
}

/// Returns the trials of a runtime in order. They do nothing if there is no state, as for a list.
fn tests(trials: Option<&Arc<Trials>>, is_smoked: bool, groups: Vec<Choice>) -> Vec<Trial<'static>> {
    let trial = |name: &str, is_chosen, test: Test| {
        let trials = trials.cloned();
        let run = move || trials.map_or(Ok(Completion::Passed), |trials| test(&trials));
        Trial::new(name, run).chosen(is_chosen)
    };
    let mut all = Vec::new();
    if is_smoked {
        all.push(trial(SMOKE, false, Box::new(Trials::run_smoke)));
    }
    for group in groups {
        let name = group.name.clone();
        all.push(trial(&name, group.is_chosen, Box::new(move |trials| trials.run_group(&group))));
    }
    all.push(trial(EXPECTATIONS, false, Box::new(Trials::check_file)));
    all
}

/// Starts the runtime, which has this name in the test binary.
fn open_host(place: Place, options: Options, name: Option<&str>) -> anyhow::Result<(Box<dyn Host + Send>, Stop)> {
    Ok(match place {
        Place::InProcess(host) => (host, Stop::default()),
        Place::Subprocess(_) => {
            let stop = stopped_by_interrupt();
            let launch = Launch {
                program: std::env::current_exe().context("the path of the test binary is unknown")?,
                arguments: Vec::new(),
                environment: BTreeMap::from([(SERVE.to_owned(), name.unwrap_or("1").to_owned())]),
                folder: None,
                help: "the test binary starts itself to run cases".to_owned(),
                file: None,
            };
            let host = Subprocess::start(launch, options, &stop)
                .context("the test binary starts itself to run cases; its `main` must do nothing before `run`")?;
            (Box::new(host), stop)
        }
    })
}
