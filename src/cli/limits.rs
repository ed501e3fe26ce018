//! Time and memory limits of a whole command: options of the commands that read and run one model.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use clap::Args;
use onnx_conformance_cases::case::{MAX_BINARY, read_file, read_stdin};
use onnx_conformance_check::Limits;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_report::models::{is_stdin, model_name};

use crate::cli::options;
use crate::cli::runtime::seconds;

/// Limits of a command.
#[derive(Debug, Args)]
pub(crate) struct LimitOptions {
    /// Give up after this many seconds, including all reading and running
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Duration,

    /// Give up if the model, its inputs and computed values need more memory than this; 0 for no limit
    #[arg(long, value_name = "MB", default_value = "4096", value_parser = options::megabytes, allow_negative_numbers = true)]
    memory: usize,
}

impl LimitOptions {
    /// Starts the clock.
    pub(crate) fn start(&self) -> Allowance {
        Allowance { started: Instant::now(), timeout: self.timeout, memory: self.memory }
    }
}

/// Remaining time and memory of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    started: Instant,
    timeout: Duration,
    memory: usize,
}

impl Allowance {
    /// Returns the deadline.
    pub(crate) fn deadline(&self) -> Deadline {
        let (started, timeout) = (self.started, self.timeout);
        Deadline::new(move || started.elapsed() > timeout)
    }

    /// Returns the remaining time.
    pub(crate) fn time_left(&self) -> Duration {
        self.timeout.saturating_sub(self.started.elapsed())
    }

    /// Returns the maximum number of bytes in use at a time.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// Returns the limits of a check.
    pub(crate) fn limits(&self) -> Limits {
        Limits { bytes: self.memory, deadline: self.deadline(), ..Limits::default() }
    }

    /// Reads a file that fits into the memory limit, or standard input.
    pub(crate) fn read(&self, path: &Path) -> anyhow::Result<Bytes> {
        let context = || model_name(path);
        if is_stdin(path) {
            let most = u64::try_from(self.memory).unwrap_or(u64::MAX).min(MAX_BINARY);
            return Ok(read_stdin(most).with_context(context)?.into());
        }
        let size = std::fs::metadata(path).with_context(context)?.len();
        if usize::try_from(size).is_ok_and(|size| size > self.memory) && size <= MAX_BINARY {
            bail!("{}: {}", path.display(), self.limit_error(&format!("the file alone has {size} bytes")));
        }
        Ok(read_file(path, MAX_BINARY).with_context(context)?.into())
    }

    /// Returns the error of a command that exceeds a limit, with its cause.
    pub(crate) fn limit_error(&self, cause: &str) -> anyhow::Error {
        if self.deadline().is_over() {
            return anyhow!(
                "{cause}: the time limit of {} s is exceeded; raise it with --timeout",
                self.timeout.as_secs_f64()
            );
        }
        let memory = self.memory / 1_000_000;
        anyhow!("{cause}: the memory limit of {memory} MB is exceeded; raise it with --memory")
    }
}
