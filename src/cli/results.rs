//! Results files on disk.

use std::fs::{File, TryLockError};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};

use crate::cli::output;
use crate::run::{CaseResult, Header, Read, ResultsError, read_results, write_header, write_result};

/// A results file that this process writes, and no other does meanwhile.
#[derive(Debug)]
pub(crate) struct ResultsFile {
    path: PathBuf,
    file: File,
}

impl ResultsFile {
    /// Takes a file for itself, without changing it yet.
    pub(crate) fn lock(path: &Path) -> anyhow::Result<ResultsFile> {
        let place = || path.display().to_string();
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        // What cannot be read, as a pipe, may still be written.
        let file = file.or_else(|_| File::options().write(true).create(true).truncate(false).open(path));
        let file = file.with_context(place)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                bail!("{}: another run is writing this file; wait for it, or name another file", place())
            }
            Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Unsupported => {
                return Err(error).with_context(|| format!("{}: cannot be locked", place()));
            }
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        Ok(ResultsFile { path: path.to_owned(), file })
    }

    /// Empties the file and writes the header.
    pub(crate) fn begin(&mut self, header: &Header) -> anyhow::Result<()> {
        if self.file.metadata().with_context(|| self.path.display().to_string())?.is_file() {
            self.file.set_len(0).with_context(|| self.path.display().to_string())?;
        }
        let written = write_header(&mut self.file, header);
        written.map_err(|error| self.failed(error))
    }

    /// Writes a result, which is in the file then.
    pub(crate) fn write(&mut self, result: &CaseResult) -> anyhow::Result<()> {
        let written = write_result(&mut self.file, result);
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: ResultsError) -> anyhow::Error {
        anyhow!(error).context(format!("{}: the results cannot be written", self.path.display()))
    }
}

/// Reads a results file, and tells people of what it lacks.
pub(crate) fn read(path: &Path) -> anyhow::Result<Read> {
    let place = || path.display().to_string();
    let file = File::open(path).with_context(place)?;
    let read = read_results(&mut BufReader::new(file)).with_context(place)?;
    if read.is_torn {
        output::note(&format!("{}: the last line is cut off, and left out", place()));
    }
    Ok(read)
}
