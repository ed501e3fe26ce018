//! results.jsonl: a header line, then one line a case, flushed as it comes.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::run::CaseResult;
use crate::runtime::Declaration;

/// The first line of a results file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of this format.
    pub format: u32,
    /// The version of the suite.
    pub suite: String,
    /// What was tested.
    pub runtime: Declaration,
    /// The operating system and processor.
    pub machine: String,
    /// How many cases were selected.
    pub selected: usize,
}

impl Header {
    /// The header of a run of `selected` cases on a runtime, on this machine.
    pub fn new(runtime: Declaration, selected: usize) -> Header {
        let machine = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        Header { format: 1, suite: env!("CARGO_PKG_VERSION").to_owned(), runtime, machine, selected }
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
