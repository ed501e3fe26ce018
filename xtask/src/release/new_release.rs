//! `cargo xtask new-release`: imports a version of ONNX, and lists the remaining tasks.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::candidate::Candidate;
use super::expectations::{digest, move_all};
use super::falls;
use super::mentions;
use super::next_specs;
use super::section::{Section, text};
use super::suite_version;
use super::wanted::Wanted;
use crate::texts::{history, standard};
use crate::{import_specs, vendor, workspace};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A release (1.24.0), a candidate (1.24.0rc1), or a development build (onnx-weekly for the newest one, or
    /// onnx-weekly==1.24.0.dev20261026)
    version: Wanted,

    /// Write nothing to the tree, and print the list as far as this program can tell
    #[arg(long)]
    dry_run: bool,
}

/// Imports the version, and prints the list.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let package = Candidate::find(&arguments.version)?;
    anstream::println!(
        "{} for ONNX {}: {}, SHA-256 {}",
        package.requirement(),
        package.release,
        package.file,
        package.sha256
    );
    let candidate = Candidate::read(package)?;
    anstream::println!("{}", candidate.packed.summary());
    let mut sections = candidate.sections()?;
    if arguments.dry_run {
        sections.push(falls::in_this_program(&candidate)?);
    } else {
        sections.extend(write(&candidate)?);
        generate()?;
        sections.push(falls::in_a_new_build(&candidate)?);
        sections.push(unmeasured(&candidate));
        sections.push(mentions::section(&candidate.tests.old)?);
    }
    anstream::print!("\n{}", text(&sections));
    Ok(())
}

/// Writes the row of the package, the specs, the texts with their history, and the tests, and moves entries about tests.
fn write(candidate: &Candidate) -> Result<Vec<Section>> {
    let Candidate { package, dump, packed, tests, .. } = candidate;
    let old = digest(&tests.old)?;
    // The history first: it compares the committed texts.
    history::add(&standard::committed()?, &dump.sentences, &package.release)?;
    for line in import_specs::write(dump)? {
        anstream::println!("{line}");
    }
    let later = next_specs::take(dump)?;
    let path = workspace::root().join(vendor::PACKAGES);
    let pinned = vendor::with_row(&vendor::read_packages()?, package);
    fs::write(&path, pinned).with_context(|| format!("cannot write {}", vendor::PACKAGES))?;
    packed.write(&vendor::home())?;
    vendor::write_source()?;
    let raised = suite_version::rename_tests(tests)?;
    Ok([later, raised].into_iter().chain(move_all(tests, old.as_deref())?).collect())
}

/// Writes the generated files from a build with the new specs.
fn generate() -> Result<()> {
    let mut generate = Command::new("cargo");
    let status =
        generate.args(["xtask", "gen"]).current_dir(workspace::root()).status().context("cannot start cargo")?;
    ensure!(
        status.success(),
        "everything is imported, but `cargo xtask gen` ended with {status}; correct what it names, then repeat the task for the list"
    );
    Ok(())
}

/// Lists the tests that no runtime was measured on, and the versions of onnx.reference.
fn unmeasured(candidate: &Candidate) -> Section {
    let mut lines = vec![format!("{} tests", candidate.tests.unmeasured().count())];
    if candidate.package.is_released() {
        lines.push(format!("adapters/onnx-reference/versions.yaml: no row for {}", candidate.package.release));
    }
    Section::new("not measured", "Run `cargo xtask measure --stale` for every runtime with an adapter.", lines)
}
