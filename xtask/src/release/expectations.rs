//! Moves the project's files about tests of the release before: expectations, measurements, findings, and defects.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use onnx_conformance_cases::suite::Suite;
use onnx_conformance_harness::measure::MeasuredDigests;

use super::moves;
use super::older;
use super::section::Section;
use super::tests_of::TestChanges;
use crate::{vendor, workspace};

/// Moves all files after the tests of the new release were written. Returns the entries that stay, as tasks for a
/// person. `old` is the digest of the tests of the release before, which measurements name.
pub(super) fn move_all(tests: &TestChanges, old: Option<&str>) -> Result<Vec<Section>> {
    // Before the entries of measurements are moved.
    let mut left = older::add_all(&tests.old, old)?;
    let mut defects = Vec::new();
    let path = vendor::home().join("defects.yaml");
    let moved = moves::defects(&read(&path)?, tests);
    write(&path, &moved.text)?;
    defects.extend(moved.left.iter().map(|(line, reason)| format!("testdata/onnx/defects.yaml:{line}: {reason}")));
    anstream::println!("testdata/onnx/defects.yaml: {} defects last until {}", moved.count, tests.new);
    // After the defects, which the digest covers.
    let new = digest(&tests.new)?.with_context(|| format!("testdata/onnx has no tests of {}", tests.new))?;
    for path in files()? {
        let shown = path.strip_prefix(workspace::root()).unwrap_or(&path).display().to_string();
        let text = read(&path)?;
        let digests_path = MeasuredDigests::path(&path);
        let moved = if digests_path.exists() {
            let digests = read(&digests_path)?;
            let Some(moved) = old.and_then(|old| moves::digests(&digests, tests, old, &new)) else {
                let is_about_it = digests.lines().any(|line| line.starts_with(&format!("onnx-{} ", tests.old)));
                left.extend(is_about_it.then(|| format!("{shown}: the tests have changed since they were measured")));
                continue;
            };
            write(&digests_path, &moved)?;
            moves::measurement(&text, tests)?
        } else {
            let moved = moves::entries(&text, tests)?;
            left.extend(moved.left.iter().map(|(line, reason)| format!("{shown}:{line}: {reason}")));
            moved
        };
        if moved.text != text {
            write(&path, &moved.text)?;
            anstream::println!("{shown}: {} patterns moved, {} stay or are removed", moved.count, moved.left.len());
        }
    }
    Ok(vec![
        Section::new(
            "defects of tests with other files",
            "Decide whether the test of the new release has the defect: extend `to`, or leave it.",
            defects,
        ),
        Section::new(
            "expectations and findings that stay with the release before",
            "Correct the pattern by hand, or measure again: `cargo xtask measure --stale RUNTIME`.",
            left,
        ),
    ])
}

/// Returns the digest of the tests of a release in the tree.
pub(super) fn digest(release: &str) -> Result<Option<String>> {
    let suite = Suite::open(&workspace::root().join("testdata"))?;
    Ok(suite.digests_outside_operators()?.remove(&format!("onnx-{release}")))
}

/// Returns the files with entries about the tests of the default release.
fn files() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["expectations", "findings"] {
        for entry in walkdir::WalkDir::new(workspace::root().join(folder)).sort_by_file_name() {
            let path = entry?.into_path();
            // Expectations of older releases stay about those.
            let is_older = path.starts_with(workspace::root().join(older::FOLDER));
            if path.extension().is_some_and(|extension| extension == "yaml") && !is_older {
                files.push(path);
            }
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
