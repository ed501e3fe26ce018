//! The cases that fail unexpectedly, as files: a model, its inputs, and the expected and actual outputs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::actual::Recorder;
use crate::cli::print;
use crate::run::{CaseResult, Confirm};
use crate::suite::{Suite, SuiteError, export_case};

/// The most cases that are written.
const MOST: usize = 100;

/// Writes cases, the first hundred, each into a folder of its own below `folder`, and says so. A folder that cannot be
/// written is no reason to lose what the run has to say.
pub(crate) fn write_failures(
    folder: &Path,
    suite: &Suite,
    evidence: &dyn Confirm,
    failures: &[CaseResult],
    outputs: &Recorder<'_>,
) {
    if failures.is_empty() {
        return;
    }
    let mut taken = BTreeSet::new();
    let ids: Vec<&str> = failures.iter().take(MOST).map(|result| result.id.as_str()).collect();
    let written = suite.find_each(&ids, &mut |mut case| {
        evidence.confirm(&mut case);
        let mut home = home(folder, &case.id);
        // Two ids may have one path.
        while !taken.insert(home.clone()) {
            home.as_mut_os_string().push("~");
        }
        if home.exists() {
            fs::remove_dir_all(&home).map_err(|error| SuiteError::Io { path: home.clone(), error })?;
        }
        export_case(&home, &case)?;
        outputs.write(&home, &case).map_err(|error| SuiteError::Io { path: home.clone(), error })
    });
    match written {
        Ok(()) => {
            let left_out = failures.len().saturating_sub(MOST);
            let rest =
                if left_out == 0 { String::new() } else { format!(" (the first {MOST}; {left_out} are not written)") };
            print::note(&format!(
                "models, inputs, expected and actual outputs of the failures: {}{rest}",
                folder.display()
            ));
        }
        Err(error) => print::note(&format!("the failures cannot be written: {error}")),
    }
}

/// Where a case is written: its id, with `_` for what not every file system takes.
fn home(folder: &Path, id: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-=,+@".contains(c);
    let parts = id.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    let parts = parts.map(|part| part.chars().map(|c| if plain(c) { c } else { '_' }).collect::<String>());
    folder.join(parts.collect::<PathBuf>())
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
