//! Folder that a run locks for its lifetime.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::run_folder::remove;
use crate::unique::create_unique;

/// Name prefix of these folders. A folder with it that no process holds is abandoned.
const PREFIX: &str = "onnx-conformance-run-";

/// Time limit for emptying the folder of a run at its end.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit for removing folders of earlier runs. The rest is left to the next run.
const OLD_REMOVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of attempts to create a folder and lock it. Another run may take a new folder for an abandoned one.
const MAX_ATTEMPTS: usize = 16;

/// A folder for the files of a run, removed when the value is dropped. Only its owner can access it.
///
/// The system releases the lock when the process ends, in any way, and the next run removes folders that nobody holds.
/// Windows has no such locks, and the folder of a killed run stays there.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The folder, open and locked; `None` if the file system has no locks.
    #[expect(dead_code, reason = "it is held as long as it is open")]
    held: Option<File>,
}

impl RunFolder {
    /// Creates a folder in `place`, and removes those that killed runs have left there.
    pub fn new_in(place: &Path) -> io::Result<RunFolder> {
        remove_abandoned(place);
        for _ in 0..MAX_ATTEMPTS {
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            let (path, ()) = create_unique(place, PREFIX, |path| builder.create(path))?;
            match try_lock_folder(&path) {
                Lock::Acquired(held) => return Ok(RunFolder { path, held: Some(held) }),
                Lock::Unsupported => return Ok(RunFolder { path, held: None }),
                Lock::Taken => {}
            }
        }
        Err(io::Error::other(format!("other processes take or remove every new folder in {}", place.display())))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder early, and returns an error if it cannot.
    pub fn remove(&self) -> io::Result<()> {
        remove(&self.path, Instant::now() + REMOVAL_TIMEOUT)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // The rest is left to the next run.
        let _ = self.remove();
    }
}

/// Result of locking a folder.
enum Lock {
    Acquired(File),
    /// Another process holds it, or has removed it.
    Taken,
    /// The system or the file system does not support it.
    Unsupported,
}

#[cfg(unix)]
fn try_lock_folder(path: &Path) -> Lock {
    use std::fs::TryLockError;
    use std::os::unix::fs::MetadataExt as _;
    let Ok(folder) = File::open(path) else { return Lock::Taken };
    match folder.try_lock() {
        Err(TryLockError::WouldBlock) => return Lock::Taken,
        Err(TryLockError::Error(_)) => return Lock::Unsupported,
        Ok(()) => {}
    }
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    // The path may be a link by now, or the folder may have been removed or replaced.
    match (folder.metadata().map(place), fs::symlink_metadata(path).map(place)) {
        (Ok(held), Ok(there)) if held == there => Lock::Acquired(folder),
        _ => Lock::Taken,
    }
}

#[cfg(not(unix))]
fn try_lock_folder(_path: &Path) -> Lock {
    Lock::Unsupported
}

/// Removes folders of this user that no process holds.
fn remove_abandoned(place: &Path) {
    let until = Instant::now() + OLD_REMOVAL_TIMEOUT;
    for entry in fs::read_dir(place).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && entry.metadata().is_ok_and(|found| found.is_dir() && is_own(&found))
            && let Lock::Acquired(_held) = try_lock_folder(&entry.path())
        {
            // The next run tries again.
            let _ = remove(&entry.path(), until);
        }
    }
}

#[cfg(unix)]
fn is_own(found: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_found: &fs::Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_folder_of_a_dead_run_is_removed_and_one_of_a_live_run_is_not() {
        let place = tempfile::tempdir().unwrap();
        let live = RunFolder::new_in(place.path()).unwrap();
        fs::write(live.path().join("a"), "").unwrap();
        let mode = fs::metadata(live.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let dead = place.path().join(format!("{PREFIX}dead"));
        fs::create_dir_all(dead.join("a/b")).unwrap();
        let other = place.path().join("onnx-conformance-other");
        fs::create_dir(&other).unwrap();
        let link = place.path().join(format!("{PREFIX}link"));
        symlink(&other, &link).unwrap();
        let next = RunFolder::new_in(place.path()).unwrap();
        assert!(!dead.exists());
        assert!(live.path().join("a").exists() && next.path().exists() && other.exists() && link.exists());
    }

    #[test]
    fn a_folder_is_removed_when_its_value_is_dropped() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new_in(place.path()).unwrap();
        let path = folder.path().to_owned();
        fs::create_dir(path.join("a")).unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
