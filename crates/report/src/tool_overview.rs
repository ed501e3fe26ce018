//! The measured versions of tools, and the parts of the suite that must be sent to them again.

use std::fmt::Write as _;

use onnx_conformance_cases::suite::{Filter, Generated, Suite, SuiteError};
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::expectations::{ExpectationError, Expectations};
use onnx_conformance_harness::measure::{AskedParts, ListedCases, measured_tools, tool_digests};
use onnx_conformance_harness::questions::BuiltinTools;
use onnx_conformance_reference::parallel::map_items;
use onnx_conformance_subject::Builtin;
use serde::Serialize;

use crate::colours::BOLD;
use crate::tools::questions;

/// A measured version of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolOverview {
    /// The tool, with its mode.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// Date of the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Part of the suite about which it was asked: `1/8`; `None` for the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The questions that it answers.
    pub questions: Vec<String>,
    /// The questions that this project answers and that its measurement does not have. Those of other tools are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Number of operator versions, patterns of graphs and topics of the format that are sent to it.
    pub parts: usize,
    /// The parts with a case that is new or has changed since the measurement.
    pub stale: Vec<String>,
}

/// Error while reading the measurements of tools, or listing the cases.
#[derive(Debug, thiserror::Error)]
pub enum ToolOverviewError {
    /// A measurement cannot be read.
    #[error(transparent)]
    Expectations(#[from] ExpectationError),
    /// The cases cannot be listed.
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

/// Returns the measured versions of tools, sorted by tool, then by version.
pub fn tool_overviews() -> Result<Vec<ToolOverview>, ToolOverviewError> {
    let ids = Suite::project(None, Generated::embedded())?.ids(&Filter::default())?;
    let listed = ListedCases::new(ids.iter().map(String::as_str));
    let overview = |file: &Expectations| -> Result<ToolOverview, ToolOverviewError> {
        let AskedParts { unchanged, stale } = AskedParts::new(tool_digests(file)?, file.shard, &listed);
        Ok(ToolOverview {
            tool: file.runtime.clone(),
            version: file.version.clone().unwrap_or_default(),
            date: file.date.clone(),
            shard: file.shard.map(|shard| shard.to_string()),
            questions: file.answers.iter().flatten().map(|(question, _)| question.clone()).collect(),
            missing: missing(file),
            parts: unchanged.len() + stale.len(),
            stale: stale.into_iter().collect(),
        })
    };
    map_items(None, measured_tools()?, overview).into_iter().collect()
}

/// Returns the questions that this project answers and that its measurement does not have.
fn missing(file: &Expectations) -> Vec<String> {
    if file.runtime != Builtin::NAME {
        return Vec::new();
    }
    let has = |name: &String| file.answers.as_ref().is_some_and(|answers| answers.contains_key(name));
    let answered = questions().into_iter().filter(|question| BuiltinTools::answers(question.variant.question()));
    answered.map(|question| question.name).filter(|name| !has(name)).collect()
}

/// Creates a line per version of a tool, with the stale parts of those that have few.
pub fn tool_table(overviews: &[ToolOverview]) -> String {
    let head = ["tool", "version", "measured", "part", "stale", "questions"].map(str::to_owned);
    let row = |of: &ToolOverview| {
        let part = of.shard.clone().unwrap_or_else(|| "all".to_owned());
        let stale = format!("{} of {}", of.stale.len(), of.parts);
        let [tool, version] = [&of.tool, &of.version].map(|name| line(name).into_owned());
        [tool, version, of.date.clone().unwrap_or_default(), part, stale, of.questions.join(", ")]
    };
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(overviews.iter().map(row)).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect::<Vec<_>>();
        let joined = cells.join("  ");
        let joined = joined.trim_end();
        let _ = if number == 0 { writeln!(text, "{BOLD}{joined}{BOLD:#}") } else { writeln!(text, "{joined}") };
    }
    for of in overviews.iter().filter(|of| (1..=MAX_SHOWN).contains(&of.stale.len())) {
        let _ = writeln!(text, "stale in {} {}: {}", line(&of.tool), line(&of.version), of.stale.join(", "));
    }
    for of in overviews.iter().filter(|of| !of.missing.is_empty()) {
        let _ = writeln!(text, "not asked of {} {}: {}", line(&of.tool), line(&of.version), of.missing.join(", "));
    }
    text.push_str(LEGEND);
    text
}

/// Explanation of the table.
const LEGEND: &str = "
stale: operator versions, patterns of graphs and topics of the format in which a case is new or has changed since the measurement,
or all of them if the measurement has no digests or is of another release of ONNX. `cargo xtask measure --stale TOOL@VERSION`
asks about them.
";

/// Maximum number of stale parts that are listed.
const MAX_SHOWN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measured_tool_has_its_parts() {
        let overviews = tool_overviews().unwrap();
        let files = measured_tools().unwrap();
        assert_eq!(overviews.len(), files.len());
        for (overview, file) in overviews.iter().zip(files) {
            assert_eq!((&overview.tool, Some(&overview.version)), (&file.runtime, file.version.as_ref()));
            assert!(overview.parts > 0 && overview.stale.len() <= overview.parts, "{overview:?}");
            // Without digests nothing is known to be unchanged.
            let is_digested = tool_digests(file).unwrap().is_some();
            assert!(is_digested || overview.stale.len() == overview.parts, "{}", overview.tool);
        }
    }

    #[test]
    fn the_table_lists_a_few_stale_parts() {
        let overview = |stale: usize| ToolOverview {
            tool: "a".to_owned(),
            version: "1".to_owned(),
            date: Some("2026-11-23".to_owned()),
            shard: None,
            questions: vec!["check".to_owned(), "infer".to_owned()],
            missing: if stale == 0 { vec!["upgrade".to_owned()] } else { Vec::new() },
            parts: 12,
            stale: (0..stale).map(|number| format!("graph/x/{number}")).collect(),
        };
        let text = tool_table(&[overview(0), overview(2), overview(MAX_SHOWN + 1)]);
        assert!(text.contains("a     1        2026-11-23  all   0 of 12  check, infer\n"), "{text}");
        assert!(text.contains("stale in a 1: graph/x/0, graph/x/1\n"), "{text}");
        assert!(text.contains("9 of 12") && !text.contains("graph/x/8"), "{text}");
        assert!(text.contains("not asked of a 1: upgrade\n"), "{text}");
        assert_eq!(text.matches("not asked of").count(), 1, "{text}");
    }

    #[test]
    fn a_question_that_was_not_asked_is_missing() {
        let measured = |tool: &str| {
            let text = format!("runtime: {tool}\nversion: '1'\nanswers:\n  infer: {{pass: 1}}\n");
            missing(&Expectations::parse("a.yaml", &text).unwrap())
        };
        let of_this_project = measured(Builtin::NAME);
        let is_missing = |name: &str| of_this_project.iter().any(|missing| missing == name);
        let found = ["check", "check-refusals", "infer", "optimize"].map(is_missing);
        assert_eq!(found, [true, true, false, false], "{of_this_project:?}");
        assert_eq!(measured("onnxslim"), Vec::<String>::new());
    }
}
