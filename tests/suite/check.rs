//! The checker on the suite: models that run have no finding of level error, and refusals that follow from the model alone have
//! one.
//!
//! `CHECK_PRINT=1` prints the rules that each refusal violates.

use std::collections::BTreeMap;
use std::path::Path;

use onnx_conformance_cases::case::{Case, RefusalClass};
use onnx_conformance_cases::suite::Suite;
use onnx_conformance_check::rules::{Level, RuleId};
use onnx_conformance_check::{Folder, Limits};
use onnx_conformance_check::{Report, check};
use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_report::models::ModelFolder;
use rayon::prelude::*;

use crate::{FOUND, is_everything_meant, is_meant};

/// Refusals that depend on input values, besides those that say so in their file, by a part of their ids, each with these values.
const BY_VALUES: &[(&str, &str)] = &[
    ("ir/graph/refuse/rank-against-declaration", "what the inputs are given"),
    ("ir/graph/refuse/shape-against-", "what the inputs are given"),
    ("ir/graph/refuse/size-against-a-declared-zero", "what the inputs are given"),
    ("ir/graph/refuse/two-sizes-of-one-symbol", "what the inputs are given"),
    ("ir/graph/refuse/type-against-declaration", "what the inputs are given"),
    ("hostile/allocation/pad_size_wraps", "a size beyond 64 bits, which is left unknown"),
    ("hostile/allocation/tile_size_wraps", "a size beyond 64 bits, which is left unknown"),
];

fn report(case: &Case) -> Report {
    let folder = case.folder.as_ref().map(|folder| ModelFolder::for_model(&folder.join("model.onnx")));
    let folder = folder.as_ref().map(|folder| folder as &dyn Folder);
    check(case.model.as_ref(), folder, &Limits::default())
}

/// Formats the errors of a case as lines.
fn errors(report: &Report) -> Vec<String> {
    let errors = report.findings.iter().filter(|finding| finding.level == Level::Error);
    errors.map(ToString::to_string).collect()
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    runnable: usize,
    refused: usize,
    /// Runnable cases with an error, and refusals without one.
    wrong: BTreeMap<String, String>,
    missed: BTreeMap<String, String>,
    by_rule: BTreeMap<&'static str, usize>,
}

impl Totals {
    pub(crate) fn of<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Totals {
        let mut totals = Totals::default();
        cases.into_iter().for_each(|case| totals.add(case));
        totals
    }

    #[expect(clippy::print_stdout, reason = "what is asked for, for --nocapture")]
    fn add(&mut self, case: &Case) {
        let report = report(case);
        if case.is_hostile && case.refusal.is_none() {
            // The model may be valid or not: the check must only end.
            return;
        }
        let errors = errors(&report);
        for finding in &report.findings {
            *self.by_rule.entry(finding.rule.id()).or_default() += 1;
        }
        match case.refusal_class() {
            None => {
                self.runnable += 1;
                if !errors.is_empty() {
                    self.wrong.insert(case.id.clone(), errors.join("\n    "));
                }
            }
            Some(RefusalClass::Static) if case.refusal.as_ref().is_some_and(|refusal| refusal.only_at_run_time) => {
                if !errors.is_empty() {
                    let text = format!("`only_at_run_time`, but the model shows it:\n    {}", errors.join("\n    "));
                    self.wrong.insert(case.id.clone(), text);
                }
            }
            Some(RefusalClass::Static) => {
                self.refused += 1;
                if std::env::var_os("CHECK_PRINT").is_some() {
                    let rules: Vec<&str> = report.findings.iter().map(|finding| finding.rule.id()).collect();
                    println!("refusal {} {}", case.id, rules.join(" "));
                }
                if errors.is_empty() {
                    let rule = case.refusal.as_ref().map_or("", |refusal| &refusal.rule).to_owned();
                    self.missed.insert(case.id.clone(), rule);
                }
            }
            Some(RefusalClass::Value) => {}
        }
    }

    pub(crate) fn with(mut self, other: Totals) -> Totals {
        self.runnable += other.runnable;
        self.refused += other.refused;
        self.wrong.extend(other.wrong);
        self.missed.extend(other.missed);
        for (rule, count) in other.by_rule {
            *self.by_rule.entry(rule).or_default() += count;
        }
        self
    }
}

/// Checks the cases that are not generated from the specs.
fn others() -> Totals {
    let suite = Suite::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")).unwrap();
    let is_other = |name: &str| name.parse::<OperatorVersion>().is_err();
    let units: Vec<_> = suite.groups().unwrap().into_iter().filter(|(_, unit)| is_other(&unit.name)).collect();
    let meant = units.into_par_iter().filter(|(_, unit)| is_meant(&unit.name));
    let totals = meant.map(|(source, unit)| Totals::of(&source.load(&unit, &|_| true).unwrap()));
    totals.reduce(Totals::default, Totals::with)
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures that docs/check.md states, for --nocapture")]
fn what_runs_is_valid_and_what_is_refused_is_found() {
    let totals = FOUND.check.clone().with(others());
    println!("{} runnable cases, {} static refusals", totals.runnable, totals.refused);
    println!("findings by rule: {:?}", totals.by_rule);
    let list = |map: &BTreeMap<String, String>| {
        map.iter().map(|(id, text)| format!("{id}: {text}")).collect::<Vec<_>>().join("\n")
    };
    assert!(totals.wrong.is_empty(), "{} cases run, but have errors:\n{}", totals.wrong.len(), list(&totals.wrong));
    let (by_values, missed): (BTreeMap<String, String>, BTreeMap<String, String>) =
        totals.missed.into_iter().partition(|(id, _)| BY_VALUES.iter().any(|(part, _)| id.contains(part)));
    println!("{} refusals follow from values alone", by_values.len());
    assert!(missed.is_empty(), "{} refusals are not found:\n{}", missed.len(), list(&missed));
    if is_everything_meant() {
        assert!(totals.runnable > 90_000 && totals.refused > 8_000, "{} and {}", totals.runnable, totals.refused);
        for (part, cause) in BY_VALUES {
            assert!(by_values.keys().any(|id| id.contains(part)), "{part} ({cause}) is found, or is no refusal");
        }
    }
}

/// Formats the rows of the table of rules.
fn table() -> Vec<String> {
    let row =
        |rule: &RuleId| format!("| `{}` | {} | {} | {} |", rule.id(), rule.level(), rule.sentence(), rule.source());
    RuleId::ALL.iter().map(row).collect()
}

#[test]
fn the_documentation_lists_every_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/check.md");
    let text = std::fs::read_to_string(path).unwrap();
    let is_rule = |line: &&str| line.starts_with("| `") && line.matches(" | ").count() == 3;
    let written: Vec<&str> = text.lines().filter(is_rule).collect();
    let table = table();
    assert_eq!(written, table, "the table of rules in docs/check.md is to be:\n{}", table.join("\n"));
}
