//! New folders on systems that cannot lock a folder. None of them is known to be abandoned.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::unique::create_unique;

/// Creates a folder in `place`. Returns its path, and no lock.
pub(super) fn create(place: &Path, prefix: &str) -> io::Result<(PathBuf, Option<File>)> {
    let (path, ()) = create_unique(place, prefix, |path| fs::create_dir(path))?;
    Ok((path, None))
}
