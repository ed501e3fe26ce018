//! Folders of cases that a command writes as a whole.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::bail;

use crate::cli::usage::Usage;

/// Fails if the folder exists and is not empty.
pub(crate) fn check_new(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => bail!(Usage(format!("{shown}: {error}; choose another folder"))),
    };
    if !is_empty {
        bail!(Usage(format!("{shown} exists and is not empty; choose another folder")));
    }
    Ok(())
}
