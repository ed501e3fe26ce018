//! Conversions, proved by the suite: every case of every operator version is brought to each opset at which its operator has a
//! version of its own, up and down, and gives its expected outputs there, or is refused for a stated reason.
//!
//! `CONVERT_ALL=1` takes every case instead of some; `CONVERT_ONLY=Softmax,Clip` takes these operators and prints the reasons of
//! refusals.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use onnx_conformance::case::{Case, Level, Variant, vary};
use onnx_conformance::check::convert::{Refusal, Target, convert};
use onnx_conformance::generate::{OperatorCatalog, cases};
use onnx_conformance::runtime::{Builtin, Ended, Host, Output, Request, Response};
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use rayon::prelude::*;

/// How many cases of an operator version are taken unless all are.
const SOME: usize = 24;

/// What became of the cases of a version at another.
#[derive(Clone, Debug, Default)]
struct Counts {
    same: usize,
    edited: usize,
    refused: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

/// Whether a case, converted, gives its outputs; and whether it had to be edited.
enum Outcome {
    Right { is_edited: bool },
    Refused(String),
    Wrong(String),
}

fn target(version: &OperatorVersion, since: u32) -> Target {
    Target { opsets: BTreeMap::from([(version.domain.clone(), i64::from(since))]), ..Target::default() }
}

/// Whether the model gives the case's outputs.
fn run(case: &Case, model: &ModelProto) -> Result<(), String> {
    let bytes = model.encode_to_vec().into();
    for data in &case.data {
        let request = Request {
            id: &case.id,
            model: &bytes,
            folder: case.folder.as_deref(),
            inputs: &data.inputs,
            outputs: &Output::of_expected(&data.outputs),
        };
        match Builtin::new(Duration::from_mins(1)).run(&request).ended {
            Ended::Answered(Response::Outputs { values, .. }) => {
                for (expected, actual) in data.outputs.iter().zip(&values) {
                    expected.expected.check(actual).map_err(|difference| difference.message)?;
                }
            }
            other => return Err(format!("{other:?}")),
        }
    }
    Ok(())
}

fn try_form(case: &Case, target: &Target) -> Outcome {
    let model = decode::model(case.model.clone()).unwrap();
    match convert(&model, target) {
        Ok(conversion) => match run(case, &conversion.model) {
            Ok(()) => Outcome::Right { is_edited: conversion.edits.iter().any(|edit| !edit.is_of_model()) },
            Err(message) => Outcome::Wrong(format!("{}: {message}", case.id)),
        },
        Err(Refusal { reasons }) => {
            Outcome::Refused(reasons.into_iter().map(|reason| reason.text).collect::<Vec<_>>().join("; "))
        }
    }
}

/// A case as it is, and, where a value would have to be known, with its inputs as constants.
fn try_case(case: &Case, target: &Target) -> Outcome {
    match try_form(case, target) {
        Outcome::Refused(reason) => match vary(case, Variant::Initializers) {
            Some(case) => try_form(&case, target),
            None => Outcome::Refused(reason),
        },
        outcome => outcome,
    }
}

fn selected() -> Option<BTreeSet<String>> {
    let only = std::env::var("CONVERT_ONLY").ok()?;
    Some(only.split(',').map(str::to_owned).collect())
}

/// Every case of a version that must give outputs; of many, those at equal distances.
fn cases_of(operators: &OperatorCatalog, version: &OperatorVersion) -> Vec<Case> {
    let made = cases(operators, version, &|id| !id.contains("/refuse/")).unwrap_or_else(|error| panic!("{error}"));
    let mut judged: Vec<Case> =
        made.into_iter().filter(|case| case.refusal.is_none() && case.level != Level::Open).collect();
    if std::env::var_os("CONVERT_ALL").is_none() && judged.len() > SOME {
        let step = judged.len().div_ceil(SOME);
        judged = judged.into_iter().step_by(step).collect();
    }
    judged
}

fn count(operators: &OperatorCatalog, version: &OperatorVersion) -> Vec<((OperatorVersion, u32), Counts)> {
    let all: Vec<u32> = Specs::embedded().versions(&version.domain, &version.name).collect();
    let mut others: Vec<u32> = all.iter().copied().filter(|since| *since != version.since).collect();
    // Below its first version the operator is expanded or replaced, or there is none.
    others.extend(all.first().map(|first| first - 1).filter(|before| *before > 0));
    if others.is_empty() {
        return Vec::new();
    }
    let cases = cases_of(operators, version);
    let of_target = |since: u32| {
        let target = target(version, since);
        let mut counts = Counts::default();
        for case in &cases {
            match try_case(case, &target) {
                Outcome::Right { is_edited: false } => counts.same += 1,
                Outcome::Right { is_edited: true } => counts.edited += 1,
                Outcome::Refused(reason) => *counts.refused.entry(reason).or_default() += 1,
                Outcome::Wrong(message) => counts.wrong.push(message),
            }
        }
        ((version.clone(), since), counts)
    };
    others.into_iter().map(of_target).collect()
}

#[expect(clippy::print_stdout, reason = "the counts of the run")]
#[test]
fn every_case_converted_gives_its_outputs_or_is_refused() {
    let operators = OperatorCatalog::embedded();
    let only = selected();
    let is_meant = |version: &OperatorVersion| {
        operators.has(version) && only.as_ref().is_none_or(|names| names.contains(&version.name))
    };
    let versions: Vec<OperatorVersion> = Specs::embedded().all().filter(is_meant).collect();
    let counts: BTreeMap<_, Counts> = versions.par_iter().flat_map_iter(|version| count(&operators, version)).collect();
    let mut totals = [0; 4];
    let mut wrong = Vec::new();
    for ((version, since), counts) in &counts {
        let refused: usize = counts.refused.values().sum();
        for (total, number) in totals.iter_mut().zip([counts.same, counts.edited, refused, counts.wrong.len()]) {
            *total += number;
        }
        wrong.extend(counts.wrong.iter().map(|message| format!("{version} at {since}: {message}")));
        if only.is_some() {
            println!(
                "{version} at {since}: {} as they are, {} edited, {refused} refused, {} wrong",
                counts.same,
                counts.edited,
                counts.wrong.len()
            );
            for (reason, number) in &counts.refused {
                println!("  {number} refused: {reason}");
            }
        }
    }
    println!("{} pairs: {totals:?} as they are, edited, refused, wrong", counts.len());
    if let Some(path) = std::env::var_os("CONVERT_REPORT") {
        let line = |((version, since), counts): (&(OperatorVersion, u32), &Counts)| {
            format!(
                "{version} at {since}\t{}\t{}\t{}\t{}\t{:?}\n",
                counts.same,
                counts.edited,
                counts.refused.values().sum::<usize>(),
                counts.wrong.len(),
                counts.refused
            )
        };
        std::fs::write(&path, counts.iter().map(line).collect::<String>() + &wrong.join("\n")).unwrap();
    }
    assert!(
        wrong.is_empty(),
        "{} cases give other outputs, such as\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}
