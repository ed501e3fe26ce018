//! Checked models as terminal text.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::Style;
use onnx_conformance_check::finding::Finding;
use onnx_conformance_check::rules::Level;

use onnx_conformance_harness::escape;
use onnx_conformance_harness::measure::NodeVerdict;
use onnx_conformance_reference::spec::canonical_domain;

use crate::colours::{BAD, BOLD, DIM, GOOD, MISSING, NOTE, UNSURE};
use crate::models::{
    KindReport, ModelReport, ModelSummary, OpsetHistogram, RuntimeReport, SavedNode, Status, TargetReport,
};

/// Maximum number of findings to show per rule and operator. Further ones are counted.
const SHOWN: usize = 5;

/// Maximum number of kinds of nodes to show with their answers, worst first, so that a model takes one screen.
const MAX_KINDS: usize = 8;

fn style(level: Level) -> Style {
    match level {
        Level::Error => BAD,
        Level::Warning => UNSURE.bold(),
        Level::Note => NOTE.bold(),
    }
}

/// Formats the report on a model, worst first. All text from the model is escaped; the colours are the report's own.
pub fn text(report: &ModelReport) -> String {
    let mut text = format!("{BOLD}{}{BOLD:#}:", escape::line(&report.file));
    // Without errors, the lines of several runtimes are the verdict.
    if report.runtimes.len() > 1 && report.runtimes.iter().all(|runtime| !runtime.is_invalid) {
        text.push('\n');
        for runtime in &report.runtimes {
            let _ = writeln!(text, "  {}", escape::line(&runtime.line()));
        }
    } else {
        let _ = writeln!(text, " {}", escape::line(&report.verdict));
    }
    for group in groups(&report.findings) {
        for (number, finding) in group.iter().enumerate() {
            if number == SHOWN {
                let more = group.len() - SHOWN;
                let _ = writeln!(text, "  {DIM}... and {more} more of {}{DIM:#}", finding.rule);
                break;
            }
            push_finding(&mut text, finding);
        }
    }
    if let Some(target) = &report.target {
        push_target(&mut text, target);
    }
    for line in report.runtimes.iter().filter_map(RuntimeReport::inputs_line) {
        let _ = writeln!(text, "  {DIM}{}{DIM:#}", escape::line(&line));
    }
    push_runtimes(&mut text, &report.runtimes);
    push_graphs(&mut text, &report.runtimes);
    for value in report.values.iter().flatten() {
        let _ = writeln!(text, "  {}", escape::line(&value.to_string()));
    }
    for line in report.summary.iter().flat_map(ModelSummary::lines) {
        let _ = writeln!(text, "  {}", escape::line(&line));
    }
    for line in facts(report) {
        let _ = writeln!(text, "  {DIM}{}{DIM:#}", escape::line(&line));
    }
    text
}

/// Formats the numbers of models by opset, a line for each domain.
pub fn opsets_text(opsets: &OpsetHistogram) -> String {
    let mut text = format!("{BOLD}models by opset{BOLD:#}:\n");
    for (domain, counts) in opsets {
        let counts: Vec<String> = counts.iter().map(|(opset, count)| format!("{opset} ({count})")).collect();
        let _ = writeln!(text, "  {}: {}", escape::line(domain), counts.join(", "));
    }
    text
}

/// Adds a table of node kinds with a column per runtime, worst first, followed by the cases that show it.
fn push_runtimes(text: &mut String, runtimes: &[RuntimeReport]) {
    let rows = kind_rows(runtimes);
    let runs = |row: &KindRow<'_>| row.answers.iter().all(|kind| kind.answer.verdict == NodeVerdict::Runs);
    let (good, rest): (Vec<KindRow<'_>>, Vec<KindRow<'_>>) = rows.into_iter().partition(runs);
    let hidden = rest.len().saturating_sub(MAX_KINDS);
    for row in rest.into_iter().take(MAX_KINDS) {
        let many = if row.nodes == 1 { String::new() } else { format!(", and {} more", row.nodes - 1) };
        let _ = writeln!(text, "  {BOLD}{}{BOLD:#} {DIM}{}{DIM:#}", escape::line(row.kind), escape::line(row.settings));
        let _ = writeln!(text, "      {}{many}", escape::line(row.first));
        for (runtime, kind) in runtimes.iter().zip(row.answers) {
            let style = verdict_style(kind.answer.verdict);
            let name = format!("{} {}", runtime.runtime, runtime.version);
            let _ = write!(text, "      {}: {style}{}{style:#}", escape::line(&name), escape::line(&kind.says()));
            let case = kind.answer.case.as_ref().map(|case| format!("  {DIM}{case}{DIM:#}")).unwrap_or_default();
            let _ = writeln!(text, "{case}");
        }
    }
    if hidden > 0 {
        let _ = writeln!(text, "  {DIM}... and {hidden} more kinds of nodes; --format json lists all{DIM:#}");
    }
    if !good.is_empty() {
        let nodes: usize = good.iter().map(|row| row.nodes).sum();
        let names: std::collections::BTreeSet<&str> =
            good.iter().map(|row| row.kind.split(' ').next().unwrap_or(row.kind)).collect();
        let names: Vec<Cow<'_, str>> = names.into_iter().map(escape::line).collect();
        let everywhere = if runtimes.len() == 1 { "" } else { " everywhere" };
        let what = if nodes == 1 { "node runs" } else { "nodes run" };
        let _ = writeln!(text, "  {nodes} {what}{everywhere}: {}", names.join(", "));
    }
}

/// Adds a note for each graph in the model that a runtime gets wrong.
fn push_graphs(text: &mut String, runtimes: &[RuntimeReport]) {
    let style = NOTE.bold();
    for (runtime, graph) in runtimes.iter().flat_map(|runtime| runtime.graphs.iter().map(move |graph| (runtime, graph)))
    {
        let line = format!("{} {}: {graph}", runtime.runtime, runtime.version);
        let _ = writeln!(text, "  {style}note{style:#} graph: {}  {DIM}{}{DIM:#}", escape::line(&line), graph.case);
    }
}

/// A kind of node with the answer of each runtime.
pub(super) struct KindRow<'a> {
    pub(super) kind: &'a str,
    pub(super) settings: &'a str,
    pub(super) nodes: usize,
    pub(super) first: &'a str,
    /// Answers by runtime.
    pub(super) answers: Vec<&'a KindReport>,
}

/// Returns the kinds of nodes of a model, sorted by the worst answer of any runtime.
pub(super) fn kind_rows<'a>(runtimes: &'a [RuntimeReport]) -> Vec<KindRow<'a>> {
    let Some(first) = runtimes.first() else { return Vec::new() };
    let row = |kind: &'a KindReport| {
        let same = |runtime: &'a RuntimeReport| {
            runtime.kinds.iter().find(|other| (&other.kind, &other.settings) == (&kind.kind, &kind.settings))
        };
        let answers = runtimes.iter().filter_map(same).collect();
        KindRow { kind: &kind.kind, settings: &kind.settings, nodes: kind.nodes, first: &kind.first, answers }
    };
    let mut rows: Vec<KindRow<'a>> = first.kinds.iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.answers.iter().map(|kind| kind.answer.verdict).max()));
    rows
}

fn verdict_style(verdict: NodeVerdict) -> Style {
    match verdict {
        NodeVerdict::Runs | NodeVerdict::LikelyRuns => GOOD,
        NodeVerdict::RunsButForSpecialValues
        | NodeVerdict::Inexact
        | NodeVerdict::Unknown
        | NodeVerdict::WrongOnSomeProcessors => UNSURE,
        NodeVerdict::PartlyNotHere | NodeVerdict::PartlyFails | NodeVerdict::NotHere | NodeVerdict::Fails => {
            MISSING.bold()
        }
        NodeVerdict::Wrong | NodeVerdict::Crashes => BAD,
    }
}

/// Groups the findings by rule and operator, in their order.
fn groups(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    let key = |finding: &Finding| (finding.rule, finding.place.node.as_ref().map(|node| node.operator.clone()));
    let mut places = std::collections::HashMap::new();
    for finding in findings {
        let place = *places.entry(key(finding)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

fn push_finding(text: &mut String, finding: &Finding) {
    let style = style(finding.level);
    let place = finding.place.to_string();
    let place = escape::line(&place);
    let _ = writeln!(text, "  {style}{}{style:#} {}: {place}", finding.level, finding.rule);
    let _ = writeln!(text, "      {}", escape::line(&finding.message));
    if !finding.inputs.is_empty() {
        let inputs: Vec<String> = finding.inputs.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "      {DIM}inputs:{DIM:#} {}", escape::line(&inputs.join(", ")));
    }
    if let Some(origin) = &finding.origin {
        let _ = writeln!(text, "      {DIM}from:{DIM:#} {}", escape::line(&origin.to_string()));
    }
    if let Some(edit) = &finding.edit {
        let by = if finding.fixable { " (--fix applies it)" } else { "" };
        let _ = writeln!(text, "      {DIM}fix:{DIM:#} {}{by}", escape::line(edit));
    }
}

fn push_target(text: &mut String, target: &TargetReport) {
    let shown = |text: &mut String, title: &str, items: &[(String, String)]| {
        for (place, sentence) in items.iter().take(4 * SHOWN) {
            let _ = writeln!(text, "  {BOLD}{title}{BOLD:#} {}: {}", escape::line(place), escape::line(sentence));
        }
        if items.len() > 4 * SHOWN {
            let _ = writeln!(text, "  {DIM}... and {} more{DIM:#}", items.len() - 4 * SHOWN);
        }
    };
    shown(text, "cannot", &target.reasons);
    shown(text, "edit", &target.edits);
}

/// Returns a line for each graph in the model that a runtime gets wrong.
pub(super) fn graph_lines(report: &ModelReport) -> Vec<String> {
    let lines = |runtime: &RuntimeReport| {
        let name = format!("{} {}", runtime.runtime, runtime.version);
        runtime.graphs.iter().map(|graph| format!("{name}: {graph} ({})", graph.case)).collect::<Vec<_>>()
    };
    report.runtimes.iter().flat_map(lines).collect()
}

/// Returns noteworthy facts about a model that are not findings.
pub(super) fn facts(report: &ModelReport) -> Vec<String> {
    if report.status == Status::Unreadable {
        return Vec::new();
    }
    let Some(facts) = &report.facts else { return Vec::new() };
    let opsets: Vec<String> =
        facts.opsets.iter().map(|(domain, opset)| format!("{} {opset}", canonical_domain(domain))).collect();
    let nodes = match facts.nodes {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    let mut lines = vec![format!("{nodes}, opsets {}", opsets.join(", "))];
    let ir = &facts.ir;
    if let Some(declared) = ir.declared {
        let because = ir.because.first().map(|need| format!(", {}", need.what)).unwrap_or_default();
        lines.push(format!("IR version {declared}; the file needs {} or newer{because}", ir.lowest));
    }
    let range = |(domain, [first, last]): (&String, &[i64; 2])| {
        if first == last { format!("{domain} {first} only") } else { format!("{domain} {first} to {last}") }
    };
    lines.extend(saved(report));
    for (title, ranges) in
        [("operators unchanged at opsets", &report.same_operators), ("no edit needed at opsets", &report.unedited)]
    {
        let ranges: Vec<String> = ranges.iter().map(range).collect();
        if !ranges.is_empty() {
            lines.push(format!("{title}: {}", ranges.join(", ")));
        }
    }
    lines
}

/// Lists the nodes that were written as separate models.
fn saved(report: &ModelReport) -> Vec<String> {
    let Some(saved) = &report.saved else { return Vec::new() };
    if saved.is_empty() {
        return vec![
            "no node was written: none has a problem; select nodes with --node NAME, or --node all".to_owned(),
        ];
    }
    let line = |node: &SavedNode| match (&node.file, &node.why) {
        (Some(file), _) => format!("wrote {file}: {}", node.node),
        (None, why) => format!("not written: {}: {}", node.node, why.as_deref().unwrap_or_default()),
    };
    saved.iter().map(line).collect()
}

/// Formats a table of models, one per line, worst first.
pub fn table(reports: &[ModelReport]) -> String {
    let mut sorted: Vec<&ModelReport> = reports.iter().collect();
    sorted.sort_by_key(|report| (std::cmp::Reverse(report.status), &report.file));
    let width = sorted.iter().map(|report| report.file.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for report in sorted {
        let file = escape::line(&report.file);
        let _ = writeln!(text, "{:10} {file:width$}  {}", report.status.to_string(), escape::line(&report.verdict));
    }
    text
}
