//! The compatibility matrix as markdown.

use std::fmt::Write;

use crate::report::matrix::{Column, Matrix, State, States, VersionRow};
use crate::report::{escape, terminal};

/// The matrix: totals, and a table of the operator versions for each runtime.
pub fn matrix(matrix: &Matrix<'_>) -> String {
    let mut text = "# Compatibility matrix\n\nWritten by `onnx-conformance report`. Measured, not declared: \
                    *untested* means that no case says anything, which is neither yes nor no.\n"
        .to_owned();
    for (at, column) in matrix.runtimes.iter().enumerate() {
        let runtime = escape::markdown(&terminal::runtime(column.runtime));
        let _ = write!(text, "\n## {runtime}\n\n{}", totals(matrix, column));
        text.push_str("\n| operator version | opsets | outcome | passed | failed | unsupported | types tested |\n");
        text.push_str("|---|---|---|--:|--:|--:|--:|\n");
        matrix.versions.iter().for_each(|row| version_line(&mut text, at, row));
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
