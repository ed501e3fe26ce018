//! `show`: prints a case.

use anyhow::bail;
use clap::Args;
use onnx_conformance_cases::case::{Case, CaseId, TextRelease};
use onnx_conformance_cases::suite::{Filter, Suite, is_glob, recorded_cases};
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::findings::Findings;
use onnx_conformance_harness::measure::{Levels, Measured, Measurement, Measurements};
use onnx_conformance_harness::run::{Confirm as _, Outcome};
use onnx_conformance_report::case_json::as_json;
use onnx_conformance_report::describe_case::describe;

use crate::cli::options::Form;
use crate::cli::suggest::near_pattern;
use crate::cli::{options, print};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the case, or a glob, which shows the first case that it selects
    #[arg(value_name = "CASE")]
    case: String,

    #[command(flatten)]
    sources: options::Sources,

    #[command(flatten)]
    text: options::TextOptions,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    arguments.text.note_later();
    let case = find(&arguments.sources, arguments.text.release(), &arguments.case)?;
    if arguments.format == Form::Json {
        print::json(&as_json(&case))?;
        return Ok(exit::SUCCESS);
    }
    print::line(&describe(&case))?;
    if arguments.sources.is_project() {
        let failures = measured_failures(&case)?;
        if !failures.is_empty() {
            print::line(&format!("\nmeasured failures\n  {}", failures.join("\n  ")))?;
        }
    }
    Ok(exit::SUCCESS)
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

/// Returns the case with this id, or the first that a glob selects, with its level by the text of a release. An error suggests the nearest id.
pub(crate) fn find(sources: &options::Sources, text: TextRelease, id: &str) -> anyhow::Result<Case> {
    let suite = sources.open_by(text)?;
    let found = match suite.find(id)? {
        None => first_chosen(&suite, id)?,
        found => found,
    };
    if let Some(mut case) = found {
        sources.evidence()?.confirm(&mut case);
        return Ok(case);
    }
    let hint = near_pattern(&suite, id).map(|near| format!("did you mean '{near}'? ")).unwrap_or_default();
    bail!("there is no case '{id}'; {hint}`onnx-conformance list` prints the ids");
}

/// Returns the first case that a glob selects, and prints the number of cases; `None` if the pattern is not a glob.
fn first_chosen(suite: &Suite, pattern: &str) -> anyhow::Result<Option<Case>> {
    let Some(filter) = Filter::new(&[pattern]).ok().filter(|_| is_glob(pattern)) else { return Ok(None) };
    let ids = suite.ids(&filter)?;
    let Some(first) = ids.first() else { return Ok(None) };
    if ids.len() > 1 {
        let count = ids.len();
        print::note(&format!("'{pattern}' selects {count} cases; showing the first, `list` prints all"));
    }
    Ok(suite.find(first)?)
}
