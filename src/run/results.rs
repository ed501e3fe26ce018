//! results.jsonl: a header line, then one line a case, flushed as it comes.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::case::Variant;
use crate::run::CaseResult;
use crate::runtime::Declaration;

/// The first line of a results file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of this format.
    pub format: u32,
    /// The version of the program.
    pub tool: String,
    /// The digest of what the cases are made from.
    pub suite: String,
    /// What was tested.
    pub runtime: Declaration,
    /// In what form the cases were put to it.
    #[serde(default)]
    pub variant: Variant,
    /// The operating system, the processor, and how many of these there are.
    pub machine: String,
    /// How many cases were chosen, before the run was cut into shards.
    pub chosen: usize,
    /// How many cases this run is to have.
    pub selected: usize,
}

impl Header {
    /// The header of a run on this machine.
    pub fn new(runtime: Declaration, variant: Variant, suite: String, chosen: usize, selected: usize) -> Header {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let machine = format!("{} {} {processors}", std::env::consts::OS, std::env::consts::ARCH);
        let tool = env!("CARGO_PKG_VERSION").to_owned();
        Header { format: 1, tool, suite, runtime, variant, machine, chosen, selected }
    }

    /// What keeps the results of two runs from being put together.
    pub fn conflict(&self, other: &Header) -> Option<String> {
        let fields = [
            ("suite", self.suite.clone(), other.suite.clone()),
            (
                "runtime",
                format!("{} {}", self.runtime.name, self.runtime.version),
                format!("{} {}", other.runtime.name, other.runtime.version),
            ),
            ("variant", self.variant.to_string(), other.variant.to_string()),
            ("number of chosen cases", self.chosen.to_string(), other.chosen.to_string()),
        ];
        let (what, here, there) = fields.into_iter().find(|(_, here, there)| here != there)?;
        Some(format!("the {what} differs: {here} and {there}"))
    }
}

/// A results file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A line is no result.
    #[error("line {line}: {source}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// There is no header.
    #[error("the file is empty; its first line names suite and runtime")]
    Empty,
}

/// Writes the header.
pub fn write_header(out: &mut dyn Write, header: &Header) -> Result<(), ResultsError> {
    write_line(out, header)
}

/// Writes a result and flushes it, so that a run that is killed leaves whole lines.
pub fn write_result(out: &mut dyn Write, result: &CaseResult) -> Result<(), ResultsError> {
    write_line(out, result)
}

fn write_line<T: Serialize>(out: &mut dyn Write, value: &T) -> Result<(), ResultsError> {
    let mut line = serde_json::to_vec(value).map_err(std::io::Error::from)?;
    line.push(b'\n');
    out.write_all(&line)?;
    Ok(out.flush()?)
}

/// Reads a results file. A last line that was cut off is left out.
pub fn read_results(file: &mut dyn BufRead) -> Result<(Header, Vec<CaseResult>), ResultsError> {
    let mut lines = file.lines().enumerate();
    let (_, first) = lines.next().ok_or(ResultsError::Empty)?;
    let header = serde_json::from_str(&first?).map_err(|source| ResultsError::Line { line: 1, source })?;
    let mut results = Vec::new();
    let mut broken = None;
    for (at, line) in lines {
        if let Some(error) = broken.take() {
            return Err(error);
        }
        match serde_json::from_str(&line?) {
            Ok(result) => results.push(result),
            Err(source) => broken = Some(ResultsError::Line { line: at + 1, source }),
        }
    }
    match broken {
        Some(ResultsError::Line { source, line }) if !source.is_eof() => Err(ResultsError::Line { source, line }),
        _ => Ok((header, results)),
    }
}
