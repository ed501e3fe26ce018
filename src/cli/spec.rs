//! `spec`: what an operator version is, as one page.

use clap::Args;
use onnx_conformance_harness::exit;
use onnx_conformance_report::specification::specify;

use crate::cli::{op, print};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The operator, at the opset after @ or in its newest version: Sum@13, Softmax, ai.onnx.ml/Scaler@1
    #[arg(value_name = "OPERATOR[@OPSET]")]
    operator: String,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    print::styled(specify(&op::version(&arguments.operator)?)?.trim_end())?;
    Ok(exit::SUCCESS)
}
