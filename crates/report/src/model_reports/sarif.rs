//! Checked models as SARIF 2.1.0 for code hosts and editors.

use std::fmt::Write as _;

use onnx_conformance_check::finding::Finding;
use onnx_conformance_check::rules::{Level, RuleId};
use onnx_conformance_harness::escape;
use onnx_conformance_harness::measure::NodeVerdict;
use serde_json::{Value, json};

use crate::models::{ModelReport, TriedResult};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Creates one run with the violated rules, and a result per finding and per node that prevents a conversion.
pub fn sarif(reports: &[ModelReport]) -> Value {
    let mut rules: Vec<RuleId> = reports.iter().flat_map(|report| &report.findings).map(|it| it.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let described: Vec<Value> = rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id(),
                "shortDescription": {"text": rule.sentence()},
                "help": {"text": format!("ONNX: {}", rule.source())},
                "defaultConfiguration": {"level": level(rule.level())},
            })
        })
        .collect();
    let results: Vec<Value> = reports
        .iter()
        .flat_map(|report| {
            let findings = report.findings.iter().map(|finding| finding_result(report, finding));
            let reasons = report.target.iter().flat_map(|target| {
                target.reasons.iter().map(|(place, reason)| {
                    let text = format!("{}: {place}: {reason}", target.label);
                    json!({
                        "ruleId": "opset/cannot",
                        "level": "error",
                        "message": {"text": escape::line(&text)},
                        "locations": [location(report, place, None)],
                    })
                })
            });
            findings.chain(reasons).chain(on_runtimes(report)).collect::<Vec<_>>()
        })
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "onnx-conformance",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": described,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// Returns a result for each kind of node that a runtime does not compute correctly.
fn on_runtimes(report: &ModelReport) -> impl Iterator<Item = Value> {
    report.runtimes.iter().flat_map(move |runtime| {
        let kinds = runtime.kinds.iter().filter(|kind| kind.answer.verdict > NodeVerdict::RunsButForSpecialValues);
        let refused = runtime.refused.iter().map(|reason| ("runtime/will-not-load", "error", reason.clone(), "model"));
        let tried = runtime.tried.iter().filter_map(|tried| {
            let rule = match tried.result {
                TriedResult::Wrong | TriedResult::Crashes => "runtime/wrong",
                TriedResult::Fails => "runtime/fails",
                TriedResult::WillNotLoad => "runtime/will-not-load",
                TriedResult::Runs | TriedResult::RunsUncompared | TriedResult::Loads => return None,
            };
            Some((rule, "error", tried.message.clone().unwrap_or_default(), "model"))
        });
        let kinds = kinds.map(|kind| {
            let (rule, level) = match kind.answer.verdict {
                NodeVerdict::Wrong | NodeVerdict::Crashes => ("runtime/wrong", "error"),
                NodeVerdict::NotHere => ("runtime/not-here", "error"),
                NodeVerdict::Fails => ("runtime/fails", "error"),
                NodeVerdict::PartlyNotHere | NodeVerdict::PartlyFails => ("runtime/may-fail", "warning"),
                NodeVerdict::Inexact => ("runtime/inexact", "note"),
                _ => ("runtime/unknown", "note"),
            };
            (rule, level, format!("{}: {}", kind.kind, kind.says()), kind.first.as_str())
        });
        let graphs = runtime.graphs.iter().map(|graph| {
            let first = graph.nodes.first().map_or("model", String::as_str);
            ("runtime/graph", "note", graph.to_string(), first)
        });
        refused.chain(tried).chain(kinds).chain(graphs).map(move |(rule, level, text, place)| {
            let text = format!("{} {}: {text}", runtime.runtime, runtime.version);
            json!({
                "ruleId": rule,
                "level": level,
                "message": {"text": escape::line(&text)},
                "locations": [location(report, place, None)],
            })
        })
    })
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

fn finding_result(report: &ModelReport, finding: &Finding) -> Value {
    let mut text = format!("{}: {}", finding.place, finding.message);
    if let Some(origin) = &finding.origin {
        text = format!("{text}; from {origin}");
    }
    if let Some(edit) = &finding.edit {
        text = format!("{text}; {edit}");
    }
    json!({
        "ruleId": finding.rule.id(),
        "level": level(finding.level),
        "message": {"text": escape::line(&text)},
        "locations": [location(report, &finding.place.to_string(), finding.offset)],
    })
}

/// Formats a place in a binary file: the byte if known, and the place in the graph by name.
fn location(report: &ModelReport, place: &str, offset: Option<u64>) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri(&report.file)}});
    if let Some(offset) = offset {
        physical["region"] = json!({"byteOffset": offset, "byteLength": 0});
    }
    json!({"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": escape::line(place)}]})
}

/// Formats a path as a relative URI reference, percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => uri.push(char::from(byte)),
            // Writing to a string cannot fail.
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri
}
