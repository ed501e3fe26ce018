//! Results as terminal text.

use std::fmt::Write;
use std::time::Duration;

use onnx_conformance_cases::compare::Distance;
use onnx_conformance_cases::suite::release_key;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::expectations::GateResult;
use onnx_conformance_harness::findings::Findings;
use onnx_conformance_harness::run::{CaseResult, OfRelease, Outcome, Summary};
use onnx_conformance_harness::shell::word;
use onnx_conformance_subject::Declaration;

use crate::causes::{Cause, causes};
use crate::colours::{BAD, BOLD, DIM, GOOD};
use crate::groups::failure_groups;

/// Grouping of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// By what failing cases of several operators have in common
    Cause,
    /// By operator version and message
    Operator,
}

/// Maximum number of operators to name for a cause.
const MAX_NAMES: usize = 6;

/// Maximum number of missing features to show.
const MAX_FEATURES: usize = 20;

/// Lines of causes for each result to show: 60 lines by default.
const LINES_PER_RESULT: usize = 2;

/// Maximum number of lines of a cause.
const LINES_OF_CAUSE: usize = 4;

/// Results to show for each cause that is shown in full if there are too many causes for that: 6 causes by default.
const RESULTS_PER_FULL_CAUSE: usize = 5;

/// Maximum number of characters of a cause that is shown on one line.
const MAX_TITLE: usize = 120;

/// Display settings for unexpected results.
#[derive(Clone, Debug)]
pub struct Show {
    /// The grouping of failures; `None` for operators, or for causes if there are more groups than are shown.
    pub by: Option<By>,
    /// Maximum number per kind.
    pub most: usize,
    /// Command that re-runs cases, without their ids.
    pub command: String,
}

impl Show {
    /// Shows at most `most` cases of each kind, with the plain command.
    pub fn at_most(most: usize) -> Show {
        Show { by: None, most, command: "onnx-conformance run".to_owned() }
    }

    /// Returns the maximum number of missing features.
    fn features(&self) -> usize {
        if self.most == usize::MAX { usize::MAX } else { self.most.min(MAX_FEATURES) }
    }

    /// Formats causes until their lines are used up: all in full if that is possible, otherwise the first ones in full and the others
    /// on a line each.
    fn causes(&self, causes: &[Cause<'_>]) -> Vec<String> {
        let mut left = self.most.saturating_mul(LINES_PER_RESULT);
        let fit = causes.len().saturating_mul(LINES_OF_CAUSE) <= left;
        let full = if fit { causes.len() } else { self.most / RESULTS_PER_FULL_CAUSE };
        let mut texts = Vec::new();
        for (number, cause) in causes.iter().enumerate() {
            let text = if number < full { self.cause(cause) } else { line_of_cause(cause) };
            let Some(rest) = left.checked_sub(text.lines().count()) else { break };
            left = rest;
            texts.push(text);
        }
        texts
    }

    /// Formats a cause: what its cases have in common, its extent, and its smallest case.
    fn cause(&self, cause: &Cause<'_>) -> String {
        let mut extent = plural(cause.cases.len(), "case");
        if let [_, _, ..] = cause.operators.iter().collect::<Vec<_>>().as_slice() {
            let named: Vec<&str> = cause.operators.iter().take(MAX_NAMES).map(String::as_str).collect();
            let more = if cause.operators.len() > named.len() { ", ..." } else { "" };
            let places = if cause.has_operators_only { "operators" } else { "operators and folders" };
            let names = escape::line(&named.join(", ")).into_owned();
            let _ = write!(extent, " of {} {places} ({names}{more})", cause.operators.len());
        }
        match cause.mended {
            0 => {}
            1 => extent.push_str("; without it 1 operator is right"),
            mended => {
                let _ = write!(extent, "; without it {mended} operators are right");
            }
        }
        let mut text = format!("{BOLD}{}{BOLD:#}: {}\n    {extent}", cause.outcome, escape::message(&cause.title));
        if let Some(example) = cause.cases.first() {
            if cause.operators.len() == 1
                && let Some(line) = escape::message(&example.message).lines().next()
            {
                let _ = write!(text, "\n    {line}");
            }
            let _ = write!(text, "\n    {DIM}{}{DIM:#}", command(&self.command, &example.id));
        }
        text
    }

    /// Formats an unexpected result with the command that re-runs it.
    fn failure(&self, what: &str, result: &CaseResult) -> String {
        let mut text = format!("{what}: {} {BOLD}{}{BOLD:#}", result.outcome, escape::line(&result.id));
        let rule = result.rule.as_ref().map(|rule| format!("rule {rule}")).unwrap_or_default();
        for part in [&rule, &result.message, &finding(result), &result.inputs] {
            for line in escape::message(part).lines() {
                let _ = write!(text, "\n    {line}");
            }
        }
        let _ = write!(text, "\n    {DIM}{}{DIM:#}", command(&self.command, &result.id));
        text
    }
}

/// Formats a cause on one line, with its extent and its smallest case.
fn line_of_cause(cause: &Cause<'_>) -> String {
    let title = escape::message(&cause.title).lines().next().unwrap_or_default().to_owned();
    let dots = if title.chars().count() > MAX_TITLE { "..." } else { "" };
    let title: String = title.chars().take(MAX_TITLE).collect();
    let places = if cause.has_operators_only { "operators" } else { "operators and folders" };
    let extent = match cause.operators.len() {
        0 | 1 => plural(cause.cases.len(), "case"),
        count => format!("{} of {count} {places}", plural(cause.cases.len(), "case")),
    };
    let example = cause.cases.first().map(|case| format!(", such as {}", escape::line(&case.id))).unwrap_or_default();
    format!("{BOLD}{}{BOLD:#}: {title}{dots}: {extent}{example}", cause.outcome)
}

/// Formats the finding for a failure, if it has one.
fn finding(result: &CaseResult) -> String {
    let named = |id: &String| {
        Findings::embedded().ok()?.named(id).first().map(|finding| format!("finding {id}: {}", finding.title))
    };
    result.finding.as_ref().and_then(named).unwrap_or_default()
}

/// Returns the command that re-runs a case.
pub fn command(command: &str, id: &str) -> String {
    format!("{command} {}", word(id))
}

/// Formats the name and the version of a runtime.
pub fn runtime(runtime: &Declaration) -> String {
    escape::line(&format!("{} {}", runtime.name, runtime.version)).into_owned()
}

/// Formats the end of a run in colour: the unexpected results, the problems of the expectations, and the summary line.
pub fn closing(gate_result: &GateResult, show: &Show, elapsed: Duration) -> String {
    let mut lines = Vec::new();
    lines.extend(failures(&format!("{BAD}unexpected{BAD:#}"), &gate_result.regressions, show));
    lines.extend(failures(&format!("{GOOD}better than expected{GOOD:#}"), &gate_result.improvements, show));
    lines.extend(gate_result.flaky.iter().take(show.most).map(CaseResult::flaky_note));
    if gate_result.flaky.len() > show.most {
        lines.push(format!("... and {} more flaky; --show 0 prints all", gate_result.flaky.len() - show.most));
    }
    lines.extend(gate_result.broken.iter().map(|error| format!("{BAD}broken case{BAD:#}: {}", escape::message(error))));
    lines.extend(
        gate_result
            .entry_problems
            .iter()
            .take(show.most)
            .map(|problem| escape::line(&problem.to_string()).into_owned()),
    );
    if gate_result.entry_problems.len() > show.most {
        lines.push(format!(
            "... and {} more expectations; --show 0 prints all",
            gate_result.entry_problems.len() - show.most
        ));
    }
    for (judged, count) in &gate_result.summary.judged {
        let cases = if *count == 1 { "case" } else { "cases" };
        lines.push(format!(
            "{count} vendored {cases} judged by another rule than upstream's ({}): {}",
            judged.document(),
            judged.reason()
        ));
    }
    if gate_result.summary.releases.len() > 1 {
        let mut releases: Vec<_> = gate_result.summary.releases.iter().collect();
        releases.sort_by_key(|(release, _)| release_key(release.trim_start_matches("onnx-")));
        lines.extend(releases.into_iter().map(|(release, OfRelease { total, passed, open })| {
            let release = escape::line(release);
            format!("{release}: {total} cases, {passed} pass, {} do not, {open} open", total - passed - open)
        }));
    }
    for (class, (total, passed)) in &gate_result.summary.refusals {
        lines.push(format!("{class}: {passed} of {total} cases that must be refused pass"));
    }
    lines.push(summary(gate_result, elapsed));
    lines.join("\n")
}

/// Formats unexpected results in groups: the worst case of each, or every case if all are shown.
fn failures(what: &str, results: &[CaseResult], show: &Show) -> Vec<String> {
    let (groups, mut lines) = (failure_groups(results), Vec::new());
    let by = show.by.unwrap_or(if groups.len() > show.most && show.most > 0 { By::Cause } else { By::Operator });
    if by == By::Cause && !results.is_empty() {
        return by_cause(what, results, show);
    }
    for group in groups.iter().take(show.most) {
        lines.push(show.failure(what, group.worst));
        if show.most == usize::MAX {
            lines.extend(group.others.iter().map(|result| show.failure(what, result)));
        } else if let [first, ..] = group.others.as_slice() {
            let (count, path) = (group.others.len(), escape::line(&group.path));
            let cases = if count == 1 { "case" } else { "cases" };
            lines.push(format!(
                "    and {count} more {cases} of {path} with {}, such as {}; --show 0 prints all",
                group.worst.outcome,
                escape::line(&first.id)
            ));
        }
    }
    let left = groups.iter().skip(show.most).map(|group| 1 + group.others.len()).sum::<usize>();
    if left > 0 {
        lines.push(format!("... and {left} more; --show 0 prints all"));
    }
    lines
}

/// Formats unexpected results by cause, each with its smallest case. Missing features are listed apart.
fn by_cause(what: &str, results: &[CaseResult], show: &Show) -> Vec<String> {
    let (missing, causes): (Vec<Cause<'_>>, Vec<Cause<'_>>) =
        causes(results).into_iter().partition(|cause| cause.outcome == Outcome::Unsupported);
    let cases = |causes: &[Cause<'_>]| causes.iter().map(|cause| cause.cases.len()).sum::<usize>();
    let mut lines = Vec::new();
    if !causes.is_empty() {
        let texts = show.causes(&causes);
        let shown = texts.len();
        let explained = 100 * cases(causes.get(..shown).unwrap_or_default()) / cases(&causes).max(1);
        lines.push(format!(
            "{what}: {} with {}; {shown} of them explain {explained} %. `--by operator` groups by operator version",
            plural(cases(&causes), "failure"),
            plural(causes.len(), "cause")
        ));
        lines.extend(texts);
        if causes.len() > shown {
            lines.push(format!("... and {} more; --show 0 prints all", plural(causes.len() - shown, "cause")));
        }
    }
    if !missing.is_empty() {
        let (all, features) = (plural(cases(&missing), "case"), plural(missing.len(), "feature"));
        lines.push(format!("{what}: {all} unsupported, for {features}, such as"));
        lines.extend(
            missing
                .iter()
                .take(show.features())
                .map(|cause| format!("    {}: {}", escape::message(&cause.title), plural(cause.cases.len(), "case"))),
        );
    }
    lines
}

/// Formats a number with its noun.
fn plural(count: usize, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// Formats the summary line of a run.
pub fn summary(gate_result: &GateResult, elapsed: Duration) -> String {
    let GateResult { summary, expected, by_binding, .. } = gate_result;
    let mut text = format!("{} cases", summary.total());
    if summary.total() > 0 {
        let _ = write!(text, ", {}", counts(summary));
    }
    if *expected > 0 {
        let binding = if *by_binding > 0 { format!(", {by_binding} by the binding") } else { String::new() };
        let _ = write!(text, " ({expected} failures expected{binding})");
    }
    let _ = write!(text, " in {:.2} s", elapsed.as_secs_f64());
    text
}

/// Formats the number of cases per outcome, best first.
pub fn counts(summary: &Summary) -> String {
    let near: Vec<String> = [Distance::LastBits, Distance::Small]
        .into_iter()
        .map(|distance| (summary.distance(distance), distance))
        .filter(|(count, _)| *count > 0)
        .map(|(count, distance)| format!("{count} {distance}"))
        .collect();
    let count_of = |(outcome, count): (Outcome, usize)| match outcome {
        Outcome::Mismatch if !near.is_empty() => format!("{count} {outcome} ({})", near.join(", ")),
        _ => format!("{count} {outcome}"),
    };
    let mut counts: Vec<String> = summary.counts().map(count_of).collect();
    if summary.open > 0 {
        counts.push(format!("{} open", summary.open));
    }
    counts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::result;

    #[test]
    fn many_causes_have_a_line_each_after_the_first() {
        let failed = |operator: usize, count: usize| {
            (0..count).map(move |case| result(&format!("ai.onnx/A{operator}-1/x{case}"), Outcome::Mismatch))
        };
        let results: Vec<CaseResult> = (0..100).flat_map(|operator| failed(operator, 200 - operator)).collect();
        let show = Show::at_most(30);
        let lines = by_cause("unexpected", &results, &show);
        let causes = &lines[1..lines.len() - 1];
        assert_eq!(causes.iter().map(|text| text.lines().count()).sum::<usize>(), 60, "{lines:#?}");
        assert!(causes[..6].iter().all(|text| text.contains("run ai.onnx/A")), "{lines:#?}");
        assert!(causes[6..].iter().all(|text| text.contains(" cases, such as ai.onnx/A") && !text.contains('\n')));
        assert!(lines[0].contains(&format!("{} of them explain", causes.len())), "{}", lines[0]);
        assert_eq!(by_cause("unexpected", &results[..1000], &show).len(), 1 + 6);
        assert_eq!(by_cause("unexpected", &results, &Show::at_most(usize::MAX)).len(), 101);
    }
}
