//! Violations of promises, over the judged single-node cases of the operators that each covers.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::{Case, Level};
use onnx_conformance_cases::generate::OperatorFile;
use onnx_conformance_reference::spec::Specs;

use super::node_case::{Found, NodeCase, node_case};
use super::{cancellation, exact_sums, largest, quantized_sums, ties, writes};
use crate::{FOUND, Made, is_everything_meant};

/// A promise about the filled values of cases.
pub(crate) struct Promise {
    /// Key of its violations.
    pub(crate) name: &'static str,
    /// Returns true for the operators that it covers.
    pub(crate) covers: fn(&OperatorFile) -> bool,
    /// Returns the violations by a case.
    pub(crate) rule: fn(&NodeCase<'_>) -> Found,
}

const PROMISES: [&Promise; 6] = [
    &cancellation::PROMISE,
    &exact_sums::PROMISE,
    &largest::PROMISE,
    &quantized_sums::PROMISE,
    &ties::PROMISE,
    &writes::PROMISE,
];

impl Promise {
    /// Asserts that the promise covers cases, and that none violates it.
    pub(crate) fn assert_kept(&self) {
        let Totals { cases, violations } = &FOUND.promises;
        assert!(cases.contains_key(self.name) || !is_everything_meant(), "no case is covered by '{}'", self.name);
        let mut lines = violations.get(self.name).cloned().unwrap_or_default();
        lines.sort();
        assert!(lines.is_empty(), "{} places, such as\n{}", lines.len(), lines[..lines.len().min(200)].join("\n"));
    }
}

/// Results of all promises, by their names.
#[derive(Default)]
pub(crate) struct Totals {
    /// Number of covered cases.
    cases: BTreeMap<&'static str, usize>,
    violations: BTreeMap<&'static str, Vec<String>>,
}

impl Totals {
    pub(crate) fn of(versions: &[Made]) -> Totals {
        let mut totals = Totals::default();
        for made in versions {
            let promises: Vec<&Promise> = PROMISES.into_iter().filter(|promise| (promise.covers)(made.file)).collect();
            if !promises.is_empty() {
                totals.add(made, &promises);
            }
        }
        totals
    }

    fn add(&mut self, made: &Made, promises: &[&Promise]) {
        let spec = Specs::embedded().get(&made.version).unwrap_or_else(|error| panic!("{error}"));
        let is_judged = |case: &&Case| !case.id.contains("/refuse/") && case.level != Level::Open;
        let judged = made.cases.iter().filter(is_judged).filter_map(|case| node_case(spec, made.file, case));
        for case in judged {
            for Promise { name, rule, .. } in promises {
                *self.cases.entry(name).or_default() += 1;
                let line = |(operand, at, what)| format!("{} {operand}[{at}]: {what}", case.case.id);
                self.violations.entry(name).or_default().extend(rule(&case).into_iter().map(line));
            }
        }
    }

    pub(crate) fn with(mut self, other: Totals) -> Totals {
        for (name, cases) in other.cases {
            *self.cases.entry(name).or_default() += cases;
        }
        for (name, lines) in other.violations {
            self.violations.entry(name).or_default().extend(lines);
        }
        self
    }
}
