//! Checked models as a single self-contained HTML page without scripts.

use std::fmt::Write as _;

use onnx_conformance_harness::escape::html;

use crate::model_reports::text::{facts, graph_lines, kind_rows};
use crate::models::{ModelReport, Status};

const STYLE: &str = include_str!("models.css");

/// Creates a page with a section per model, worst first.
pub fn page(reports: &[ModelReport]) -> String {
    let mut sorted: Vec<&ModelReport> = reports.iter().collect();
    sorted.sort_by_key(|report| (std::cmp::Reverse(report.status), &report.file));
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>ONNX models: {} checked</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>ONNX models</h1>\n",
        reports.len()
    );
    let count = |status| sorted.iter().filter(|report| report.status == status).count();
    let counts: Vec<String> = [Status::Failed, Status::Unreadable, Status::Findings, Status::Valid]
        .into_iter()
        .filter(|status| count(*status) > 0)
        .map(|status| format!("{} {status}", count(status)))
        .collect();
    let _ = writeln!(text, "<p>{} models: {}</p>", sorted.len(), counts.join(", "));
    for report in sorted {
        let _ = writeln!(
            text,
            "<section class=\"{status}\">\n<h2>{file}</h2>\n<p class=\"verdict\"><span class=\"status\">{status}</span> {verdict}</p>",
            status = report.status,
            file = html(&report.file),
            verdict = html(&report.verdict)
        );
        findings(&mut text, report);
        if let Some(target) = &report.target {
            for (title, items) in [("Cannot be converted", &target.reasons), ("Edits", &target.edits)] {
                if !items.is_empty() {
                    let _ = writeln!(text, "<h3>{}: {title}</h3>\n<ul>", html(&target.label));
                    for (place, sentence) in items {
                        let _ = writeln!(text, "<li><b>{}</b>: {}</li>", html(place), html(sentence));
                    }
                    text.push_str("</ul>\n");
                }
            }
        }
        runtimes(&mut text, report);
        let graphs: Vec<String> = graph_lines(report).iter().map(|graph| format!("<li>{}</li>", html(graph))).collect();
        if !graphs.is_empty() {
            let _ = writeln!(text, "<h3>Graphs that a runtime gets wrong</h3>\n<ul>{}</ul>", graphs.concat());
        }
        let facts: Vec<String> = facts(report).iter().map(|fact| format!("<li>{}</li>", html(fact))).collect();
        if !facts.is_empty() {
            let _ = writeln!(text, "<ul class=\"facts\">{}</ul>", facts.concat());
        }
        text.push_str("</section>\n");
    }
    text.push_str("</main>\n</body>\n</html>\n");
    text
}

/// Adds a table of node kinds with a column per runtime.
fn runtimes(text: &mut String, report: &ModelReport) {
    if report.runtimes.iter().all(|runtime| runtime.kinds.is_empty()) {
        return;
    }
    text.push_str("<table>\n<thead><tr><th>nodes</th>");
    for runtime in &report.runtimes {
        let date = runtime.date.as_deref().unwrap_or_default();
        let _ = write!(
            text,
            "<th>{} {}<br><small>{}</small></th>",
            html(&runtime.runtime),
            html(&runtime.version),
            html(date)
        );
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for row in kind_rows(&report.runtimes) {
        let (kind, settings, first) = (html(row.kind), html(row.settings), html(row.first));
        let _ = write!(text, "<tr><td><code>{kind}</code> x{}<br><small>{settings}<br>{first}</small></td>", row.nodes);
        for kind in row.answers {
            let case = html(kind.answer.case.as_deref().unwrap_or_default());
            let _ = write!(text, "<td>{}<br><small>{case}</small></td>", html(&kind.says()));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table>\n");
}

fn findings(text: &mut String, report: &ModelReport) {
    if report.findings.is_empty() {
        return;
    }
    text.push_str(
        "<table>\n<thead><tr><th>level</th><th>rule</th><th>where</th><th>message and \
        fix</th></tr></thead>\n<tbody>\n",
    );
    for finding in &report.findings {
        let mut what = html(&finding.message);
        if !finding.inputs.is_empty() {
            let inputs: Vec<String> = finding.inputs.iter().map(ToString::to_string).collect();
            let _ = write!(what, "<br><small>inputs: {}</small>", html(&inputs.join(", ")));
        }
        if let Some(origin) = &finding.origin {
            let _ = write!(what, "<br><small>from: {}</small>", html(&origin.to_string()));
        }
        if let Some(edit) = &finding.edit {
            let _ = write!(what, "<br><strong>fix: {}</strong>", html(edit));
        }
        let _ = writeln!(
            text,
            "<tr class=\"{level}\"><td>{level}</td><td><code>{rule}</code></td><td>{place}</td><td>{what}</td></tr>",
            level = finding.level,
            rule = finding.rule,
            place = html(&finding.place.to_string())
        );
    }
    text.push_str("</tbody>\n</table>\n");
}
