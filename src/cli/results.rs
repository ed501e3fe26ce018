//! Results files: writing one while a run goes on, and reading it back.

use std::fs::{File, TryLockError};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::run::{CaseResult, Header, ResultsError, read_results, write_header, write_result};

/// A results file that a run writes to. Another run is kept from writing to it as well.
#[derive(Debug)]
pub(crate) struct ResultsFile {
    path: PathBuf,
    file: File,
}

impl ResultsFile {
    /// Empties or makes the file and writes its header.
    pub(crate) fn create(path: &Path, header: &Header) -> anyhow::Result<ResultsFile> {
        let name = || path.display().to_string();
        let file = File::options().write(true).create(true).truncate(false).open(path).with_context(name)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("{}: another run is writing to it; give each run a file of its own", path.display())
            }
            // Devices and some network folders know no locks; nothing is lost by writing there without one.
            Err(TryLockError::Error(_)) => {}
        }
        if file.metadata().with_context(name)?.is_file() {
            file.set_len(0).with_context(name)?;
        }
        let mut written = ResultsFile { path: path.to_owned(), file };
        write_header(&mut written.file, header).with_context(name)?;
        Ok(written)
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, result: &CaseResult) -> anyhow::Result<()> {
        write_result(&mut self.file, result)
            .with_context(|| format!("{}: the results cannot be written", self.path.display()))
    }
}

/// Reads a results file.
pub(crate) fn read(path: &Path) -> anyhow::Result<(Header, Vec<CaseResult>)> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    read_results(&mut BufReader::new(file)).map_err(|error| match error {
        ResultsError::Line { .. } | ResultsError::Empty | ResultsError::Io(_) => {
            anyhow::Error::new(error).context(format!("{}: is no results file of `run --results`", path.display()))
        }
    })
}
