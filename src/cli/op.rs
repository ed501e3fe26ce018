//! `op`: a version of an operator, with the content of its site page.

use anyhow::bail;
use clap::Args;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_reference::spec::{OperatorVersion, Specs, canonical_domain};
use onnx_conformance_report::operator::describe;
use onnx_conformance_report::site::Column;

use crate::cli::print;
use crate::cli::suggest::nearest;
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
    let version = version(&arguments.operator)?;
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
        if arguments.runtime.is_empty() { is_newest } else { arguments.runtime.iter().any(is_named) }
    };
    columns.retain(is_wanted);
    if columns.is_empty() {
        let known: Vec<&str> = Measurements::embedded().runtimes().into_iter().map(|(name, _)| name).collect();
        bail!(Usage(format!("no such runtime has been measured; measured runtimes: {}", known.join(", "))));
    }
    print::styled(describe(&version, &columns)?.trim_end())?;
    Ok(exit::SUCCESS)
}

/// Returns the version for a name: `Sum@13`, `Sum-13`, `ai.onnx.ml/Scaler`.
pub(crate) fn version(text: &str) -> anyhow::Result<OperatorVersion> {
    let specs = Specs::embedded();
    let (plain, opset) = match text.split_once('@') {
        Some((plain, opset)) => {
            let number =
                opset.parse().map_err(|_| Usage(format!("'{opset}' is not an opset; write for example {plain}@13")))?;
            (plain, Some(number))
        }
        None => (text, None),
    };
    let (plain, opset) = match plain.rsplit_once('-').map(|(name, since)| (name, since.parse::<u32>())) {
        Some((name, Ok(since))) if opset.is_none() => (name, Some(since)),
        _ => (plain, opset),
    };
    let (domain, name) = plain.rsplit_once('/').unwrap_or(("", plain));
    let domains: Vec<&str> = if domain.is_empty() { specs.domains().collect() } else { vec![canonical_domain(domain)] };
    let Some(domain) = domains.iter().find(|domain| specs.versions(domain, name).next().is_some()) else {
        let near = nearest(name, domains.iter().flat_map(|domain| specs.operators(domain)));
        let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
        bail!("there is no operator '{plain}'{hint}");
    };
    let opset = match opset {
        Some(opset) => opset,
        None => specs.newest_opset(domain)?,
    };
    Ok(specs.find(domain, name, opset)?.version.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_named_by_opset_or_by_since() {
        let name = |text: &str| version(text).map(|version| version.qualified()).map_err(|error| error.to_string());
        assert_eq!(name("Sum@14").as_deref(), Ok("ai.onnx/Sum-13"));
        assert_eq!(name("Softmax-11").as_deref(), Ok("ai.onnx/Softmax-11"));
        assert_eq!(name("Scaler").as_deref(), Ok("ai.onnx.ml/Scaler-1"));
        assert_eq!(name("ai.onnx/Sum").as_deref(), Ok("ai.onnx/Sum-13"));
        assert_eq!(name("Sofmax@1").unwrap_err(), "there is no operator 'Sofmax'; did you mean 'Softmax'?");
        assert!(name("Sum@x").unwrap_err().contains("is not an opset"));
    }
}
