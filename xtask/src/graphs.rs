//! Check of the topics in the tree, without a rebuild.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use onnx_conformance_cases::case::Case;
use onnx_conformance_cases::generate::{Family, GenerateError, Topic, read_topic, rewrites, rounded, topic_cases};
use onnx_conformance_cases::suite::export_case;

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Files below specs/graphs or specs/ir; all if none are named
    files: Vec<PathBuf>,

    /// Also print each case, with the effect of the rewrite
    #[arg(long)]
    all: bool,

    /// Write each case as a test folder into this folder
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
}

/// Counts over files.
#[derive(Default)]
struct Totals {
    patterns: usize,
    near_misses: usize,
    cases: usize,
    wrong_rewrites: usize,
    problems: usize,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut totals = Totals::default();
    let files = if arguments.files.is_empty() { all_files()? } else { arguments.files.clone() };
    for path in &files {
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match read_topic(family_of(path), &name, &text) {
            Ok(topic) => {
                check(&topic, arguments.all, &mut totals);
                if let Some(folder) = &arguments.export {
                    export(&topic, folder)?;
                }
            }
            Err(error) => totals.fail(&format!("{error}")),
        }
    }
    let Totals { patterns, near_misses, cases, wrong_rewrites, problems } = totals;
    anstream::println!(
        "{patterns} patterns, {near_misses} near misses, {cases} cases, {wrong_rewrites} wrong rewrites noticed, {problems} problems"
    );
    Ok(if problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn all_files() -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for folder in ["specs/graphs", "specs/ir"] {
        for entry in fs::read_dir(workspace::root().join(folder))? {
            all.push(entry?.path());
        }
    }
    all.sort();
    Ok(all)
}

/// Returns the family of a file, by its folder.
fn family_of(path: &Path) -> Family {
    let is_format = path.parent().is_some_and(|folder| folder.ends_with("ir"));
    if is_format { Family::Format } else { Family::Graphs }
}

fn cases(topic: &Topic) -> Result<Vec<Case>, GenerateError> {
    topic_cases(topic, &workspace::root().join("testdata/ir/external"), &|_| true)
}

fn export(topic: &Topic, folder: &Path) -> anyhow::Result<()> {
    for case in cases(topic)? {
        export_case(&folder.join(&case.id), &case)?;
    }
    Ok(())
}

fn check(topic: &Topic, shows_all: bool, totals: &mut Totals) {
    totals.patterns += topic.patterns().len();
    totals.near_misses += topic.patterns().iter().map(|pattern| pattern.near.0.len()).sum::<usize>();
    match cases(topic) {
        Ok(made) => totals.cases += made.len(),
        Err(error) => return totals.fail(&format!("{error}")),
    }
    for rewritten in rewrites(topic).into_iter().flatten() {
        let (id, difference) = (&rewritten.id, rewritten.difference.as_deref());
        match (rewritten.must_agree, difference) {
            (true, Some(difference)) => totals.fail(&format!("{id}: the outputs must agree: {difference}")),
            (false, None) => totals.fail(&format!("{id}: the wrong rewrite must change the outputs")),
            (false, Some(difference)) => {
                totals.wrong_rewrites += 1;
                if shows_all {
                    anstream::println!("{id}\n  wrong rewrite: {difference}");
                }
            }
            (true, None) if shows_all => anstream::println!("{id}\n  agrees"),
            (true, None) => {}
        }
    }
    for (id, message) in rounded(topic).into_iter().flatten() {
        totals.fail(&format!("{id}: the case is exact, but values are rounded; {message}"));
    }
}

impl Totals {
    fn fail(&mut self, message: &str) {
        self.problems += 1;
        anstream::println!("{message}");
    }
}
