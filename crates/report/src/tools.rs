//! Answers of the newest measured versions of tools, by operator version, pattern of graphs, or topic of the format.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_harness::expectations::{Expectations, refusals_name};
use onnx_conformance_harness::questions::Completeness;
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use onnx_conformance_subject::{Direction, Models, QuestionText, Variant};

/// A question to tools, as pages show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionRow {
    /// The name in measurements: that of the variant, or `check-refusals` for the models that a checker must refuse.
    pub name: String,
    /// The variant that asks it.
    pub variant: Variant,
    /// The title on the site.
    pub title: String,
    /// The correct answer, in one sentence.
    pub right: &'static str,
}

impl QuestionRow {
    /// Returns true if its models must be refused.
    pub fn is_of_refusals(&self) -> bool {
        self.name != self.variant.name()
    }

    /// Returns true if the answers have types and shapes that the models do not have.
    pub fn is_of_inference(&self) -> bool {
        self.variant.question().facts().models == Models::WithoutTypes
    }
}

/// The correct answer about a model that must be refused.
const RIGHT_REFUSAL: &str = "A model that must be refused for what it contains is refused.";

/// Returns the questions in the order of pages. One about valid and invalid models has a row for each.
pub fn questions() -> Vec<QuestionRow> {
    let asking = Variant::ALL.into_iter().filter_map(|variant| Some((variant, variant.facts().text?)));
    asking.flat_map(|(variant, text)| rows(variant, text)).collect()
}

/// Returns the rows of a variant.
fn rows(variant: Variant, QuestionText { title, right, .. }: QuestionText) -> Vec<QuestionRow> {
    let row = |name: String, title: String, right| QuestionRow { name, variant, title, right };
    if variant.question().facts().models != Models::ValidOrInvalid {
        return vec![row(variant.to_string(), title.to_owned(), right)];
    }
    vec![
        row(variant.to_string(), format!("{title}: valid models"), right),
        row(refusals_name(variant), format!("{title}: invalid models"), RIGHT_REFUSAL),
    ]
}

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
    pub fn new(measured: &'a [Expectations], question: &QuestionRow) -> QuestionAnswers<'a> {
        let newest = newest_answering(measured, &question.name);
        let names: BTreeSet<&String> =
            newest.iter().flat_map(|file| file.operators.iter().flat_map(BTreeMap::keys)).collect();
        let parts = names.into_iter().filter_map(|name| {
            let answers: Vec<Option<PartAnswers>> =
                newest.iter().map(|file| part_answers(file, name, question)).collect();
            let is_asked = answers.iter().any(Option::is_some);
            is_asked.then(|| AnsweredPart { name: name.clone(), target: target(name, question.variant), answers })
        });
        QuestionAnswers { parts: parts.collect(), newest }
    }
}

/// Returns the newest measured version of each tool that answers a question. The measurements are sorted by tool, then by version.
pub fn newest_answering<'a>(measured: &'a [Expectations], question: &str) -> Vec<&'a Expectations> {
    let answers = |file: &&Expectations| file.answers.as_ref().is_some_and(|all| all.contains_key(question));
    let answering: Vec<&Expectations> = measured.iter().filter(answers).collect();
    answering
        .iter()
        .zip(answering.iter().skip(1).map(Some).chain([None]))
        .filter(|(file, next)| next.is_none_or(|next| next.runtime != file.runtime))
        .map(|(file, _)| *file)
        .collect()
}

fn part_answers(file: &Expectations, part: &str, question: &QuestionRow) -> Option<PartAnswers> {
    let answers = file.operators.as_ref()?.get(part)?;
    let complete = if question.is_of_inference() { all_sizes_known(answers.complete.as_ref()) } else { None };
    Some(PartAnswers { counts: Counts::new(answers.answers.get(&question.name)?), complete })
}

/// Returns the number of models whose sizes are all known.
pub fn all_sizes_known(complete: Option<&BTreeMap<Completeness, usize>>) -> Option<usize> {
    complete.map(|complete| complete.get(&Completeness::Shape).copied().unwrap_or_default())
}

/// Returns the version of an operator that a variant converts to; `None` for the newest opset, and for other parts and variants.
fn target(part: &str, variant: Variant) -> Option<u32> {
    let direction = variant.facts().direction?;
    let version: OperatorVersion = part.parse().ok()?;
    let versions = Specs::embedded().versions(&version.domain, &version.name);
    match direction {
        Direction::Up => versions.into_iter().find(|since| *since > version.since),
        Direction::Down => versions.into_iter().filter(|since| *since < version.since).last(),
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_harness::measure::measured_tools;

    use super::*;

    #[test]
    fn the_parts_of_a_tool_add_up_to_its_answers() {
        let measured = measured_tools().unwrap();
        let mut added = 0;
        for question in questions() {
            let all = QuestionAnswers::new(measured, &question);
            for (at, file) in all.newest.iter().enumerate() {
                let mut sum = Counts::default();
                all.parts.iter().filter_map(|part| part.answers[at]).for_each(|part| sum.add(part.counts));
                let whole = Counts::new(&file.answers.as_ref().unwrap()[&question.name]);
                assert_eq!(sum, whole, "{} of {}", question.name, file.runtime);
                added += sum.total();
            }
        }
        assert!(added > 0);
    }

    #[test]
    fn every_measured_question_is_on_the_page() {
        let names: Vec<String> = questions().into_iter().map(|question| question.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        for file in measured_tools().unwrap() {
            let missing: Vec<&String> =
                file.answers.iter().flat_map(BTreeMap::keys).filter(|name| !names.contains(name)).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", file.runtime);
        }
    }

    #[test]
    fn a_question_about_invalid_models_has_a_row_for_them() {
        let rows = questions();
        let of_check = rows.iter().filter(|row| row.variant == Variant::Check);
        let of_check: Vec<[&str; 2]> = of_check.map(|row| [row.name.as_str(), row.title.as_str()]).collect();
        assert_eq!(of_check, [["check", "Checkers: valid models"], ["check-refusals", "Checkers: invalid models"]]);
        assert_eq!(rows.iter().filter(|row| row.is_of_refusals()).count(), 1);
    }

    #[test]
    fn a_converter_has_a_pair_of_versions() {
        assert_eq!(target("ai.onnx/Hardmax-11", Variant::Upgrade), Some(13));
        assert_eq!(target("ai.onnx/Hardmax-11", Variant::Downgrade), Some(1));
        assert_eq!(target("ai.onnx/Hardmax-11", Variant::Infer), None);
        assert_eq!(target("ir/external", Variant::Upgrade), None);
    }
}
