//! `coverage --text`: sentences of the standard, each with the rules and cases that test it.

use std::path::Path;

use anyhow::bail;
use clap::ValueEnum;
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_harness::exit;
use onnx_conformance_reference::spec::Sentence;
use onnx_conformance_report::coverage::{MatrixResults, OperatorText, StatedSentence, csv, html};
use serde_json::json;

use crate::cli::operator_name::OperatorName;
use crate::cli::print;
use crate::cli::results_file;
use crate::cli::usage::Usage;

/// Output format of `coverage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs, as JSON
    Json,
    /// With --text: a table of requirements for spreadsheets
    Csv,
    /// With --text: a page with the table
    Html,
}

/// Settings of the output.
pub(crate) struct Question<'a> {
    pub(crate) filter: &'a Filter,
    /// The named documents.
    pub(crate) documents: &'a [String],
    pub(crate) patterns: &'a [String],
    pub(crate) format: Format,
    /// Print only the totals.
    pub(crate) totals: bool,
    /// Results of a runtime to count.
    pub(crate) results: Option<&'a Path>,
}

/// Separates the names of documents, such as `IR.md`, from patterns of ids and names of operators.
pub(crate) fn documents(patterns: Vec<String>) -> (Vec<String>, Vec<String>) {
    patterns.into_iter().partition(|named| Sentence::documents().any(|document| document.eq_ignore_ascii_case(named)))
}

/// Returns the pattern of ids that the name of an operator stands for: `Slice`, `ai.onnx/Slice`, `Slice-13`, `Slice@13`.
pub(crate) fn pattern(named: &str) -> String {
    if named.contains('@')
        && let Ok(version) = OperatorName::parse(named).and_then(|name| name.version())
    {
        return format!("{}/**", version.qualified());
    }
    let is_operator = named.split('/').count() <= 2 && !named.contains(['*', '?', '[', '{', '!']);
    if !is_operator {
        return named.to_owned();
    }
    let (domain, name) = named.split_once('/').unwrap_or(("ai.onnx*", named));
    let has_version = name.rsplit_once('-').is_some_and(|(_, since)| since.parse::<u32>().is_ok());
    let versions = if has_version { "" } else { "-*" };
    format!("{domain}/{name}{versions}/**")
}

/// Prints the sentences of the chosen operators with their states.
pub(crate) fn main(question: &Question<'_>) -> anyhow::Result<u8> {
    let (names_operators, names_documents) = (!question.patterns.is_empty(), !question.documents.is_empty());
    let mut all = Vec::new();
    if names_operators || !names_documents {
        all = OperatorText::chosen(question.filter)?;
    }
    if names_documents || !names_operators {
        all.extend(OperatorText::documents(question.documents)?);
    }
    if all.is_empty() {
        print::note(&format!(
            "no operator matches {}; a filter is about case ids, such as 'ai.onnx/Slice-*/**'",
            question.patterns.join(" ")
        ));
        return Ok(exit::NOTHING);
    }
    let results = match question.results {
        Some(_) if !matches!(question.format, Format::Csv | Format::Html) => {
            bail!(Usage("--results counts the cases of a table; add --format csv or html".to_owned()))
        }
        Some(path) => {
            let read = results_file::read(path)?;
            let runtime = &read.header.runtime;
            Some(MatrixResults::new(format!("{} {}", runtime.name, runtime.version), read.results))
        }
        None => None,
    };
    match question.format {
        Format::Csv => print::raw(csv(&all, results.as_ref()).as_bytes())?,
        Format::Html => print::raw(html(&all, results.as_ref()).as_bytes())?,
        Format::Json => print::json(&as_json(&all))?,
        Format::Text => {
            for operator in all.iter().filter(|_| !question.totals) {
                print::line(&operator.operator)?;
                for stated in &operator.sentences {
                    print::line(&line(stated))?;
                }
            }
            print::line(&OperatorText::summary(&all))?;
        }
    }
    let problems: Vec<&String> = all.iter().flat_map(|operator| &operator.problems).collect();
    for problem in &problems {
        print::note(problem);
    }
    Ok(if problems.is_empty() { exit::SUCCESS } else { exit::HARNESS })
}

/// Formats a sentence: its state, the number of its cases, its versions and places, and below it the sentence.
fn line(stated: &StatedSentence) -> String {
    let versions: Vec<String> = stated.versions.iter().map(u32::to_string).collect();
    let versions = if versions.is_empty() { String::new() } else { format!(" of {}", versions.join(", ")) };
    let sections: Vec<String> = stated.sections().into_iter().map(ToString::to_string).collect();
    let sections = sections.join(", ");
    let place = if sections.is_empty() { String::new() } else { format!("; {sections}{versions}") };
    let cases = match stated.cases.len() {
        0 => String::new(),
        1 => " (1 case)".to_owned(),
        count => format!(" ({count} cases)"),
    };
    format!("  {} {}{cases}{place}\n    {}", stated.sentence.digest, stated.state.words(), stated.sentence.text)
}

fn as_json(all: &[OperatorText]) -> serde_json::Value {
    let sentence = |stated: &StatedSentence| {
        let sections: Vec<String> = stated.sections().into_iter().map(ToString::to_string).collect();
        json!({
            "digest": stated.sentence.digest,
            "text": stated.sentence.text,
            "versions": stated.versions,
            "sections": sections,
            "state": stated.state,
            "cases": stated.cases,
        })
    };
    let operator = |operator: &OperatorText| json!({ "operator": operator.operator, "sentences": operator.sentences.iter().map(sentence).collect::<Vec<_>>() });
    json!({ "totals": OperatorText::totals(all), "operators": all.iter().map(operator).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn an_operator_stands_for_its_cases() {
        for (named, expected) in [
            ("Slice", "ai.onnx*/Slice-*/**"),
            ("Slice-13", "ai.onnx*/Slice-13/**"),
            ("ai.onnx.ml/Scaler", "ai.onnx.ml/Scaler-*/**"),
            ("ai.onnx/Slice-*/**", "ai.onnx/Slice-*/**"),
        ] {
            assert_eq!(pattern(named), expected);
        }
    }
}
