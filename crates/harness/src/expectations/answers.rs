//! Numbers of answers of a tool, in the head of its measurement.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_cases::case::Variant;
use serde::{Deserialize, Serialize};

use crate::questions::{Completeness, MetadataCounts};
use crate::run::{CaseResult, Outcome};

/// Returns the name of the answers about models that must be refused: `check-refusals`.
pub fn refusals_name(variant: Variant) -> String {
    format!("{variant}-refusals")
}

/// Numbers of answers by outcome, for each question. Those about models that must be refused are apart.
pub type Answers = BTreeMap<String, BTreeMap<Outcome, usize>>;

/// Numbers of models by the inferred facts about their outputs.
pub type Complete = BTreeMap<Completeness, usize>;

/// Answers of a tool about the cases of one operator version or pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorAnswers {
    /// Knowledge of the outputs of its models, for a tool that infers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<Complete>,
    /// Metadata that the tool dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataCounts>,
    /// Answers to each question.
    #[serde(flatten)]
    pub answers: Answers,
}

impl OperatorAnswers {
    /// Counts the answer about a case.
    pub(super) fn count(&mut self, result: &CaseResult) {
        let (_, variant) = Variant::split_id(&result.id);
        let name = if result.class.is_some() { refusals_name(variant) } else { variant.to_string() };
        *self.answers.entry(name).or_default().entry(result.outcome).or_default() += 1;
        if let Some(completeness) = result.completeness {
            *self.complete.get_or_insert_default().entry(completeness).or_default() += 1;
        }
        if let Some(dropped) = &result.dropped {
            self.metadata.get_or_insert_default().count(dropped);
        }
    }

    /// Adds the numbers of other answers.
    pub(super) fn add(&mut self, other: &OperatorAnswers) {
        for (question, counts) in &other.answers {
            add_counts(self.answers.entry(question.clone()).or_default(), counts);
        }
        if let Some(complete) = &other.complete {
            add_counts(self.complete.get_or_insert_default(), complete);
        }
        if let Some(metadata) = &other.metadata {
            self.metadata.get_or_insert_default().add(metadata);
        }
    }

    /// Formats the answers as YAML: `{infer: {pass: 3}, complete: {shape: 3}}`.
    pub(super) fn to_yaml(&self) -> String {
        let answers = self.answers.iter().map(|(question, counts)| format!("{question}: {}", counts_value(counts)));
        let complete = self.complete.iter().map(|counts| format!("complete: {}", counts_value(counts)));
        let metadata = self.metadata.iter().map(|counts| format!("metadata: {counts}"));
        format!("{{{}}}", answers.chain(complete).chain(metadata).collect::<Vec<_>>().join(", "))
    }
}

/// Adds numbers by name to others.
fn add_counts<K: Clone + Ord>(sums: &mut BTreeMap<K, usize>, counts: &BTreeMap<K, usize>) {
    for (name, count) in counts {
        *sums.entry(name.clone()).or_default() += count;
    }
}

/// Formats numbers by name: `{pass: 3, error: 1}`.
pub(super) fn counts_value(counts: &BTreeMap<impl fmt::Display, usize>) -> String {
    let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name}: {count}")).collect();
    format!("{{{}}}", counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_added_and_written() {
        let read = |text: &str| -> OperatorAnswers { serde_json::from_str(text).unwrap() };
        let mut sum = read(r#"{"infer": {"pass": 3}, "complete": {"shape": 2, "rank": 1}}"#);
        sum.add(&read(r#"{"infer": {"pass": 1, "error": 2}, "check": {"pass": 4}, "complete": {"rank": 1}}"#));
        let expected =
            r#"{"infer": {"pass": 4, "error": 2}, "check": {"pass": 4}, "complete": {"shape": 2, "rank": 2}}"#;
        assert_eq!(sum, read(expected));
        assert_eq!(sum.to_yaml(), "{check: {pass: 4}, infer: {pass: 4, error: 2}, complete: {rank: 2, shape: 2}}");
    }
}
