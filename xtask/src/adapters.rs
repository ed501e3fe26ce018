//! `versions.yaml` of the adapters, and `cargo xtask setup`: the Python environment of an adapter in the newest version.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use onnx_conformance_harness::expectations::version_key;
use serde::Deserialize;

use crate::workspace;

/// The options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The adapters
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
}

/// Sets up each adapter.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    arguments.names.iter().try_for_each(|name| setup(name))
}

/// Makes the environment of an adapter where adapter.yaml says, or makes it anew when the pins of its newest version are others.
pub(crate) fn setup(name: &str) -> Result<()> {
    let versions = VersionsFile::read(name)?;
    let (version, pins) =
        versions.newest().with_context(|| format!("adapters/{name}/versions.yaml: lists no version"))?;
    ensure!(!pins.is_empty(), "adapters/{name} is a program in Rust; its README says how it is built");
    let home = workspace::root().join("target/adapters").join(name);
    let (wanted, stamp) = (pins.join("\n"), home.join("requirements.txt"));
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
    }
    anstream::println!("{name} {version} into {}", home.display());
    run(Command::new(if cfg!(windows) { "python" } else { "python3" }).args(["-m", "venv"]).arg(&home))?;
    let pip = home.join(if cfg!(windows) { "Scripts/pip.exe" } else { "bin/pip" });
    run(Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check"]).args(pins))?;
    // Written last, so that an interrupted installation is made again.
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

fn run(command: &mut Command) -> Result<()> {
    command.current_dir::<&Path>(workspace::root());
    let status = command.status().with_context(|| format!("cannot start {command:?}; Python 3 with venv is needed"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}

/// `versions.yaml` of an adapter: what is installed for each version that is measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionsFile {
    /// The `PyPI` package, or the crate, whose version is the runtime's.
    #[serde(alias = "crate")]
    pub(crate) package: String,
    /// The Pythons that the packages are for, for people.
    #[serde(default, rename = "python")]
    _python: Option<String>,
    /// The folder of the adapter's crate, where it is written in Rust.
    #[serde(default)]
    pub(crate) manifest: Option<String>,
    /// The patterns of the cases that are measured; all without one.
    #[serde(default)]
    pub(crate) scope: Vec<String>,
    versions: BTreeMap<String, Pins>,
}

/// What is installed for a version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pins {
    /// Of `PyPI`, with exact versions.
    #[serde(default)]
    requirements: Vec<String>,
}

impl VersionsFile {
    /// That of an adapter.
    pub(crate) fn read(name: &str) -> Result<VersionsFile> {
        let path = workspace::root().join("adapters").join(name).join("versions.yaml");
        let text = fs::read_to_string(&path).with_context(|| {
            format!("{}: a runtime is measured in the versions that this file lists", path.display())
        })?;
        serde_yaml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// What of `PyPI` is installed for a version.
    pub(crate) fn requirements(&self, version: &str) -> &[String] {
        self.versions.get(version).map(|pins| pins.requirements.as_slice()).unwrap_or_default()
    }

    /// The newest version, and what is installed for it.
    pub(crate) fn newest(&self) -> Option<(&str, &[String])> {
        let newest = self.versions.iter().max_by_key(|(version, _)| version_key(version));
        newest.map(|(version, pins)| (version.as_str(), pins.requirements.as_slice()))
    }

    /// The version that is named, or all, the oldest first.
    pub(crate) fn chosen<'a>(&'a self, name: &str, version: Option<&'a str>) -> Result<Vec<&'a str>> {
        let mut all: Vec<&str> = self.versions.keys().map(String::as_str).collect();
        all.sort_by_key(|version| version_key(version));
        match version {
            Some(version) if !all.contains(&version) => {
                bail!("adapters/{name}/versions.yaml: lists no {version}; it has {}", all.join(", "))
            }
            Some(version) => Ok(vec![version]),
            None => Ok(all),
        }
    }
}
