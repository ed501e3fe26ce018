//! The bound of a sum follows from its terms. Most sums must not be much smaller than their terms.

use onnx_conformance_cases::case::Expected;
use onnx_conformance_cases::compare::Accuracy;
use onnx_conformance_cases::generate::{AccuracyFile, Computation, OperatorFile};
use onnx_conformance_reference::dtype::FloatFormat;
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use onnx_conformance_reference::value::Value;

use super::node_case::{Found, NodeCase};
use super::totals::Promise;
use crate::{OPERATORS, assert_none};

/// Returns true if outputs have the bound of a sum.
fn is_sum(accuracy: &AccuracyFile) -> bool {
    match accuracy {
        AccuracyFile::Rule(rule) => {
            rule.sum.is_some() || rule.by_type.0.iter().any(|(_, rule)| format!("{rule:?}").contains("sum: Some"))
        }
        _ => false,
    }
}

/// Returns true if outputs of a case of the operator have the bound of a sum.
fn has_sum(file: &OperatorFile) -> bool {
    is_sum(&file.accuracy) || file.cases.iter().any(|case| case.accuracy.as_ref().is_some_and(is_sum))
}

pub(crate) const PROMISE: Promise = Promise { name: "cancellation", covers: has_sum, rule: cancelled };

#[test]
fn the_bound_of_a_sum_follows_from_its_terms() {
    PROMISE.assert_kept();
}

#[test]
fn what_has_the_bound_of_a_sum_declares_that_it_adds_up() {
    let undeclared = |version: &OperatorVersion| {
        let file = OPERATORS.get(version).unwrap_or_else(|error| panic!("{error}"));
        is_sum(&file.accuracy) && !file.computes.contains(&Computation::Sums)
    };
    let of_specs = Specs::embedded().all().filter(|version| OPERATORS.has(version));
    let undeclared = of_specs.filter(undeclared).map(|version| format!("{version}: write `computes: [sums]`"));
    assert_none(&undeclared.collect::<Vec<String>>());
}

fn cancelled(made: &NodeCase<'_>) -> Found {
    let mut found = Found::new();
    if made.filled.is_empty() {
        return found;
    }
    for output in &made.case.data[0].outputs {
        let Expected::Value(Value::Tensor(value), Accuracy::Bounded(bound)) = &output.expected else { continue };
        let Accuracy::Bounded(rule) = made.accuracy(value.element_type()) else { continue };
        if rule.through.is_some() || !rule.is_sum {
            continue;
        }
        let unit = rule.multiple * value.element_type().float_format().map_or(0.0, FloatFormat::unit_roundoff);
        let terms: Vec<f64> = bound.floats().into_iter().map(|bound| bound / unit).collect();
        found.extend(cancellation(&output.name, &value.floats(), &terms));
    }
    found
}

/// Maximum ratio of terms to their sum, and maximum share of exceptions in an output.
const MAX_CANCELLED: f64 = 1024.0;
const EXCEPTIONS: f64 = 0.5;

/// Checks that a sum is no larger than its terms. Most sums must not be much smaller, or any output would be within the bound.
fn cancellation(output: &str, values: &[f64], terms: &[f64]) -> Found {
    let pairs = || values.iter().zip(terms).enumerate().filter(|(_, (value, _))| value.is_finite());
    let mut found = Found::new();
    for (at, (value, terms)) in pairs() {
        // Values may have been rounded up to the element type.
        if libm::fabs(*value) > terms * 1.01 {
            found.push((output.to_owned(), at, format!("{value} is more than {terms}")));
        }
    }
    let cancelled =
        pairs().filter(|(_, (value, terms))| **value != 0.0 && **terms > libm::fabs(**value) * MAX_CANCELLED);
    let cancelled: Vec<usize> = cancelled.map(|(at, _)| at).collect();
    if cancelled.len() as f64 > EXCEPTIONS * values.len() as f64 {
        found.push((output.to_owned(), cancelled[0], format!("{} of {} sums cancel", cancelled.len(), values.len())));
    }
    found
}
