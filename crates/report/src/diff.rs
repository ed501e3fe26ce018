//! Differences between two operator versions or opsets, as text, markdown and JSON.

use std::fmt::Write as _;

use onnx_conformance_reference::spec::diff::{Change, OpsetDiff, VersionDiff};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use serde::Serialize;
use similar::TextDiff;

use crate::json_format::versioned_json;

/// Output format of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text for a terminal.
    Text,
    /// Markdown for a page or a comment.
    Markdown,
    /// JSON for a program.
    Json,
}

/// Formats the difference between two versions of an operator: the typed changes, followed by a text diff of their files.
pub fn version_diff(specs: &Specs, diff: &VersionDiff, format: Format) -> String {
    let files = files_diff(specs, diff);
    let (from, to) = (with_opsets(specs, &diff.from), with_opsets(specs, &diff.to));
    match format {
        Format::Text => {
            let changes = lines(&diff.changes, "  ");
            join(&[format!("{from} -> {to}\n{changes}"), files])
        }
        Format::Markdown => {
            let files = if files.is_empty() { files } else { format!("```diff\n{files}```\n") };
            join(&[format!("## {from} → {to}\n\n{}", lines(&diff.changes, "- ")), files])
        }
        Format::Json => json(&VersionJson { files: Some(&files), ..VersionJson::new(diff) }),
    }
}

/// Formats the difference between two opsets of a domain.
pub fn opset_diff(diff: &OpsetDiff, format: Format) -> String {
    let OpsetDiff { domain, from, to, .. } = diff;
    let counts = counts(diff);
    match format {
        Format::Text => {
            let mut text = format!("{domain} {from} -> {to}: {counts}\n");
            for version in &diff.added {
                let _ = writeln!(text, "{version} added");
            }
            for operator in &diff.operators {
                let _ = write!(text, "{} -> {}\n{}", operator.from, operator.to, lines(&operator.changes, "  "));
            }
            text
        }
        Format::Markdown => {
            let mut text = format!("## {domain} {from} → {to}\n\n{counts}\n\n| operator | changes |\n|---|---|\n");
            for version in &diff.added {
                let _ = writeln!(text, "| {version} | added |");
            }
            for operator in &diff.operators {
                let changes: Vec<String> = operator.changes.iter().map(|change| cell(&change.to_string())).collect();
                let _ = writeln!(text, "| {} → {} | {} |", operator.from, operator.to, changes.join("<br>"));
            }
            text
        }
        Format::Json => json(&OpsetJson {
            domain,
            from: *from,
            to: *to,
            added: &diff.added,
            operators: diff.operators.iter().map(VersionJson::new).collect(),
        }),
    }
}

/// Returns the unified diff of the signatures in two version files; empty if they are equal.
fn files_diff(specs: &Specs, diff: &VersionDiff) -> String {
    let file = |version: &OperatorVersion| {
        (
            format!("specs/{}/{}/{}.yaml", version.domain, version.name, version.since),
            signature_lines(specs.text(version).unwrap_or_default()),
        )
    };
    let ((from, before), (to, after)) = (file(&diff.from), file(&diff.to));
    TextDiff::from_lines(&before, &after).unified_diff().header(&from, &to).to_string()
}

/// Returns the lines of a version file without `since`, which differs in every version.
fn signature_lines(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("since:")).collect()
}

/// Formats a version with the opsets that select it.
fn with_opsets(specs: &Specs, version: &OperatorVersion) -> String {
    match specs.opsets(version) {
        Ok(opsets) if opsets.start() == opsets.end() => format!("{version} (opset {})", opsets.start()),
        Ok(opsets) => format!("{version} (opsets {} to {})", opsets.start(), opsets.end()),
        Err(_) => version.to_string(),
    }
}

fn counts(diff: &OpsetDiff) -> String {
    let typed = diff.operators.iter().filter(|operator| operator.type_parameters() > 0).count();
    let (added, changed, parameters) = (diff.added.len(), diff.operators.len(), diff.type_parameters());
    format!("{added} operators added, {changed} changed; {parameters} type parameters of {typed} operators")
}

fn lines(changes: &[Change], before: &str) -> String {
    if changes.is_empty() {
        return format!("{before}nothing changed\n");
    }
    changes.iter().fold(String::new(), |mut text, change| {
        let _ = writeln!(text, "{before}{change}");
        text
    })
}

/// Escapes bars, which would end a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn join(parts: &[String]) -> String {
    parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("\n")
}

fn json(value: &impl Serialize) -> String {
    versioned_json(value).unwrap_or_default() + "\n"
}

#[derive(Serialize)]
struct OpsetJson<'a> {
    domain: &'a str,
    from: u32,
    to: u32,
    added: &'a [OperatorVersion],
    operators: Vec<VersionJson<'a>>,
}

#[derive(Serialize)]
struct VersionJson<'a> {
    from: &'a OperatorVersion,
    to: &'a OperatorVersion,
    changes: Vec<ChangeJson<'a>>,
    /// The unified diff of the two files.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a str>,
}

/// A change with its sentence, so that programs can show changes of unknown kinds.
#[derive(Serialize)]
struct ChangeJson<'a> {
    #[serde(flatten)]
    change: &'a Change,
    sentence: String,
}

impl<'a> VersionJson<'a> {
    fn new(diff: &'a VersionDiff) -> Self {
        let changes = diff.changes.iter().map(|change| ChangeJson { change, sentence: change.to_string() }).collect();
        VersionJson { from: &diff.from, to: &diff.to, changes, files: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::spec::diff::{opsets, versions};

    fn show(name: &str, from: u32, to: u32, format: Format) -> String {
        let specs = Specs::embedded();
        version_diff(specs, &versions(specs, "", name, from, to).unwrap(), format)
    }

    #[test]
    fn text_lists_the_changes_above_the_difference_of_the_files() {
        assert_eq!(
            show("Size", 1, 13, Format::Text),
            "\
Size-1 (opsets 1 to 12) -> Size-13 (opsets 13 to 18)
  tensor(bfloat16) added to T

--- specs/ai.onnx/Size/1.yaml
+++ specs/ai.onnx/Size/13.yaml
@@ -7,6 +7,7 @@
   - {name: size, type: T1}
 types:
   T:
+    - tensor(bfloat16)
     - tensor(bool)
     - tensor(complex128)
     - tensor(complex64)
"
        );
    }

    #[test]
    fn what_changed_before_is_not_taken_back() {
        let text = show("Sum", 8, 13, Format::Text);
        assert!(
            text.contains("+    - tensor(bfloat16)") && !text.contains("-changes") && !text.contains("since:"),
            "{text}"
        );
        assert!(!show("Softmax", 11, 13, Format::Text).contains("+behaviour"));
        assert!(!show("Softmax", 11, 13, Format::Text).contains("+  - says"));
    }

    #[test]
    fn markdown_is_a_list_and_a_diff() {
        let text = show("Sum", 1, 6, Format::Markdown);
        let list = "## Sum-1 (opsets 1 to 5) → Sum-6 (opsets 6 to 7)\n\n\
                    - shape inference added\n- attribute consumed_inputs removed\n\n```diff\n--- specs/";
        assert!(text.starts_with(list), "{text}");
        assert!(text.ends_with("```\n"), "{text}");
    }

    #[test]
    fn json_has_the_kinds_and_the_sentences() {
        let value: serde_json::Value = serde_json::from_str(&show("Shape", 13, 15, Format::Json)).unwrap();
        assert_eq!((&value["from"], &value["to"]), (&"ai.onnx/Shape-13".into(), &"ai.onnx/Shape-15".into()));
        assert_eq!(value["format"], 1);
        let start = serde_json::json!({
            "change": "attribute_added", "name": "start", "kind": "int", "required": false, "default": 0,
            "sentence": "attribute start added (int, default 0)",
        });
        assert!(value["changes"].as_array().unwrap().contains(&start), "{value:#}");
        assert!(value["files"].as_str().unwrap().contains("+  start: {type: int, default: 0}"));
    }

    #[test]
    fn one_version_at_both_opsets_is_said() {
        let text = show("Sum", 13, 20, Format::Text);
        let sum = format!("Sum-13 (opsets 13 to {})", Specs::embedded().newest_opset("").unwrap());
        assert_eq!(text, format!("{sum} -> {sum}\n  nothing changed\n"));
    }

    #[test]
    fn an_opset_diff_counts_what_it_lists() {
        let diff = opsets(Specs::embedded(), "", 12, 13).unwrap().grep("bfloat16");
        let text = opset_diff(&diff, Format::Text);
        let head = "ai.onnx 12 -> 13: 0 operators added, 74 changed; 75 type parameters of 74 operators\n\
                    Abs-6 -> Abs-13\n  tensor(bfloat16) added to T\n";
        assert!(text.starts_with(head), "{text}");
        let value: serde_json::Value = serde_json::from_str(&opset_diff(&diff, Format::Json)).unwrap();
        assert_eq!(value["operators"].as_array().unwrap().len(), 74);
        let rows = opset_diff(&diff, Format::Markdown).lines().filter(|line| line.contains(" → ")).count();
        assert_eq!(rows, 74 + 1);
    }
}
