//! `explain`: the meaning of an outcome, or of a rule of models or of an operator.

use anyhow::bail;
use clap::Args;
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_check::rules::RuleId;
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::run::Outcome;

use crate::cli::op;
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

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let Some(subject) = &arguments.subject else { return list() };
    if let Some(outcome) = Outcome::ALL.into_iter().find(|outcome| outcome.name() == subject) {
        let (meaning, next) = explanation(outcome);
        print::line(&format!("{subject}: {meaning}\n\n{next}\nSee docs/reading-a-failure.md."))?;
        return Ok(exit::SUCCESS);
    }
    if let Some(rule) = RuleId::ALL.into_iter().find(|rule| rule.id() == subject) {
        let text = format!(
            "{}, {}: {}\n\nfrom {}\nSee docs/check.md.",
            rule.id(),
            rule.level(),
            rule.sentence(),
            rule.source()
        );
        print::line(&text)?;
        return Ok(exit::SUCCESS);
    }
    if let Some((operator, rule)) = subject.rsplit_once('/') {
        return operator_rule(operator, rule);
    }
    let known = Outcome::ALL.into_iter().map(Outcome::name).chain(RuleId::ALL.into_iter().map(RuleId::id));
    let hint = nearest(subject, known).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    bail!(Usage(format!("'{subject}' is neither an outcome nor a rule{hint}; `onnx-conformance explain` lists them")))
}

fn list() -> anyhow::Result<u8> {
    let outcomes = Outcome::ALL.into_iter().map(|outcome| (outcome.name(), explanation(outcome).0));
    let rules = RuleId::ALL.into_iter().map(|rule| (rule.id(), rule.sentence()));
    for (title, rows) in [("outcomes", outcomes.collect::<Vec<_>>()), ("\nrules of `check`", rules.collect())] {
        print::line(title)?;
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, words) in rows {
            print::line(&format!("  {name:width$}  {words}"))?;
        }
    }
    Ok(exit::SUCCESS)
}

/// Prints a rule of an operator, with the cases that show it and those that violate it.
fn operator_rule(operator: &str, rule: &str) -> anyhow::Result<u8> {
    let version = op::version(operator)?;
    let catalog = OperatorCatalog::embedded();
    let (file, _) = catalog.get(&version)?;
    let Some((id, constraint)) = file.constraints.0.iter().find(|(id, _)| id == rule) else {
        let known: Vec<&str> = file.constraints.0.iter().map(|(id, _)| id.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        bail!(Usage(format!("{} has no rule '{rule}'; its rules are {known}", version.name)));
    };
    let is_own = |constraint: &Option<String>| constraint.as_ref() == Some(id);
    let shown: Vec<&str> =
        file.cases.iter().filter(|case| is_own(&case.constraint)).map(|case| case.name.as_str()).collect();
    let broken: Vec<String> = file
        .refuse
        .iter()
        .filter(|case| is_own(&case.constraint))
        .map(|case| format!("refuse/{}", case.name))
        .collect();
    let mut text = format!("{}/{} {id}: {}", version.domain, version.name, line(&constraint.says));
    for (title, names) in [("shown by", shown.join(", ")), ("broken by", broken.join(", "))] {
        if !names.is_empty() {
            text = format!("{text}\n{title} {}", line(&names));
        }
    }
    print::line(&text)?;
    Ok(exit::SUCCESS)
}

/// Returns the meaning of an outcome, and the next step.
fn explanation(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Pass => ("every output is correct, or the model was refused as required", "No action is needed."),
        Outcome::NotApplicable => (
            "the case must be refused, but the same model without the violation does not run either, so the refusal \
             proves nothing",
            "`show` names the control, the same model without the violation. Once it runs, the case is judged.",
        ),
        Outcome::NotDeclared => (
            "the case needs a feature that the runtime does not declare, so it was not sent",
            "If the runtime has the feature, declare it in the adapter. The case is neither a pass nor a failure.",
        ),
        Outcome::Unsupported => (
            "the runtime declines the case and names the missing feature",
            "A missing feature is not a wrong answer. An entry `unsupported` in the expectation file covers all such \
             cases.",
        ),
        Outcome::Error => (
            "the runtime fails to load or run a valid model",
            "Read its message. If it means that a feature is missing, the adapter may answer `unsupported`.",
        ),
        Outcome::Mismatch => (
            "an output has wrong values, outside the error bound of the case",
            "The message gives the position, both values and their distance in representable values (ULP). `trace` \
             prints every step.",
        ),
        Outcome::WrongShape => (
            "an output has the wrong shape, length or keys",
            "Compare with `show`. The usual cause is axes or broadcasting.",
        ),
        Outcome::WrongType => (
            "an output has the wrong type",
            "Compare with `show`. Some runtimes compute in a wider type and do not convert back.",
        ),
        Outcome::Accepted => (
            "the runtime runs a model that violates a rule and must be refused",
            "`show` names the rule and the control. A user with such a model gets meaningless outputs.",
        ),
        Outcome::Timeout => (
            "the runtime did not answer in time",
            "Try a longer `--timeout`. A case takes milliseconds unless its name contains `large`.",
        ),
        Outcome::OutOfMemory => (
            "the runtime exceeded the memory limit",
            "Try a higher `--memory`. If a small case needs gigabytes, that is a defect.",
        ),
        Outcome::Crash => (
            "the process of the runtime ended without an answer",
            "The message gives the signal and the last output. Such a model also ends a user's program.",
        ),
        Outcome::ProtocolError => (
            "the adapter's answer violates the protocol",
            "The adapter has an error: `smoke` describes it, and docs/protocol.md has the rules.",
        ),
    }
}
