//! Properties of the suite as a whole. The cases of an operator are generated once, all versions together, and shared by all
//! tests.
//!
//! `SUITE_ONLY=ai.onnx/Conv` selects the operators and groups with this prefix.

mod check;
mod facts;
mod graphs;
mod inference;
mod levels;
mod promises;
mod records;
mod refusals;
mod sensitivity;
mod silent;
mod text;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use onnx_conformance_cases::case::Case;
use onnx_conformance_cases::generate::{Computation, OperatorCatalog, OperatorFile, cases};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use rayon::prelude::*;

/// An operator version with its op.yaml and cases.
struct Made {
    version: OperatorVersion,
    file: &'static OperatorFile,
    cases: Vec<Case>,
}

impl Made {
    /// Returns the operator with its domain.
    fn operator(&self) -> String {
        format!("{}/{}", self.version.domain, self.version.name)
    }

    /// Returns the cases that are not refusals.
    fn runnable(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| case.refusal.is_none() && !case.id.contains("/refuse/"))
    }
}

/// Results of the tests on generated cases.
#[derive(Default)]
struct Found {
    silent: Vec<String>,
    /// Number of operator versions that only add and multiply.
    arithmetic: usize,
    integers: Vec<String>,
    defaults: Vec<String>,
    records: Vec<String>,
    refusals: Vec<Result<(), String>>,
    sensitivity: sensitivity::Totals,
    check: check::Totals,
    facts: facts::Totals,
    inference: inference::Totals,
    promises: promises::Totals,
}

impl Found {
    fn of(versions: &[Made]) -> Found {
        let each = |check: fn(&Made) -> Vec<String>| versions.iter().flat_map(check).collect();
        Found {
            silent: versions.windows(2).flat_map(|pair| silent::check_pair(&pair[0], &pair[1])).collect(),
            arithmetic: versions.iter().filter(|made| made.file.computes.contains(&Computation::Arithmetic)).count(),
            integers: each(levels::integers_beyond_their_type),
            defaults: each(levels::defaults_of_later_texts),
            records: records::stale(versions).into_iter().chain(each(records::stale_wrapped)).collect(),
            refusals: versions.iter().flat_map(refusals::check).collect(),
            sensitivity: sensitivity::Totals::of(versions),
            check: check::Totals::of(versions.iter().flat_map(|made| &made.cases)),
            facts: facts::Totals::of(versions),
            inference: versions
                .iter()
                .map(|made| inference::Totals::of(&made.operator(), made.runnable()))
                .fold(inference::Totals::default(), inference::Totals::with),
            promises: promises::Totals::of(versions),
        }
    }

    fn with(mut self, other: Found) -> Found {
        self.silent.extend(other.silent);
        self.arithmetic += other.arithmetic;
        self.integers.extend(other.integers);
        self.defaults.extend(other.defaults);
        self.records.extend(other.records);
        self.refusals.extend(other.refusals);
        Found {
            check: self.check.with(other.check),
            facts: self.facts.with(other.facts),
            inference: self.inference.with(other.inference),
            promises: self.promises.with(other.promises),
            sensitivity: self.sensitivity.with(other.sensitivity),
            ..self
        }
    }
}

static OPERATORS: LazyLock<OperatorCatalog> = LazyLock::new(OperatorCatalog::embedded);

static FOUND: LazyLock<Found> = LazyLock::new(|| {
    let mut versions: BTreeMap<(String, String), Vec<OperatorVersion>> = BTreeMap::new();
    for version in Specs::embedded().all().filter(|version| OPERATORS.has(version)) {
        versions.entry((version.domain.clone(), version.name.clone())).or_default().push(version);
    }
    versions.retain(|_, versions| versions.iter().any(|version| is_meant(&version.qualified())));
    let make = |version: OperatorVersion| {
        let cases = cases(&OPERATORS, &version, &|_| true).unwrap_or_else(|error| panic!("{error}"));
        let file = OPERATORS.get(&version).unwrap_or_else(|error| panic!("{error}"));
        Made { version, file, cases }
    };
    let of_operator =
        |versions: Vec<OperatorVersion>| Found::of(&versions.into_iter().map(make).collect::<Vec<Made>>());
    versions.into_values().collect::<Vec<_>>().into_par_iter().map(of_operator).reduce(Found::default, Found::with)
});

/// Returns true if an operator version or another group of cases is selected.
fn is_meant(group: &str) -> bool {
    std::env::var("SUITE_ONLY").map_or(true, |only| group.starts_with(&only))
}

fn is_everything_meant() -> bool {
    std::env::var_os("SUITE_ONLY").is_none()
}

fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "{} cases, such as\n{}", found.len(), found[..found.len().min(500)].join("\n"));
}
