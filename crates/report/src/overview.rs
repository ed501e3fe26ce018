//! Summary table of runtime versions for a terminal.

use std::fmt::Write as _;

use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::measure::Overview;
use onnx_conformance_harness::run::feature_list;

use crate::colours::BOLD;

/// Creates a line per version of a runtime, with a legend of the columns below.
pub fn table(overviews: &[Overview], opset: u32) -> String {
    let head = [
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
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(overviews.iter().map(row));
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        // Names are left-aligned, numbers right-aligned.
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0..5 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        let joined = cells.collect::<Vec<_>>().join("  ");
        let _ = if number == 0 { writeln!(text, "{BOLD}{joined}{BOLD:#}") } else { writeln!(text, "{joined}") };
    }
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
    let _ = writeln!(
        text,
        "\nThe counts cover required and recommended cases from the specs.\n\
         inexact: an output that differs from the expected one by a few representable values (ULP) only\n\
         wrong: any other unexpected output, or a model that must be refused but runs\n\
         failed: an error\n\
         declined: a feature that the runtime reports as missing\n\
         crashed: the process ended, or did not answer in time\n\
         not taken: an opset or IR version that the runtime does not accept\n\
         right: measured operators of ai.onnx at opset {opset} whose required cases in float all pass and none crashes\n\
         -: the runtime does not accept opset {opset}, or nothing was measured\n\
         `show OPERATOR@OPSET` prints one operator, `list findings --runtime NAME` the causes of failures."
    );
    text
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
