//! `show OUTCOME` and `show RULE`: the meaning of an outcome, or of a rule of models or of an operator.

use anyhow::bail;
use clap::Args;
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_check::rules::{Example, Fix, RuleId};
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_report::coverage::{OperatorText, StatedSentence, TextState, sentences_of_check};

use crate::cli::operator_name::OperatorName;
use crate::cli::print;
use crate::cli::suggest::nearest;
use crate::cli::usage::Usage;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// An outcome, such as wrong-shape; a rule of `check`, such as node/type; or a rule of an operator, such as Sum/C1.
    /// Without an argument, all outcomes and rules of `check` are listed
    #[arg(value_name = "OUTCOME|RULE")]
    subject: Option<String>,
}

impl Arguments {
    /// Returns true if the arguments name an outcome or a rule.
    pub(crate) fn names_subject(&self) -> bool {
        self.subject.is_some()
    }
}

/// A rule of `check`, or of an operator.
#[derive(Debug)]
pub(crate) enum Rule {
    Check(RuleId),
    /// A rule of an operator, with its id.
    Operator(OperatorName, String),
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let Some(subject) = &arguments.subject else { return list() };
    if let Some(outcome) = outcome(subject) {
        print_outcome(outcome)?;
    } else if let Some(rule) = Rule::find(subject)? {
        rule.print()?;
    } else if let Some(missing) = Rule::missing(subject)? {
        bail!(missing);
    } else {
        let hint = nearest(subject, names()).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
        let rule = "`onnx-conformance list rules` and `list outcomes` print them";
        bail!(Usage(format!("'{subject}' is neither an outcome nor a rule{hint}; {rule}")));
    }
    Ok(exit::SUCCESS)
}

/// Returns the outcome of this name.
pub(crate) fn outcome(name: &str) -> Option<Outcome> {
    Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)
}

/// Returns the names of all outcomes and of all rules of `check`.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    Outcome::ALL.into_iter().map(Outcome::name).chain(RuleId::ALL.into_iter().map(RuleId::id))
}

/// Prints the meaning of an outcome and the next step.
pub(crate) fn print_outcome(outcome: Outcome) -> anyhow::Result<()> {
    let (name, meaning, next) = (outcome.name(), outcome.meaning(), outcome.next_step());
    print::line(&format!("{name}: {meaning}\n\n{next}"))
}

/// Prints a line per outcome.
pub(crate) fn list_outcomes() -> anyhow::Result<()> {
    print_rows("", Outcome::ALL.into_iter().map(|outcome| (outcome.name(), outcome.meaning())).collect())
}

impl Rule {
    /// Finds a rule: `node/type` of `check`, or `Sum/C1` of an operator.
    pub(crate) fn find(text: &str) -> anyhow::Result<Option<Rule>> {
        if let Some(rule) = RuleId::ALL.into_iter().find(|rule| rule.id() == text) {
            return Ok(Some(Rule::Check(rule)));
        }
        let Some((operator, id)) = text.rsplit_once('/') else { return Ok(None) };
        let Ok(name) = OperatorName::parse(operator) else { return Ok(None) };
        let rule = ids_of(&name)?.into_iter().find(|known| known.eq_ignore_ascii_case(id));
        Ok(rule.map(|id| Rule::Operator(name, id)))
    }

    /// Returns the error for a text that names an operator but none of its rules, such as `Sum/C99`. It lists the rules.
    pub(crate) fn missing(text: &str) -> anyhow::Result<Option<Usage>> {
        // A path with a version, such as ai.onnx/Sum-13/x, is meant as one of cases.
        let parts = text.rsplit_once('/').filter(|(operator, _)| !operator.contains('-'));
        let Some((operator, id)) = parts else { return Ok(None) };
        let Ok(name) = OperatorName::parse(operator) else { return Ok(None) };
        let known = ids_of(&name)?;
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Ok(Some(Usage(format!("{} has no rule '{id}'; its rules are {known}", name.name))))
    }

    /// Prints the rule with the sentences of the standard that state it.
    pub(crate) fn print(&self) -> anyhow::Result<()> {
        match self {
            Rule::Check(rule) => print_rule_of_check(*rule),
            Rule::Operator(name, id) => {
                name.note_reading();
                print_rule_of_operator(&name.version()?, id)
            }
        }
    }
}

/// Returns the ids of the rules of an operator.
fn ids_of(name: &OperatorName) -> anyhow::Result<Vec<String>> {
    let (version, catalog) = (name.version()?, OperatorCatalog::shared());
    if !catalog.has(&version) {
        return Ok(Vec::new());
    }
    Ok(catalog.get(&version)?.constraints.0.iter().map(|(id, _)| id.clone()).collect())
}

fn print_rule_of_check(rule: RuleId) -> anyhow::Result<()> {
    print::line(&page(rule))?;
    for (document, sentence) in sentences_of_check(rule.id())? {
        let places = sentence.places.iter().map(|(_, section)| section.to_string());
        let mut places: Vec<String> = places.filter(|heading| !heading.is_empty()).collect();
        places.insert(0, document.to_owned());
        print::line(&format!("{}: \"{}\"", places.join(", "), line(sentence.text)))?;
    }
    Ok(())
}

/// Formats everything known about a rule of `check` as a page.
fn page(rule: RuleId) -> String {
    let (safety, fix) = match rule.fix() {
        Fix::Safe(fix) => ("changes neither what the model computes nor which runtimes load it", fix),
        Fix::Unsafe(fix) => ("may change what the model computes or which runtimes load it", fix),
    };
    let bad = match rule.bad() {
        Example::Text(text) => block("breaks the rule", text),
        Example::Hex("") => block("breaks the rule", "(an empty file)"),
        Example::Hex(hex) => block("breaks the rule", &format!("(a file with the bytes {hex})")),
        Example::Change(words) => block("breaks the rule", &format!("(the model below, except that {words})")),
    };
    let also = if rule.also().is_empty() {
        String::new()
    } else {
        format!("\nalso found in it: {}\n", rule.also().join(", "))
    };
    format!(
        "{}, {}: {}\n\nfrom {}\nwhy: {}\nfix ({safety}): {fix}\n\n{bad}{also}\n{}\n`onnx-conformance list rules check` lists all rules.",
        rule.id(),
        rule.level(),
        rule.sentence(),
        rule.source(),
        rule.why(),
        block("follows the rule", rule.good()),
    )
}

/// Formats a model as an indented block under a title.
fn block(title: &str, text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}\n")).collect();
    format!("{title}:\n{}", lines.concat())
}

fn list() -> anyhow::Result<u8> {
    print::line("outcomes")?;
    print_rows("  ", Outcome::ALL.into_iter().map(|outcome| (outcome.name(), outcome.meaning())).collect())?;
    print::line("\nrules of `check`")?;
    print_rows("  ", RuleId::ALL.into_iter().map(|rule| (rule.id(), rule.sentence())).collect())?;
    Ok(exit::SUCCESS)
}

/// Prints names with a sentence each.
fn print_rows(indent: &str, rows: Vec<(&str, &str)>) -> anyhow::Result<()> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, words) in rows {
        print::line(&format!("{indent}{name:width$}  {words}"))?;
    }
    Ok(())
}

/// Prints a rule of an operator, with the cases that show it and those that violate it.
fn print_rule_of_operator(version: &OperatorVersion, id: &str) -> anyhow::Result<()> {
    let catalog = OperatorCatalog::shared();
    let file = catalog.get(version)?;
    let Some((_, constraint)) = file.constraints.0.iter().find(|(known, _)| known == id) else { return Ok(()) };
    let is_own = |constraint: &Option<String>| constraint.as_deref() == Some(id);
    let shown: Vec<&str> =
        file.cases.iter().filter(|case| is_own(&case.constraint)).map(|case| case.name.as_str()).collect();
    let broken: Vec<String> = file
        .refuse
        .iter()
        .filter(|case| is_own(&case.constraint))
        .map(|case| format!("refuse/{}", case.name))
        .collect();
    let mut text = format!("{}/{} {id}: {}", version.domain, version.name, line(&constraint.says));
    if !constraint.note.is_empty() {
        text = format!("{text}\n{}", line(&constraint.note));
    }
    for (title, names) in [("shown by", shown.join(", ")), ("broken by", broken.join(", "))] {
        if !names.is_empty() {
            text = format!("{text}\n{title} {}", line(&names));
        }
    }
    for sentence in sentences_of(&format!("{}/{}", version.domain, version.name), id)? {
        text = format!("{text}\n{}", line(&sentence));
    }
    print::line(&text)
}

/// Returns the sentences of the standard that a rule states, with their places.
fn sentences_of(operator: &str, rule: &str) -> anyhow::Result<Vec<String>> {
    let all = OperatorText::chosen(&Filter::new(&[format!("{operator}-*/**")])?)?;
    let sentences = all.iter().flat_map(|operator| &operator.sentences);
    let states = |stated: &&StatedSentence| matches!(&stated.state, TextState::Tested { rules, .. } if rules.iter().any(|it| it == rule));
    let shown = |stated: &StatedSentence| {
        let versions: Vec<String> = stated.versions.iter().map(u32::to_string).collect();
        let sections: Vec<String> = stated.sections().into_iter().map(ToString::to_string).collect();
        format!("{} of {}: \"{}\"", sections.join(", "), versions.join(", "), stated.sentence.text)
    };
    Ok(sentences.filter(states).map(shown).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_documentation_lists_every_outcome_worst_first() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reading-a-failure.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (_, table) = text.split_once("| outcome | meaning |\n|---|---|\n").expect("the table of outcomes");
        let written: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
        let row = |outcome: Outcome| format!("| `{}` | {} |", outcome.name(), outcome.meaning());
        let table: Vec<String> = Outcome::ALL.into_iter().rev().map(row).collect();
        assert_eq!(written, table, "the table in docs/reading-a-failure.md is to be:\n{}", table.join("\n"));
    }
}
