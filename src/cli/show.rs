//! `show`: a case, printed for people.

use anyhow::bail;
use clap::Args;

use crate::case::Case;
use crate::cli::suggest::near_pattern;
use crate::cli::{exit, options, print};
use crate::report::describe_case::describe;
use crate::run::Confirm as _;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The id of the case
    #[arg(value_name = "CASE")]
    case: String,

    #[command(flatten)]
    sources: options::Sources,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    print::line(&describe(&find(&arguments.sources, &arguments.case)?))?;
    Ok(exit::SUCCESS)
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
