//! Bounds reject visibly wrong outputs: the output of each required case, with one element changed by a share of its largest
//! magnitude. docs/accuracy.md defines share, element and magnitude.

use std::collections::BTreeSet;
use std::path::Path;

use onnx_conformance_cases::case::{Case, Expected, Level};
use onnx_conformance_cases::compare::{Accuracy, compare};
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;
use serde::Deserialize;

use crate::{FOUND, Made, is_everything_meant};

/// Returns the change of an element as a share of the largest magnitude; `None` for types that are not judged.
fn share(element: ElementType) -> Option<f64> {
    match element {
        ElementType::Bfloat16 => Some(0.05),
        ElementType::Float16 => Some(0.01),
        ElementType::Double => Some(1e-6),
        _ => None,
    }
}

/// Counts of the outputs of required cases in judged types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    judged: usize,
    /// Each accepted change, with its case.
    accepted: Vec<(String, String)>,
}

impl Totals {
    pub(crate) fn of(versions: &[Made]) -> Totals {
        let mut totals = Totals::default();
        let cases = versions.iter().flat_map(Made::runnable).filter(|case| case.level == Level::Required);
        cases.for_each(|case| totals.add(case));
        totals
    }

    fn add(&mut self, case: &Case) {
        for output in case.data.iter().flat_map(|data| &data.outputs) {
            let Expected::Value(Value::Tensor(expected), accuracy) = &output.expected else { continue };
            let Some(changes) = changes(expected, accuracy) else { continue };
            self.judged += 1;
            let is_accepted = |change: &Change| {
                change.apply(expected).is_some_and(|actual| {
                    compare(&Value::Tensor(expected.clone()), &Value::Tensor(actual), accuracy).is_ok()
                })
            };
            if let Some(change) = changes.iter().find(|change| is_accepted(change)) {
                let Change { at, from, to } = change;
                let rule = match accuracy {
                    Accuracy::Bounded(bound) => format!("{:e}", bound.floats().get(*at).copied().unwrap_or_default()),
                    rule => rule.to_string(),
                };
                let message =
                    format!("'{}'[{at}] in {}: {to} passes for {from} ({rule})", output.name, expected.element_type());
                self.accepted.push((case.id.clone(), message));
            }
        }
    }

    pub(crate) fn with(mut self, other: Totals) -> Totals {
        self.judged += other.judged;
        self.accepted.extend(other.accepted);
        self
    }
}

/// A change of one element.
struct Change {
    at: usize,
    from: f64,
    to: f64,
}

impl Change {
    /// Returns the changed tensor; `None` if its type cannot represent the result.
    fn apply(&self, tensor: &Tensor) -> Option<Tensor> {
        let mut values = tensor.floats();
        *values.get_mut(self.at)? = self.to;
        Tensor::of_floats(tensor.element_type(), tensor.shape(), &values).ok()
    }
}

/// Returns the position of the finite element with the largest key.
fn largest(values: &[f64], key: impl Fn(usize, f64) -> f64) -> Option<usize> {
    let finite = values.iter().enumerate().filter(|(_, value)| value.is_finite());
    finite.max_by(|(a, x), (b, y)| key(*a, **x).total_cmp(&key(*b, **y))).map(|(at, _)| at)
}

/// Changes the element with the widest tolerance up and down; `None` for an output that is not judged.
fn changes(expected: &Tensor, accuracy: &Accuracy) -> Option<[Change; 2]> {
    let share = share(expected.element_type())?;
    let values = expected.floats();
    let magnitude = values[largest(&values, |_, value| value.abs())?].abs();
    let smallest = libm::ldexp(1.0, 1 - expected.element_type().float_format()?.bias);
    if magnitude < smallest {
        return None;
    }
    let at = match accuracy {
        Accuracy::Bounded(bound) => {
            let bounds = bound.floats();
            largest(&values, |at, _| bounds.get(at).copied().unwrap_or_default())?
        }
        _ => largest(&values, |_, value| value.abs())?,
    };
    let from = values[at];
    Some([1.0, -1.0].map(|sign| Change { at, from, to: from + sign * share * magnitude }))
}

/// Cases whose changed outputs may pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    cases: Vec<String>,
    because: String,
}

fn exceptions() -> Vec<Exception> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/loose.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

#[test]
fn a_required_case_rejects_its_own_output_with_one_element_off() {
    let totals = &FOUND.sensitivity;
    assert!(totals.judged > 5_000 || !is_everything_meant(), "only {} outputs are judged", totals.judged);
    let mut excused = BTreeSet::new();
    let mut problems = Vec::new();
    for Exception { cases, because } in exceptions() {
        assert!(because.len() > 20, "an exception says why: {cases:?}");
        for pattern in cases {
            let filter = Filter::new(std::slice::from_ref(&pattern)).unwrap();
            let matched = totals.accepted.iter().map(|(id, _)| id).filter(|id| filter.matches(id));
            let before = excused.len();
            excused.extend(matched);
            if excused.len() == before && is_everything_meant() {
                problems.push(format!(
                    "tests/suite/loose.yaml: {pattern} is not needed: no changed output of such a case passes"
                ));
            }
        }
    }
    let unexcused = totals.accepted.iter().filter(|(id, _)| !excused.contains(id));
    problems.extend(unexcused.map(|(id, message)| format!("{id}: {message}")));
    problems.sort();
    assert!(problems.is_empty(), "{} of {} outputs:\n{}", problems.len(), totals.judged, problems.join("\n"));
}
