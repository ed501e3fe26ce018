//! `finding`: findings about runtimes and faults of tools, a single one, or the text of an issue for it.

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_cases::case::{TextRelease, Variant, vary};
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::findings::{Finding, Findings, MeasuredVersions, ToolFault, ToolFaults};
use onnx_conformance_harness::measure::{History, Measurements};
use onnx_conformance_report::issue::issue;
use onnx_conformance_report::tool_fault::{tool_fault_text, tool_issue};

use crate::cli::options::Sources;
use crate::cli::print;
use crate::cli::show::find;
use crate::cli::usage::Usage;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of a finding or of a fault of a tool, with the runtime or tool if several have it. Without an id, all are listed
    #[arg(value_name = "ID")]
    finding: Option<String>,

    /// Print an issue in markdown, with a program that reproduces it
    #[arg(long, requires = "finding")]
    issue: bool,

    /// List only the findings about this runtime or tool
    #[arg(long, value_name = "NAME", conflicts_with = "finding")]
    runtime: Option<String>,

    /// List the required cases and graphs that fail on the newest measured version of the runtime and have no finding
    #[arg(long, requires = "runtime", conflicts_with = "history")]
    unexplained: bool,

    /// Show the measured version since which each runtime passes all required cases that these patterns select, and the
    /// number of failures in the other versions
    #[arg(long, value_name = "PATTERN", num_args = 1.., conflicts_with = "finding")]
    history: Vec<String>,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    if !arguments.history.is_empty() {
        return history(&arguments.history, arguments.runtime.as_deref());
    }
    let all = Findings::embedded()?;
    if let Some(runtime) = arguments.runtime.as_deref().filter(|_| arguments.unexplained) {
        return unexplained(all, runtime);
    }
    let Some(id) = &arguments.finding else { return list(all, arguments.runtime.as_deref()) };
    let findings = all.named(id);
    let faults = faults_named(id)?;
    let finding = match (&findings[..], &faults[..]) {
        ([finding], []) => *finding,
        ([], [(tool, fault)]) => return show_fault(tool, fault, arguments.issue),
        ([], []) => bail!(Usage(format!("there is no finding '{id}'; `onnx-conformance finding` lists them"))),
        _ => {
            let names = findings.iter().map(|finding| finding.full_id());
            let names = names.chain(faults.iter().map(|(tool, fault)| tool.full_id(fault)));
            let names = names.collect::<Vec<_>>().join(", ");
            bail!(Usage(format!("several runtimes or tools have a finding '{id}'; choose one: {names}")))
        }
    };
    let versions = finding.measured_in()?;
    if arguments.issue {
        if !finding.proof.is_standard() {
            let hint = "an issue needs a sentence of the standard or a function body";
            bail!(Usage(format!("{} is decided by {}; {hint}", finding.full_id(), finding.proof)));
        }
        let sources = Sources::default();
        print::line(issue(finding, versions, &find(&sources, TextRelease::newest(), &finding.sample)?).trim_end())?;
    } else {
        show(finding, versions)?;
    }
    Ok(exit::SUCCESS)
}

/// Returns the faults of tools with an id, with or without the tool.
fn faults_named(id: &str) -> anyhow::Result<Vec<(&'static ToolFaults, &'static ToolFault)>> {
    let all = ToolFaults::embedded()?.iter().flat_map(|tool| tool.faults.iter().map(move |fault| (tool, fault)));
    Ok(all.filter(|(tool, fault)| fault.id == id || tool.full_id(fault) == id).collect())
}

fn show_fault(tool: &ToolFaults, fault: &ToolFault, as_issue: bool) -> anyhow::Result<u8> {
    if as_issue {
        let (plain, variant) = Variant::split_id(&fault.sample);
        let case = find(&Sources::default(), TextRelease::newest(), plain)?;
        let asked = vary(&case, variant).with_context(|| format!("{plain} is not asked '{variant}'"))?;
        print::line(tool_issue(&tool.tool, fault, &asked)?.trim_end())?;
    } else {
        print::line(&tool_fault_text(&tool.tool, fault)?)?;
    }
    Ok(exit::SUCCESS)
}

fn list(all: &Findings, runtime: Option<&str>) -> anyhow::Result<u8> {
    let is_wanted = |name: &str| runtime.is_none_or(|wanted| wanted == name);
    let findings = all.all().filter(|finding| is_wanted(finding.runtime));
    let mut wanted: Vec<(String, &str)> = findings.map(|finding| (finding.full_id(), finding.title.as_str())).collect();
    for tool in ToolFaults::embedded()?.iter().filter(|tool| is_wanted(&tool.tool)) {
        wanted.extend(tool.faults.iter().map(|fault| (tool.full_id(fault), fault.title.as_str())));
    }
    if wanted.is_empty() {
        print::note("there are no findings about this runtime or tool");
        return Ok(exit::NOTHING);
    }
    let width = wanted.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    for (id, title) in wanted {
        print::line(&format!("{id:width$}  {}", line(title)))?;
    }
    Ok(exit::SUCCESS)
}

/// Prints the required failures of the newest measured version of a runtime that have no finding.
fn unexplained(all: &Findings, runtime: &str) -> anyhow::Result<u8> {
    let measurement = Measurements::embedded().newest(runtime)?;
    let measurement = measurement.ok_or_else(|| Usage(format!("no version of {} has been measured", line(runtime))))?;
    let found = all.unexplained(measurement);
    for (id, outcome) in &found {
        print::line(&format!("{outcome} {}", line(id)))?;
    }
    let version = measurement.version();
    print::note(&format!("{} required failures of {runtime} {version} have no finding", found.len()));
    Ok(exit::SUCCESS)
}

/// Prints since which version each runtime, or one of them, passes the required cases that the patterns select.
fn history(patterns: &[String], runtime: Option<&str>) -> anyhow::Result<u8> {
    let mut histories = History::for_cases(&Filter::new(patterns)?)?;
    histories.retain(|history| runtime.is_none_or(|name| history.runtime == name));
    if histories.is_empty() {
        print::note("the patterns select no measured required case");
        return Ok(exit::NOTHING);
    }
    for history in histories {
        print::line(&format!("{}: {history}", history.runtime))?;
    }
    Ok(exit::SUCCESS)
}

fn show(finding: &Finding, versions: &MeasuredVersions) -> anyhow::Result<()> {
    print::line(&format!(
        "{}\n  title     {}\n  standard  {}",
        finding.full_id(),
        line(&finding.title),
        line(&finding.proof.to_string())
    ))?;
    if let Some(text) = &finding.text {
        print::line(&format!("  so        {}", line(text)))?;
    }
    print::line(&format!("  runtime   {}", line(&finding.does)))?;
    print::line(&format!("  versions  {versions}\n  cases     {}", finding.cases.join(", ")))?;
    if let Some(version) = versions.fails.last()
        && let Some(measurement) = Measurements::embedded().get(finding.runtime, version)?
    {
        print::line(&format!("  fails     {} cases in {version}", finding.failures(measurement).len()))?;
    }
    print::line(&format!("  run       onnx-conformance run --runtime {} '{}'", finding.runtime, finding.sample))?;
    Ok(())
}
