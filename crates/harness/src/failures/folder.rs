//! Unexpectedly failing cases as files: a model, its inputs, and the expected and actual outputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance_cases::case::Case;
use onnx_conformance_cases::suite::{Suite, SuiteError, export_case};
use onnx_conformance_reference::spec::yaml::YamlError;

use crate::escape;
use crate::failures::actual::Recorder;
use crate::run::{CaseResult, Confirm};
use crate::runtimes::Runtimes;

/// Maximum number of cases to write.
const MAX_WRITTEN: usize = 100;

/// File name of the program. Ordinary test folders have no such file.
const REPRODUCER: &str = "reproduce.py";

/// A Python program that runs the case in its folder, without the calls of runtimes.
const REPRODUCE: &str = include_str!("reproduce.py");

/// Returns the Python program with the calls of all runtimes that Python runs.
fn reproducer() -> Result<String, Box<YamlError>> {
    let runtimes = Runtimes::embedded()?;
    let names: Vec<&str> = runtimes.in_python().map(|(name, _)| name).collect();
    let mut calls = String::new();
    for (name, call) in runtimes.in_python() {
        let _ = writeln!(calls, "    if RUNTIME == {name:?}:\n        {}\n", call.import);
        call.run.lines().for_each(|line| calls.extend(["        ", line, "\n"]));
        calls += "        return outputs\n";
    }
    Ok(REPRODUCE.replace("{runtimes}", &names.join(" | ")).replace("    # The calls of the runtimes.\n", &calls))
}

/// A folder for failing cases, with the sources of their files.
pub struct FailureFolder<'a> {
    /// The folder.
    pub path: &'a Path,
    /// Source of models, inputs and expected outputs.
    pub suite: &'a Suite,
    /// Source of the evidence for expected outputs.
    pub evidence: &'a dyn Confirm,
    /// Source of actual outputs.
    pub outputs: &'a Recorder<'a>,
}

impl FailureFolder<'_> {
    /// Writes the first hundred cases, each into a separate folder. Returns a note with the folder, or with the error: it does not end
    /// the run, so that its results are not lost.
    pub fn write(&self, failures: &[CaseResult]) -> Option<String> {
        if failures.is_empty() {
            return None;
        }
        Some(match self.try_write(failures) {
            Ok(()) => {
                let omitted = failures.len().saturating_sub(MAX_WRITTEN);
                let rest = match omitted {
                    0 => String::new(),
                    _ => format!(" (the first {MAX_WRITTEN}; {omitted} are not written)"),
                };
                let path = match failures {
                    [only] => home(self.path, &only.id),
                    _ => self.path.to_owned(),
                };
                format!("models, inputs, expected and actual outputs of the failures: {}{rest}", path.display())
            }
            Err(error) => format!("the failures cannot be written: {error}"),
        })
    }

    fn try_write(&self, failures: &[CaseResult]) -> Result<(), SuiteError> {
        let mut taken = BTreeSet::new();
        let results: BTreeMap<&str, &CaseResult> = failures.iter().map(|result| (result.id.as_str(), result)).collect();
        let ids: Vec<&str> = failures.iter().take(MAX_WRITTEN).map(|result| result.id.as_str()).collect();
        self.suite.find_each(&ids, &mut |mut case| {
            self.evidence.confirm(&mut case);
            let mut home = home(self.path, &case.id);
            // Two ids may have the same path.
            while !taken.insert(home.clone()) {
                home.as_mut_os_string().push("~");
            }
            if home.exists() {
                check_own(&home)?;
                fs::remove_dir_all(&home).map_err(|error| SuiteError::Io { path: home.clone(), error })?;
            }
            export_case(&home, &case)?;
            let io = |error| SuiteError::Io { path: home.clone(), error };
            if let Some(result) = results.get(case.id.as_str()) {
                fs::write(home.join("README.md"), readme(&case, result, &self.outputs.runtime())).map_err(io)?;
                let of_adapters =
                    |error: Box<YamlError>| SuiteError::File { path: home.clone(), rule: error.to_string() };
                fs::write(home.join(REPRODUCER), reproducer().map_err(of_adapters)?).map_err(io)?;
            }
            self.outputs.write(&home, &case).map_err(io)
        })
    }
}

/// Fails if a folder with files was not written by an earlier run, so that no other folder is replaced.
fn check_own(home: &Path) -> Result<(), SuiteError> {
    let io = |error| SuiteError::Io { path: home.to_owned(), error };
    let mut has_files = false;
    for entry in fs::read_dir(home).map_err(io)? {
        has_files |= !entry.map_err(io)?.path().is_dir();
    }
    if !has_files || home.join(REPRODUCER).is_file() {
        return Ok(());
    }
    let rule =
        "was not written by an earlier run, so it is not replaced; choose another folder with --failures".to_owned();
    Err(SuiteError::File { path: home.to_owned(), rule })
}

/// Describes the outcome of a case, with the commands that re-run it.
fn readme(case: &Case, result: &CaseResult, runtime: &str) -> String {
    let mut text = format!("# {}\n\n{}: ", escape::markdown(&case.id), escape::markdown(runtime));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "**{}**", result.outcome);
    if !result.message.is_empty() {
        let _ = write!(text, "\n{}\n", escape::markdown(&escape::message(&result.message)));
    }
    if let Some(rule) = &case.rule {
        let _ = write!(text, "\nRule {}: {}\n", escape::markdown(&rule.id), escape::markdown(&rule.says));
    }
    if case.refusal.is_some() {
        text += "\nThe model violates this rule and must be refused. `control` has the same model without the \
            violation, which must run.\n";
    }
    if !result.nodes.is_empty() {
        text += "\nNodes:\n\n";
        for line in escape::lines(&result.nodes).lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    if !result.inputs.is_empty() {
        let _ = write!(text, "\nInputs: {}\n", escape::markdown(&result.inputs));
    }
    text += "\n    onnx-conformance run --runtime NAME --suite .    # judged as in the suite, by manifest.jsonl\n    \
             python reproduce.py NAME                         # prints both outputs\n\n\
             `model.onnx` and `test_data_set_0` form an ordinary ONNX test folder. `actual` has the runtime's \
             outputs, if any.\n";
    text
}

/// Returns the folder of a case: its id, with `_` for characters that some file systems do not allow.
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
    fn a_folder_of_somebody_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        check_own(folder.path()).unwrap();
        fs::write(folder.path().join("model.onnx"), "").unwrap();
        let error = check_own(folder.path()).unwrap_err().to_string();
        assert!(error.contains("was not written by an earlier run"), "{error}");
        fs::write(folder.path().join(REPRODUCER), "").unwrap();
        check_own(folder.path()).unwrap();
    }

    #[test]
    fn a_folder_stays_below_its_place() {
        let home = |id: &str| home(Path::new("f"), id);
        assert_eq!(home("ai.onnx/Abs-13/x=0:1/T=float"), Path::new("f/ai.onnx/Abs-13/x=0_1/T=float"));
        assert_eq!(home("../a//b\\c"), Path::new("f/a/b_c"));
    }
}
