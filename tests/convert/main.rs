//! Conversions, verified by the suite. Every case of every operator version is converted to each opset where its operator has
//! another version, up and down. It gives its expected outputs there, or is refused for a stated reason.
//!
//! | environment | does |
//! |---|---|
//! | `CONVERT_ALL=1` | uses every case instead of some |
//! | `CONVERT_ONLY=Softmax,Clip` | uses these operators, and prints the reasons of refusals |
//! | `CONVERT_RECORD=1` | writes the counts of each pair to records/conversions.txt; only with `CONVERT_ALL` |
//! | `CONVERT_WITH=COMMAND` | tests another converter, and counts its results |
//! | `CONVERT_EXAMPLES=1` | writes docs/conversions.md; without other selections |
//! | `CONVERT_REPORT=FILE` | writes the counts with the reasons of refusals, and the errors |

mod converter;
mod counts;
mod examples;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use converter::{Converted, Converter};
use counts::{Counts, Outcome, Pairs, Totals};
use onnx_conformance::check::convert::Target;
use onnx_conformance::check::rules::Level;
use onnx_conformance::check::{Limits, check};
use onnx_conformance_cases::case::{Case, ExpectedOutput, Level as CaseLevel, Variant, vary};
use onnx_conformance_cases::generate::{OperatorCatalog, cases};
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OperatorVersion, Specs};
use onnx_conformance_subject::{Ask, Builtin, Ended, Host, Request, Response};
use rayon::prelude::*;

/// Number of cases to use per operator version, unless all are.
const SOME: usize = 24;

/// One of this many cases is checked before and after, unless all cases or certain operators are requested.
const CHECKED: usize = 8;

fn target(version: &OperatorVersion, since: u32) -> Target {
    Target { opsets: BTreeMap::from([(version.domain.clone(), i64::from(since))]), ..Target::default() }
}

/// Runs a converted model on the inputs of its case.
fn run(case: &Case, model: &ModelProto, is_edited: bool) -> Outcome {
    let bytes = model.encode_to_vec().into();
    for data in &case.data {
        let request = Request {
            id: &case.id,
            model: &bytes,
            folder: case.folder.as_deref(),
            inputs: &data.inputs,
            outputs: &data.outputs.iter().map(ExpectedOutput::requested).collect::<Vec<_>>(),
            ask: Ask::RUN,
        };
        match Builtin::new(Duration::from_mins(1)).run(&request).ended {
            Ended::Answered(Response::Outputs { values, .. }) => {
                for (expected, actual) in data.outputs.iter().zip(&values) {
                    if let Err(difference) = expected.expected.check(actual) {
                        return Outcome::Different(format!("{}: {}", case.id, difference.message));
                    }
                }
            }
            other => return Outcome::DoesNotRun(format!("{}: {other:?}", case.id)),
        }
    }
    Outcome::Right { is_edited }
}

/// Returns why a valid model is no longer valid.
fn invalid(converter: &Converter, case: &Case, before: &ModelProto, after: &ModelProto) -> Option<String> {
    let is_looked_at =
        converter.is_own() && (are_all_taken() || selected().is_some() || case.id.len().is_multiple_of(CHECKED));
    let findings = |model: &ModelProto| check(model.encode_to_vec().as_slice(), None, &Limits::default());
    if !is_looked_at {
        return None;
    }
    let after = findings(after);
    let first = after.findings.iter().find(|finding| finding.level == Level::Error)?;
    findings(before).is_valid().then(|| first.to_string())
}

fn try_form(converter: &Converter, case: &Case, version: &OperatorVersion, since: u32) -> Outcome {
    let model = decode::model(case.model.clone()).unwrap();
    match converter.convert(&model, &version.domain, &target(version, since)) {
        Converted::Model { model: after, is_edited } => match invalid(converter, case, &model, &after) {
            Some(message) => Outcome::Invalid(format!("{}: {message}", case.id)),
            None => run(case, &after, is_edited),
        },
        Converted::Refused(reason) => Outcome::Refused(reason),
        Converted::Crashed => Outcome::Crashed,
    }
}

/// Tries a case as it is and, if it is refused, with its inputs as initializers.
fn try_case(converter: &Converter, case: &Case, version: &OperatorVersion, since: u32) -> Outcome {
    match try_form(converter, case, version, since) {
        Outcome::Refused(reason) => match vary(case, Variant::Initializers) {
            Some(case) => try_form(converter, &case, version, since),
            None => Outcome::Refused(reason),
        },
        outcome => outcome,
    }
}

fn selected() -> Option<BTreeSet<String>> {
    let only = std::env::var("CONVERT_ONLY").ok()?;
    Some(only.split(',').map(str::to_owned).collect())
}

fn are_all_taken() -> bool {
    std::env::var_os("CONVERT_ALL").is_some()
}

/// Returns the cases of a version that must give outputs. If there are many, takes every n-th one.
fn cases_of(operators: &OperatorCatalog, version: &OperatorVersion) -> Vec<Case> {
    let made = cases(operators, version, &|id| !id.contains("/refuse/")).unwrap_or_else(|error| panic!("{error}"));
    let mut judged: Vec<Case> =
        made.into_iter().filter(|case| case.refusal.is_none() && case.level != CaseLevel::Open).collect();
    if !are_all_taken() && judged.len() > SOME {
        let step = judged.len().div_ceil(SOME);
        judged = judged.into_iter().step_by(step).collect();
    }
    judged
}

fn count(
    converter: &Converter,
    operators: &OperatorCatalog,
    version: &OperatorVersion,
) -> Vec<((OperatorVersion, u32), Counts)> {
    let all: Vec<u32> = Specs::embedded().versions(&version.domain, &version.name).collect();
    let mut others: Vec<u32> = all.iter().copied().filter(|since| *since != version.since).collect();
    // Below its first version the operator is expanded or replaced, or does not exist.
    others.extend(all.first().map(|first| first - 1).filter(|before| *before > 0));
    // Another converter is only compared on the domain it supports: ONNX's own.
    if others.is_empty() || (!converter.is_own() && version.domain != DEFAULT_DOMAIN) {
        return Vec::new();
    }
    let cases = cases_of(operators, version);
    let has_examples = converter.is_own() && !are_all_taken();
    let is_adjacent = |since: u32| {
        let (low, high) = (version.since.min(since), version.since.max(since));
        !all.iter().any(|between| low < *between && *between < high)
    };
    let of_target = |since: u32| {
        let mut counts = Counts::default();
        for case in &cases {
            let outcome = try_case(converter, case, version, since);
            if has_examples && is_adjacent(since) && matches!(outcome, Outcome::Right { is_edited: true }) {
                examples::add(&mut counts.examples, case, &target(version, since));
            }
            counts.add(outcome);
        }
        ((version.clone(), since), counts)
    };
    others.into_iter().map(of_target).collect()
}

#[expect(clippy::print_stdout, reason = "the counts of the run")]
#[test]
fn every_case_converted_gives_its_outputs_or_is_refused() {
    let (operators, converter) = (OperatorCatalog::embedded(), Converter::chosen());
    let only = selected();
    let is_meant = |version: &OperatorVersion| {
        operators.has(version) && only.as_ref().is_none_or(|names| names.contains(&version.name))
    };
    let versions: Vec<OperatorVersion> = Specs::embedded().all().filter(is_meant).collect();
    let counts: Pairs = versions.par_iter().flat_map_iter(|version| count(&converter, &operators, version)).collect();
    println!("{} pairs: {}", counts.len(), Totals::of(&counts));
    for domain in Specs::embedded().domains() {
        let of_domain = counts.iter().filter(|((version, _), _)| version.domain == domain);
        println!("  {domain}: {}", Totals::of(of_domain));
    }
    if only.is_some() {
        print!("{}", counts::report(&counts));
    }
    if let Some(path) = std::env::var_os("CONVERT_REPORT") {
        std::fs::write(&path, counts::report(&counts)).unwrap();
    }
    if !converter.is_own() {
        return;
    }
    let wrong = counts::wrong(&counts);
    assert!(
        wrong.is_empty(),
        "{} cases give other outputs, such as\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
    if std::env::var_os("CONVERT_RECORD").is_some() {
        assert!(are_all_taken() && only.is_none(), "what is recorded are the counts of all cases: CONVERT_ALL=1");
        std::fs::write(counts::path(), counts::record(&counts)).unwrap();
    } else if only.is_none() {
        counts::hold(&counts);
        if !are_all_taken() {
            examples::check(&counts.iter().map(|(pair, counts)| (pair, &counts.examples)).collect());
        }
    }
}
