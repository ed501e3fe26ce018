//! Runs the tests of a release that are new or changed since the release before, and lists those that the built-in
//! executor does not pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use onnx_conformance_cases::case::{Level, Variant};
use onnx_conformance_cases::suite::{Filter, Releases, Suite, VendoredCases};
use onnx_conformance_harness::run::{CaseResult, Event, Outcome, Runner, plan, read_results};
use onnx_conformance_subject::{Builtin, Stop};
use walkdir::WalkDir;

use super::candidate::Candidate;
use super::moves;
use super::section::Section;
use crate::{vendor, workspace};

/// Time limit of a test.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Title of the section.
const TITLE: &str = "tests that the executor does not pass";

/// Runs the tests in this program, which has the specs of the release before, and of specs/next with the feature
/// `next`.
pub(crate) fn in_this_program(candidate: &Candidate) -> Result<Section> {
    let copy = folder()?.join("onnx");
    copy_folder(&vendor::home(), &copy)?;
    candidate.packed.write(&copy)?;
    let defects = copy.join("defects.yaml");
    fs::write(&defects, moves::defects(&fs::read_to_string(&defects)?, &candidate.tests).text)?;
    let cases = VendoredCases::all(&Releases::from_folder(&copy)?)?.pop().context("the copy has no release")?;
    let suite = Suite::new(vec![Box::new(cases)]);
    let mut falls = Vec::new();
    let ids = ids(candidate);
    if !ids.is_empty() {
        let plan = plan(&suite, &Filter::new(&ids)?, Variant::Runtime)?;
        ensure!(
            plan.selected == ids.len(),
            "{} of {} tests were found in {}",
            plan.selected,
            ids.len(),
            copy.display()
        );
        Runner::new(&plan, &Builtin::new(TIMEOUT), &Stop::default()).run(|event| match event {
            Event::Finished(result) => falls.extend(line(&result)),
            Event::Broken(error) => falls.push(error.to_string()),
        });
    }
    falls.sort();
    let has = if cfg!(feature = "next") {
        "has the new operator versions of specs/next"
    } else {
        "has no new operator version"
    };
    let advice =
        format!("{} tests ran in this program, which {has}. Argue each: is the kernel or the test wrong?", ids.len());
    Ok(Section::new(TITLE, &advice, falls))
}

/// Runs the tests in the program that the tree makes now.
pub(crate) fn in_a_new_build(candidate: &Candidate) -> Result<Section> {
    let (ids, folder) = (ids(candidate), folder()?);
    let (list, results) = (folder.join("tests.txt"), folder.join("results.jsonl"));
    fs::write(&list, ids.iter().flat_map(|id| [id, "\n"]).collect::<String>())?;
    if results.exists() {
        fs::remove_file(&results)?;
    }
    let mut falls = Vec::new();
    if !ids.is_empty() {
        let mut run = Command::new("cargo");
        run.args(["run", "--quiet", "--", "run", "--show", "1", "--from"]).arg(&list).arg("--results").arg(&results);
        let status = run.current_dir(workspace::root()).status().context("cannot start cargo")?;
        let text = fs::read(&results).with_context(|| {
            format!(
                "the program did not run ({status}); correct the build, then run {run:?} to list the tests that fall"
            )
        })?;
        let read = read_results(&mut text.as_slice()).with_context(|| results.display().to_string())?;
        falls.extend(read.results.iter().filter_map(line));
    }
    falls.sort();
    let advice = format!(
        "{} tests ran. Argue each: correct the kernel, or list the test in testdata/onnx/defects.yaml and docs/releases.md.",
        ids.len()
    );
    Ok(Section::new(TITLE, &advice, falls))
}

fn ids(candidate: &Candidate) -> Vec<String> {
    candidate.tests.unmeasured().map(|test| candidate.tests.id(test)).collect()
}

/// Formats a judged test that does not pass.
fn line(result: &CaseResult) -> Option<String> {
    let CaseResult { id, outcome, message, .. } = result;
    let is_judged = result.level != Level::Open;
    (*outcome != Outcome::Pass && is_judged)
        .then(|| format!("{id}: {outcome}: {}", message.lines().next().unwrap_or_default()))
}

/// Returns the folder of the task's files, which is created.
fn folder() -> Result<PathBuf> {
    let folder = workspace::target().join("new-release");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("cannot remove {}", to.display()))?;
    }
    for entry in WalkDir::new(from) {
        let entry = entry.with_context(|| format!("cannot list {}", from.display()))?;
        let target = to.join(entry.path().strip_prefix(from)?);
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).with_context(|| format!("cannot create {}", target.display()))?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("cannot copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}
