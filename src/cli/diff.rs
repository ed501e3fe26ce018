//! `diff`: the changes between two versions of an operator, two opsets, or two versions of the suite.

use anyhow::{Context, bail};
use clap::Args;
use onnx_conformance_cases::suite::SUITE_VERSION;
use onnx_conformance_harness::exit;
use onnx_conformance_reference::spec::{Specs, canonical_domain, diff};
use onnx_conformance_report::diff::{Format, opset_diff, version_diff};
use terminal_size::terminal_size;

use crate::cli::operator_name::OperatorName;
use crate::cli::print;
use crate::cli::standard_text::{side_by_side, standard_texts, version_lines};
use crate::cli::suite_diff::SuiteDiff;
use crate::cli::usage::Usage;

/// Name of the suite, before the version.
const SUITE: &str = "suite";

/// Width of two texts side by side in columns, if there is no terminal with a width.
const WIDTH: usize = 160;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The operator, as in Sum or ai.onnx.ml/Scaler; its older version, as in Sum@8; or a version of the suite, as in suite@0.1.0
    #[arg(value_name = "OPERATOR[@OPSET]|suite@VERSION", required_unless_present = "opset")]
    operator: Option<String>,

    /// Opset to compare from, or to if the first argument has one; the newer version, as in Sum@13; or the later version of the
    /// suite [default: that of this program]
    #[arg(value_name = "OPSET|OPERATOR@OPSET|suite@VERSION")]
    from: Option<String>,

    /// Opset to compare to
    #[arg(value_name = "OPSET")]
    to: Option<String>,

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

    /// Print everything. By default, the first changes of each kind between two versions of the suite are printed, and output that
    /// exceeds the screen of a terminal is shortened
    #[arg(long)]
    all: bool,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let specs = Specs::embedded();
    if let Some([from, to]) = arguments.opset.as_deref() {
        let (from, to) = ascending(*from, *to);
        let newest = specs.newest_opset(&arguments.domain).map_err(|error| Usage(format!("--domain: {error}")))?;
        if to > newest {
            let domain = canonical_domain(&arguments.domain);
            bail!(Usage(format!("--opset: opset {to} of {domain} is unknown; the newest known is {newest}")));
        }
        let all = diff::opsets(specs, &arguments.domain, from, to)?;
        let chosen = match &arguments.grep {
            Some(text) => all.grep(text),
            None => all,
        };
        print::line(opset_diff(&chosen, arguments.format).trim_end())?;
        return Ok(exit::SUCCESS);
    }
    if let Some(suites) = arguments.suites()? {
        suites.print(arguments.format, arguments.all)?;
        return Ok(exit::SUCCESS);
    }
    let (name, from, to) = arguments.operands()?;
    // Unknown opsets are errors of the command line.
    for opset in [from, to] {
        name.at(opset)?;
    }
    name.note_reading();
    let (from, to) = ascending(from, to);
    let diff = diff::versions(specs, &name.domain, &name.name, from, to)?;
    if arguments.text {
        let texts = standard_texts()?;
        let (old, new) = (version_lines(&texts, &diff.from)?, version_lines(&texts, &diff.to)?);
        let width = terminal_size().map_or(WIDTH, |(width, _)| usize::from(width.0));
        print::line(&format!("{} and {}", diff.from.qualified(), diff.to.qualified()))?;
        print::line(side_by_side(old, new, width).trim_end())?;
        return Ok(exit::SUCCESS);
    }
    print::line(version_diff(specs, &diff, arguments.format).trim_end())?;
    Ok(exit::SUCCESS)
}

impl Arguments {
    /// Returns true if the output is shortened to the screen of a terminal.
    pub(crate) fn is_shortened(&self) -> bool {
        self.format == Format::Text && !self.all
    }

    /// Returns true if the output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Compares two versions of the suite, in the forms `suite@0.1.0 suite@0.2.0`, `suite@0.1.0 0.2.0` and `suite@0.1.0`, if the
    /// arguments name them.
    fn suites(&self) -> anyhow::Result<Option<SuiteDiff>> {
        let Some(first) = self.operator.as_deref() else { return Ok(None) };
        if first == SUITE {
            bail!(Usage(format!("'{first}' has no version; write for example {SUITE}@{SUITE_VERSION}")));
        }
        let Some(from) = version_of_suite(first) else { return Ok(None) };
        if self.text || self.to.is_some() {
            let surplus = if self.text { "--text" } else { "the third argument" };
            bail!(Usage(format!(
                "{surplus} is about operators, and {first} is a version of the suite; omit {surplus}"
            )));
        }
        let to = self.from.as_deref().map(|second| match version_of_suite(second) {
            Some(version) => Ok(version),
            None if second.starts_with(|c: char| c.is_ascii_digit()) => Ok(second),
            None => Err(Usage(format!(
                "'{second}' is no version of the suite, as {first} is; write for example {SUITE}@{SUITE_VERSION}"
            ))),
        });
        Ok(Some(SuiteDiff::new(from, to.transpose()?)?))
    }

    /// Returns the operator and the two opsets, in the forms `Sum 8 13`, `Sum@8 13` and `Sum@8 Sum@13`.
    fn operands(&self) -> anyhow::Result<(OperatorName, u32, u32)> {
        let operator = self.operator.as_deref().context("give an operator, or --opset")?;
        let name = OperatorName::parse_or_nearest(operator)?;
        let opsets = match (name.opset, self.from.as_deref(), self.to.as_deref()) {
            (None, Some(from), Some(to)) => Some((number(from)?, number(to)?)),
            (Some(from), Some(to), None) => Some((from, opset_of(to, &name)?)),
            _ => None,
        };
        let Some((from, to)) = opsets else {
            let versions: Vec<String> = name.versions().iter().map(u32::to_string).collect();
            let (name, versions) = (&name.name, versions.join(", "));
            bail!(Usage(format!(
                "give two opsets, as in `diff {name} FROM TO` or `diff {name}@FROM {name}@TO`; {name} has the versions {versions}"
            )));
        };
        Ok((name, from, to))
    }
}

/// Returns the version in `suite@0.1.0`.
fn version_of_suite(text: &str) -> Option<&str> {
    text.strip_prefix(SUITE)?.strip_prefix('@')
}

/// Parses an opset.
fn number(text: &str) -> Result<u32, Usage> {
    text.parse().map_err(|_| Usage(format!("'{text}' is not an opset; write a number, as in `diff Sum 8 13`")))
}

/// Returns the opset of the second version, in `13` or `Sum@13`.
fn opset_of(text: &str, name: &OperatorName) -> Result<u32, Usage> {
    if text.chars().all(|c| c.is_ascii_digit()) {
        return number(text);
    }
    if version_of_suite(text).is_some() {
        let name = &name.name;
        return Err(Usage(format!(
            "{name} is an operator, and {text} a version of the suite; `diff` compares two of one kind"
        )));
    }
    let other = OperatorName::parse(text)?;
    if (&other.domain, &other.name) != (&name.domain, &name.name) {
        let (first, second) = (&name.name, &other.name);
        return Err(Usage(format!("{first} and {second} are two operators; `diff` compares two versions of one")));
    }
    other.opset.ok_or_else(|| Usage(format!("'{text}' has no opset; write for example {}@13", other.name)))
}

/// Returns the opsets in ascending order, and prints a note if they are not.
fn ascending(from: u32, to: u32) -> (u32, u32) {
    if from <= to {
        return (from, to);
    }
    print::note(&format!("{to} is the older opset, so these are the changes from {to} to {from}"));
    (to, from)
}
