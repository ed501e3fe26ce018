//! Traceability matrix: each sentence of the standard with its requirement, rules, cases, and the results of a runtime.

use std::collections::HashMap;
use std::fmt::Write as _;

use onnx_conformance_harness::run::{CaseResult, Outcome};

use super::text::{OperatorText, StatedSentence};

/// Results of a runtime, by the id of the case.
pub struct MatrixResults {
    runtime: String,
    outcomes: HashMap<String, Outcome>,
}

impl MatrixResults {
    /// Creates the results of a runtime, by its name with the version.
    pub fn new(runtime: String, results: Vec<CaseResult>) -> MatrixResults {
        let outcomes = results.into_iter().map(|result| (result.id, result.outcome)).collect();
        MatrixResults { runtime, outcomes }
    }

    /// Returns the numbers of the cases that pass, that fail, and that have no verdict.
    fn counts(&self, ids: &[String]) -> [usize; 3] {
        let mut counts = [0; 3];
        for id in ids {
            let index = match self.outcomes.get(id) {
                Some(Outcome::Pass) => 0,
                Some(outcome) if !outcome.is_inconclusive() => 1,
                _ => 2,
            };
            counts[index] += 1;
        }
        counts
    }
}

/// Names of the columns.
const COLUMNS: [&str; 7] = ["requirement", "versions", "sections", "sentence", "state", "shown by", "cases"];

/// Names of the columns of results.
const RESULTS: [&str; 3] = ["pass", "fail", "not judged"];

/// Returns the cells of a sentence.
fn cells(operator: &str, stated: &StatedSentence, results: Option<&MatrixResults>) -> Vec<String> {
    let versions: Vec<String> = stated.versions.iter().map(u32::to_string).collect();
    let sections: Vec<String> = stated.sections().into_iter().map(ToString::to_string).collect();
    let mut cells = vec![
        format!("{operator}#{}", stated.sentence.digest),
        versions.join(" "),
        sections.join("; "),
        stated.sentence.text.to_owned(),
        stated.state.name().to_owned(),
        stated.state.words(),
        stated.cases.len().to_string(),
    ];
    cells.extend(results.iter().flat_map(|results| results.counts(&stated.cases)).map(|count| count.to_string()));
    cells
}

/// Formats the matrix as CSV (RFC 4180), with a line of column names.
pub fn csv(all: &[OperatorText], results: Option<&MatrixResults>) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| csv_cell(cell)).collect();
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    };
    line(&columns(results));
    for operator in all {
        operator.sentences.iter().for_each(|stated| line(&cells(&operator.operator, stated, results)));
    }
    text
}

fn columns(results: Option<&MatrixResults>) -> Vec<String> {
    let names = RESULTS.iter().filter(|_| results.is_some());
    COLUMNS.iter().chain(names).map(|name| (*name).to_owned()).collect()
}

/// Formats a cell of CSV. A field that a spreadsheet would read as a formula gets an apostrophe before it.
fn csv_cell(cell: &str) -> String {
    let text = if cell.starts_with(['=', '+', '-', '@']) { format!("'{cell}") } else { cell.to_owned() };
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Formats the matrix as one HTML page, with a table for each operator.
pub fn html(all: &[OperatorText], results: Option<&MatrixResults>) -> String {
    let runtime =
        results.map(|results| format!(", with the results of {}", escaped(&results.runtime))).unwrap_or_default();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Sentences of ONNX and their cases</title>\n<style>{STYLE}</style>\n<h1>Sentences of ONNX and their cases{runtime}</h1>\n\
         <p>{}</p>\n<p>The sentences are ONNX's (Apache-2.0). A requirement is an operator with the first digits of the SHA-256 of a \
         sentence.</p>\n",
        escaped(&OperatorText::summary(all))
    );
    for operator in all {
        let name = escaped(&operator.operator);
        // Writing to a string does not fail.
        let _ = write!(page, "<h2 id=\"{name}\">{name}</h2>\n<table>\n<tr>");
        for column in columns(results) {
            let _ = write!(page, "<th>{column}");
        }
        page.push('\n');
        for stated in &operator.sentences {
            let _ = write!(page, "<tr class=\"{}\">", stated.state.name().replace(' ', "-"));
            for cell in cells(&operator.operator, stated, results) {
                let _ = write!(page, "<td>{}", escaped(&cell));
            }
            page.push('\n');
        }
        page.push_str("</table>\n");
    }
    page
}

/// Style of the page.
const STYLE: &str = "body{font:15px/1.4 system-ui,sans-serif;margin:1.5rem;max-width:90rem}table{border-collapse:collapse}\
                     td,th{border:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top}\
                     .open td,.without-a-state td{background:#fdd}.contradicts td{background:#ffe9c7}.not-normative td{color:#666}\
                     .untestable td{color:#666}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
