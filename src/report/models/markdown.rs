//! Checked models as markdown, as for a comment on a pull request.

use std::fmt::Write as _;

use crate::models::ModelReport;
use crate::report::escape::{markdown, markdown_cell_code, markdown_code};
use crate::report::models::text::facts;

/// Findings of a model that are listed; more are counted.
const SHOWN: usize = 50;

/// A table of all models, then each with its findings.
pub fn markdown_report(reports: &[ModelReport]) -> String {
    let mut text = "# Models\n\n| model | is | says |\n|---|---|---|\n".to_owned();
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
        let has_more = !report.findings.is_empty() || report.target.is_some();
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
        for fact in facts(report) {
            let _ = writeln!(text, "- {}", markdown(&fact));
        }
    }
    text
}
