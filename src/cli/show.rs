//! `show`: a case, printed for people.

use anyhow::bail;
use clap::Args;

use crate::case::Case;
use crate::cli::suggest::near_pattern;
use crate::cli::{exit, options, print};
use crate::findings::Findings;
use crate::measure::Measurements;
use crate::report::describe_case::describe;
use crate::report::escape::line;
use crate::run::{Confirm as _, Outcome};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The id of the case
    #[arg(value_name = "CASE")]
    case: String,

    #[command(flatten)]
    sources: options::Sources,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let case = find(&arguments.sources, &arguments.case)?;
    print::line(&describe(&case))?;
    if arguments.sources.is_project() {
        let failures = measured_failures(&case)?;
        if !failures.is_empty() {
            print::line(&format!("\nmeasured failures\n  {}", failures.join("\n  ")))?;
        }
    }
    Ok(exit::SUCCESS)
}

/// How the case fails in the newest measured version of each runtime, with the finding that says why.
fn measured_failures(case: &Case) -> anyhow::Result<Vec<String>> {
    let (measurements, findings, mut lines) = (Measurements::embedded(), Findings::embedded()?, Vec::new());
    for (runtime, _) in measurements.runtimes() {
        let Some(measurement) = measurements.newest(runtime)? else { continue };
        let Some(entry) = measurement.entry(&case.id) else { continue };
        let is_declined = entry.outcome() == Outcome::Unsupported;
        let finding = if is_declined { None } else { findings.of_case(runtime, &case.id) };
        let finding = finding.map(|it| format!(", finding {}: {}", it.full_id(), line(&it.does)));
        let version = measurement.version();
        lines.push(format!("{runtime} {version}: {}{}", entry.outcome(), finding.unwrap_or_default()));
    }
    Ok(lines)
}

/// The case of this id; an error names the nearest id.
pub(crate) fn find(sources: &options::Sources, id: &str) -> anyhow::Result<Case> {
    let suite = sources.open()?;
    if let Some(mut case) = suite.find(id)? {
        sources.evidence()?.confirm(&mut case);
        return Ok(case);
    }
    let hint = near_pattern(&suite, id).map(|near| format!("did you mean '{near}'? ")).unwrap_or_default();
    bail!("there is no case '{id}'; {hint}`onnx-conformance list` prints the ids");
}
