//! The suite as the tests of a runtime's own crate: a test binary for `cargo test` and cargo-nextest.

mod arguments;
mod choice;
mod printer;
mod runner;
mod trial;
mod trials;

use std::collections::BTreeMap;
use std::io::{Write as _, stdout};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Context as _;
use onnx_conformance_cases::case::{TextRelease, Variant};
use onnx_conformance_cases::suite::{Filter, Generated, Profile, Suite, remove_temporary};
use onnx_conformance_subject::{
    Declaration, Host, InProcess, Launch, Limits, Options, Runtime, Stop, Subprocess, probe_if_undeclared, serve,
};

use crate::expectations::Doubts;
use crate::gate_file::{GateOptions, SuiteOrigin};
use crate::interrupt::stopped_by_interrupt;
use crate::note::note;
use crate::shell::word;
use arguments::{Action, Arguments};
use choice::choose;
use trial::{Completion, FAILED, Trial};
use trials::Trials;

pub use trials::UPDATE;

/// Environment variable of child processes of the test binary. If set, the process serves the adapter protocol and runs no tests.
const SERVE: &str = "ONNX_CONFORMANCE_SERVE";

/// Environment variable with the profile to run, instead of the one of [`Harness::profile`].
const PROFILE: &str = "ONNX_CONFORMANCE_PROFILE";

/// Environment variable that calls the runtime in the process of the tests, as [`Harness::in_process`] does: for debuggers and
/// profilers.
const IN_PROCESS: &str = "ONNX_CONFORMANCE_IN_PROCESS";

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
/// well. `UPDATE_EXPECTATIONS=1` makes such a run rewrite the file. A case id as command-line filter runs only this case.
///
/// `ONNX_CONFORMANCE_PROFILE=pr` runs the cases of a [`Profile`], and `ONNX_CONFORMANCE_IN_PROCESS=1` calls the runtime in the
/// process of the tests, where a debugger is attached. A process with `ONNX_CONFORMANCE_SERVE` serves the adapter protocol on its
/// standard streams instead of running tests: `ONNX_CONFORMANCE_SERVE=1 path/to/test-binary` is an adapter for `--runtime`.
pub struct Harness {
    place: Place,
    expectations: PathBuf,
    testdata: Option<PathBuf>,
    filters: Vec<String>,
    profile: Option<Profile>,
    strict: bool,
    variant: Variant,
    text: Option<String>,
    limits: Limits,
    jobs: Option<NonZeroUsize>,
    restarts: usize,
    rerun_command: Box<dyn Fn(&str) -> String + Send + Sync>,
}

/// Place where the runtime runs.
enum Place {
    /// In separate processes.
    Subprocess(Box<dyn Runtime + Send>),
    /// In this process.
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
            place,
            expectations,
            testdata: None,
            filters: Vec::new(),
            profile: None,
            strict: false,
            variant: Variant::Runtime,
            text: None,
            limits: Limits::default(),
            jobs: None,
            restarts: Options::default().restarts,
            rerun_command: Box::new(|id| format!("cargo test -- --exact {}", word(id))),
        }
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

    /// Judges by the texts of this ONNX release, such as `1.18.0`, or of a later one, instead of those of the release that the suite
    /// is made for. Cases that other texts decide are open.
    #[must_use]
    pub fn text(self, release: impl Into<String>) -> Harness {
        Harness { text: Some(release.into()), ..self }
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
        if let (Place::Subprocess(runtime), Some(_)) = (&self.place, std::env::var_os(SERVE)) {
            return serve(runtime);
        }
        let calls_here = std::env::var_os(IN_PROCESS).is_some_and(|value| value != "0");
        if calls_here { self.in_process().run_here() } else { self.run_here() }
    }

    /// Runs the trials selected by the command line, from this process.
    fn run_here(self) -> ExitCode {
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
        let code = self.run_trials(arguments).unwrap_or_else(|error| {
            note(&format!("error: {error:#}"));
            ExitCode::from(crate::exit::HARNESS)
        });
        remove_temporary();
        code
    }

    /// Returns the filter of the cases, and whether the environment names its profile.
    fn filter(&self) -> anyhow::Result<(Filter, bool)> {
        let named = match std::env::var(PROFILE) {
            Ok(name) => Some(Profile::named(&name).context(PROFILE)?),
            Err(_) => None,
        };
        let mut patterns = self.filters.clone();
        patterns.extend(named.or(self.profile).map(Profile::pattern));
        Ok((Filter::new(&patterns)?, named.is_some()))
    }

    fn run_trials(self, mut arguments: Arguments) -> anyhow::Result<ExitCode> {
        let (filter, is_other_profile) = self.filter()?;
        // The trials outlive this function's scope. They live until the program ends.
        let text = self.text.as_deref().map_or_else(|| Ok(TextRelease::newest()), TextRelease::known)?;
        let suite = Suite::project(self.testdata.as_deref(), Generated::embedded().by_text(text))?;
        let suite: &'static Suite = Box::leak(Box::new(suite));
        let groups = choose(suite, &filter, &arguments)?;
        if arguments.action == Action::List {
            let listed = groups.into_iter().map(|group| group.name).chain([trials::EXPECTATIONS.to_owned()]);
            let listed = listed.map(|name| Trial::new(name, || Ok(Completion::Passed))).collect();
            return Ok(runner::run(&arguments, listed, &mut stdout())?.exit_code());
        }
        let is_whole = arguments.is_whole() && !is_other_profile;
        let wants_update = std::env::var_os(UPDATE).is_some_and(|value| value != "0");
        if wants_update && !is_whole {
            note(&format!("{UPDATE} has no effect in a run of some of the tests"));
        }
        let jobs = self.requests_at_a_time(arguments.test_threads);
        arguments.test_threads = Some(jobs);
        let options =
            Options { workers: jobs.get(), limits: self.limits, restarts: self.restarts, ..Options::default() };
        let (host, stop) = open_host(self.place, options)?;
        let accepted = probe_if_undeclared(&*host);
        let declaration = accepted.iter().fold(host.declaration(), Declaration::accepting);
        let exists = self.expectations.exists();
        // A missing file has no expectations.
        let gate = GateOptions {
            expectations: Some(&self.expectations),
            update_expectations: !exists,
            strict: self.strict,
            origin: SuiteOrigin::Project,
        };
        let trials = Arc::new(Trials {
            gate: gate.open(&declaration)?,
            host,
            doubts: Doubts::default(),
            declaration,
            accepted,
            filter,
            variant: self.variant,
            rerun_command: self.rerun_command,
            stop,
            is_whole,
            updates: wants_update && is_whole,
            groups: groups.iter().map(|group| group.name.clone()).collect(),
            seen: std::sync::Mutex::default(),
        });
        let trial = |group: choice::Choice| {
            let trials = Arc::clone(&trials);
            Trial::new(group.name.clone(), move || trials.run_group(&group))
        };
        let mut all: Vec<Trial> = groups.into_iter().map(trial).collect();
        let whole = Arc::clone(&trials);
        all.push(Trial::new(trials::EXPECTATIONS, move || whole.check_patterns(suite)));
        let conclusion = runner::run(&arguments, all, &mut stdout())?;
        let is_right = trials.finish()?;
        Ok(if is_right { conclusion.exit_code() } else { ExitCode::FAILURE })
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

/// Starts the runtime.
fn open_host(place: Place, options: Options) -> anyhow::Result<(Box<dyn Host + Send>, Stop)> {
    Ok(match place {
        Place::InProcess(host) => (host, Stop::default()),
        Place::Subprocess(_) => {
            let stop = stopped_by_interrupt();
            let launch = Launch {
                program: std::env::current_exe().context("the path of the test binary is unknown")?,
                arguments: Vec::new(),
                environment: BTreeMap::from([(SERVE.to_owned(), "1".to_owned())]),
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
