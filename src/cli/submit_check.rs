//! `submit-check`: seals and verifies a submission, and prints its statements about the runtime.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use onnx_conformance_cases::suite::{Generated, Profile, Suite};
use onnx_conformance_harness::escape;
use onnx_conformance_harness::exit;
use onnx_conformance_harness::measure::{Conformance, OperatorConformance, is_required};
use onnx_conformance_harness::run::{Header, Outcome, Read, feature_list};
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OperatorVersion, Specs};
use onnx_conformance_report::conformance_badge::BadgeStatement;

use crate::cli::output_file::{Kind, OutputFiles};
use crate::cli::submission::{Manifest, SubmissionFolder, is_address, read_whole_run};
use crate::cli::usage::Usage;
use crate::cli::{options, print};

/// Maximum number of types to name for an operator.
const MAX_TYPES: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder of the submission: results.jsonl of a run of the whole suite, and the folder `adapter` with adapter.yaml and source
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Write submission.yaml, the seal: facts of the run, and the digest of each file. Without this option the seal is verified
    #[arg(long)]
    seal: bool,

    /// With --seal: the address at which anybody can get this version of the runtime. An existing seal has it already
    #[arg(long, value_name = "URL", requires = "seal")]
    package: Option<String>,

    /// Say whether the runtime conforms with this opset of ai.onnx. May be given several times [default: the newest]
    #[arg(long, value_name = "N")]
    opset: Vec<u32>,

    /// Say it about operators and cases of this element type only, such as float
    #[arg(long = "type", value_name = "TYPE")]
    element: Option<ElementType>,

    /// Say it about the cases of this profile only
    #[arg(long, value_name = "NAME", value_parser = options::parse_profile, default_value = "full")]
    profile: Profile,

    /// Write what it says about one opset to this SVG file, outside of DIR
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,

    /// Print at most this many operators that do not conform; 0 for all
    #[arg(long, value_name = "N", default_value = "30", value_parser = options::shown, allow_negative_numbers = true)]
    show: usize,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let opsets = arguments.opsets()?;
    let folder = SubmissionFolder::open(&arguments.folder)?;
    if let Some(path) = &arguments.badge {
        check_badge(path, &folder, opsets.len())?;
    }
    let sealed = folder.manifest()?;
    if let Some(sealed) = sealed.as_ref().filter(|_| !arguments.seal) {
        folder.check_files(sealed)?;
    } else if !arguments.seal {
        let place = arguments.folder.display();
        bail!("{place}: has no submission.yaml; seal the folder with --seal --package URL");
    }
    let suite = Suite::project(None, Generated::embedded())?;
    let read = read_whole_run(&folder.results(), &suite)?;
    folder.check_adapter()?;
    let package = arguments.package.as_deref().or(sealed.as_ref().map(|sealed| sealed.package.as_str()));
    let shown = manifest(&folder, &read.header, check_package(package)?);
    if arguments.seal {
        folder.write_manifest(&shown)?;
    } else if let Some(sealed) = &sealed {
        sealed.check_facts(&folder.seal_place(), &shown)?;
    }
    print::line(&summary(&folder, &read, &shown))?;
    let mut results = read.results;
    results.retain(|result| arguments.profile.includes(&result.id));
    for opset in opsets {
        let conformance = Conformance::at(opset, arguments.element, &results)?;
        print::line(&statement(&conformance, arguments.profile, arguments.show))?;
        if let Some(path) = &arguments.badge {
            write_badge(path, &conformance, arguments.profile, &read.header)?;
        }
    }
    Ok(exit::SUCCESS)
}

impl Arguments {
    /// Returns the opsets to print a statement about.
    fn opsets(&self) -> anyhow::Result<Vec<u32>> {
        let newest = Specs::embedded().newest_opset(DEFAULT_DOMAIN)?;
        if let Some(opset) = self.opset.iter().find(|opset| !(1..=newest).contains(*opset)) {
            bail!(Usage(format!("ai.onnx has no opset {opset}; its opsets are 1 to {newest}")));
        }
        Ok(if self.opset.is_empty() { vec![newest] } else { self.opset.clone() })
    }
}

/// Fails unless a badge about one of this many opsets can be written to a path.
fn check_badge(path: &Path, folder: &SubmissionFolder, opsets: usize) -> Result<(), Usage> {
    if opsets != 1 {
        return Err(Usage(format!("a badge is about one opset, not {opsets}; give --opset once for each --badge")));
    }
    if folder.contains(path) {
        let shown = path.display();
        return Err(Usage(format!("{shown} is in the submission, which has sealed files only; choose another folder")));
    }
    OutputFiles::default().add(path, Kind::BadgeImage)
}

/// Writes the statement about an opset as a badge.
fn write_badge(path: &Path, conformance: &Conformance, profile: Profile, header: &Header) -> anyhow::Result<()> {
    let runtime = &format!("{} {}", header.runtime.name, header.runtime.version);
    let badge = BadgeStatement { runtime, suite: &header.suite, profile, conformance };
    let shown = path.display();
    let Some(svg) = badge.svg() else {
        bail!("{shown}: is not written, since there is no statement about opset {}", conformance.opset);
    };
    write_whole(path, svg.as_bytes()).with_context(|| shown.to_string())?;
    print::note(&format!("wrote {shown}"));
    Ok(())
}

/// Returns the address of the runtime's version, or fails if it is missing or cannot be one.
fn check_package(package: Option<&str>) -> anyhow::Result<&str> {
    let Some(package) = package else {
        let rule = "the seal needs the address at which anybody can get the version of the runtime; add --package URL";
        bail!(Usage(rule.to_owned()));
    };
    if !is_address(package) {
        let shown = escape::line(package);
        bail!(Usage(format!("'{shown}' is no address of a package; give one that begins with https:// as --package")));
    }
    Ok(package)
}

/// Returns the seal of a folder whose results have this header.
fn manifest(folder: &SubmissionFolder, header: &Header, package: &str) -> Manifest {
    let (machine, runtime) = (&header.machine, &header.runtime);
    Manifest {
        runtime: runtime.name.clone(),
        version: runtime.version.clone(),
        package: package.to_owned(),
        suite: header.suite_text(),
        date: header.date.clone().unwrap_or_default(),
        platform: format!("{}-{}", machine.os, machine.arch),
        cpu: machine.features.as_ref().map(feature_list).unwrap_or_default(),
        adapter: folder.adapter().1,
        ..Manifest::of_files(folder.digests().clone())
    }
}

/// Describes a submission, with the number of cases that pass.
fn summary(folder: &SubmissionFolder, read: &Read, shown: &Manifest) -> String {
    let Manifest { runtime, version, package, suite, date, platform, cpu, .. } = shown;
    let required = || read.results.iter().filter(|result| is_required(result));
    let count = |outcome: Outcome| required().filter(|result| result.outcome == outcome).count();
    let (files, digest) = folder.adapter();
    format!(
        "{runtime} {version} ({package})\n\
         suite {suite}, on {platform} with {cpu}, on {date}\n\
         adapter {digest}, {files} files\n\
         {} of {} required cases pass; {} are unsupported, {} were not sent",
        count(Outcome::Pass),
        required().count(),
        count(Outcome::Unsupported),
        count(Outcome::NotDeclared)
    )
}

/// Formats the statement about an opset, with the operators that do not conform.
fn statement(conformance: &Conformance, profile: Profile, show: usize) -> String {
    let element = conformance.element.map(|element| format!(" in {element}")).unwrap_or_default();
    let about = format!("conformant with opset {}, profile {}{element}", conformance.opset, profile.name());
    let (all, failing) = (conformance.operators.len(), conformance.failing().count());
    if all == 0 {
        return format!("{about}: no statement, since no operator has a required case of it");
    }
    if conformance.holds() {
        return format!("{about}: yes; every required case of {all} operators passes");
    }
    let mut lines = vec![format!("{about}: no; {failing} of {all} operators have required cases that fail:")];
    lines.extend(conformance.failing().take(show).map(|(version, results)| failing_line(version, results)));
    if failing > show {
        lines.push(format!("  and {} more; --show 0 prints all", failing - show));
    }
    lines.join("\n")
}

fn failing_line(version: &OperatorVersion, results: &OperatorConformance) -> String {
    let OperatorConformance { cases, failing, types } = results;
    let named: Vec<&str> = types.iter().take(MAX_TYPES).map(String::as_str).collect();
    let more =
        if types.len() > named.len() { format!(" and {} more", types.len() - named.len()) } else { String::new() };
    let types = if named.is_empty() { String::new() } else { format!(" ({}{more})", named.join("; ")) };
    format!("  {version}: {failing} of {cases}{types}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_harness::run::CaseResult;

    fn results(lines: &[(&str, &str)]) -> Conformance {
        let read = |(id, outcome): &(&str, &str)| {
            let line = format!("{{\"id\":\"{id}\",\"outcome\":\"{outcome}\",\"level\":\"required\",\"ms\":1.0}}");
            serde_json::from_str(&line).unwrap()
        };
        Conformance::at(13, None, &lines.iter().map(read).collect::<Vec<CaseResult>>()).unwrap()
    }

    fn say(lines: &[(&str, &str)], show: usize) -> String {
        statement(&results(lines), Profile::Full, show)
    }

    #[test]
    fn a_statement_names_operators_and_types() {
        let pass = [("ai.onnx/Abs-13/a/T=float", "pass"), ("ai.onnx/Sign-13/a/T=float", "pass")];
        assert_eq!(
            say(&pass, 30),
            "conformant with opset 13, profile full: yes; every required case of 2 operators passes"
        );
        let mixed =
            [&pass[..], &[("ai.onnx/Abs-13/a/T=int8", "error"), ("ai.onnx/Sign-13/refuse/a", "accepted")]].concat();
        let said = "conformant with opset 13, profile full: no; 2 of 2 operators have required cases that fail:\n  Abs-13: 1 of 2 (T=int8)";
        assert_eq!(say(&mixed, 30), format!("{said}\n  Sign-13: 1 of 2"));
        assert!(say(&[], 30).ends_with("no statement, since no operator has a required case of it"));
        assert_eq!(say(&mixed, 1), format!("{said}\n  and 1 more; --show 0 prints all"));
    }

    #[test]
    fn a_package_has_an_address() {
        assert_eq!(check_package(Some("https://example.org/a-1.2")).unwrap(), "https://example.org/a-1.2");
        for package in ["http://example.org", "a 1.2", "https://example.org/a b", ""] {
            assert!(check_package(Some(package)).is_err(), "{package}");
        }
        assert!(check_package(None).unwrap_err().to_string().contains("add --package URL"));
    }
}
