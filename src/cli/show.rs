//! `show`: prints a case, a version of an operator, a rule, an outcome or a finding.

use anyhow::bail;
use clap::Args;
use onnx_conformance_cases::case::{Case, CaseId};
use onnx_conformance_cases::suite::{Suite, recorded_cases};
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::findings::Findings;
use onnx_conformance_harness::measure::{Levels, Measured, Measurement, Measurements};
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_report::case_json::as_json;
use onnx_conformance_report::describe_case::describe;

use crate::cli::explain::{self, Rule};
use crate::cli::find_case::{find_in, first_of_group, no_case};
use crate::cli::finding::Found;
use crate::cli::operator_name::{ONLY_NEAR, OperatorName, near_operators, nearest_operator};
use crate::cli::options::Form;
use crate::cli::screen::ScreenOptions;
use crate::cli::suggest::{near_patterns, nearest, one_edit_away};
use crate::cli::usage::Usage;
use crate::cli::{op, options, print, spec};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of a case, or a glob or group, whose first case is shown; a version of an operator, such as Sum@13 or Softmax; a
    /// rule, such as Sum/C1 or node/type; an outcome, such as mismatch; or a finding, such as gather-strings
    #[arg(value_name = "THING")]
    thing: String,

    /// Of an operator: show the results of these runtimes, each in its newest measured version or the one after @ [default:
    /// all measured runtimes]
    #[arg(long, value_name = "NAME[@VERSION]", value_delimiter = ',')]
    runtime: Vec<String>,

    /// Of an operator: show its definition instead of results and cases: formula, shape, changes, and rules with examples
    #[arg(long, conflicts_with = "runtime")]
    definition: bool,

    /// Of a finding: print an issue in markdown, with a program that reproduces it
    #[arg(long)]
    issue: bool,

    #[command(flatten)]
    sources: options::Sources,

    #[command(flatten)]
    text: options::TextOptions,

    /// Output format of a case
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    #[command(flatten)]
    screen: ScreenOptions,
}

/// Something with a name.
enum Thing {
    Case(Box<Case>),
    Rule(Rule),
    Outcome(Outcome),
    Finding(Found),
    Operator(OperatorName),
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    arguments.text.note_later();
    let thing = arguments.find()?;
    arguments.check_options(&thing)?;
    match &thing {
        Thing::Case(case) => arguments.show_case(case)?,
        Thing::Rule(rule) => rule.print()?,
        Thing::Outcome(outcome) => explain::print_outcome(*outcome)?,
        Thing::Finding(found) => found.print(arguments.issue)?,
        Thing::Operator(name) => arguments.show_operator(name)?,
    }
    Ok(exit::SUCCESS)
}

impl Arguments {
    /// Returns true if the output is shortened to the screen of a terminal. An issue is text to copy.
    pub(crate) fn is_shortened(&self) -> bool {
        !self.issue && self.screen.is_shortened()
    }

    /// Finds the thing: the case with this id, else a rule, an outcome, a finding, an operator, and last a group of cases.
    fn find(&self) -> anyhow::Result<Thing> {
        let (suite, name) = (self.sources.open_by(self.text.release())?, self.thing.as_str());
        if let Some(case) = find_in(&suite, &self.sources, name)? {
            return Ok(Thing::Case(Box::new(case)));
        }
        if !self.sources.is_project() {
            bail!(no_case(&suite, name));
        }
        if let Some(thing) = Thing::named(name)? {
            return Ok(thing);
        }
        let is_path = name.contains('/') && !name.starts_with(['!', '@']);
        let first = if is_path { first_of_group(&suite, &self.sources, name)? } else { None };
        if let Some(case) = first {
            return Ok(Thing::Case(Box::new(case)));
        }
        if let Some(near) = only_near_name(name)?
            && let Some(thing) = Thing::named(&near)?
        {
            print::note(&format!("'{name}' is read as {near}; {ONLY_NEAR}"));
            return Ok(thing);
        }
        bail!(unknown(&suite, name)?)
    }

    /// Fails if an option is given that is not about this kind of thing.
    fn check_options(&self, thing: &Thing) -> Result<(), Usage> {
        let (is_case, is_operator) = (matches!(thing, Thing::Case(_)), matches!(thing, Thing::Operator(_)));
        let options = [
            ("--runtime", !self.runtime.is_empty(), is_operator, "an operator"),
            ("--definition", self.definition, is_operator, "an operator"),
            ("--issue", self.issue, matches!(thing, Thing::Finding(_)), "a finding"),
            ("--text", self.text.other().is_some(), is_case, "a case"),
            ("--format json", self.format == Form::Json, is_case, "a case"),
        ];
        let misplaced = options.into_iter().find(|(_, is_given, fits, _)| *is_given && !*fits);
        let Some((option, _, _, about)) = misplaced else { return Ok(()) };
        Err(Usage(format!("{option} is about {about}, but '{}' is {}; omit {option}", self.thing, thing.kind())))
    }

    fn show_case(&self, case: &Case) -> anyhow::Result<()> {
        if self.format == Form::Json {
            return print::json(&as_json(case));
        }
        print::line(&describe(case))?;
        let failures = if self.sources.is_project() { measured_failures(case)? } else { Vec::new() };
        if !failures.is_empty() {
            print::line(&format!("\nmeasured failures\n  {}", failures.join("\n  ")))?;
        }
        Ok(())
    }

    fn show_operator(&self, name: &OperatorName) -> anyhow::Result<()> {
        let version = name.version()?;
        name.note_reading();
        if self.definition {
            return spec::print_definition(&version);
        }
        op::print_version(&version, &self.runtime)?;
        let operator = format!("{}@{}", version.name, version.since);
        print::line(&format!("\nformula, shape and examples: `onnx-conformance show {operator} --definition`"))
    }
}

impl Thing {
    /// Finds a rule, an outcome, a finding or an operator by its name.
    fn named(name: &str) -> anyhow::Result<Option<Thing>> {
        if let Some(rule) = Rule::find(name)? {
            return Ok(Some(Thing::Rule(rule)));
        }
        if let Some(outcome) = explain::outcome(name) {
            return Ok(Some(Thing::Outcome(outcome)));
        }
        if let Some(found) = Found::find(name)? {
            return Ok(Some(Thing::Finding(found)));
        }
        Ok(OperatorName::parse(name).ok().map(Thing::Operator))
    }

    /// Returns the kind of thing, with its article.
    fn kind(&self) -> &'static str {
        match self {
            Thing::Case(_) => "a case",
            Thing::Rule(_) => "a rule",
            Thing::Outcome(_) => "an outcome",
            Thing::Finding(_) => "a finding",
            Thing::Operator(_) => "an operator",
        }
    }
}

/// Returns the error for an unknown name, with the nearest names of all kinds.
fn unknown(suite: &Suite, name: &str) -> anyhow::Result<Usage> {
    // If the part before @ is an operator, the part after it is not an opset.
    if let Some((plain, _)) = name.split_once('@')
        && OperatorName::parse(plain).is_ok()
        && let Err(error) = OperatorName::parse(name)
    {
        return Ok(error);
    }
    if let Some(missing) = Rule::missing(name)? {
        return Ok(missing);
    }
    let near = near_names(suite, name)?;
    let hint = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    let is_rule = name.strip_prefix('C').is_some_and(|number| number.parse::<u32>().is_ok());
    let rule = if is_rule { format!("write a rule with its operator, as in Sum/{name}; ") } else { String::new() };
    Ok(Usage(format!(
        "there is no case, rule, outcome, finding or operator '{name}'; {hint}{rule}`onnx-conformance list` prints the \
         cases, and `list rules`, `list outcomes` and `list findings` print other names"
    )))
}

/// Returns the only name of an operator, a rule of `check`, an outcome or a finding that is one edit away. An id of a case is not
/// corrected: one edit may name another type.
fn only_near_name(name: &str) -> anyhow::Result<Option<String>> {
    let (mut near, findings) = (near_operators(name), Found::ids()?);
    near.extend(one_edit_away(name, explain::names()).into_iter().map(str::to_owned));
    near.extend(one_edit_away(name, findings.iter().map(String::as_str)).into_iter().map(str::to_owned));
    Ok(near.pop_first().filter(|_| near.is_empty()))
}

/// Returns the nearest names of all kinds, in quotes.
fn near_names(suite: &Suite, name: &str) -> anyhow::Result<Vec<String>> {
    let findings = Found::ids()?;
    let near_cases = if name.contains('/') { near_patterns(suite, name) } else { Vec::new() };
    let operator = nearest_operator(name).filter(|_| !name.contains('/')).map(str::to_owned);
    let others = [
        nearest(name, explain::names()).map(str::to_owned),
        nearest(name, findings.iter().map(String::as_str)).map(str::to_owned),
    ];
    let near = operator.into_iter().chain(near_cases).chain(others.into_iter().flatten());
    Ok(near.map(|near| format!("'{near}'")).collect())
}

/// Describes the failures of the case in the newest measured version of each runtime, with the finding for each.
fn measured_failures(case: &Case) -> anyhow::Result<Vec<String>> {
    let (measurements, findings, mut lines) = (Measurements::embedded(), Findings::embedded()?, Vec::new());
    for (runtime, _) in measurements.runtimes() {
        let Some(measurement) = measurements.newest(runtime)? else { continue };
        let Some(measured) = failed_as(measurement, case) else { continue };
        let is_declined = measured == Measured::Ended(Outcome::Unsupported);
        let finding = if is_declined { None } else { findings.for_case(runtime, &case.id) };
        let finding = finding.map(|it| format!(", finding {}: {}", it.full_id(), line(&it.title)));
        let processors = measurement.processors_of_failure(&case.id);
        let processors = processors.map(|processors| format!(" on processors {processors}")).unwrap_or_default();
        let version = measurement.version();
        let level = Levels::measured(runtime, version)?.and_then(|levels| levels.weakest_failing(&case.id));
        let level = level.map(|level| format!(" from level {level} of the optimizer on")).unwrap_or_default();
        lines.push(format!("{runtime} {version}: {measured}{processors}{level}{}", finding.unwrap_or_default()));
    }
    Ok(lines)
}

/// Returns the failure of a case in a measurement; `None` if it passed, was not given to the runtime, or has changed since.
fn failed_as(measurement: &Measurement, case: &Case) -> Option<Measured> {
    let version = CaseId::parse(&case.id).version();
    let recorded = version.as_ref().and_then(|it| recorded_cases(it).iter().find(|recorded| recorded.id == case.id));
    let measured = if let (Some(version), Some(recorded)) = (version, recorded) {
        measurement.outcome(&version, recorded)
    } else {
        let entry = measurement.entry(&case.id)?;
        Measured::ended(entry.outcome(), entry.ulp)
    };
    Some(measured).filter(|it| it.outcome().is_some_and(|outcome| outcome != Outcome::Pass))
}
