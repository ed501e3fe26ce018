//! `show FINDING` and `list findings`: findings about runtimes and faults of tools, or the text of an issue.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_cases::case::{CaseId, TextRelease, Variant, vary};
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_harness::escape::line;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::findings::{Finding, Findings, MeasuredVersions, ToolFault, ToolFaults};
use onnx_conformance_harness::measure::{History, Measurement, Measurements};
use onnx_conformance_harness::runtimes::Runtimes;
use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_report::issue::issue;
use onnx_conformance_report::tool_fault::{tool_fault_text, tool_issue};

use crate::cli::find_case::find;
use crate::cli::operator_name::OperatorName;
use crate::cli::options::Sources;
use crate::cli::print;
use crate::cli::runtime_name::RuntimeName;
use crate::cli::suggest::nearest;
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

/// Selection of findings.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// List only the findings about these operators, such as Gather or Resize@13
    #[arg(value_name = "OPERATOR[@OPSET]")]
    operators: Vec<String>,

    /// List only the findings about this runtime or tool, or those with failing cases in the version after @
    #[arg(long, value_name = "NAME[@VERSION]")]
    runtime: Option<String>,

    /// List the required cases and graphs that fail on the runtime and have no finding, in its newest measured version or the one
    /// after @
    #[arg(long, requires = "runtime", conflicts_with_all = ["history", "operators"])]
    unexplained: bool,

    /// Show the measured version since which each runtime passes all required cases that these patterns select, and the
    /// number of failures in the other versions
    #[arg(long, value_name = "PATTERN", num_args = 1.., conflicts_with = "operators")]
    history: Vec<String>,
}

/// A finding about a runtime, or a fault of a tool.
#[derive(Debug)]
pub(crate) enum Found {
    Finding(&'static Finding),
    Fault(&'static ToolFaults, &'static ToolFault),
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let Some(id) = &arguments.finding else {
        let (runtime, history) = (arguments.runtime.clone(), arguments.history.clone());
        return list(&ListArguments { operators: Vec::new(), runtime, unexplained: arguments.unexplained, history });
    };
    match Found::find(id)? {
        Some(found) => found.print(arguments.issue)?,
        None => bail!(Usage(format!("there is no finding '{id}'; `onnx-conformance list findings` lists them"))),
    }
    Ok(exit::SUCCESS)
}

impl Arguments {
    /// Returns true if the arguments name a finding.
    pub(crate) fn names_finding(&self) -> bool {
        self.finding.is_some()
    }
}

impl Found {
    /// Returns the finding with this id, with or without its runtime or tool. If several have the id, the error lists them.
    pub(crate) fn find(id: &str) -> anyhow::Result<Option<Found>> {
        let mut found: Vec<Found> = Findings::embedded()?.named(id).into_iter().map(Found::Finding).collect();
        for tool in ToolFaults::embedded()? {
            let named = tool.faults.iter().filter(|fault| fault.id == id || tool.full_id(fault) == id);
            found.extend(named.map(|fault| Found::Fault(tool, fault)));
        }
        if found.len() > 1 {
            let names = found.iter().map(Found::full_id).collect::<Vec<_>>().join(", ");
            bail!(Usage(format!("several runtimes or tools have a finding '{id}'; choose one: {names}")));
        }
        Ok(found.pop())
    }

    /// Returns all findings about runtimes and all faults of tools.
    fn all() -> anyhow::Result<Vec<Found>> {
        let faults = ToolFaults::embedded()?.iter().flat_map(|tool| tool.faults.iter().map(move |fault| (tool, fault)));
        let faults = faults.map(|(tool, fault)| Found::Fault(tool, fault));
        Ok(Findings::embedded()?.all().map(Found::Finding).chain(faults).collect())
    }

    /// Returns the ids of all findings, without and with the runtime or tool.
    pub(crate) fn ids() -> anyhow::Result<Vec<String>> {
        let all = Found::all()?;
        Ok(all.iter().flat_map(|found| [found.id().to_owned(), found.full_id()]).collect())
    }

    fn id(&self) -> &'static str {
        match self {
            Found::Finding(finding) => &finding.id,
            Found::Fault(_, fault) => &fault.id,
        }
    }

    fn full_id(&self) -> String {
        match self {
            Found::Finding(finding) => finding.full_id(),
            Found::Fault(tool, fault) => tool.full_id(fault),
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Found::Finding(finding) => &finding.title,
            Found::Fault(_, fault) => &fault.title,
        }
    }

    /// Returns the name of the runtime or tool.
    fn runtime(&self) -> &'static str {
        match self {
            Found::Finding(finding) => finding.runtime,
            Found::Fault(tool, _) => &tool.tool,
        }
    }

    /// Returns true if it is about one of these operator versions.
    fn is_about(&self, versions: &[OperatorVersion]) -> bool {
        match self {
            Found::Finding(finding) => versions.iter().any(|version| !finding.cases_of(version).is_empty()),
            Found::Fault(_, fault) => {
                let sample = CaseId::parse(&fault.sample).version();
                let is_other = |name: &String| versions.iter().any(|version| version.name == *name);
                sample.is_some_and(|sample| versions.contains(&sample)) || fault.also.iter().any(is_other)
            }
        }
    }

    /// Returns true if it is about this runtime or tool, and its cases fail in the version if one is named.
    fn is_about_runtime(&self, runtime: &RuntimeName) -> anyhow::Result<bool> {
        if self.runtime() != runtime.name {
            return Ok(false);
        }
        match (self, &runtime.version) {
            (Found::Finding(finding), Some(version)) => Ok(finding.measured_in()?.fails.contains(&version.as_str())),
            _ => Ok(true),
        }
    }

    /// Prints the finding, or an issue for it.
    pub(crate) fn print(&self, as_issue: bool) -> anyhow::Result<()> {
        match self {
            Found::Finding(finding) if as_issue => print_issue(finding),
            Found::Finding(finding) => show(finding, finding.measured_in()?),
            Found::Fault(tool, fault) => show_fault(tool, fault, as_issue),
        }
    }
}

fn print_issue(finding: &Finding) -> anyhow::Result<()> {
    if !finding.proof.is_standard() {
        let hint = "an issue needs a sentence of the standard or a function body";
        bail!(Usage(format!("{} is decided by {}; {hint}", finding.full_id(), finding.proof)));
    }
    let sample = find(&Sources::default(), TextRelease::newest(), &finding.sample)?;
    print::line(issue(finding, finding.measured_in()?, &sample).trim_end())
}

fn show_fault(tool: &ToolFaults, fault: &ToolFault, as_issue: bool) -> anyhow::Result<()> {
    if as_issue {
        let (plain, variant) = Variant::split_id(&fault.sample);
        let case = find(&Sources::default(), TextRelease::newest(), plain)?;
        let asked = vary(&case, variant).with_context(|| format!("{plain} is not asked '{variant}'"))?;
        print::line(tool_issue(&tool.tool, fault, &asked)?.trim_end())
    } else {
        print::line(&tool_fault_text(&tool.tool, fault)?)
    }
}

/// Prints the selected findings, a line each, or the history or failures that the options ask for.
pub(crate) fn list(arguments: &ListArguments) -> anyhow::Result<u8> {
    let mut all = Found::all()?;
    let known = known_runtimes(&all)?;
    let known: BTreeSet<&str> = known.iter().map(String::as_str).collect();
    let runtime = arguments.runtime.as_deref().map(|text| RuntimeName::parse(text).or_nearest(&known));
    if !arguments.history.is_empty() {
        return history(&arguments.history, runtime.as_ref());
    }
    if let Some(runtime) = runtime.as_ref().filter(|_| arguments.unexplained) {
        return unexplained(Findings::embedded()?, runtime.measurement("--runtime: ")?);
    }
    let mut versions = Vec::new();
    if let Some(runtime) = &runtime {
        all = about_runtime(all, runtime)?;
    }
    for text in &arguments.operators {
        versions.extend(versions_of(text)?);
    }
    if !arguments.operators.is_empty() {
        all.retain(|found| found.is_about(&versions));
    }
    if all.is_empty() {
        let about = arguments.operators.join(", ");
        let about = if about.is_empty() { "this runtime or tool" } else { about.as_str() };
        print::note(&format!("there are no findings about {about}"));
        return Ok(exit::NOTHING);
    }
    let width = all.iter().map(|found| found.full_id().len()).max().unwrap_or(0);
    for found in all {
        print::line(&format!("{:width$}  {}", found.full_id(), line(found.title())))?;
    }
    Ok(exit::SUCCESS)
}

/// Returns the version at the opset that a text names, or else all versions of the operator.
fn versions_of(text: &str) -> anyhow::Result<Vec<OperatorVersion>> {
    let name = OperatorName::parse_or_nearest(text)?;
    name.note_reading();
    if name.opset.is_some() {
        return Ok(vec![name.version()?]);
    }
    Ok(name.versions().into_iter().map(|since| OperatorVersion::new(&name.domain, &name.name, since)).collect())
}

/// Returns the findings about a runtime or tool, or those with failing cases in one of its versions.
fn about_runtime(all: Vec<Found>, runtime: &RuntimeName) -> anyhow::Result<Vec<Found>> {
    check_runtime(&runtime.name, &all)?;
    if runtime.version.is_some() {
        runtime.measurement("--runtime: ")?;
    }
    let mut selected = Vec::new();
    for found in all {
        if found.is_about_runtime(runtime)? {
            selected.push(found);
        }
    }
    Ok(selected)
}

/// Returns the names of runtimes and tools: those with an adapter, and those with a finding.
fn known_runtimes(all: &[Found]) -> anyhow::Result<BTreeSet<String>> {
    let adapters = Runtimes::embedded()?;
    let mut known: BTreeSet<String> = adapters.all().map(|(known, _)| known.to_owned()).collect();
    known.extend(adapters.tools().map(|(known, _)| known.to_owned()));
    known.extend(all.iter().map(|found| found.runtime().to_owned()));
    Ok(known)
}

/// Fails if neither a runtime nor a tool has this name.
fn check_runtime(name: &str, all: &[Found]) -> anyhow::Result<()> {
    let known = known_runtimes(all)?;
    if known.contains(name) {
        return Ok(());
    }
    let near = nearest(name, known.iter().map(String::as_str));
    let hint = near.map(|near| format!("; the nearest name is {near}")).unwrap_or_default();
    let known: Vec<String> = known.into_iter().collect();
    bail!(Usage(format!("there is no runtime or tool '{name}'{hint}; the known ones are {}", known.join(", "))))
}

/// Prints the required failures of a measured version of a runtime that have no finding.
fn unexplained(all: &Findings, measurement: &Measurement) -> anyhow::Result<u8> {
    let found = all.unexplained(measurement);
    for (id, outcome) in &found {
        print::line(&format!("{outcome} {}", line(id)))?;
    }
    let (runtime, version) = (measurement.runtime(), measurement.version());
    print::note(&format!("{} required failures of {runtime} {version} have no finding", found.len()));
    let errors = all.errors_between_no_ops(measurement);
    if !errors.is_empty() {
        let (count, ids) = (errors.len(), errors.join(", "));
        print::note(&format!(
            "not counted: {count} errors of cases between no-ops, whose cause may be a no-op: {}",
            line(&ids)
        ));
    }
    Ok(exit::SUCCESS)
}

/// Prints since which version each runtime, or one of them, passes the required cases that the patterns select.
fn history(patterns: &[String], runtime: Option<&RuntimeName>) -> anyhow::Result<u8> {
    if let Some(version) = runtime.and_then(|named| named.version.as_ref()) {
        bail!(Usage(format!("--runtime: --history is about all versions; omit @{version}")));
    }
    let mut histories = History::for_cases(&Filter::new(patterns)?)?;
    histories.retain(|history| runtime.is_none_or(|named| history.runtime == named.name));
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
