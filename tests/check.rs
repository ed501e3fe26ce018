//! The check of models against the suite: what runs has no finding of level error, and what must be refused for what its model
//! says has one.
//!
//! `CHECK_ONLY=ai.onnx/Conv` looks at the groups that begin so, and `CHECK_ALL=1` at every group instead of a part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use onnx_conformance::case::{Case, RefusalClass};
use onnx_conformance::suite::Suite;
use onnx_conformance_check::rules::Level;
use onnx_conformance_check::scan::{Folder, Limits};
use onnx_conformance_check::{Report, check};
use rayon::prelude::*;

/// One of so many groups is looked at.
const STRIDE: usize = 1;

/// The folder of a case.
struct CaseFolder(PathBuf);

impl Folder for CaseFolder {
    fn size_of(&self, location: &str) -> Option<u64> {
        std::fs::metadata(self.0.join(location)).ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
    }
}

fn report(case: &Case) -> Report {
    let folder = case.folder.clone().map(CaseFolder);
    let folder = folder.as_ref().map(|folder| folder as &dyn Folder);
    check(case.model.as_ref(), folder, &Limits::default())
}

/// The errors that a case has, as lines.
fn errors(report: &Report) -> Vec<String> {
    let errors = report.findings.iter().filter(|finding| finding.level == Level::Error);
    errors.map(ToString::to_string).collect()
}

#[derive(Default)]
struct Totals {
    runnable: usize,
    refused: usize,
    /// Runnable cases with an error, and refusals without one.
    wrong: BTreeMap<String, String>,
    missed: BTreeMap<String, String>,
    by_rule: BTreeMap<&'static str, usize>,
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures that docs/check.md states, for --nocapture")]
fn what_runs_is_valid_and_what_is_refused_is_found() {
    let suite = Suite::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")).unwrap();
    let only = std::env::var("CHECK_ONLY").unwrap_or_default();
    let stride = if std::env::var_os("CHECK_ALL").is_some() { 1 } else { STRIDE };
    let totals = Mutex::new(Totals::default());
    let units: Vec<_> = suite.units().unwrap().into_iter().filter(|(_, unit)| unit.name.starts_with(&only)).collect();
    units.into_par_iter().enumerate().filter(|(at, _)| at % stride == 0).for_each(|(_, (source, unit))| {
        for case in source.load(&unit, &|_| true).unwrap() {
            let report = report(&case);
            let errors = errors(&report);
            let mut totals = totals.lock().unwrap();
            for finding in &report.findings {
                *totals.by_rule.entry(finding.rule.id()).or_default() += 1;
            }
            match case.refusal_class() {
                None => {
                    totals.runnable += 1;
                    if !errors.is_empty() {
                        totals.wrong.insert(case.id.to_string(), errors.join("\n    "));
                    }
                }
                Some(RefusalClass::Static) => {
                    totals.refused += 1;
                    if errors.is_empty() {
                        let rule = case.refusal.as_ref().map_or("", |refusal| &refusal.rule).to_owned();
                        totals.missed.insert(case.id.to_string(), rule);
                    }
                }
                Some(RefusalClass::Value) => {}
            }
        }
    });
    let totals = totals.into_inner().unwrap();
    println!("{} runnable cases, {} static refusals", totals.runnable, totals.refused);
    println!("{:?}", totals.by_rule);
    let list =
        |map: &BTreeMap<String, String>| map.iter().map(|(id, text)| format!("{id}: {text}\n")).collect::<String>();
    println!("WRONG {}\n{}", totals.wrong.len(), list(&totals.wrong));
    println!("MISSED {}\n{}", totals.missed.len(), list(&totals.missed));
}
