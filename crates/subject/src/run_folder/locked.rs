//! New folders that only their owner can access, each locked by its process. A folder that no process holds is abandoned.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::run_folder::remove;
use crate::unique::create_unique;

/// Time limit for removing folders of earlier runs. The rest is left to the next run.
const OLD_REMOVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of attempts to create a folder and lock it. Another run may take a new folder for an abandoned one.
const MAX_ATTEMPTS: usize = 16;

/// Creates a folder in `place`, and removes abandoned ones with this prefix. Returns its path and its lock; `None` if the file system
/// has no locks.
pub(super) fn create(place: &Path, prefix: &str) -> io::Result<(PathBuf, Option<File>)> {
    remove_abandoned(place, prefix);
    for _ in 0..MAX_ATTEMPTS {
        let (path, ()) = create_unique(place, prefix, |path| DirBuilder::new().mode(0o700).create(path))?;
        match try_lock_folder(&path) {
            Lock::Acquired(held) => return Ok((path, Some(held))),
            Lock::Unsupported => return Ok((path, None)),
            Lock::Taken => {}
        }
    }
    Err(io::Error::other(format!("other processes take or remove every new folder in {}", place.display())))
}

/// Result of locking a folder.
enum Lock {
    Acquired(File),
    /// Another process holds it, or has removed it.
    Taken,
    /// The system or the file system does not support it.
    Unsupported,
}

fn try_lock_folder(path: &Path) -> Lock {
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

/// Removes folders of this user that no process holds.
fn remove_abandoned(place: &Path, prefix: &str) {
    let until = Instant::now() + OLD_REMOVAL_TIMEOUT;
    for entry in fs::read_dir(place).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes())
            && entry.metadata().is_ok_and(|found| found.is_dir() && is_own(&found))
            && let Lock::Acquired(_held) = try_lock_folder(&entry.path())
        {
            // The next run tries again.
            let _ = remove(&entry.path(), until);
        }
    }
}

fn is_own(found: &fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}
