//! `cargo xtask vendor`: packs the backend tests of ONNX's releases from their Python packages under testdata.

mod packages;
mod store;
mod take;

pub(crate) use packages::{PACKAGES, Package, newest, packages, read as read_packages, with_row};
pub(crate) use store::Packed;
pub(crate) use take::download;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use onnx_conformance_cases::compare::{UPSTREAM_ABSOLUTE, UPSTREAM_RELATIVE};
use onnx_conformance_cases::suite::{Release, Tolerance};

use crate::workspace;

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// ONNX release to take the tests of, such as 1.7.0; all if none is named
    #[arg(long)]
    release: Vec<String>,
    /// Write nothing: read the tests from the packages again and compare them with the committed ones, byte by byte
    #[arg(long)]
    check: bool,
}

/// Contents of a package, as files in a folder.
struct Taken {
    folder: PathBuf,
    /// The tolerances of all tests.
    cases: BTreeMap<String, Tolerance>,
    licence: String,
}

/// File with the origin of the tests.
const SOURCE: &str = "SOURCE.md";

/// Default of upstream's loader and collectors.
const DEFAULT: Tolerance = Tolerance { rtol: UPSTREAM_RELATIVE, atol: UPSTREAM_ABSOLUTE };

/// Writes the releases' folders, or with `--check` compares them.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let packages = chosen(&arguments.release)?;
    let home = home();
    let mut different = Vec::new();
    for package in &packages {
        let packed = pack(package)?;
        if arguments.check {
            different.extend(packed.differences(&home)?);
        } else {
            refuse_a_collapse(&home, &packed.release)?;
            packed.write(&home)?;
        }
        let verb = if arguments.check { "compared" } else { "wrote" };
        anstream::println!("{verb} {}: {}", package.release, packed.summary());
    }
    if !arguments.check {
        return write_source();
    }
    let path = home.join(SOURCE);
    if fs::read_to_string(&path).ok().as_ref() != Some(&source(&store::read_list(&home)?)) {
        different.push(path.display().to_string());
    }
    ensure!(different.is_empty(), "differs from the packages:\n  {}", different.join("\n  "));
    Ok(())
}

/// Writes the origin of the tests.
pub(crate) fn write_source() -> Result<()> {
    let path = home().join(SOURCE);
    fs::write(&path, source(&store::read_list(&home())?)).with_context(|| path.display().to_string())
}

/// Takes the tests of a package, based on the releases before it, and writes nothing to the tree.
pub(crate) fn pack(package: &Package) -> Result<Packed> {
    let taken = take::take(package)?;
    let packed = store::pack(&home(), package, &taken)?;
    fs::remove_dir_all(&taken.folder)?;
    Ok(packed)
}

/// Returns the folder of the releases.
pub(crate) fn home() -> PathBuf {
    workspace::root().join("testdata").join("onnx")
}

/// Returns the packages of these releases, oldest first, since a release refers to earlier ones.
fn chosen(names: &[String]) -> Result<Vec<Package>> {
    let mut packages = packages()?;
    for name in names {
        if !packages.iter().any(|package| package.release == *name) {
            let known: Vec<&str> = packages.iter().map(|package| package.release.as_str()).collect();
            bail!(
                "no package is pinned for ONNX {name}, only for {}; `cargo xtask new-release {name}` pins it",
                known.join(", ")
            );
        }
    }
    packages.retain(|package| names.is_empty() || names.contains(&package.release));
    Ok(packages)
}

/// Fails if the list records more tests of the release than were found.
fn refuse_a_collapse(home: &Path, fresh: &Release) -> Result<()> {
    let list = store::read_list(home)?;
    let Some(recorded) = list.iter().find(|release| release.release == fresh.release) else { return Ok(()) };
    for (group, count) in &recorded.cases {
        let now = fresh.cases.get(group).copied().unwrap_or(0);
        ensure!(
            now >= *count,
            "{group}: only {now} tests were found, but {count} are recorded; nothing was replaced. If the package has only these, remove \
             its folder and its entry in testdata/onnx/releases.yaml"
        );
    }
    Ok(())
}

/// Returns the number of tests in each group.
fn count(cases: &BTreeMap<String, Tolerance>) -> Result<BTreeMap<String, usize>> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases.keys() {
        let (group, _) = case.split_once('/').with_context(|| format!("test {case} has no group"))?;
        *counts.entry(group.to_owned()).or_default() += 1;
    }
    Ok(counts)
}

/// Formats SOURCE.md: the origin of the tests.
fn source(list: &[Release]) -> String {
    let groups: BTreeSet<&String> = list.iter().flat_map(|release| release.cases.keys()).collect();
    let heads: Vec<&str> = groups.iter().map(|group| group.as_str()).collect();
    let mut table = format!("| release | {} | licence | package |\n", heads.join(" | "));
    table += "|---|";
    table += &"--:|".repeat(heads.len());
    table += "---|---|\n";
    for Release { release, cases, licence, package, .. } in list {
        let counts: Vec<String> =
            groups.iter().map(|group| cases.get(*group).map_or(String::new(), usize::to_string)).collect();
        let row = format!("| {release} | {} | {licence} | `{package}` |\n", counts.join(" | "));
        table += &row;
    }
    include_str!("vendor/source.md").replace("{table}\n", &table)
}
