//! Folder that a run locks for its lifetime.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[cfg(unix)]
use crate::run_folder::locked::create;
use crate::run_folder::remove;
#[cfg(not(unix))]
use crate::run_folder::unlocked::create;

/// Name prefix of these folders. A folder with it that no process holds is abandoned.
const PREFIX: &str = "onnx-conformance-run-";

/// Time limit for emptying the folder of a run at its end.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

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
    /// Creates a folder in `place`, and removes folders that killed runs have left there.
    pub fn new_in(place: &Path) -> io::Result<RunFolder> {
        let (path, held) = create(place, PREFIX)?;
        Ok(RunFolder { path, held })
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

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
