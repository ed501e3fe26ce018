//! Checked models as markdown, for example for a pull request comment.

use std::fmt::Write as _;

use onnx_conformance_harness::escape::{markdown, markdown_cell_code, markdown_code};

use crate::model_reports::text::{facts, graph_lines, kind_rows};
use crate::models::ModelReport;

/// Maximum number of listed findings per model. Further ones are counted.
const SHOWN: usize = 50;

/// Creates a table of all models, followed by the findings of each.
pub fn markdown_report(reports: &[ModelReport]) -> String {
    let mut text = "# Models\n\n| model | status | verdict |\n|---|---|---|\n".to_owned();
    for report in reports {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            markdown_cell_code(&report.file),
            report.status,
            markdown(&report.verdict)
        );
    }
    for report in reports {
        let has_more = !report.findings.is_empty() || report.target.is_some() || !report.runtimes.is_empty();
        if !has_more {
            continue;
        }
        let _ = writeln!(text, "\n## {}\n\n{}\n", markdown_code(&report.file), markdown(&report.verdict));
        for finding in report.findings.iter().take(SHOWN) {
            let (place, message) = (finding.place.to_string(), markdown(&finding.message));
            let _ = write!(text, "- **{}** `{}`: {}: {message}", finding.level, finding.rule, markdown(&place));
            if let Some(origin) = &finding.origin {
                let _ = write!(text, "; from {}", markdown(&origin.to_string()));
            }
            if let Some(edit) = &finding.edit {
                let _ = write!(text, "; fix: {}", markdown(edit));
            }
            text.push('\n');
        }
        if report.findings.len() > SHOWN {
            let _ = writeln!(text, "- and {} more", report.findings.len() - SHOWN);
        }
        if let Some(target) = &report.target {
            for (title, items) in [("cannot", &target.reasons), ("edit", &target.edits)] {
                for (place, sentence) in items.iter().take(SHOWN) {
                    let _ = writeln!(text, "- **{title}** {}: {}", markdown(place), markdown(sentence));
                }
            }
        }
        text.push_str(&runtimes_table(report));
        for graph in graph_lines(report) {
            let _ = writeln!(text, "- **note** graph: {}", markdown(&graph));
        }
        for fact in facts(report) {
            let _ = writeln!(text, "- {}", markdown(&fact));
        }
    }
    text
}

/// Creates a table of node kinds with a column per runtime.
fn runtimes_table(report: &ModelReport) -> String {
    if report.runtimes.iter().all(|runtime| runtime.kinds.is_empty()) {
        return String::new();
    }
    let mut text = "\n| nodes | settings |".to_owned();
    let names = report.runtimes.iter().map(|runtime| format!("{} {}", runtime.runtime, runtime.version));
    names.for_each(|name| {
        let _ = write!(text, " {} |", markdown(&name));
    });
    let _ = writeln!(text, "\n|---|---|{}", "---|".repeat(report.runtimes.len()));
    for row in kind_rows(&report.runtimes) {
        let _ =
            write!(text, "| {} x{} | {} |", markdown_cell_code(row.kind), row.nodes, markdown_cell_code(row.settings));
        for kind in row.answers {
            let case =
                kind.answer.case.as_ref().map(|case| format!("<br>{}", markdown_cell_code(case))).unwrap_or_default();
            let _ = write!(text, " {}{case} |", markdown(&kind.says()));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}
