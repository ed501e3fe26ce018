//! The compatibility matrix as markdown.

use std::fmt::Write;

use crate::report::matrix::{Column, Matrix, State, States, VersionRow};
use crate::report::terminal;
use crate::run::{Header, Tally};

/// How many cases of a kind a summary names.
const MOST_CASES: usize = 50;

/// The matrix: totals, and a table of the operator versions for each runtime.
pub fn matrix(matrix: &Matrix<'_>) -> String {
    let mut text = "# Compatibility matrix\n\nWritten by `cargo xtask report`. Measured, not declared: \
                    *untested* means that no case says anything, which is neither yes nor no.\n"
        .to_owned();
    for (at, column) in matrix.runtimes.iter().enumerate() {
        let (name, version) = (&column.runtime.name, &column.runtime.version);
        let _ = write!(text, "\n## {name} {version}\n\n{}", totals(matrix, column));
        text.push_str("\n| operator version | opsets | outcome | passed | failed | unsupported | types tested |\n");
        text.push_str("|---|---|---|--:|--:|--:|--:|\n");
        matrix.versions.iter().for_each(|row| version_line(&mut text, at, row));
    }
    text
}

/// What a run came to, for the summary of a CI job.
pub fn summary(header: &Header, tally: &Tally) -> String {
    let mut text = format!("## ONNX conformance: {} {}\n\n", header.runtime.name, header.runtime.version);
    text.push_str("| outcome | cases |\n|---|--:|\n");
    for (outcome, count) in tally.summary.counts() {
        let _ = writeln!(text, "| {outcome} | {count} |");
    }
    let _ =
        writeln!(text, "| open, not judged | {} |\n\n{} failures are expected.", tally.summary.open, tally.expected);
    let lists = [("Unexpected", &tally.regressions), ("Better than expected", &tally.improvements)];
    for (title, results) in lists.into_iter().filter(|(_, results)| !results.is_empty()) {
        let _ = write!(text, "\n### {title}: {}\n\n", results.len());
        for result in results.iter().take(MOST_CASES) {
            let message = result.message.replace(['\n', '|'], " ");
            let _ = writeln!(text, "- `{}` {}: {message}", result.id, result.outcome);
        }
        if results.len() > MOST_CASES {
            let _ = writeln!(text, "- and {} more", results.len() - MOST_CASES);
        }
    }
    for entry in &tally.stale {
        let _ = writeln!(text, "\nExpectation that matches nothing: `{entry}`");
    }
    text
}

/// The totals of a runtime, each with its denominator.
pub fn totals(matrix: &Matrix<'_>, column: &Column<'_>) -> String {
    let (_, deprecated) = matrix.cells();
    let by_state = |states: &States| {
        let counts: Vec<String> =
            State::ALL.iter().map(|state| format!("{} {}", states.count(*state), state.name())).collect();
        format!("{} of {} tested: {}", states.tested(), states.total(), counts.join(", "))
    };
    format!(
        "- cases: {}: {}\n- operator versions: {}\n- type cells: {} ({deprecated} belong to deprecated versions)\n",
        column.cases.total(),
        terminal::counts(&column.cases),
        by_state(&column.versions),
        by_state(&column.cells),
    )
}

fn version_line(text: &mut String, runtime: usize, row: &VersionRow) {
    let counts = row.counts.get(runtime).copied().unwrap_or_default();
    let (name, state) = (row.version.qualified(), counts.state());
    let opsets = match (row.opsets.start(), row.opsets.end()) {
        (start, end) if start == end => start.to_string(),
        (start, end) => format!("{start}–{end}"),
    };
    let deprecated = if row.deprecated { ", deprecated" } else { "" };
    let _ = writeln!(
        text,
        "| {name} | {opsets} | {} {}{deprecated} | {} | {} | {} | {}/{} |",
        state.sign(),
        state.name(),
        counts.passed,
        counts.failed,
        counts.unsupported,
        row.tested_cells(runtime),
        row.cells.len(),
    );
}
