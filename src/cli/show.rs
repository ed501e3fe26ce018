//! `show`: a case, printed for people.

use anyhow::bail;
use clap::Args;

use crate::cli::{exit, options, print};
use crate::report::describe_case::describe;
use crate::run::Confirm as _;
use crate::suite::Filter;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The id of the case
    #[arg(value_name = "CASE")]
    case: String,

    /// Take the case from a folder of ordinary ONNX test folders
    #[arg(long, value_name = "DIR")]
    suite: Option<std::path::PathBuf>,

    /// Make the case from the op.yaml files below this folder
    #[arg(long, value_name = "DIR", conflicts_with = "suite")]
    specs: Option<std::path::PathBuf>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let (suite, specs) = (arguments.suite.clone(), arguments.specs.clone());
    let sources = options::Sources { suite, specs, testdata: None };
    let suite = sources.open_for(&Filter::new(&[&arguments.case]).unwrap_or_default())?;
    let Some(mut case) = suite.find(&arguments.case)? else {
        bail!("there is no case '{}'; `onnx-conformance list` prints the ids", arguments.case);
    };
    sources.evidence()?.confirm(&mut case);
    print::line(&describe(&case))?;
    Ok(exit::SUCCESS)
}
