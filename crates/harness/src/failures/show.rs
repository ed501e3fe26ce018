//! Unexpected results as terminal text: by operator version, or by cause.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::escape;
use crate::failures::causes::{Cause, causes, model_line, plural};
use crate::failures::groups::failure_groups;
use crate::failures::style::{BOLD, DIM};
use crate::findings::Findings;
use crate::run::{CaseResult, Outcome};
use crate::shell::word;

/// Grouping of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Groups by cause: a common property of failing cases of several operators.
    Cause,
    /// Groups by operator version and message.
    Operator,
    /// Does not group.
    Case,
}

/// Settings of the user that the text mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Options {
    /// The options of `run` on the command line.
    Run,
    /// The environment variable of a test binary with the number of results to show.
    Tests(&'static str),
}

impl fmt::Display for Options {
    /// Writes the setting that shows everything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Options::Run => f.write_str("--show 0"),
            Options::Tests(variable) => write!(f, "{variable}=0"),
        }
    }
}

/// Function that makes a command.
type Rerun = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Maximum number of missing features to show.
const MAX_FEATURES: usize = 20;

/// Length of a line to which no further missing feature is added.
const LONGEST_FEATURES: usize = 100;

/// Lines of causes for each result to show: 60 lines by default.
const LINES_PER_RESULT: usize = 2;

/// Maximum number of lines of a cause.
const LINES_OF_CAUSE: usize = 5;

/// If there are too many causes to show all in full, one cause is shown in full per this many results to show: 5 by
/// default.
const RESULTS_PER_FULL_CAUSE: usize = 6;

/// Maximum number of characters of a cause that is shown on one line.
const MAX_TITLE: usize = 120;

/// Display settings for unexpected results.
#[derive(Clone)]
pub struct Show {
    /// The grouping of failures; `None` for operators, or for causes if there are more groups than are shown.
    pub by: Option<Grouping>,
    /// Maximum number per kind.
    pub most: usize,
    /// Settings that the text mentions.
    pub options: Options,
    /// Function from the id of a case to the command that re-runs it.
    pub rerun: Rerun,
}

impl fmt::Debug for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Show { by, most, options, .. } = self;
        f.debug_struct("Show").field("by", by).field("most", most).field("options", options).finish_non_exhaustive()
    }
}

impl Show {
    /// Shows at most `most` cases of each kind, with the plain command of `run`.
    pub fn at_most(most: usize) -> Show {
        let rerun: Rerun = Arc::new(|id: &str| rerun_command("onnx-conformance run", id));
        Show { by: None, most, options: Options::Run, rerun }
    }

    /// Shows the command that `rerun` returns for the id of a case.
    #[must_use]
    pub fn rerun_by(self, rerun: impl Fn(&str) -> String + Send + Sync + 'static) -> Show {
        Show { rerun: Arc::new(rerun), ..self }
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
        let title = escape::message(&cause.title);
        let mut text = format!("{BOLD}{}{BOLD:#}: {title}\n    {}", cause.outcome, cause.extent());
        if let Some(example) = cause.cases.first() {
            if cause.operators.len() == 1
                && let Some(line) = escape::message(&example.message).lines().next()
            {
                let _ = write!(text, "\n    {line}");
            }
            let model = model_line(example);
            if !model.is_empty() {
                let _ = write!(text, "\n    {model}");
            }
            let _ = write!(text, "\n    {DIM}{}{DIM:#}", (self.rerun)(&example.id));
        }
        text
    }

    /// Formats an unexpected result with the command that re-runs it.
    fn failure(&self, what: &str, result: &CaseResult) -> String {
        let mut text = format!("{what}: {} {BOLD}{}{BOLD:#}", result.outcome, escape::line(&result.id));
        let rule = result.rule.as_ref().map(|rule| format!("rule {rule}")).unwrap_or_default();
        for part in [&rule, &result.message, &finding(result), &result.nodes, &result.inputs] {
            for line in escape::message(part).lines() {
                let _ = write!(text, "\n    {line}");
            }
        }
        let _ = write!(text, "\n    {DIM}{}{DIM:#}", (self.rerun)(&result.id));
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

/// Formats missing features with their numbers of cases, several on a line.
fn feature_lines(missing: &[Cause<'_>]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cause in missing {
        let text = format!("{} ({})", escape::line(&escape::cut(&cause.title, MAX_TITLE)), cause.cases.len());
        match lines.last_mut() {
            Some(line) if line.chars().count() + text.chars().count() < LONGEST_FEATURES => {
                let _ = write!(line, ", {text}");
            }
            _ => lines.push(format!("    {text}")),
        }
    }
    lines
}

/// Formats the finding for a failure, if it has one.
fn finding(result: &CaseResult) -> String {
    let named = |id: &String| {
        Findings::embedded().ok()?.named(id).first().map(|finding| format!("finding {id}: {}", finding.title))
    };
    result.finding.as_ref().and_then(named).unwrap_or_default()
}

/// Returns the command that re-runs a case.
pub fn rerun_command(command: &str, id: &str) -> String {
    format!("{command} {}", word(id))
}

/// Formats unexpected results in groups: the worst case of each, or every case if all are shown.
pub fn failures(what: &str, results: &[CaseResult], show: &Show) -> Vec<String> {
    let (groups, mut lines) = (failure_groups(results), Vec::new());
    let by =
        show.by.unwrap_or(if groups.len() > show.most && show.most > 0 { Grouping::Cause } else { Grouping::Operator });
    match by {
        Grouping::Cause if !results.is_empty() => return by_cause(what, results, show),
        Grouping::Case => return by_case(what, results, show),
        Grouping::Cause | Grouping::Operator => {}
    }
    for group in groups.iter().take(show.most) {
        lines.push(show.failure(what, group.worst));
        if show.most == usize::MAX {
            lines.extend(group.others.iter().map(|result| show.failure(what, result)));
        } else if let [first, ..] = group.others.as_slice() {
            let (count, path) = (group.others.len(), escape::line(&group.path));
            let cases = if count == 1 { "case" } else { "cases" };
            lines.push(format!(
                "    and {count} more {cases} of {path} with {}, such as {}; {} prints all",
                group.worst.outcome,
                escape::line(&first.id),
                show.options
            ));
        }
    }
    let left = groups.iter().skip(show.most).map(|group| 1 + group.others.len()).sum::<usize>();
    if left > 0 {
        lines.push(format!("... and {left} more; {} prints all", show.options));
    }
    lines
}

/// Formats unexpected results one by one, in the order of their groups.
fn by_case(what: &str, results: &[CaseResult], show: &Show) -> Vec<String> {
    let groups = failure_groups(results);
    let all = groups.iter().flat_map(|group| std::iter::once(group.worst).chain(group.others.iter().copied()));
    let mut lines: Vec<String> = all.take(show.most).map(|result| show.failure(what, result)).collect();
    if results.len() > show.most {
        lines.push(format!("... and {} more; {} prints all", results.len() - show.most, show.options));
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
        let by_operator = match show.options {
            Options::Run => ". `--by operator` groups by operator version",
            Options::Tests(_) => "",
        };
        let explained = 100 * cases(causes.get(..shown).unwrap_or_default()) / cases(&causes).max(1);
        lines.push(format!(
            "{what}: {} with {}; {shown} of them explain {explained} %{by_operator}",
            plural(cases(&causes), "failure"),
            plural(causes.len(), "cause")
        ));
        lines.extend(texts);
        if causes.len() > shown {
            let more = plural(causes.len() - shown, "more cause");
            lines.push(format!("... and {more}; {} prints all", show.options));
        }
    }
    if !missing.is_empty() {
        let (all, features) = (plural(cases(&missing), "case"), plural(missing.len(), "feature"));
        let named = missing.get(..show.features().min(missing.len())).unwrap_or_default();
        let such_as = if named.len() < missing.len() { ", such as" } else { ":" };
        lines.push(format!("{what}: {all} unsupported, for {features}{such_as}"));
        lines.extend(feature_lines(named));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failures::style::without_style;
    use crate::run::test_results::result;

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
        assert!(causes[..5].iter().all(|text| text.contains("run ai.onnx/A")), "{lines:#?}");
        assert!(causes[5..].iter().all(|text| text.contains(" cases, such as ai.onnx/A") && !text.contains('\n')));
        assert!(lines[0].contains(&format!("{} of them explain", causes.len())), "{}", lines[0]);
        assert_eq!(by_cause("unexpected", &results[..1000], &show).len(), 1 + 6);
        assert_eq!(by_cause("unexpected", &results, &Show::at_most(usize::MAX)).len(), 101);
    }

    #[test]
    fn a_cause_has_the_nodes_and_the_inputs_of_its_smallest_case() {
        let case = CaseResult {
            nodes: "Y = If <then_branch = g () => (y) {\n    y = Id (a)\n  }> (c)".to_owned(),
            inputs: format!("c = tensor(bool)[] [true]; a = {}", "1".repeat(400)),
            ..result("ai.onnx/If-25/a", Outcome::Mismatch)
        };
        let lines = by_cause("unexpected", &[case], &Show::at_most(30));
        let line = lines[1].lines().nth(2).unwrap();
        assert!(
            line.starts_with(
                "    Y = If <then_branch = g () => (y) { y = Id (a) }> (c); c = tensor(bool)[] [true]; a = 1"
            ),
            "{line}"
        );
        assert!(line.ends_with("more characters)"), "{line}");
    }

    #[test]
    fn missing_features_share_lines() {
        let missing = |count: usize| {
            let of_feature = |feature: usize| {
                crate::run::test_results::unsupported(
                    &format!("ai.onnx/A{feature}-1/a"),
                    &format!("operator ai.onnx/A{feature}"),
                )
            };
            (10..10 + count).map(of_feature).collect::<Vec<CaseResult>>()
        };
        let lines = |count: usize| by_cause("unexpected", &missing(count), &Show::at_most(30));
        assert_eq!(
            lines(2),
            [
                "unexpected: 2 cases unsupported, for 2 features:",
                "    operator ai.onnx/A10 (1), operator ai.onnx/A11 (1)"
            ]
        );
        let many = lines(40);
        assert_eq!(many[0], "unexpected: 40 cases unsupported, for 40 features, such as");
        assert_eq!(many[1..].iter().map(|line| line.matches("operator").count()).sum::<usize>(), MAX_FEATURES);
        assert!(many.len() < 10 && many[1..].iter().all(|line| line.len() < LONGEST_FEATURES + 8), "{many:#?}");
    }

    #[test]
    fn cases_are_shown_one_by_one() {
        let results = ["a", "b", "c"].map(|case| result(&format!("ai.onnx/Abs-13/{case}"), Outcome::Crash));
        let lines = |most| failures("unexpected", &results, &Show { by: Some(Grouping::Case), ..Show::at_most(most) });
        let two = lines(2);
        assert_eq!((two.len(), two[2].as_str()), (3, "... and 1 more; --show 0 prints all"));
        assert!(two[0].contains("/Abs-13/a") && two[1].contains("/Abs-13/b"), "{two:?}");
        assert_eq!(lines(usize::MAX).len(), 3);
    }

    #[test]
    fn the_text_names_the_settings_of_its_caller() {
        let results = ["a", "b"].map(|case| result(&format!("ai.onnx/Abs-13/{case}"), Outcome::Crash));
        let show = Show { options: Options::Tests("SHOWN"), ..Show::at_most(1) };
        let show = show.rerun_by(|id| format!("cargo test -- {id}"));
        let lines = failures("unexpected", &results, &show);
        let first = "unexpected: crash ai.onnx/Abs-13/a\n    cargo test -- ai.onnx/Abs-13/a";
        let more = "    and 1 more case of ai.onnx/Abs-13 with crash, such as ai.onnx/Abs-13/b; SHOWN=0 prints all";
        assert_eq!(lines.iter().map(|line| without_style(line)).collect::<Vec<_>>(), [first, more]);
        let causes = by_cause("unexpected", &results, &show);
        assert_eq!(causes[0], "unexpected: 2 failures with 1 cause; 1 of them explain 100 %");
        assert!(
            by_cause("unexpected", &results, &Show::at_most(1))[0]
                .ends_with("`--by operator` groups by operator version")
        );
    }
}
