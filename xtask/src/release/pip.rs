//! Questions to the package index, asked with pip: the wheel of a version with its digest, and the newest version of a package.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::wanted::{Wanted, release_of};
use crate::vendor::Package;
use crate::{python, workspace};

/// Report of pip about an installation that it only plans.
#[derive(Deserialize)]
struct Report {
    install: Vec<Installed>,
}

/// A package of the plan.
#[derive(Deserialize)]
struct Installed {
    metadata: Metadata,
    download_info: Download,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Download {
    url: String,
    #[serde(default)]
    archive_info: Archive,
}

#[derive(Default, Deserialize)]
struct Archive {
    #[serde(default)]
    hashes: std::collections::BTreeMap<String, String>,
}

/// Finds the wheel of a version for this Python and platform, and what its tests are generated with: the given pins, and every other
/// package that it needs.
pub(crate) fn find(wanted: &Wanted, pins: &[String]) -> Result<Package> {
    let requirement = wanted.requirement();
    let requirements: Vec<&str> = std::iter::once(&requirement).chain(pins).map(String::as_str).collect();
    // Candidates and development builds are chosen too.
    package(&plan(&["--pre"], &requirements)?, wanted)
}

/// Returns the newest released version of a package for this Python and platform.
pub(crate) fn newest(name: &str) -> Result<String> {
    let found = parse(&plan(&["--no-deps"], &[name])?)?.install.pop();
    Ok(found.with_context(|| format!("pip plans to install nothing for {name}"))?.metadata.version)
}

/// Returns the newest version of a crate.
pub(crate) fn newest_crate(name: &str) -> Result<String> {
    // Outside of the workspace, whose lock file would choose the version.
    let output = Command::new("cargo").args(["info", name]).current_dir(std::env::temp_dir()).output();
    let output = output.context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().find_map(|line| line.strip_prefix("version: "));
    let error = String::from_utf8_lossy(&output.stderr);
    let version = version.with_context(|| {
        format!(
            "cargo finds no crate {name}, or cannot reach the registry; this task needs the network:\n{}",
            error.trim()
        )
    })?;
    Ok(version.split(' ').next().unwrap_or(version).to_owned())
}

/// Asks pip for the plan of an installation.
fn plan(options: &[&str], requirements: &[&str]) -> Result<String> {
    let path = workspace::target().join("python").join("pip-report.json");
    let python = python::environment("vendor", &[])?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--report"]).arg(&path).args(options);
    let output = pip.args(requirements).output().context("cannot start pip")?;
    ensure!(
        output.status.success(),
        "pip finds no wheel for {} on this platform, or cannot reach the package index; this task needs the network:\n{}",
        requirements.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

fn parse(report: &str) -> Result<Report> {
    serde_json::from_str(report)
        .context("the report of pip is not the expected JSON; pip 22.2 or a later one writes it")
}

/// Reads the row of the wanted package from a report.
fn package(report: &str, wanted: &Wanted) -> Result<Package> {
    let name = &wanted.package;
    let (mut found, others): (Vec<Installed>, Vec<Installed>) =
        parse(report)?.install.into_iter().partition(|installed| installed.metadata.name == *name);
    let Installed { metadata: Metadata { version, .. }, download_info } =
        found.pop().with_context(|| format!("the plan of pip for {} does not contain it", wanted.requirement()))?;
    let release = release_of(&version)
        .with_context(|| format!("the version {version} of {name} leads to no release; name another version"))?;
    let file = download_info.url.rsplit('/').next().unwrap_or_default().to_owned();
    let sha256 = download_info.archive_info.hashes.get("sha256");
    let sha256 = sha256.with_context(|| format!("the package index gives no SHA-256 of {file}; use another index"))?;
    ensure!(
        file.contains("manylinux") && file.ends_with("x86_64.whl"),
        "pip found {file}; wheels for Linux on x86_64 are pinned, with whose code tests are the same bytes: run the task there"
    );
    let mut run: Vec<String> =
        others.iter().map(|other| format!("{}=={}", other.metadata.name, other.metadata.version)).collect();
    run.sort();
    Ok(Package { run, ..Package::new(&release, name, &version, &file, sha256) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(file: &str, hashes: &str) -> String {
        let own = format!(
            r#"{{"metadata": {{"name": "onnx-weekly", "version": "9.1.0.dev2"}},
                "download_info": {{"url": "https://example.org/{file}", "archive_info": {{"hashes": {hashes}}}}}}}"#
        );
        let other = r#"{"metadata": {"name": "numpy", "version": "2.4.6"}, "download_info": {"url": "n.whl"}}"#;
        format!(r#"{{"install": [{other}, {own}]}}"#)
    }

    #[test]
    fn a_package_is_pinned_by_file_digest_and_requirements() {
        let found = package(&report("w-manylinux_2_28_x86_64.whl", r#"{"sha256": "ab"}"#), &Wanted::weekly()).unwrap();
        assert_eq!((found.release.as_str(), found.version()), ("9.1.0", "9.1.0.dev2"));
        assert_eq!((found.file.as_str(), found.sha256.as_str()), ("w-manylinux_2_28_x86_64.whl", "ab"));
        assert_eq!(found.run, ["numpy==2.4.6"]);
    }

    #[test]
    fn what_cannot_be_pinned_is_refused_with_its_file() {
        let error = |report: &str| package(report, &Wanted::weekly()).unwrap_err().to_string();
        let missing = error(&report("w-manylinux_2_28_x86_64.whl", "{}"));
        assert!(missing.contains("gives no SHA-256 of w-manylinux_2_28_x86_64.whl"), "{missing}");
        let other = error(&report("w-win_amd64.whl", r#"{"sha256": "ab"}"#));
        assert!(other.contains("pip found w-win_amd64.whl") && other.contains("run the task there"), "{other}");
        assert!(error("{}").contains("not the expected JSON"));
    }
}
