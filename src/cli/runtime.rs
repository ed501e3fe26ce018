//! Choice of the runtime, and limits of its processes: options shared by several subcommands.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use onnx_conformance_cases::suite::Suite;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::questions::BuiltinTools;
use onnx_conformance_subject::{
    Adapters, Builtin, Host, Launch, LaunchError, Limits, Options, Report, Stop, StopReason, Subprocess,
};

use crate::cli::runtime_name::{runtime_parser, split_version};
use crate::cli::usage::{Usage, ValueError};
use crate::cli::{options, print};

/// Name of the built-in executor.
pub(crate) const BUILTIN: &str = Builtin::NAME;

/// Maximum number of cases at a time.
const MAX_JOBS: usize = 1_024;

/// Options for the runtime.
#[derive(Debug, Args)]
pub(crate) struct RuntimeOptions {
    /// The runtime: builtin; an adapter by its name (onnxruntime, onnx-reference, ..., or a folder in adapters/) or
    /// path (./adapters/onnxruntime), optionally with a provider as in onnxruntime:cuda, or with the version that must be installed
    /// as in onnxruntime@1.20.1; or the command line of an adapter
    #[arg(long, value_name = "NAME|COMMAND", default_value = BUILTIN, value_parser = runtime_parser())]
    pub(crate) runtime: String,

    /// Run this many cases at a time, at most 1024. With an adapter, each has its own process [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,

    /// Stop a case after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Duration,

    /// Stop a case that uses more memory than this; for an adapter, its whole process counts. 0 for no limit
    #[arg(long, value_name = "MB", default_value = "4096", value_parser = options::count, allow_negative_numbers = true)]
    memory: usize,

    /// Give up after this many adapter processes in a row have ended without an answer
    #[arg(long, value_name = "N", default_value = "200", value_parser = options::count, allow_negative_numbers = true)]
    restarts: usize,

    /// Run each case in a separate process, to rule out effects between cases; slow
    #[arg(long)]
    isolate: bool,

    /// Print each message of an adapter that violates the protocol or could be improved, and fail
    #[arg(long)]
    validate: bool,
}

impl RuntimeOptions {
    /// Creates the default options for a runtime, with a time limit per case.
    pub(crate) fn plain(runtime: &str, timeout: Duration) -> RuntimeOptions {
        RuntimeOptions {
            runtime: runtime.to_owned(),
            jobs: None,
            timeout,
            memory: 4096,
            restarts: Options::default().restarts,
            isolate: false,
            validate: false,
        }
    }

    /// Starts the runtime. `stop` ends it early.
    pub(crate) fn open(&self, stop: &Stop) -> anyhow::Result<Box<dyn Host + Send>> {
        if self.runtime == BUILTIN {
            let memory = self.memory().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX);
            let builtin = Builtin::new(self.timeout).with_memory(memory).stopped_by(stop);
            return Ok(Box::new(BuiltinTools(builtin.with_jobs(self.jobs.map(NonZeroUsize::get)))));
        }
        self.start(&Adapters::installed_and_here(), stop)
    }

    /// Starts the runtime like [`RuntimeOptions::open`], but runs an adapter below the current folder only if its path is given:
    /// anybody may have put it there.
    pub(crate) fn open_trusted(&self, stop: &Stop) -> anyhow::Result<Box<dyn Host + Send>> {
        if self.runtime == BUILTIN { self.open(stop) } else { self.start(&Adapters::installed(), stop) }
    }

    /// Starts a runtime that is open once more, in other processes and without a note.
    pub(crate) fn open_again(&self, stop: &Stop) -> anyhow::Result<Box<dyn Host + Send>> {
        if self.runtime == BUILTIN {
            return self.open(stop);
        }
        let launch = self.launch(&Adapters::installed_and_here())?;
        Ok(Box::new(Subprocess::start(launch, self.options(), stop)?))
    }

    fn launch(&self, adapters: &Adapters) -> anyhow::Result<Launch> {
        match Launch::find(split_version(&self.runtime).0, adapters) {
            Err(error @ (LaunchError::Io { .. } | LaunchError::Yaml(_))) => Err(error.into()),
            Err(error) => bail!(Usage(error.to_string())),
            Ok(launch) => Ok(launch),
        }
    }

    fn start(&self, adapters: &Adapters, stop: &Stop) -> anyhow::Result<Box<dyn Host + Send>> {
        let launch = self.launch(adapters)?;
        if let Some(file) = &launch.file {
            let file = file.display().to_string();
            print::note(&format!("starting {} as defined in {}", escape::line(&self.runtime), escape::line(&file)));
        }
        let host = Subprocess::start(launch, self.options(), stop)?;
        let (name, wanted) = split_version(&self.runtime);
        let version = host.declaration().version;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != version) {
            bail!(Usage(format!(
                "--runtime: the installed version of {name} is {version}, not {wanted}; install that one, or omit @{wanted}"
            )));
        }
        Ok(Box::new(host))
    }

    /// Restricts the suite to cases that fit into the memory limit of a case.
    pub(crate) fn within_memory(&self, suite: Suite) -> Suite {
        match self.memory() {
            Some(memory) => suite.within(memory),
            None => suite,
        }
    }

    /// Returns the options that select the runtime as part of a command line; empty for the built-in executor.
    pub(crate) fn as_arguments(&self) -> String {
        if self.runtime == BUILTIN {
            return String::new();
        }
        let plain =
            self.runtime.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@'));
        let quote = match self.runtime.contains('\'') {
            _ if plain => "",
            true => "\"",
            false => "'",
        };
        format!(" --runtime {quote}{}{quote}", self.runtime)
    }

    /// Returns the memory limit of a case in bytes, if there is one.
    fn memory(&self) -> Option<u64> {
        let memory = u64::try_from(self.memory).unwrap_or(u64::MAX);
        (memory > 0).then(|| memory.saturating_mul(1_000_000))
    }

    fn options(&self) -> Options {
        let jobs = self.jobs.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let memory = self.memory();
        let report = |text: &str| print::note(&escape::message(text));
        Options {
            workers: jobs,
            limits: Limits { timeout: self.timeout, memory },
            restarts: self.restarts,
            isolate: self.isolate,
            report: self.validate.then(|| Box::new(report) as Report),
        }
    }
}

/// Parses a number of cases at a time. Each takes a thread, and with an adapter a process and its pipes.
fn jobs(text: &str) -> Result<NonZeroUsize, ValueError> {
    let jobs = text.parse().ok().filter(|jobs: &NonZeroUsize| jobs.get() <= MAX_JOBS);
    jobs.ok_or(ValueError::Number { least: 1, most: MAX_JOBS })
}

/// Parses a positive duration.
pub(crate) fn seconds(text: &str) -> Result<Duration, ValueError> {
    let duration = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // A deadline that far away never expires.
    duration
        .filter(|duration| !duration.is_zero())
        .map(|duration| duration.min(Duration::from_hours(24 * 365)))
        .ok_or(ValueError::Seconds)
}

/// Returns the exit code of a run that was stopped before its last case. `has_file` is true if a results file has the finished results.
pub(crate) fn ended_early(stop: &Stop, has_file: bool) -> anyhow::Result<u8> {
    let kept = if has_file { "; finished results are kept, the other cases have no result" } else { "" };
    if let Some(StopReason::Failed(reason)) = stop.reason() {
        bail!("{reason}{kept}");
    }
    print::note(&format!("stopped{kept}"));
    Ok(exit::INTERRUPTED)
}
