//! The folder of a run with the folders of its requests, and the files that an adapter leaves there.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::message::Problem;
use crate::platform::{bytes_of, memory_folder};
use crate::run_folder::{RunFolder, remove};

/// Space in bytes that a worker's files may need.
const SPACE_PER_WORKER: u64 = 1 << 30;

/// Largest number of entries that an adapter may add to the folder of a request.
const MAX_ADDED_ENTRIES: u64 = 10_000;

/// Deepest nesting of folders there.
const MAX_DEPTH: usize = 64;

/// Bytes counted for an entry besides its contents, for the metadata that the system keeps in memory.
const BYTES_PER_ENTRY: u64 = 1 << 10;

/// Remedy for too many files in a folder.
const FIX: &str = "write each output to its `path`, and nothing else";

/// The folder of a run, and the names of the request folders in it.
pub(super) struct ExchangeFolder {
    folder: RunFolder,
    requests: Mutex<BTreeSet<String>>,
}

impl ExchangeFolder {
    /// Creates the folder, in memory if there is space and `TMPDIR` is not set.
    pub(super) fn new(workers: usize) -> io::Result<ExchangeFolder> {
        let space = SPACE_PER_WORKER.saturating_mul(u64::try_from(workers).unwrap_or(u64::MAX));
        let in_memory = if std::env::var_os("TMPDIR").is_some() { None } else { memory_folder(space) };
        let folder = match in_memory.map(|place| RunFolder::new_in(&place)) {
            Some(Ok(folder)) => folder,
            _ => RunFolder::new_in(&std::env::temp_dir())?,
        };
        Ok(ExchangeFolder { folder, requests: Mutex::default() })
    }

    /// Returns the path of the folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Creates the folder of a request.
    pub(super) fn begin(&self, request: &str) -> io::Result<PathBuf> {
        let path = self.path().join(request);
        // The name is recorded before the folder exists, so that it never counts as a stray.
        self.requests().insert(request.to_owned());
        fs::create_dir(&path).inspect_err(|_| {
            self.requests().remove(request);
        })?;
        Ok(path)
    }

    /// Removes the folder of a request, and anything that an adapter has left outside it.
    pub(super) fn end(&self, request: &str, until: Instant) -> io::Result<()> {
        let removed = remove(&self.path().join(request), until);
        self.requests().remove(request);
        self.strays().try_for_each(|path| remove(&path, until)).and(removed)
    }

    /// Measures the contents of a request's folder before the adapter starts.
    pub(super) fn given(&self, request: &str) -> io::Result<Contents> {
        let all = Bounds { entries: u64::MAX, depth: usize::MAX };
        let mut given = Contents::default();
        given.add(self.path().join(request), all).map_err(|problem| io::Error::other(problem.rule))?;
        Ok(given)
    }

    /// Returns the number of bytes added to the folder of a request and outside the folders of all requests.
    pub(super) fn added(&self, request: &str, given: &Contents) -> Result<u64, Problem> {
        let bounds = Bounds { entries: given.entries + MAX_ADDED_ENTRIES, depth: given.depth.max(MAX_DEPTH) };
        let mut contents = Contents::default();
        for path in self.strays().chain([self.path().join(request)]) {
            contents.add(path, bounds)?;
        }
        Ok(contents.bytes.saturating_sub(given.bytes))
    }

    /// Removes the folder at the end of a run.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.folder.remove()
    }

    fn requests(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the entries that are not folders of requests.
    fn strays(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().filter_map(Result::ok);
        let is_request = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| self.requests().contains(name));
        entries.filter(move |entry| !is_request(&entry.file_name())).map(|entry| entry.path())
    }
}

/// Amount of data in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// The bytes on disk, fewer than the file sizes if files are sparse.
    bytes: u64,
    /// The number of files, folders and other entries.
    entries: u64,
    /// The depth of nested folders.
    depth: usize,
}

/// Limits on the contents of a folder.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    entries: u64,
    depth: usize,
}

impl Contents {
    /// Adds a folder and its contents. Entries that disappear meanwhile are ignored.
    fn add(&mut self, path: PathBuf, bounds: Bounds) -> Result<(), Problem> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn stray_files_of_an_adapter_are_counted_and_removed() {
        let exchange = ExchangeFolder::new(1).unwrap();
        let folder = exchange.begin("1").unwrap();
        let other = exchange.begin("2").unwrap();
        let given = exchange.given("1").unwrap();
        assert_eq!(exchange.added("1", &given), Ok(0));
        fs::write(folder.join("a"), vec![1; 100_000]).unwrap();
        fs::write(other.join("a"), vec![1; 1_000_000]).unwrap();
        fs::create_dir(exchange.path().join("stray")).unwrap();
        fs::write(exchange.path().join("stray/a"), vec![1; 100_000]).unwrap();
        let added = exchange.added("1", &given).unwrap();
        assert!((200_000..400_000).contains(&added), "{added}");
        exchange.end("1", Instant::now() + Duration::from_mins(1)).unwrap();
        assert!(!folder.exists() && !exchange.path().join("stray").exists() && other.join("a").exists());
    }

    #[test]
    fn holes_take_no_space_and_folders_have_limits() {
        let exchange = ExchangeFolder::new(1).unwrap();
        let folder = exchange.begin("1").unwrap();
        let given = exchange.given("1").unwrap();
        let rule = |given: &Contents| exchange.added("1", given).unwrap_err().rule;
        fs::File::create(folder.join("a")).unwrap().set_len(1 << 40).unwrap();
        assert!(exchange.added("1", &given).unwrap() < 100_000 || cfg!(not(unix)));
        let deep = folder.join("b/".repeat(MAX_DEPTH + 1));
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(rule(&given), "folders in the folder of the request are nested more than 64 deep");
        let given = exchange.given("1").unwrap();
        assert!(exchange.added("1", &given).is_ok());
        for number in 0..=MAX_ADDED_ENTRIES {
            fs::write(deep.join(number.to_string()), "").unwrap();
        }
        assert_eq!(rule(&given), "the folder of the request has more than 10066 files and folders");
    }
}
