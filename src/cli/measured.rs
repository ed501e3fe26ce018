//! `list measured`: the measured versions of runtimes, and a summary of their results; or those of tools.

use clap::Args;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::measure::{Levels, Measurements, Overview, cases_in_float};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs};
use onnx_conformance_report::overview::table;
use onnx_conformance_report::tool_overview::{tool_overviews, tool_table};
use rayon::prelude::*;

use crate::cli::options::Form;
use crate::cli::progress::Waiting;
use crate::cli::runtime_name::RuntimeName;
use crate::cli::screen::ScreenOptions;
use crate::cli::usage::Usage;
use crate::cli::{print, screen};

/// Number of measurements that are read in less than two seconds.
const FEW: usize = 9;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The runtimes, each in all measured versions or the one after @ [default: all measured runtimes]
    #[arg(value_name = "NAME[@VERSION]")]
    runtimes: Vec<String>,

    /// Opset at which operators are counted
    #[arg(long, value_name = "N", default_value_t = 21)]
    opset: u32,

    /// List the measured versions of tools, with the parts of the suite about which they have to be asked again
    #[arg(long, conflicts_with_all = ["runtimes", "opset"])]
    tools: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    #[command(flatten)]
    screen: ScreenOptions,
}

impl Arguments {
    /// Returns true if the output is shortened to the screen of a terminal.
    pub(crate) fn is_shortened(&self) -> bool {
        self.screen.is_shortened()
    }

    /// Returns true if the output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Form::Json
    }
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    if arguments.tools {
        return list_tools(arguments.format);
    }
    let newest = Specs::embedded().newest_opset(DEFAULT_DOMAIN)?;
    if !(1..=newest).contains(&arguments.opset) {
        anyhow::bail!(Usage(format!("ai.onnx has no opset {}; its opsets are 1 to {newest}", arguments.opset)));
    }
    let meant = |text: &String| RuntimeName::parse(text).or_nearest_measured();
    let named: Vec<RuntimeName> = arguments.runtimes.iter().map(meant).collect();
    for name in &named {
        name.measurement("")?;
    }
    let selects =
        |(runtime, version): &(&str, &str)| named.is_empty() || named.iter().any(|name| name.selects(runtime, version));
    let measurements = Measurements::embedded();
    let of_runtime = |(runtime, versions): (&'static str, Vec<&'static str>)| {
        versions.into_iter().map(move |version| (runtime, version))
    };
    let meant: Vec<(&str, &str)> = measurements.runtimes().into_iter().flat_map(of_runtime).filter(selects).collect();
    let operators = cases_in_float(arguments.opset)?;
    // Only the measurements that are asked for are read.
    let overview = |(runtime, version): &(&str, &str)| -> Result<Option<Overview>, ExpectationError> {
        let measurement = measurements.get(runtime, version)?;
        Ok(measurement.map(|measurement| Overview::new(measurement, arguments.opset, &operators)))
    };
    let waiting = (meant.len() > FEW).then(|| Waiting::new("reading the measurements"));
    let overviews: Vec<Option<Overview>> = meant.par_iter().map(overview).collect::<Result<_, _>>()?;
    let mut overviews: Vec<Overview> = overviews.into_iter().flatten().collect();
    for overview in &mut overviews {
        let levels = Levels::measured(&overview.runtime, &overview.version)?;
        overview.levels = levels.map(|levels| levels.failures()).unwrap_or_default();
    }
    drop(waiting);
    match arguments.format {
        Form::Text => print::styled(table(&overviews, arguments.opset, screen::width()).trim_end())?,
        Form::Json => print::json(&overviews)?,
    }
    Ok(exit::SUCCESS)
}

fn list_tools(format: Form) -> anyhow::Result<u8> {
    let waiting = Waiting::new("reading the measurements of tools");
    let overviews = tool_overviews()?;
    drop(waiting);
    match format {
        Form::Text => print::styled(tool_table(&overviews).trim_end())?,
        Form::Json => print::json(&overviews)?,
    }
    Ok(exit::SUCCESS)
}
