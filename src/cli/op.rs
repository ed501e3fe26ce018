//! `show OPERATOR`: a version of an operator, with the content of its site page.

use std::collections::BTreeSet;

use clap::Args;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_report::operator::describe;
use onnx_conformance_report::site::Column;

use crate::cli::operator_name::operator_version;
use crate::cli::print;
use crate::cli::runtime_name::RuntimeName;

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
    let named: Vec<RuntimeName> = runtimes.iter().map(|text| RuntimeName::parse(text).or_nearest_measured()).collect();
    for name in &named {
        name.measurement("--runtime: ")?;
    }
    let newest: BTreeSet<(&str, &str)> = Measurements::embedded()
        .runtimes()
        .into_iter()
        .filter_map(|(name, versions)| Some((name, versions.last().copied()?)))
        .collect();
    let mut columns = Column::committed()?;
    columns.retain(|column| {
        let (runtime, version) = (column.runtime(), column.version());
        let is_newest = newest.contains(&(runtime, version));
        let is_named = |name: &RuntimeName| name.selects(runtime, version) && (name.version.is_some() || is_newest);
        if named.is_empty() { is_newest } else { named.iter().any(is_named) }
    });
    print::styled(describe(version, &columns)?.trim_end())
}
