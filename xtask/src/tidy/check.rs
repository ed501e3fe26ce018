//! Runs all rules on all files.

use anyhow::{Result, bail};
use onnx_conformance_harness::runtimes::Runtimes;
use onnx_conformance_reference::spec::Specs;

use crate::tidy::files::File;
use crate::tidy::finding::Finding;
use crate::tidy::{bounds, builds, circles, code, copies, documents, files, links, operators, outside};
use crate::workspace;

/// Prints every finding, and fails if there is one.
pub(crate) fn run() -> Result<()> {
    let (files, findings) = check()?;
    for finding in &findings {
        anstream::println!("{finding}");
    }
    match findings.len() {
        0 => anstream::println!("{files} files are tidy"),
        count => bail!("{count} findings in {files} files"),
    }
    Ok(())
}

/// Returns the number of files, and the findings.
fn check() -> Result<(usize, Vec<Finding>)> {
    let files = files::read(workspace::root())?;
    let mut findings = Vec::new();
    for file in &files {
        documents::check_text(file, &mut findings);
    }
    let specs = Specs::embedded();
    let newest = specs.newest_opset("")?;
    let versions = specs.all().filter(|version| version.since == newest).map(|version| version.name).collect();
    let runtimes = Runtimes::embedded()?;
    let runtimes = runtimes.all().map(|(name, _)| name).collect();
    for file in files.iter().filter(|file| file.is_rust()) {
        check_code(file, &mut findings);
        code::check_release(file, specs.newest_release(), &mut findings);
        code::check_opset(file, newest, &versions, &mut findings);
        code::check_runtimes(file, &runtimes, &mut findings);
    }
    documents::check_generated(&files, &mut findings);
    documents::check_commands(&files, &mut findings);
    links::check_links(workspace::root(), &files, &mut findings);
    links::check_tests(&files, &mut findings);
    circles::check(&files, &mut findings);
    copies::check_copies(&files, &mut findings);
    operators::check(&files, &mut findings)?;
    builds::check_features(workspace::root(), &mut findings)?;
    findings.sort();
    Ok((files.len(), findings))
}

fn check_code(file: &File, findings: &mut Vec<Finding>) {
    code::check_attributes(file, findings);
    code::check_length(file, findings);
    code::check_declarations(file, findings);
    code::check_doc_comments(file, findings);
    code::check_names(file, findings);
    bounds::check_bounds(file, findings);
    outside::check_io(file, findings);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_tidy() {
        let (_, findings) = check().unwrap();
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }
}
