//! Reads `versions.yaml` of the adapters. `cargo xtask setup` creates the Python environment of an adapter in its newest version.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use onnx_conformance_harness::expectations::version_key;
use serde::Deserialize;

use crate::workspace;

/// Options of the task.
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

/// Creates the environment of an adapter at the place given in adapter.yaml. Recreates it if the pins of the newest version have
/// changed.
pub(crate) fn setup(name: &str) -> Result<()> {
    let versions = VersionsFile::read(name)?;
    let (version, pins) =
        versions.newest().with_context(|| format!("adapters/{name}/versions.yaml: lists no version"))?;
    ensure!(!pins.is_empty(), "adapters/{name} is written in Rust; see its README for the build");
    let home = workspace::root().join("target/adapters").join(name);
    let (wanted, stamp) = (pins.join("\n"), home.join("requirements.txt"));
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
    }
    anstream::println!("installing {name} {version} into {}", home.display());
    run(Command::new(if cfg!(windows) { "python" } else { "python3" }).args(["-m", "venv"]).arg(&home))?;
    let pip = home.join(if cfg!(windows) { "Scripts/pip.exe" } else { "bin/pip" });
    run(Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check"]).args(pins))?;
    // Written last, so that an interrupted installation is repeated.
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

fn run(command: &mut Command) -> Result<()> {
    command.current_dir::<&Path>(workspace::root());
    let status = command.status().with_context(|| format!("cannot start {command:?}; Python 3 with venv is needed"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}

/// `versions.yaml` of an adapter: the packages to install for each measured version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionsFile {
    /// The `PyPI` package, or the crate, whose version is the runtime's version.
    #[serde(alias = "crate")]
    pub(crate) package: String,
    /// Python versions that the packages support, for readers.
    #[serde(default, rename = "python")]
    _python: Option<String>,
    /// Folder of the adapter's crate, if it is written in Rust.
    #[serde(default)]
    pub(crate) manifest: Option<String>,
    /// Patterns of the measured cases; all cases if empty.
    #[serde(default)]
    pub(crate) scope: Vec<String>,
    /// Levels of the optimizer, the weakest first. Without a level, the runtime is at the last one.
    #[serde(default)]
    levels: Vec<String>,
    versions: BTreeMap<String, Pins>,
}

/// Packages to install for a version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pins {
    /// Day on which the version was published, in UTC, which the program reads.
    #[serde(rename = "released")]
    _released: String,
    /// Requirements from `PyPI`, with exact versions.
    #[serde(default)]
    requirements: Vec<String>,
}

impl VersionsFile {
    /// Reads the file of an adapter.
    pub(crate) fn read(name: &str) -> Result<VersionsFile> {
        let path = workspace::root().join("adapters").join(name).join("versions.yaml");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("{}: this file must list the versions to measure", path.display()))?;
        serde_yaml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Returns the `PyPI` requirements of a version.
    pub(crate) fn requirements(&self, version: &str) -> &[String] {
        self.versions.get(version).map(|pins| pins.requirements.as_slice()).unwrap_or_default()
    }

    /// Fails unless a level of the optimizer has a measurement of its own.
    pub(crate) fn check_level(&self, name: &str, level: &str) -> Result<()> {
        let place = format!("adapters/{name}/versions.yaml");
        ensure!(!self.levels.is_empty(), "{place}: lists no levels of an optimizer");
        ensure!(
            self.levels.iter().any(|known| known == level),
            "{place}: no level {level}, only {}",
            self.levels.join(", ")
        );
        let is_last = self.levels.last().is_some_and(|last| last == level);
        ensure!(!is_last, "{place}: {level} is the last level, and `{name}` without a level is at this one");
        Ok(())
    }

    /// Returns the newest version and its requirements.
    pub(crate) fn newest(&self) -> Option<(&str, &[String])> {
        let newest = self.versions.iter().max_by_key(|(version, _)| version_key(version));
        newest.map(|(version, pins)| (version.as_str(), pins.requirements.as_slice()))
    }

    /// Returns the named version, or all, the oldest first.
    pub(crate) fn chosen<'a>(&'a self, name: &str, version: Option<&'a str>) -> Result<Vec<&'a str>> {
        let mut all: Vec<&str> = self.versions.keys().map(String::as_str).collect();
        all.sort_by_key(|version| version_key(version));
        match version {
            Some(version) if !all.contains(&version) => {
                bail!("adapters/{name}/versions.yaml: no version {version}, only {}", all.join(", "))
            }
            Some(version) => Ok(vec![version]),
            None => Ok(all),
        }
    }
}
