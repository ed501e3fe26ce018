//! A folder that a run holds for as long as it lives.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::Builder;

use crate::run_folder::remove;

/// Beginning of the names of such folders. A folder of this name that no process holds is left behind.
const PREFIX: &str = "onnx-conformance-run-";

/// The longest that the folder of a run is emptied at its end.
const LONGEST: Duration = Duration::from_mins(1);

/// The longest that folders of earlier runs are removed; the rest is left to the next run.
const LONGEST_OLD: Duration = Duration::from_secs(10);

/// How many folders are made until one can be held: another run may take a new one for one that is left behind.
const ATTEMPTS: usize = 16;

/// A folder for the files of a run, which is removed with the value. Nobody but its owner may look into it.
///
/// The system lets go of it when the process ends, however it ends, and the next run removes what nobody holds. On Windows a folder
/// cannot be held, and what a killed run has left there stays.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The folder, open and locked; nothing where the file system has no locks.
    #[expect(dead_code, reason = "it is held as long as it is open")]
    held: Option<File>,
}

impl RunFolder {
    /// Makes a folder in `place`, and removes those there that dead runs have left behind.
    pub fn new_in(place: &Path) -> io::Result<RunFolder> {
        remove_abandoned(place);
        for _ in 0..ATTEMPTS {
            let mut builder = Builder::new();
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
            let path = builder.prefix(PREFIX).tempdir_in(place)?.keep();
            match hold(&path) {
                Held::Yes(held) => return Ok(RunFolder { path, held: Some(held) }),
                Held::Unknown => return Ok(RunFolder { path, held: None }),
                Held::No => {}
            }
        }
        Err(io::Error::other(format!("in {} no folder stays in its place", place.display())))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder before its time, and says what keeps it.
    pub fn remove(&self) -> io::Result<()> {
        remove(&self.path, Instant::now() + LONGEST)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What stays is left to the next run.
        let _ = self.remove();
    }
}

/// Whether a folder could be held.
enum Held {
    Yes(File),
    /// Another process holds it, or has removed it.
    No,
    /// The system or the file system cannot tell.
    Unknown,
}

#[cfg(unix)]
fn hold(path: &Path) -> Held {
    use std::fs::TryLockError;
    use std::os::unix::fs::MetadataExt as _;
    let Ok(folder) = File::open(path) else { return Held::No };
    match folder.try_lock() {
        Err(TryLockError::WouldBlock) => return Held::No,
        Err(TryLockError::Error(_)) => return Held::Unknown,
        Ok(()) => {}
    }
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    // A link leads elsewhere, and what was removed meanwhile is not in its place.
    match (folder.metadata().map(place), fs::symlink_metadata(path).map(place)) {
        (Ok(held), Ok(there)) if held == there => Held::Yes(folder),
        _ => Held::No,
    }
}

#[cfg(not(unix))]
fn hold(_path: &Path) -> Held {
    Held::Unknown
}

/// Removes folders of this user that no process holds.
fn remove_abandoned(place: &Path) {
    let until = Instant::now() + LONGEST_OLD;
    for entry in fs::read_dir(place).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && entry.metadata().is_ok_and(|found| found.is_dir() && is_own(&found))
            && let Held::Yes(_held) = hold(&entry.path())
        {
            // What cannot be removed is tried again by the next run.
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
    fn a_folder_goes_with_its_value() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new_in(place.path()).unwrap();
        let path = folder.path().to_owned();
        fs::create_dir(path.join("a")).unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
