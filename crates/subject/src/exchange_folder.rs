//! The folder of a run with the folders of its requests, and the files that an adapter leaves there.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::contents::{Bounds, Contents};
use crate::message::Problem;
use crate::platform::memory_folder;
use crate::run_folder::{RunFolder, remove};
use crate::shared_data::SharedData;

/// Space in bytes that a worker's files may need.
const SPACE_PER_WORKER: u64 = 1 << 30;

/// Largest number of entries that an adapter may add to the folder of a request.
const MAX_ADDED_ENTRIES: u64 = 10_000;

/// Deepest nesting of folders there.
const MAX_DEPTH: usize = 64;

/// The folder of a run, and the names of the request folders in it.
pub(super) struct ExchangeFolder {
    folder: RunFolder,
    requests: Mutex<BTreeSet<String>>,
    /// The copy of external data that the last request with some has used.
    data: Mutex<Option<Arc<SharedData>>>,
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
        Ok(ExchangeFolder { folder, requests: Mutex::default(), data: Mutex::default() })
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

    /// Returns a copy of the data beside a model. A request in the same folder as the last one gets the same copy.
    pub(super) fn data(&self, source: &Path) -> io::Result<Arc<SharedData>> {
        let mut last = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(data) = last.as_ref().filter(|data| data.is_current(source)) {
            return Ok(Arc::clone(data));
        }
        // The space of the last copy is free before the next one needs some.
        *last = None;
        let data = Arc::new(SharedData::copy(source)?);
        *last = Some(Arc::clone(&data));
        Ok(data)
    }

    /// Measures the contents of a request's folder before the adapter starts.
    pub(super) fn given(&self, request: &str) -> io::Result<Contents> {
        Contents::of(&self.path().join(request))
    }

    /// Returns the number of bytes added to the folder of a request, to the copied data, and outside the folders of all requests.
    pub(super) fn added(&self, request: &str, given: &Contents, data: Option<&SharedData>) -> Result<u64, Problem> {
        let bounds = Bounds { entries: given.entries + MAX_ADDED_ENTRIES, depth: given.depth.max(MAX_DEPTH) };
        let mut contents = Contents::default();
        for path in self.strays().chain([self.path().join(request)]) {
            contents.add(path, bounds)?;
        }
        let beside = data.map_or(Ok(0), |data| data.added(MAX_ADDED_ENTRIES, MAX_DEPTH))?;
        Ok(contents.bytes.saturating_sub(given.bytes).saturating_add(beside))
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
        assert_eq!(exchange.added("1", &given, None), Ok(0));
        fs::write(folder.join("a"), vec![1; 100_000]).unwrap();
        fs::write(other.join("a"), vec![1; 1_000_000]).unwrap();
        fs::create_dir(exchange.path().join("stray")).unwrap();
        fs::write(exchange.path().join("stray/a"), vec![1; 100_000]).unwrap();
        let added = exchange.added("1", &given, None).unwrap();
        assert!((200_000..400_000).contains(&added), "{added}");
        exchange.end("1", Instant::now() + Duration::from_mins(1)).unwrap();
        assert!(!folder.exists() && !exchange.path().join("stray").exists() && other.join("a").exists());
    }

    #[test]
    fn holes_take_no_space_and_folders_have_limits() {
        let exchange = ExchangeFolder::new(1).unwrap();
        let folder = exchange.begin("1").unwrap();
        let given = exchange.given("1").unwrap();
        let rule = |given: &Contents| exchange.added("1", given, None).unwrap_err().rule;
        fs::File::create(folder.join("a")).unwrap().set_len(1 << 40).unwrap();
        assert!(exchange.added("1", &given, None).unwrap() < 100_000 || cfg!(not(unix)));
        let deep = folder.join("b/".repeat(MAX_DEPTH + 1));
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(rule(&given), "folders in the folder of the request are nested more than 64 deep");
        let given = exchange.given("1").unwrap();
        assert!(exchange.added("1", &given, None).is_ok());
        for number in 0..=MAX_ADDED_ENTRIES {
            fs::write(deep.join(number.to_string()), "").unwrap();
        }
        assert_eq!(rule(&given), "the folder of the request has more than 10066 files and folders");
    }
}
