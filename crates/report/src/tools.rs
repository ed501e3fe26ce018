//! Answers of the newest measured versions of tools, by operator version, pattern of graphs, or topic of the format.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_harness::expectations::Expectations;
use onnx_conformance_harness::questions::Completeness;
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::spec::{OperatorVersion, Specs};

/// A question to tools, as pages show it.
#[derive(Clone, Copy, Debug)]
pub struct QuestionRow {
    /// The name in measurements: that of the variant, or `check-refusals` for the models that a checker must refuse.
    pub name: &'static str,
    /// The title on the site.
    pub title: &'static str,
    /// The correct answer, in one sentence.
    pub right: &'static str,
    /// The form of its table in docs/tools.md, and the name of the tools there; `None` if it has no separate table.
    pub table: Option<(TableForm, &'static str)>,
    /// The heading of its table by operator in docs/tools.md; `None` if it has none.
    pub by_operator: Option<&'static str>,
}

/// The columns of a table of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Valid and invalid models by answer.
    Checker,
    /// Models by the soundness of the answer, and sound answers by completeness.
    Inference,
    /// Models by the outcome of the answer, including the outcome for another opset.
    Converter,
    /// Models by the outcome of the answer, including the outcome for other inputs or outputs.
    Rewriter,
}

/// The questions in the order of the site. A new question is a row here and one in `Variant`.
pub const QUESTIONS: [QuestionRow; 7] = [
    QuestionRow {
        name: "optimize",
        title: "Optimizers",
        right: "The new model is valid, keeps its inputs and outputs, and has the outputs of the case.",
        table: Some((TableForm::Rewriter, "optimizer")),
        by_operator: Some("Optimization"),
    },
    QuestionRow {
        name: "upgrade",
        title: "Converters, up",
        right: "The model at the opset of the next version of its operator has the outputs of the case.",
        table: Some((TableForm::Converter, "converter, to the next version")),
        by_operator: Some("Conversion to the next version"),
    },
    QuestionRow {
        name: "downgrade",
        title: "Converters, down",
        right: "The model at the last opset of the previous version has the outputs of the case.",
        table: Some((TableForm::Converter, "converter, to the previous version")),
        by_operator: Some("Conversion to the previous version"),
    },
    QuestionRow {
        name: "infer",
        title: "Shape inference",
        right: "No inferred type, rank or size contradicts a run.",
        table: Some((TableForm::Inference, "shape inference")),
        by_operator: Some("Inference"),
    },
    QuestionRow {
        name: "check",
        title: "Checkers: valid models",
        right: "A valid model is accepted.",
        table: Some((TableForm::Checker, "checker")),
        by_operator: None,
    },
    QuestionRow {
        name: "check-refusals",
        title: "Checkers: invalid models",
        right: "A model that must be refused for what it contains is refused.",
        table: None,
        by_operator: Some("Accepted although invalid"),
    },
    QuestionRow {
        name: "float16",
        title: "Half precision",
        right: "The outputs differ by less than a twentieth of the largest element.",
        table: Some((TableForm::Rewriter, "conversion to half precision")),
        by_operator: Some("Conversion to half precision"),
    },
];

/// Numbers of answers by kind: right, declined, wrong, invalid, failed. An invalid answer is a model that is not valid, is at another
/// opset, or has other inputs or outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [usize; 5]);

impl Counts {
    /// Counts the outcomes of judged answers.
    pub fn new(outcomes: &BTreeMap<Outcome, usize>) -> Counts {
        let mut counts = Counts::default();
        for (outcome, number) in outcomes {
            let kind = match outcome {
                Outcome::NotApplicable | Outcome::NotDeclared => continue,
                Outcome::Pass => 0,
                Outcome::Unsupported => 1,
                Outcome::Mismatch | Outcome::WrongShape | Outcome::WrongType | Outcome::Accepted => 2,
                Outcome::InvalidModel | Outcome::WrongOpset | Outcome::WrongInterface => 3,
                _ => 4,
            };
            if let Some(count) = counts.0.get_mut(kind) {
                *count += number;
            }
        }
        counts
    }

    /// Returns the number of all answers.
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// Returns the number of wrong and invalid answers, which a user does not notice.
    pub fn silent(&self) -> usize {
        let [_, _, wrong, invalid, _] = self.0;
        wrong + invalid
    }

    /// Adds the numbers of other answers.
    pub fn add(&mut self, other: Counts) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }
}

/// Answers about one part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartAnswers {
    /// Numbers of answers.
    pub counts: Counts,
    /// Number of models whose sizes are all known, for a tool that infers.
    pub complete: Option<usize>,
}

/// Answers to a question.
#[derive(Debug)]
pub struct QuestionAnswers<'a> {
    /// The newest measured version of each tool that answers.
    pub newest: Vec<&'a Expectations>,
    /// The parts of the suite, sorted.
    pub parts: Vec<AnsweredPart>,
}

/// A part of the suite, with the answers of each tool; `None` for a tool that was not asked about it.
#[derive(Debug)]
pub struct AnsweredPart {
    /// An operator version, `graph/<topic>/<pattern>`, or a topic of the format.
    pub name: String,
    /// The version to which a converter converts it, of an operator version.
    pub target: Option<u32>,
    /// The answers.
    pub answers: Vec<Option<PartAnswers>>,
}

impl<'a> QuestionAnswers<'a> {
    /// Collects the answers to a question. The measurements are sorted by tool, then by version.
    pub fn new(measured: &'a [Expectations], question: &str) -> QuestionAnswers<'a> {
        let answers = |file: &&Expectations| file.answers.as_ref().is_some_and(|all| all.contains_key(question));
        let answering: Vec<&Expectations> = measured.iter().filter(answers).collect();
        let newest: Vec<&Expectations> = answering
            .iter()
            .zip(answering.iter().skip(1).map(Some).chain([None]))
            .filter(|(file, next)| next.is_none_or(|next| next.runtime != file.runtime))
            .map(|(file, _)| *file)
            .collect();
        let names: BTreeSet<&String> =
            newest.iter().flat_map(|file| file.operators.iter().flat_map(BTreeMap::keys)).collect();
        let parts = names.into_iter().filter_map(|name| {
            let answers: Vec<Option<PartAnswers>> =
                newest.iter().map(|file| part_answers(file, name, question)).collect();
            let is_asked = answers.iter().any(Option::is_some);
            is_asked.then(|| AnsweredPart { name: name.clone(), target: target(name, question), answers })
        });
        QuestionAnswers { parts: parts.collect(), newest }
    }
}

fn part_answers(file: &Expectations, part: &str, question: &str) -> Option<PartAnswers> {
    let answers = file.operators.as_ref()?.get(part)?;
    let complete = if question == "infer" { all_sizes_known(answers.complete.as_ref()) } else { None };
    Some(PartAnswers { counts: Counts::new(answers.answers.get(question)?), complete })
}

/// Returns the number of models whose sizes are all known.
pub fn all_sizes_known(complete: Option<&BTreeMap<Completeness, usize>>) -> Option<usize> {
    complete.map(|complete| complete.get(&Completeness::Shape).copied().unwrap_or_default())
}

/// Returns the version of an operator that the question converts to; `None` for the newest opset, and for other parts and questions.
fn target(part: &str, question: &str) -> Option<u32> {
    let version: OperatorVersion = part.parse().ok()?;
    let versions = Specs::embedded().versions(&version.domain, &version.name);
    match question {
        "upgrade" => versions.into_iter().find(|since| *since > version.since),
        "downgrade" => versions.into_iter().filter(|since| *since < version.since).last(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_harness::measure::measured_tools;
    use onnx_conformance_subject::{Question, Variant};

    use super::*;

    #[test]
    fn the_parts_of_a_tool_add_up_to_its_answers() {
        let measured = measured_tools().unwrap();
        for question in QUESTIONS.map(|question| question.name) {
            let all = QuestionAnswers::new(measured, question);
            assert!(!all.newest.is_empty(), "{question}");
            for (at, file) in all.newest.iter().enumerate() {
                let mut sum = Counts::default();
                all.parts.iter().filter_map(|part| part.answers[at]).for_each(|part| sum.add(part.counts));
                assert_eq!(
                    sum,
                    Counts::new(&file.answers.as_ref().unwrap()[question]),
                    "{question} of {}",
                    file.runtime
                );
            }
        }
    }

    #[test]
    fn every_question_is_on_the_page() {
        let asked = Variant::ALL.into_iter().filter(|variant| variant.question() != Question::Run);
        let names: BTreeSet<&str> = QUESTIONS.into_iter().map(|question| question.name).collect();
        let missing: Vec<Variant> = asked.filter(|variant| !names.contains(variant.name())).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_converter_has_a_pair_of_versions() {
        assert_eq!(target("ai.onnx/Hardmax-11", "upgrade"), Some(13));
        assert_eq!(target("ai.onnx/Hardmax-11", "downgrade"), Some(1));
        assert_eq!(target("ai.onnx/Hardmax-11", "infer"), None);
        assert_eq!(target("ir/external", "upgrade"), None);
    }
}
