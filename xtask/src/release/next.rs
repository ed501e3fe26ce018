//! `cargo xtask next`: compares the newest development build of ONNX, and the newest versions of runtimes, with what is committed.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use onnx_conformance_harness::expectations::version_key;
use onnx_conformance_harness::runtimes::Runtimes;
use onnx_conformance_harness::whole_file::write_whole;

use super::candidate::{Candidate, is_newer};
use super::falls;
use super::pip;
use super::section::{Section, markdown, text};
use super::wanted::Wanted;
use crate::adapters::VersionsFile;
use crate::vendor::{self, Package};
use crate::workspace;

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write the list in markdown to this file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Prints the list.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let pinned = vendor::newest()?;
    let build = pip::find(&Wanted::weekly(), &pinned.run)?;
    let candidate = pip::find(&Wanted { package: "onnx".to_owned(), version: None }, &pinned.run)?;
    let mut sections = vec![newer_packages(&pinned, [&candidate, &build])];
    let heading = if is_newer(&build, &pinned) {
        let heading = format!("{} against {}", build.requirement(), pinned.requirement());
        let build = Candidate::read(build)?;
        sections.extend(build.sections()?);
        sections.push(falls::in_this_program(&build)?);
        heading
    } else {
        format!("{} is not newer than {}", build.requirement(), pinned.requirement())
    };
    sections.push(runtimes()?);
    anstream::print!("{heading}\n\n{}", text(&sections));
    if let Some(path) = &arguments.markdown {
        write_whole(path, markdown(&heading, &sections).as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Lists the packages of ONNX that are newer than the pinned one.
fn newer_packages(pinned: &Package, found: [&Package; 2]) -> Section {
    let is_other = |package: &&&Package| package.requirement() != pinned.requirement() && is_newer(package, pinned);
    let lines = found.iter().filter(is_other).map(|package| match package.name.as_str() {
        "onnx" => format!("cargo xtask new-release {}", package.version()),
        _ => format!("cargo xtask new-release {}", package.requirement()),
    });
    Section::new("packages of ONNX to import", "One command imports each.", lines.collect())
}

/// Lists the versions of runtimes that are newer than the last one in versions.yaml, and versions in versions.yaml that
/// are not measured.
fn runtimes() -> Result<Section> {
    let mut lines = Vec::new();
    for (name, _) in Runtimes::embedded()?.all() {
        // The built-in executor has no adapter.
        if !workspace::root().join("adapters").join(name).join("versions.yaml").exists() {
            continue;
        }
        let versions = VersionsFile::read(name)?;
        let package = &versions.package;
        let newest = if versions.manifest.is_some() { pip::newest_crate(package)? } else { pip::newest(package)? };
        let listed = versions.chosen(name, None)?;
        let last = listed.last().copied().unwrap_or_default();
        if version_key(&newest) > version_key(last) {
            lines.push(format!(
                "{name}: {package} {newest} is on the index, adapters/{name}/versions.yaml ends with {last}"
            ));
        }
        let measured = |version: &&str| workspace::root().join(format!("expectations/{name}/{version}.yaml")).exists();
        let missing: Vec<&str> = listed.iter().copied().filter(|version| !measured(version)).collect();
        if !missing.is_empty() {
            lines.push(format!("{name}: listed, without a measurement: {}", missing.join(", ")));
        }
    }
    let advice = "Add a row to versions.yaml, then `cargo xtask measure RUNTIME@VERSION`.";
    Ok(Section::new("versions of runtimes that are not measured", advice, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_packages_are_named_with_their_command() {
        let package = |name: &str, release: &str, version: &str| Package::new(release, name, version, "", "");
        let pinned = package("onnx", "9.0.1", "9.0.1");
        let build = package("onnx-weekly", "9.1.0", "9.1.0.dev2");
        let shown = |candidate| text(&[newer_packages(&pinned, [&candidate, &build])]);
        let row = "  cargo xtask new-release onnx-weekly==9.1.0.dev2\n";
        assert!(shown(pinned.clone()).ends_with(&format!(": 1\nOne command imports each.\n{row}")));
        let both = format!("  cargo xtask new-release 9.1.0rc1\n{row}");
        assert!(shown(package("onnx", "9.1.0", "9.1.0rc1")).ends_with(&both));
    }
}
