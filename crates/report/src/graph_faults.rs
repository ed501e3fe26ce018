//! Table of graphs that the newest measured version of a runtime gets wrong: the findings whose sample is a graph.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use onnx_conformance_cases::suite::{GraphCases, GraphId, SuiteError};
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::findings::{Finding, FindingError, Findings, MeasuredVersions};

/// First lines of the table.
const HEAD: &str = "| finding | result | smallest case | since | reports |\n|---|---|---|---|---|\n";

/// Failure to make the table.
#[derive(Debug, thiserror::Error)]
pub enum GraphFaultsError {
    /// A file of graphs cannot be read.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The findings cannot be read.
    #[error(transparent)]
    Finding(#[from] FindingError),
    /// A measurement cannot be read.
    #[error(transparent)]
    Measurement(#[from] ExpectationError),
}

/// Replaces the rows of the table in a page. Returns `None` if the page has no such table.
pub fn page(old: &str) -> Result<Option<String>, GraphFaultsError> {
    let Some((before, rest)) = old.split_once(HEAD) else { return Ok(None) };
    let after: String = rest.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
    Ok(Some(format!("{before}{HEAD}{}{after}", rows()?)))
}

fn rows() -> Result<String, GraphFaultsError> {
    let reports = reports()?;
    let mut text = String::new();
    for finding in Findings::embedded()?.all() {
        let Some(graph) = GraphId::parse(&finding.sample) else { continue };
        let versions = finding.measured_in()?;
        if !versions.fails.is_empty() && versions.fixed.is_none() {
            let reports = reports.get(&(graph.topic, graph.pattern)).map(|threads| threads.join(", "));
            text.push_str(&row(finding, versions, &reports.unwrap_or_default()));
        }
    }
    Ok(text)
}

fn row(finding: &Finding, versions: &MeasuredVersions, reports: &str) -> String {
    let since = match (versions.since, versions.fails.first()) {
        (Some(since), _) => since.to_owned(),
        (None, Some(first)) => format!("{first} or earlier"),
        (None, None) => String::new(),
    };
    let result = format!("{}. {}", finding.title, finding.does).replace('|', "\\|");
    let mut text = String::new();
    let _ = writeln!(text, "| `{}` | {result} | `{}` | {since} | {reports} |", finding.full_id(), finding.sample);
    text
}

/// Returns the reports that each pattern names, by topic and pattern.
fn reports() -> Result<BTreeMap<(&'static str, &'static str), &'static [String]>, SuiteError> {
    let mut reports = BTreeMap::new();
    for topic in GraphCases::topics()? {
        for pattern in topic.patterns() {
            reports.insert((topic.name(), pattern.name.as_str()), pattern.threads.as_slice());
        }
    }
    Ok(reports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_around_the_table_stays() {
        let made = page(&format!("# Graphs\n\n{HEAD}| old |\n\nAfter.\n")).unwrap().unwrap();
        assert!(made.starts_with(&format!("# Graphs\n\n{HEAD}| `")), "{made}");
        assert!(made.ends_with(" |\n\nAfter.\n") && !made.contains("| old |"), "{made}");
        assert!(made.lines().count() > 20, "{made}");
        assert_eq!(page("# Graphs\n").unwrap(), None);
    }
}
