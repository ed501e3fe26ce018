//! `show OPERATOR --definition`: the definition of an operator version, as one page.

use clap::Args;
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_harness::exit;
use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_report::coverage::OperatorText;
use onnx_conformance_report::specification::specify;

use crate::cli::operator_name::operator_version;
use crate::cli::print;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The operator, at the opset after @ or in its newest version: Sum@13, Softmax, ai.onnx.ml/Scaler@1
    #[arg(value_name = "OPERATOR[@OPSET]")]
    operator: String,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    print_definition(&operator_version(&arguments.operator)?)?;
    Ok(exit::SUCCESS)
}

/// Prints the definition of an operator version.
pub(crate) fn print_definition(version: &OperatorVersion) -> anyhow::Result<()> {
    print::styled(specify(version)?.trim_end())?;
    let pattern = format!("{}/{}-*/**", version.domain, version.name);
    let texts = OperatorText::chosen(&Filter::new(&[pattern])?)?;
    if !texts.is_empty() {
        print::line(&format!("\n{}", OperatorText::summary(&texts)))?;
    }
    Ok(())
}
