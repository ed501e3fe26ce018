//! Summary table of runtime versions for a terminal.

use std::fmt::Write as _;

use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::measure::Overview;
use onnx_conformance_harness::run::feature_list;

use crate::colours::BOLD;

/// Titles of the columns.
const HEAD: [&str; 13] = [
    "runtime",
    "version",
    "released",
    "measured",
    "platform",
    "passed",
    "inexact",
    "wrong",
    "failed",
    "declined",
    "crashed",
    "not taken",
    "right",
];

/// Number of columns with names, which are left-aligned. The others have numbers.
const NAMES: usize = 5;

/// Space between two columns.
const SPACE: &str = "  ";

/// Columns that are omitted in this order if the table is too wide.
const OMITTED_FIRST: [&str; 7] = ["platform", "measured", "released", "not taken", "inexact", "declined", "crashed"];

/// Meaning of columns.
const MEANINGS: [(&str, &str); 6] = [
    ("inexact", "an output that differs from the expected one by a few representable values (ULP) only"),
    ("wrong", "any other unexpected output, or a model that must be refused but runs"),
    ("failed", "an error"),
    ("declined", "a feature that the runtime reports as missing"),
    ("crashed", "the process ended, or did not answer in time"),
    ("not taken", "an opset or IR version that the runtime does not accept"),
];

/// Creates a line per version of a runtime, with a legend of the columns below. With a width in characters, columns are omitted until
/// the lines fit.
pub fn table(overviews: &[Overview], opset: u32, width: Option<usize>) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(overviews.iter().map(row));
    let width_of =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width_of).collect();
    let shown = shown_columns(&widths, width);
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).enumerate().filter(|(at, _)| shown.contains(at));
        let cells = cells.map(|(at, (cell, width))| match at {
            0..NAMES => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        let joined = cells.collect::<Vec<_>>().join(SPACE);
        let _ = if number == 0 { writeln!(text, "{BOLD}{joined}{BOLD:#}") } else { writeln!(text, "{joined}") };
    }
    let omitted: Vec<&str> =
        HEAD.iter().enumerate().filter(|(at, _)| !shown.contains(at)).map(|(_, name)| *name).collect();
    if !omitted.is_empty() {
        let _ = writeln!(text, "omitted to fit the width: {}; `--format json` prints them", omitted.join(", "));
    }
    add_details(&mut text, overviews);
    text.push_str("\nThe counts cover required and recommended cases from the specs.\n");
    for (column, meaning) in MEANINGS.iter().filter(|(column, _)| !omitted.contains(column)) {
        let _ = writeln!(text, "{column}: {meaning}");
    }
    let _ = writeln!(
        text,
        "right: measured operators of ai.onnx at opset {opset} whose required cases in float all pass and none crashes\n\
         -: the runtime does not accept opset {opset}, or nothing was measured\n\
         `show OPERATOR@OPSET` prints one operator, `list findings --runtime NAME` the causes of failures."
    );
    text
}

/// Returns the positions of the columns that fit into a width in characters.
fn shown_columns(widths: &[usize], width: Option<usize>) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..HEAD.len()).collect();
    for name in OMITTED_FIRST {
        let cells: usize = shown.iter().filter_map(|at| widths.get(*at)).sum();
        if width.is_none_or(|width| cells + SPACE.len() * shown.len().saturating_sub(1) <= width) {
            break;
        }
        shown.retain(|at| HEAD.get(*at) != Some(&name));
    }
    shown
}

/// Adds a line for the failures on some processors only, and for the failing graphs by level of the optimizer.
fn add_details(text: &mut String, overviews: &[Overview]) {
    for of in overviews {
        let (runtime, version) = (line(&of.runtime), line(&of.version));
        for (processors, cases) in &of.failing_by_processor {
            let _ = writeln!(text, "only on processors {processors}: {cases} of the failures of {runtime} {version}");
        }
    }
    for of in overviews.iter().filter(|of| !of.levels.is_empty()) {
        let (runtime, version) = (line(&of.runtime), line(&of.version));
        let counts: Vec<String> = of.levels.iter().map(|it| format!("{} {}", line(&it.level), it.graphs)).collect();
        let _ = writeln!(
            text,
            "failing graphs of {runtime} {version}, by the weakest level of the optimizer at which they fail: {}",
            counts.join(", ")
        );
    }
}

fn row(of: &Overview) -> [String; 13] {
    let counts = [of.passed, of.inexact, of.wrong, of.failed, of.declined, of.crashed, of.not_taken];
    let [passed, inexact, wrong, failed, declined, crashed, not_taken] = counts.map(|count| count.to_string());
    let [released, date] = [&of.released, &of.date].map(|day| day.clone().unwrap_or_default());
    let right = if of.operators == 0 { "-".to_owned() } else { format!("{} of {}", of.right, of.operators) };
    let platform = of.platform.clone().unwrap_or_default();
    let cpu = of.cpu.as_ref().map(|features| format!(" ({})", feature_list(features))).unwrap_or_default();
    let [runtime, version, released, date, platform] =
        [&of.runtime, &of.version, &released, &date, &(platform + &cpu)].map(|text| line(text).into_owned());
    [runtime, version, released, date, platform, passed, inexact, wrong, failed, declined, crashed, not_taken, right]
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_harness::measure::{Measurements, cases_in_float};

    #[test]
    fn columns_are_omitted_until_the_rows_fit() {
        let measurement = Measurements::embedded().newest("onnx-reference").unwrap().unwrap();
        let overviews = [Overview::new(measurement, 21, &cases_in_float(21).unwrap())];
        let rows = |width: Option<usize>| {
            let text = anstream::adapter::strip_str(&table(&overviews, 21, width)).to_string();
            text.lines().take(2).map(str::to_owned).collect::<Vec<_>>()
        };
        let whole = rows(None);
        assert!(HEAD.iter().all(|name| whole[0].contains(name)), "{whole:?}");
        for width in [60, 80, 100] {
            let rows = rows(Some(width));
            assert!(rows.iter().all(|row| row.chars().count() <= width), "{rows:?}");
            assert!(
                ["runtime", "version", "passed", "wrong", "right"].iter().all(|name| rows[0].contains(name)),
                "{rows:?}"
            );
        }
        assert_eq!(rows(Some(500)), whole);
        let narrow = table(&overviews, 21, Some(60));
        assert!(narrow.contains("omitted to fit the width: released, measured, platform"), "{narrow}");
        assert!(!narrow.contains("not taken: ") && narrow.contains("wrong: "), "{narrow}");
    }
}
