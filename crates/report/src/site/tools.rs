//! Data of the page of tools: the answers of converters, optimizers, shape inference and checkers, by operator version, and their
//! argued faults.

use onnx_conformance_harness::expectations::{ExpectationError, Expectations};
use onnx_conformance_harness::findings::{FindingError, ToolFault, ToolFaults};
use onnx_conformance_harness::measure::measured_tools;
use serde::Serialize;

use crate::checkers::{self, CheckerTable};
use crate::tool_overview::{ToolOverview, ToolOverviewError, tool_overviews};
use crate::tools::{AnsweredPart, Counts, PartAnswers, QuestionAnswers, QuestionRow, all_sizes_known, questions};

/// Data of the page.
#[derive(Debug, Serialize)]
pub(crate) struct ToolsData {
    questions: Vec<QuestionData>,
    faults: Vec<FaultData>,
    /// Checkers by what is wrong with the models that they accept.
    checkers: CheckerTable,
}

/// A question, with the tools that answer it.
#[derive(Debug, Serialize)]
struct QuestionData {
    name: String,
    title: String,
    /// The answer that is right, in one sentence.
    right: &'static str,
    tools: Vec<ToolData>,
    /// Answers of the newest versions by operator version or pattern: its name, the version to convert to, and the text of a cell
    /// for each of them.
    rows: Vec<(String, Option<u32>, Vec<String>)>,
}

/// Answers of one version of a tool.
#[derive(Debug, Serialize)]
struct ToolData {
    name: String,
    version: String,
    /// Part of the suite: `1/8`; `None` for the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<String>,
    /// Numbers of answers by kind.
    counts: [usize; 5],
    /// Number of parts of the suite with a case that is new or has changed since.
    #[serde(skip_serializing_if = "is_zero")]
    stale: usize,
    /// Number of models whose sizes were all inferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<usize>,
    /// Processor time of the measurement in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<u64>,
    /// True if it has a column in the rows.
    newest: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A fault, with its tool and the question of its sample.
#[derive(Debug, Serialize)]
struct FaultData {
    tool: String,
    question: String,
    id: &'static str,
    title: &'static str,
    says: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    quote: Option<&'static str>,
    outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<&'static str>,
    also: &'static [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    older: Option<bool>,
    /// True if the outcome differs from run to run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    varies: bool,
}

/// Error while reading measurements or faults of tools.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolsError {
    #[error(transparent)]
    Expectations(#[from] ExpectationError),
    #[error(transparent)]
    Findings(#[from] FindingError),
    #[error(transparent)]
    Overview(#[from] ToolOverviewError),
    #[error("{path}: {error}; run `cargo xtask gen`, and build the program again", path = checkers::PATH)]
    Checkers {
        #[from]
        error: serde_json::Error,
    },
}

/// Returns the data of the page.
pub(crate) fn data() -> Result<ToolsData, ToolsError> {
    let measured = measured_tools()?;
    let overviews = tool_overviews()?;
    let measured = Measured { files: measured, overviews: &overviews };
    let questions = questions().into_iter().map(|row| question(measured, row));
    // A question that no measured tool answers has no data.
    let questions = questions.filter(|question| !question.tools.is_empty()).collect();
    let mut faults = Vec::new();
    for tool in ToolFaults::embedded()? {
        faults.extend(tool.faults.iter().map(|fault| fault_data(&tool.tool, fault)));
    }
    Ok(ToolsData { questions, faults, checkers: CheckerTable::embedded()? })
}

/// The measurements of tools, and an overview of each.
#[derive(Clone, Copy)]
struct Measured<'a> {
    files: &'a [Expectations],
    overviews: &'a [ToolOverview],
}

fn question(measured: Measured<'_>, question: QuestionRow) -> QuestionData {
    let answers = QuestionAnswers::new(measured.files, &question);
    let tool = |(file, overview): (&Expectations, &ToolOverview)| {
        Some(ToolData {
            name: file.runtime.clone(),
            version: file.version.clone().unwrap_or_default(),
            shard: file.shard.map(|shard| shard.to_string()),
            stale: overview.stale.len(),
            counts: Counts::new(file.answers.as_ref()?.get(&question.name)?).0,
            complete: all_sizes_known(file.complete.as_ref()).filter(|_| question.is_of_inference()),
            cpu: file.cpu_seconds,
            newest: answers.newest.iter().any(|newest| std::ptr::eq(*newest, file)),
        })
    };
    let row = |part: &AnsweredPart| {
        let cells = part.answers.iter().map(|answers| answers.map(cell_text).unwrap_or_default());
        (part.name.clone(), part.target, cells.collect())
    };
    let rows = answers.parts.iter().map(row).collect();
    let tools = measured.files.iter().zip(measured.overviews).filter_map(tool).collect();
    let QuestionRow { name, title, right, .. } = question;
    QuestionData { name, title, right, tools, rows }
}

/// The text of a cell: the numbers by kind without zeros at the end, and for inference the number of models whose sizes
/// are all known, as `12 0 1;10`.
fn cell_text(answers: PartAnswers) -> String {
    let Counts(counts) = answers.counts;
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    let numbers: Vec<String> = counts.iter().take(last + 1).map(usize::to_string).collect();
    let complete = answers.complete.map(|complete| format!(";{complete}")).unwrap_or_default();
    format!("{}{complete}", numbers.join(" "))
}

fn fault_data(tool: &str, fault: &'static ToolFault) -> FaultData {
    let (_, question) = fault.sample.rsplit_once('@').unwrap_or_default();
    FaultData {
        tool: tool.to_owned(),
        question: question.to_owned(),
        id: &fault.id,
        title: &fault.title,
        says: fault.says.trim(),
        quote: fault.quote.as_deref().map(str::trim),
        outcome: fault.outcome.to_string(),
        pass: fault.pass.as_deref(),
        also: &fault.also,
        older: fault.older,
        varies: fault.varies,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_the_numbers_by_kind() {
        let cell = |counts, complete| cell_text(PartAnswers { counts: Counts(counts), complete });
        assert_eq!(cell([12, 0, 1, 0, 0], None), "12 0 1");
        assert_eq!(cell([12, 0, 0, 0, 0], Some(10)), "12;10");
        assert_eq!(cell([0; 5], None), "0");
    }

    #[test]
    fn every_row_of_the_checkers_has_their_columns() {
        let table = data().unwrap().checkers;
        assert!(table.checkers.iter().any(|checker| checker.name == "builtin"), "{table:?}");
        for row in table.invalid.iter().chain(&table.valid) {
            assert_eq!(row.counts.len(), table.checkers.len(), "{}", row.name);
        }
    }

    #[test]
    fn every_fault_is_about_a_question_of_the_page() {
        let data = data().unwrap();
        assert!(!data.faults.is_empty());
        for fault in &data.faults {
            assert!(data.questions.iter().any(|row| row.name == fault.question), "{}/{}", fault.tool, fault.id);
        }
    }
}
