//! `diff`: the changes between two versions of an operator, or between two opsets.

use anyhow::{Context, bail};
use clap::Args;
use onnx_conformance_harness::exit;
use onnx_conformance_reference::spec::{Specs, diff};
use onnx_conformance_report::diff::{Format, opset_diff, version_diff};
use terminal_size::terminal_size;

use crate::cli::print;
use crate::cli::standard_text::{side_by_side, standard_texts, version_lines};
use crate::cli::suggest::nearest;
use crate::cli::usage::Usage;

/// Width of two texts side by side in columns, if there is no terminal with a width.
const WIDTH: usize = 160;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The operator, with its domain if that is not ai.onnx, as in ai.onnx.ml/Scaler
    #[arg(required_unless_present = "opset")]
    operator: Option<String>,

    /// Opset to compare from, which selects the operator's version
    #[arg(requires = "to")]
    from: Option<u32>,

    /// Opset to compare to
    to: Option<u32>,

    /// Compare every operator between two opsets
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], conflicts_with = "operator")]
    opset: Option<Vec<u32>>,

    /// Domain of --opset
    #[arg(long, default_value = "ai.onnx", requires = "opset")]
    domain: String,

    /// With --opset: show only the changes that mention this text
    #[arg(long, value_name = "TEXT", requires = "opset")]
    grep: Option<String>,

    /// Show the standard's text of both versions side by side, from an installed `onnx` package
    #[arg(long, conflicts_with_all = ["opset", "format"])]
    text: bool,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let specs = Specs::embedded();
    if let Some([from, to]) = arguments.opset.as_deref() {
        let all = diff::opsets(specs, &arguments.domain, *from, *to)?;
        let chosen = match &arguments.grep {
            Some(text) => all.grep(text),
            None => all,
        };
        print::line(opset_diff(&chosen, arguments.format).trim_end())?;
        return Ok(exit::SUCCESS);
    }
    let operator = arguments.operator.as_deref().context("give an operator, or --opset")?;
    let (domain, name) = operator.rsplit_once('/').unwrap_or(("", operator));
    check_operator(specs, domain, name)?;
    let (Some(from), Some(to)) = (arguments.from, arguments.to) else {
        let versions: Vec<String> = specs.versions(domain, name).map(|since| since.to_string()).collect();
        if versions.is_empty() {
            specs.find(domain, name, specs.newest_opset(domain)?)?;
        }
        bail!(Usage(format!("give two opsets; {operator} has versions {}", versions.join(", "))));
    };
    if arguments.text {
        let diff = diff::versions(specs, domain, name, from, to)?;
        let texts = standard_texts()?;
        let (old, new) = (version_lines(&texts, &diff.from)?, version_lines(&texts, &diff.to)?);
        let width = terminal_size().map_or(WIDTH, |(width, _)| usize::from(width.0));
        print::line(&format!("{} and {}", diff.from.qualified(), diff.to.qualified()))?;
        print::line(side_by_side(old, new, width).trim_end())?;
        return Ok(exit::SUCCESS);
    }
    print::line(version_diff(specs, &diff::versions(specs, domain, name, from, to)?, arguments.format).trim_end())?;
    Ok(exit::SUCCESS)
}

/// Fails if the operator does not exist, and suggests the nearest name.
fn check_operator(specs: &Specs, domain: &str, name: &str) -> anyhow::Result<()> {
    if specs.versions(domain, name).next().is_some() {
        return Ok(());
    }
    if let Some(near) = nearest(name, specs.operators(domain)) {
        bail!("there is no operator '{name}'; did you mean '{near}'?");
    }
    Ok(())
}
