//! `show OPERATOR`: a version of an operator, with the content of its site page.

use anyhow::bail;
use clap::Args;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_report::operator::describe;
use onnx_conformance_report::site::Column;

use crate::cli::operator_name::operator_version;
use crate::cli::print;
use crate::cli::usage::Usage;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The operator, at the opset after @ or in its newest version: Sum@13, Softmax, ai.onnx.ml/Scaler@1
    #[arg(value_name = "OPERATOR[@OPSET]")]
    operator: String,

    /// Show the results of these runtimes, each in its newest measured version or the one after @ [default: all
    /// measured runtimes]
    #[arg(long, value_name = "NAME[@VERSION]", value_delimiter = ',')]
    runtime: Vec<String>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    print_version(&operator_version(&arguments.operator)?, &arguments.runtime)?;
    Ok(exit::SUCCESS)
}

/// Prints the page of an operator version, with the results of the named runtimes, or of all.
pub(crate) fn print_version(version: &OperatorVersion, runtimes: &[String]) -> anyhow::Result<()> {
    let mut columns = Column::committed()?;
    let newest = |runtime: &str| {
        let all = Measurements::embedded().runtimes();
        all.into_iter().find(|(name, _)| *name == runtime).and_then(|(_, versions)| versions.last().copied())
    };
    let is_wanted = |column: &Column| {
        let is_newest = newest(column.runtime()) == Some(column.version());
        let is_named = |name: &String| match name.split_once('@') {
            Some((runtime, version)) => (runtime, version) == (column.runtime(), column.version()),
            None => name == column.runtime() && is_newest,
        };
        if runtimes.is_empty() { is_newest } else { runtimes.iter().any(is_named) }
    };
    columns.retain(is_wanted);
    if columns.is_empty() {
        let known: Vec<&str> = Measurements::embedded().runtimes().into_iter().map(|(name, _)| name).collect();
        bail!(Usage(format!("no such runtime has been measured; measured runtimes: {}", known.join(", "))));
    }
    print::styled(describe(version, &columns)?.trim_end())
}
