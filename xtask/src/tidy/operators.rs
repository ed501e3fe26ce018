//! Every operator version in the specs has a kernel, and nothing else has one. Files of cases are in their layout.

use std::collections::BTreeSet;

use anyhow::Result;
use onnx_conformance_harness::expectations::Expectations;
use onnx_conformance_reference::kernels::framework::registry;
use onnx_conformance_reference::spec::{OperatorVersion, Specs, case_file};

use crate::fmt_specs;
use crate::tidy::files::File;
use crate::tidy::finding::Finding;

/// File that lists the operators the built-in executor does not have.
const EXPECTATIONS: &str = "expectations/builtin.yaml";

/// Maximum number of lines of a file of cases.
const MAX_LINES: usize = 500;

/// Maximum width of its lines.
const MAX_WIDTH: usize = 140;

/// Domain and name, which kernel rows and operator versions share.
type Operator = (String, String);

/// Checks the layout of files of cases.
fn check_layout(file: &File, findings: &mut Vec<Finding>) {
    let lines = file.text.lines().count();
    if lines > MAX_LINES {
        let rule = format!("the file has {lines} lines, more than {MAX_LINES}");
        let fix = "move rules with long or large cases to a file in `cases`, name shared parts under `given`, or merge similar cases";
        findings.push(Finding::new(&file.path, MAX_LINES, rule, fix));
    }
    if let Some(wide) = file.text.lines().position(|line| line.chars().count() > MAX_WIDTH) {
        let rule = format!("the line is wider than {MAX_WIDTH} columns");
        findings.push(Finding::new(&file.path, wide + 1, rule, "break the text"));
    }
    match fmt_specs::format(&file.text) {
        Ok(formatted) if formatted == file.text => {}
        Ok(formatted) => {
            let differs = file.text.lines().zip(formatted.lines()).position(|(one, other)| one != other);
            let line = differs.map_or(lines, |at| at + 1);
            findings.push(Finding::new(
                &file.path,
                line,
                "the file is not in its layout",
                "run `cargo xtask fmt-specs`",
            ));
        }
        Err(error) => findings.push(Finding::new(&file.path, 1, format!("{error:#}"), "correct the file")),
    }
}

/// Compares the kernels with the specs, and missing ones with the expectations. Checks the layout of the files of cases.
pub(crate) fn check(files: &[File], findings: &mut Vec<Finding>) -> Result<()> {
    let is_of_cases = |file: &&File| {
        let path = file.path.strip_prefix("specs/");
        path.and_then(|path| case_file(path.strip_prefix("next/").unwrap_or(path))).is_some()
    };
    files.iter().filter(is_of_cases).for_each(|file| check_layout(file, findings));
    let specs = Specs::embedded();
    let mut rows = BTreeSet::new();
    for kernel in registry::all() {
        let (domain, name, since) = kernel.row();
        let version = OperatorVersion::new(domain, name, since);
        let row = line_of_row(files, name, since);
        if let Err(error) = specs.get(&version) {
            let rule = format!("a kernel row is for {version}: {error}");
            findings.push(Finding::new(row.0, row.1, rule, "name the version that introduced the meaning"));
        }
        if !rows.insert((domain.to_owned(), name.to_owned(), since)) {
            let rule = format!("two kernel rows are for {}", version.qualified());
            findings.push(Finding::new(row.0, row.1, rule, "keep one"));
        }
    }
    let computed = |version: &OperatorVersion| registry::find(version).is_some();
    let missing: BTreeSet<Operator> =
        specs.all().filter(|version| !computed(version)).map(|version| (version.domain, version.name)).collect();
    let text = files.iter().find(|file| file.path == EXPECTATIONS).map_or("", |file| &file.text);
    let listed: BTreeSet<String> =
        Expectations::parse(EXPECTATIONS, text)?.expect.into_iter().filter_map(|entry| entry.unsupported).collect();
    for (domain, name) in missing {
        if !listed.contains(&format!("operator {domain}/{name}")) {
            let rule = format!("some version of {domain}/{name} has no kernel, and it is not listed here");
            let fix = format!("write the kernel, or add `- {{unsupported: operator {domain}/{name}}}`");
            findings.push(Finding::new(EXPECTATIONS, 1, rule, fix));
        }
    }
    Ok(())
}

/// Returns the probable place of a kernel's row: the first line in the kernels with the operator and the version.
fn line_of_row<'a>(files: &'a [File], name: &str, since: u32) -> (&'a str, usize) {
    let row = format!("\"{name}\", {since},");
    let found = files.iter().filter(|file| file.path.contains("/kernels/")).find_map(|file| {
        let line = file.text.lines().position(|line| line.contains(&row))?;
        Some((file.path.as_str(), line + 1))
    });
    found.unwrap_or(("crates/reference/src/kernels/mod.rs", 1))
}
