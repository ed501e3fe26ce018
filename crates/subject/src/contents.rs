//! Amount of data in a folder that an adapter writes to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::message::Problem;
use crate::platform::bytes_of;

/// Bytes counted for an entry in addition to its contents, for the metadata that the system keeps in memory.
const BYTES_PER_ENTRY: u64 = 1 << 10;

/// Remedy for too many files in a folder.
const FIX: &str = "write each output to its `path`, and nothing else";

/// Amount of data in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// The bytes on disk, fewer than the file sizes if files are sparse.
    pub(super) bytes: u64,
    /// The number of files, folders and other entries.
    pub(super) entries: u64,
    /// The depth of nested folders.
    pub(super) depth: usize,
}

/// Limits on the contents of a folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) entries: u64,
    pub(super) depth: usize,
}

impl Contents {
    /// Measures a folder without limits.
    pub(super) fn of(path: &Path) -> io::Result<Contents> {
        let all = Bounds { entries: u64::MAX, depth: usize::MAX };
        let mut contents = Contents::default();
        contents.add(path.to_owned(), all).map_err(|problem| io::Error::other(problem.rule))?;
        Ok(contents)
    }

    /// Adds a folder and its contents. Entries that disappear meanwhile are ignored.
    pub(super) fn add(&mut self, path: PathBuf, bounds: Bounds) -> Result<(), Problem> {
        let mut open = vec![(path, 0)];
        while let Some((path, depth)) = open.pop() {
            let found = match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                found => found.map_err(|error| unreadable(&path, &error))?,
            };
            self.bytes = self.bytes.saturating_add(bytes_of(&found)).saturating_add(BYTES_PER_ENTRY);
            if !found.is_dir() {
                continue;
            }
            self.depth = self.depth.max(depth);
            if depth > bounds.depth {
                let rule = format!("folders in the folder of the request are nested more than {} deep", bounds.depth);
                return Err(Problem::new(&[], rule, FIX));
            }
            let entries = match fs::read_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(|error| unreadable(&path, &error))?,
            };
            for entry in entries.filter_map(Result::ok) {
                self.entries += 1;
                if self.entries > bounds.entries {
                    let rule = format!("the folder of the request has more than {} files and folders", bounds.entries);
                    return Err(Problem::new(&[], rule, FIX));
                }
                open.push((entry.path(), depth + 1));
            }
        }
        Ok(())
    }
}

/// Creates the error for a folder that an adapter has made unreadable.
fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Problem::new(&[], format!("{name} in the folder of the request cannot be read: {error}"), FIX)
}
