//! Results of a run of all tests: the file to write, and the one of an earlier run to resume.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::Filter;

use crate::libtest::arguments::Arguments;
use crate::note::note;
use crate::run::{CaseResult, Header, Outcome, read_results_file};

/// Environment variable with the file for the results of a run of all tests.
const RESULTS: &str = "ONNX_CONFORMANCE_RESULTS";

/// Environment variable with the results of an earlier run of all tests. Cases that passed are not run again.
pub(super) const RESUME: &str = "ONNX_CONFORMANCE_RESUME";

/// The files that the environment names.
#[derive(Debug, Default)]
pub(super) struct ResultsFiles {
    /// The file to write.
    pub(super) written: Option<PathBuf>,
    /// The file to resume.
    pub(super) resumed: Option<PathBuf>,
}

impl ResultsFiles {
    /// Returns the files of a runtime. Several runtimes have one each, whose name begins with that of the runtime. The file to resume
    /// is replaced, unless another is named for the results.
    pub(super) fn of(runtime: Option<&str>, arguments: &Arguments) -> anyhow::Result<ResultsFiles> {
        let [written, resumed] = [RESULTS, RESUME].map(|variable| file(variable, runtime, arguments));
        let (written, resumed) = (written?, resumed?);
        Ok(ResultsFiles { written: written.or_else(|| resumed.clone()), resumed })
    }
}

/// Returns the file that an environment variable names, if it does.
fn file(variable: &str, runtime: Option<&str>, arguments: &Arguments) -> anyhow::Result<Option<PathBuf>> {
    let Some(path) = std::env::var_os(variable).map(PathBuf::from) else { return Ok(None) };
    if !arguments.is_whole() {
        bail!("{variable} needs a run of all tests of a runtime in one process, as by `cargo test` without filters");
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Some(runtime.map_or_else(|| path.clone(), |runtime| path.with_file_name(format!("{runtime}.{name}")))))
}

/// Returns the passes of an earlier run, by the ids of their cases. Fails unless they can be results of the run with this header.
pub(super) fn passes(path: &Path, header: &Header, filter: &Filter) -> anyhow::Result<BTreeMap<String, CaseResult>> {
    let place = path.display();
    let read = read_results_file(path).with_context(|| place.to_string())?;
    read.header.check_same(header).with_context(|| place.to_string())?;
    let is_selected = |result: &CaseResult| filter.matches(Variant::split_id(&result.id).0);
    let outside = read.results.iter().filter(|result| !is_selected(result)).count();
    if outside > 0 {
        bail!(
            "{place}: has {outside} results of cases that are not selected now; resume it with the cases of that run"
        );
    }
    let passes = read.results.into_iter().filter(|result| result.outcome == Outcome::Pass);
    let passes: BTreeMap<String, CaseResult> = passes.map(|result| (result.id.clone(), result)).collect();
    note(&format!("{} cases passed before and are not run again", passes.len()));
    Ok(passes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use onnx_conformance_subject::Declaration;

    use super::*;
    use crate::run::test_results::result;
    use crate::run::{Selected, write_header, write_result};

    fn header(runtime: &str) -> Header {
        let selected = Selected { cases: 3, ..Selected::default() };
        Header::new(Declaration::named(runtime, "1"), "d".to_owned(), selected)
    }

    #[test]
    fn passes_of_the_same_run_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let mut text = Vec::new();
        write_header(&mut text, &header("mine")).unwrap();
        for (id, outcome) in [("a/b", Outcome::Pass), ("a/c", Outcome::Crash)] {
            write_result(&mut text, &result(id, outcome)).unwrap();
        }
        fs::write(&path, &text).unwrap();
        let filter = |pattern: &str| Filter::new(&[pattern]).unwrap();
        let kept = passes(&path, &header("mine"), &filter("a/**")).unwrap();
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["a/b"]);
        let refused = |new: &Header, pattern| format!("{:#}", passes(&path, new, &filter(pattern)).unwrap_err());
        let error = refused(&header("other"), "a/**");
        assert!(
            error.ends_with("r.jsonl: is about mine 1, not other 1; results of two runtimes cannot be combined"),
            "{error}"
        );
        let error = refused(&header("mine"), "a/b");
        assert!(error.contains("r.jsonl: has 1 results of cases that are not selected now; "), "{error}");
        let error = refused(&Header { digest: "e".to_owned(), ..header("mine") }, "a/**");
        assert!(error.contains("r.jsonl: is about another suite ("), "{error}");
        fs::write(&path, &text[..text.len() / 4]).unwrap();
        assert!(refused(&header("mine"), "a/**").contains("r.jsonl: the first line does not name suite and runtime"));
        fs::remove_file(&path).unwrap();
        assert!(refused(&header("mine"), "a/**").contains("r.jsonl: "));
    }
}
