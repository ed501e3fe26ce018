//! Markdown summary of a run, for the page of a CI job.

use std::fmt::Write as _;

use onnx_conformance_harness::escape;
use onnx_conformance_harness::expectations::{Conclusion, GateResult};
use onnx_conformance_harness::failures::{causes, rerun_command};
use onnx_conformance_harness::run::CaseResult;
use onnx_conformance_subject::Declaration;

use crate::terminal;

/// Maximum number of cases in a table. CI services truncate long pages.
const MAX_ROWS: usize = 50;

/// Maximum number of characters of a message.
const LONGEST: usize = 200;

/// Returns the summary of a run. `texts` is a clause that follows the name of the runtime.
pub fn markdown(runtime: &Declaration, gate_result: &GateResult, texts: &str) -> String {
    let verdict = match gate_result.conclusion() {
        Conclusion::Broken => "❌ cases could not be loaded",
        Conclusion::Regressions => "❌ regressions",
        Conclusion::Improvements => "⚠️ the expectation file is out of date",
        Conclusion::NothingJudged => "❌ no case was judged",
        Conclusion::AsExpected => "✅ as expected",
    };
    let mut text =
        format!("## ONNX conformance of {}{texts}: {verdict}\n\n", escape::markdown(&terminal::runtime(runtime)));
    text.push_str("| outcome | cases |\n|---|--:|\n");
    for (outcome, count) in gate_result.summary.counts() {
        let _ = writeln!(text, "| {outcome} | {count} |");
    }
    if gate_result.summary.open > 0 {
        let _ = writeln!(text, "| open: recorded, not judged | {} |", gate_result.summary.open);
    }
    let _ = writeln!(text, "| **all** | **{}** |", gate_result.summary.total());
    if !gate_result.summary.refusals.is_empty() {
        text.push_str("\n| must be refused | cases | pass |\n|---|--:|--:|\n");
        for (class, (total, passed)) in &gate_result.summary.refusals {
            let _ = writeln!(text, "| {class} | {total} | {passed} |");
        }
    }
    if gate_result.expected > 0 {
        let binding = match gate_result.by_binding {
            0 => String::new(),
            count => format!(", {count} of them by the binding"),
        };
        let _ = writeln!(text, "\n{} failures are expected{binding}.", gate_result.expected);
    }
    cause_table(&mut text, &gate_result.regressions);
    table(&mut text, "Better than expected", &gate_result.improvements);
    list(&mut text, "Expectations to change", gate_result.entry_problems.iter().map(ToString::to_string));
    list(&mut text, "Cases that could not be loaded", gate_result.broken.iter().cloned());
    text
}

/// Adds the causes of regressions, each with its smallest case.
fn cause_table(text: &mut String, results: &[CaseResult]) {
    let causes = causes(results);
    let Some(first) = causes.first().and_then(|cause| cause.cases.first()) else { return };
    let heading = format!("Regressions: {}", results.len());
    let _ = write!(
        text,
        "\n### {heading}\n\n| cause | cases | operators | smallest case | message | rule |\n|---|--:|---|---|---|---|\n"
    );
    for cause in causes.iter().take(MAX_ROWS) {
        let Some(example) = cause.cases.first() else { continue };
        let operators = match cause.operators.iter().collect::<Vec<_>>().as_slice() {
            [one] => (*one).clone(),
            all => all.len().to_string(),
        };
        let _ = writeln!(
            text,
            "| {}: {} | {} | {} | {} | {} | {} |",
            cause.outcome,
            cell(&cause.title),
            cause.cases.len(),
            cell(&operators),
            escape::markdown_cell_code(&example.id),
            cell(&example.message),
            cell(&example.rule.as_ref().map(ToString::to_string).unwrap_or_default())
        );
    }
    let more = causes.len().saturating_sub(MAX_ROWS);
    let more = if more > 0 { format!("... and {more} more causes. ") } else { String::new() };
    let command = escape::markdown_code(&rerun_command("onnx-conformance run", &first.id));
    let _ = writeln!(text, "\n{more}To re-run a case: {command}");
}

fn table(text: &mut String, title: &str, results: &[CaseResult]) {
    if results.is_empty() {
        return;
    }
    let _ =
        write!(text, "\n### {title}: {}\n\n| case | outcome | message | rule |\n|---|---|---|---|\n", results.len());
    for result in results.iter().take(MAX_ROWS) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            escape::markdown_cell_code(&result.id),
            result.outcome,
            cell(&result.message),
            cell(&result.rule.as_ref().map(ToString::to_string).unwrap_or_default())
        );
    }
    if let Some(first) = results.first() {
        let more = if results.len() > MAX_ROWS {
            format!("... and {} more. ", results.len() - MAX_ROWS)
        } else {
            String::new()
        };
        let command = escape::markdown_code(&rerun_command("onnx-conformance run", &first.id));
        let _ = writeln!(text, "\n{more}To re-run a case: {command}");
    }
}

fn list(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n### {title}: {}\n\n", lines.len());
    for line in lines.iter().take(MAX_ROWS) {
        let _ = writeln!(text, "- {}", cell(line));
    }
    if lines.len() > MAX_ROWS {
        let _ = writeln!(text, "- ... and {} more", lines.len() - MAX_ROWS);
    }
}

/// Formats the first line of a text as a table cell, truncated if it is long.
fn cell(text: &str) -> String {
    escape::markdown(&escape::cut(text.lines().next().unwrap_or_default(), LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{gate_result, result};
    use onnx_conformance_harness::run::Outcome;

    #[test]
    fn a_summary_counts_and_names_what_is_not_expected() {
        let mut failure = result("ai.onnx/Abs-13/x", Outcome::Mismatch);
        failure.message = "a | b\nsecond".to_owned();
        let (gate_result, _) = gate_result(&[failure, result("ai.onnx/Abs-13/y", Outcome::Pass)]);
        let text = markdown(&Declaration::named("mine", "1.0"), &gate_result, "");
        assert!(text.starts_with("## ONNX conformance of mine 1.0: ❌ regressions\n"), "{text}");
        assert!(text.contains("| mismatch | 1 |\n| **all** | **2** |"), "{text}");
        assert!(
            text.contains("| mismatch: ai.onnx/Abs | 1 | ai.onnx/Abs | `ai.onnx/Abs-13/x` | a \\| b |  |\n"),
            "{text}"
        );
        let (gate_result, _) = super::super::tests::gate_result(&[result("a", Outcome::Pass)]);
        let text = markdown(&Declaration::named("mine", "1\n# `2`"), &gate_result, "");
        assert!(text.starts_with("## ONNX conformance of mine 1\\\\n\\# \\`2\\`: ✅ as expected\n"), "{text}");
    }

    #[test]
    fn an_id_stays_in_its_cell() {
        let (gate_result, _) = gate_result(&[result("a`|b`\n| c |", Outcome::Mismatch)]);
        let text = markdown(&Declaration::named("mine", "1"), &gate_result, "");
        assert!(text.contains(" | `` a`\\|b`\\n\\| c \\| `` |  |  |\n"), "{text}");
    }
}
