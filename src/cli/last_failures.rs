//! Unexpected failures of the last run, for `run --failed`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use onnx_conformance_cases::case::read_text;
use onnx_conformance_harness::run::CaseResult;
use onnx_conformance_harness::whole_file::write_whole;

use crate::cli::print;
use crate::cli::usage::{Nothing, Usage};

/// The first line of the file.
const FIRST_LINE: &str = "# The cases that failed unexpectedly in the last run, for `onnx-conformance run --failed`.\n";

/// Returns the path of the file in the folder of failures.
fn path(folder: &Path) -> PathBuf {
    folder.join("last.txt")
}

/// Writes the ids, one per line. Errors of writing do not end the run, so that its results are not lost.
pub(crate) fn note(folder: &Path, failures: &[CaseResult]) {
    if failures.is_empty() && !path(folder).exists() {
        return;
    }
    if path(folder).exists()
        && !read_text(&path(folder)).is_ok_and(|text| text.is_empty() || text.starts_with(FIRST_LINE))
    {
        print::note(&format!(
            "this run is not recorded for --failed: {} is another file, which is not overwritten",
            path(folder).display()
        ));
        return;
    }
    let mut text = FIRST_LINE.to_owned();
    // An id with a line break would become two ids.
    for result in failures.iter().filter(|result| !result.id.contains('\n')) {
        text.push_str(&result.id);
        text.push('\n');
    }
    let written = std::fs::create_dir_all(folder).and_then(|()| write_whole(&path(folder), text.as_bytes()));
    if let Err(error) = written {
        print::note(&format!("this run is not recorded for --failed: {}: {error}", path(folder).display()));
    }
}

/// Returns the recorded ids, as patterns.
pub(crate) fn patterns(folder: &Path) -> anyhow::Result<Vec<String>> {
    let path = path(folder);
    let place = path.display();
    if !path.exists() {
        bail!(Usage(format!("--failed: {place} does not exist; a run with unexpected failures writes it")));
    }
    let text = read_text(&path).with_context(|| place.to_string())?;
    let ids: Vec<String> = text.lines().filter(|line| !line.starts_with('#')).map(globset::escape).collect();
    if ids.is_empty() {
        bail!(Nothing(format!("{place}: no case failed unexpectedly in the last run")));
    }
    Ok(ids)
}
