//! The files of a report: a page and a matrix from the results of any number of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance_reference::spec::Specs;

use crate::case::{Evidence, OutputEvidence};
use crate::report::coverage::Coverage;
use crate::report::matrix::{Matrix, Measured};
use crate::report::reporter::ReportError;
use crate::report::{html, markdown};
use crate::run::{CaseResult, Header};
use crate::whole_file::write_whole;

/// The results of a run.
#[derive(Debug)]
pub struct Measurement {
    /// The runtime, the suite and the machine.
    pub header: Header,
    /// The result of each case.
    pub results: Vec<CaseResult>,
}

/// A report that is written.
#[derive(Debug)]
pub struct Written {
    /// The page, `index.html`; `matrix.md` is beside it.
    pub page: PathBuf,
    /// The totals of each runtime, in markdown.
    pub totals: Vec<String>,
}

/// Writes `index.html` and `matrix.md` into a folder, which is made where it is missing. How far the suite reaches is on them
/// where `coverage` is given; without it, evidence is counted over the results.
pub fn write_pages(
    folder: &Path,
    measurements: &[Measurement],
    coverage: Option<&Coverage<'_>>,
) -> Result<Written, ReportError> {
    let failed = |path: &Path| {
        let place = path.display().to_string();
        move |error: Box<dyn std::error::Error + Send + Sync>| ReportError { place, error }
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder)(error.into()))?;
    let measured: Vec<Measured<'_>> = measurements
        .iter()
        .map(|measurement| Measured { runtime: &measurement.header.runtime, results: &measurement.results })
        .collect();
    let matrix = Matrix::new(Specs::embedded(), &measured).map_err(|error| failed(folder)(error.into()))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        write_whole(&path, text.as_bytes()).map_err(|error| failed(&path)(error.into()))?;
        Ok::<_, ReportError>(path)
    };
    let (counts, evidence, reach) = match coverage {
        Some(coverage) => (coverage.counts(), coverage.evidence(), coverage.markdown()),
        None => (BTreeMap::new(), evidence(measurements), String::new()),
    };
    write("matrix.md", &(markdown::matrix(&matrix) + &reach))?;
    let page =
        html::page(&matrix, Specs::embedded(), &counts, evidence).map_err(|error| failed(folder)(error.into()))?;
    let totals = matrix.runtimes.iter().map(|column| markdown::totals(&matrix, column)).collect();
    Ok(Written { page: write("index.html", &page)?, totals })
}

/// The number of cases of which each source confirms at least one output, each case once. Results do not say whether there are
/// outputs without evidence.
fn evidence(measurements: &[Measurement]) -> Vec<(String, usize)> {
    let results = measurements.iter().flat_map(|measurement| &measurement.results);
    let sources = |outputs: &[OutputEvidence]| outputs.iter().flat_map(|output| output.sources.clone()).collect();
    let by_id: BTreeMap<&str, BTreeSet<Evidence>> =
        results.map(|result| (result.id.as_str(), sources(&result.evidence))).collect();
    let mut counts: BTreeMap<Evidence, usize> = BTreeMap::new();
    by_id.into_values().flatten().for_each(|evidence| *counts.entry(evidence).or_default() += 1);
    counts.into_iter().map(|(evidence, count)| (format!("{evidence}, at least one output"), count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::result;
    use crate::run::{Outcome, Selected};
    use crate::runtime::Declaration;

    #[test]
    fn a_page_is_made_of_several_runs() {
        let run = |name: &str, outcome| {
            let mut result = result("ai.onnx/Abs-13/x", outcome);
            result.evidence =
                vec![OutputEvidence::of("y", Evidence::Literal), OutputEvidence::of("z", Evidence::Literal)];
            let header = Header::new(Declaration::named(name, "1"), "d".to_owned(), Selected::default());
            Measurement { header, results: vec![result] }
        };
        let home = tempfile::TempDir::new().unwrap();
        let folder = home.path().join("new/report");
        let written = write_pages(&folder, &[run("a", Outcome::Pass), run("b", Outcome::Crash)], None).unwrap();
        let (page, matrix) = (fs::read_to_string(&written.page).unwrap(), folder.join("matrix.md"));
        assert!(page.contains("\"name\":\"a\"") && page.contains("[\"literal, at least one output\",1]"));
        let matrix = fs::read_to_string(matrix).unwrap();
        assert!(matrix.contains("## a 1") && matrix.contains("## b 1"), "{}", &matrix[..400]);
        assert_eq!(written.totals.len(), 2);
    }
}
