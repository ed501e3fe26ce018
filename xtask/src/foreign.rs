//! Copies of the crates in `tests/crates` and `examples` outside of the project, with another version of a runtime or with the published
//! packages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Path dependency of a crate on this project, which is above it.
const PROJECT_DEPENDENCIES: [&str; 3] =
    ["path = \"../../../crates/subject\"", "path = \"../../../crates/harness\"", "path = \"../../crates/harness\""];

/// Copies the crate in `home` to the folder `crate` in `around`, with the files that the crates share next to it. `dependency`
/// replaces its path to this project. Returns the copy's manifest.
pub(crate) fn copy(home: &Path, around: &Path, dependency: impl Fn(&str) -> String) -> Result<PathBuf> {
    let folder = around.join("crate");
    for entry in walkdir::WalkDir::new(home) {
        let entry = entry?;
        let to = folder.join(entry.path().strip_prefix(home)?);
        if entry.file_type().is_dir() {
            fs::create_dir_all(&to)?;
        } else {
            fs::copy(entry.path(), &to)?;
        }
    }
    for shared in fs::read_dir(home.parent().unwrap_or(home))?.filter_map(Result::ok).filter(|it| it.path().is_file()) {
        fs::copy(shared.path(), around.join(shared.file_name()))?;
    }
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
    let found = PROJECT_DEPENDENCIES.into_iter().find(|found| text.contains(found));
    let found = found.with_context(|| {
        format!("{}: must depend on this project by one of {PROJECT_DEPENDENCIES:?}", home.join("Cargo.toml").display())
    })?;
    let name = found.trim_end_matches('"').rsplit('/').next().unwrap_or_default();
    fs::write(&manifest, text.replace(found, &dependency(name)))?;
    Ok(manifest)
}
