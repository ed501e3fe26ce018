//! The time and the memory that a whole command may take: options of the commands that read and run one model.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use clap::Args;
use onnx_conformance_check::Limits;
use onnx_conformance_reference::deadline::Deadline;

use crate::cli::options;
use crate::cli::runtime::seconds;
use onnx_conformance_cases::case::{MOST_BINARY, read_file};

/// What a command may take.
#[derive(Debug, Args)]
pub(crate) struct LimitOptions {
    /// Give up after this many seconds, all that is read and run together
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Duration,

    /// Give up when the model, its inputs and what is computed take more memory than this; 0 for no limit
    #[arg(long, value_name = "MB", default_value = "4096", value_parser = options::megabytes, allow_negative_numbers = true)]
    memory: usize,
}

impl LimitOptions {
    /// Begins to count the time.
    pub(crate) fn start(&self) -> Allowance {
        Allowance { started: Instant::now(), timeout: self.timeout, memory: self.memory }
    }
}

/// The time and the memory that are left to a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    started: Instant,
    timeout: Duration,
    memory: usize,
}

impl Allowance {
    /// The end of the time.
    pub(crate) fn deadline(&self) -> Deadline {
        let (started, timeout) = (self.started, self.timeout);
        Deadline::new(move || started.elapsed() > timeout)
    }

    /// The time that is left.
    pub(crate) fn time_left(&self) -> Duration {
        self.timeout.saturating_sub(self.started.elapsed())
    }

    /// The bytes that may be taken at one time.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// The same for a check.
    pub(crate) fn limits(&self) -> Limits {
        Limits { bytes: self.memory, deadline: self.deadline(), ..Limits::default() }
    }

    /// Reads a file that fits into the memory.
    pub(crate) fn read(&self, path: &Path) -> anyhow::Result<Bytes> {
        let context = || path.display().to_string();
        let size = std::fs::metadata(path).with_context(context)?.len();
        if usize::try_from(size).is_ok_and(|size| size > self.memory) && size <= MOST_BINARY {
            bail!("{}: {}", path.display(), self.over(&format!("the file alone has {size} bytes")));
        }
        Ok(read_file(path, MOST_BINARY).with_context(context)?.into())
    }

    /// The error of a command that would take more, because of this.
    pub(crate) fn over(&self, cause: &str) -> anyhow::Error {
        if self.deadline().is_over() {
            return anyhow!(
                "{cause}: the limit of {} s is over; give more time by --timeout",
                self.timeout.as_secs_f64()
            );
        }
        let memory = self.memory / 1_000_000;
        anyhow!("{cause}: that is over the limit of {memory} MB; give more memory by --memory")
    }
}
