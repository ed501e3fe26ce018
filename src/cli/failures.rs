//! The cases that fail unexpectedly, as files: a model, its inputs, and the outputs that are expected.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::case::{Case, files};
use crate::cli::output;
use crate::run::CaseResult;
use crate::suite::{Suite, SuiteError};

/// The most cases that are written.
const MOST: usize = 100;

/// Writes cases, the first hundred, each into a folder of its own below `folder`, and says so. A folder that cannot be written is no reason to
/// lose what the run has to say.
pub(crate) fn write_failures(folder: &Path, suite: &Suite, failures: &[CaseResult]) -> Result<(), SuiteError> {
    if failures.is_empty() {
        return Ok(());
    }
    for result in failures.iter().take(MOST) {
        let home = home(folder, &result.id);
        if let Some(case) = suite.find(&result.id)?
            && let Err(error) = write(&home, &case)
        {
            output::note(&format!("{}: cannot be written: {error}", home.display()));
            return Ok(());
        }
    }
    let left_out = failures.len().saturating_sub(MOST);
    let rest = if left_out == 0 { String::new() } else { format!(" (the first {MOST}; {left_out} are not written)") };
    output::note(&format!("models, inputs and expected outputs of what failed: {}{rest}", folder.display()));
    Ok(())
}

/// Where a case is written: its id, with `_` for what not every file system takes.
fn home(folder: &Path, id: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-=,+@".contains(c);
    let parts = id.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    let parts = parts.map(|part| part.chars().map(|c| if plain(c) { c } else { '_' }).collect::<String>());
    folder.join(parts.collect::<PathBuf>())
}

fn write(home: &Path, case: &Case) -> io::Result<()> {
    if home.exists() {
        fs::remove_dir_all(home)?;
    }
    for (name, bytes) in files(case) {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap_or(home))?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stays_below_its_place() {
        let home = |id: &str| home(Path::new("f"), id);
        assert_eq!(home("ai.onnx/Abs-13/x=0:1/T=float"), Path::new("f/ai.onnx/Abs-13/x=0_1/T=float"));
        assert_eq!(home("../a//b\\c"), Path::new("f/a/b_c"));
    }
}
