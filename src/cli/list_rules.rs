//! `list rules`: the rules of operators and of `check`, each with its sentence.

use std::collections::BTreeSet;

use clap::Args;
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_check::rules::RuleId;
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OperatorVersion, Specs};
use rayon::prelude::*;

use crate::cli::operator_name::OperatorName;
use crate::cli::print;

/// The word for the rules of `check`.
const CHECK: &str = "check";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Operators, such as Sum or ai.onnx.ml/Scaler, or `check` for the rules of models, or some of these, such as node/type or
    /// node [default: all]
    #[arg(value_name = "OPERATOR|check|RULE")]
    of: Vec<String>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let mut rows = rules_of_operators(&operators(&arguments.of)?)?;
    let is_named = |rule: &RuleId| arguments.of.is_empty() || arguments.of.iter().any(|name| is_rule(name, *rule));
    rows.extend(
        RuleId::ALL.into_iter().filter(is_named).map(|rule| (rule.id().to_owned(), rule.sentence().to_owned())),
    );
    if rows.is_empty() {
        print::note(&format!("there are no rules of {}", arguments.of.join(", ")));
        return Ok(exit::NOTHING);
    }
    let width = rows.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(id, sentence)| format!("{id:width$}  {}", line(sentence))).collect();
    print::line(&lines.join("\n"))?;
    Ok(exit::SUCCESS)
}

/// Returns true if a name is that of a rule of `check`, the beginning of its id, or the word for all of them.
fn is_rule(name: &str, rule: RuleId) -> bool {
    name == CHECK || rule.id().strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the newest version of each named operator, or of all.
fn operators(named: &[String]) -> anyhow::Result<Vec<OperatorVersion>> {
    let mut found = Vec::new();
    for text in named.iter().filter(|name| !RuleId::ALL.into_iter().any(|rule| is_rule(name, rule))) {
        let name = OperatorName::parse_or_nearest(text)?;
        name.note_reading();
        found.push(name.version()?);
    }
    if named.is_empty() {
        let mut seen = BTreeSet::new();
        found = Specs::embedded().all().filter(|it| seen.insert((it.domain.clone(), it.name.clone()))).collect();
    }
    Ok(found)
}

/// Returns the id and the sentence of each rule. The id is the one that `show` takes.
fn rules_of_operators(operators: &[OperatorVersion]) -> anyhow::Result<Vec<(String, String)>> {
    let catalog = OperatorCatalog::shared();
    let rules = |version: &OperatorVersion| -> anyhow::Result<Vec<(String, String)>> {
        if !catalog.has(version) {
            return Ok(Vec::new());
        }
        let domain = if version.domain == DEFAULT_DOMAIN { String::new() } else { format!("{}/", version.domain) };
        let rules = catalog.get(version)?.constraints.0.iter();
        Ok(rules.map(|(id, rule)| (format!("{domain}{}/{id}", version.name), rule.says.clone())).collect())
    };
    let found: Vec<Vec<(String, String)>> = operators.par_iter().map(rules).collect::<anyhow::Result<_>>()?;
    Ok(found.concat())
}
