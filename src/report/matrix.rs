//! The compatibility matrix: operator versions and type cells against runtimes, as measured.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{AddAssign, RangeInclusive};

use onnx_conformance_reference::spec::{LookupError, OperatorVersion, Specs};
use onnx_conformance_reference::types::ValueType;

use crate::case::{CaseId, Level};
use crate::run::{CaseResult, Outcome, Summary};
use crate::runtime::{Declaration, MissingFeature};

/// The results of a runtime.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// Which runtime.
    pub runtime: &'a Declaration,
    /// What it did, case by case.
    pub results: &'a [CaseResult],
}

/// Every operator version and type cell there is, with what the runtimes did where a case touched it.
#[derive(Debug)]
pub struct Matrix<'a> {
    /// The runtimes, in the order of every list of one entry a runtime below.
    pub runtimes: Vec<Column<'a>>,
    /// The operator versions by domain, name and since.
    pub versions: Vec<VersionRow>,
    /// The cases by id, with each runtime's result.
    pub cases: Vec<CaseRow<'a>>,
}

/// A runtime and its totals.
#[derive(Debug)]
pub struct Column<'a> {
    /// The runtime.
    pub runtime: &'a Declaration,
    /// Its cases by outcome.
    pub cases: Summary,
    /// Its cases by state; those that are not judged count as untested.
    pub case_states: States,
    /// The operator versions by state.
    pub versions: States,
    /// The type cells by state.
    pub cells: States,
}

/// An operator version.
#[derive(Debug)]
pub struct VersionRow {
    /// Which.
    pub version: OperatorVersion,
    /// The opsets at which a model means it.
    pub opsets: RangeInclusive<u32>,
    /// Whether the version withdraws the operator.
    pub deprecated: bool,
    /// The cases that touched it, a runtime each.
    pub counts: Vec<Counts>,
    /// Its type cells, by parameter and type.
    pub cells: Vec<CellRow>,
    /// The positions in [`Matrix::cases`] of the cases that touched it on any runtime.
    pub cases: Vec<usize>,
}

/// A type cell.
#[derive(Debug)]
pub struct CellRow {
    /// The type parameter.
    pub parameter: String,
    /// The type.
    pub value_type: ValueType,
    /// The cases that touched it, a runtime each.
    pub counts: Vec<Counts>,
}

/// A case.
#[derive(Debug)]
pub struct CaseRow<'a> {
    /// The id.
    pub id: &'a str,
    /// Each runtime's result; none where the case was not run.
    pub results: Vec<Option<&'a CaseResult>>,
}

/// How many judged cases passed, failed, or were declined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The cases that passed.
    pub passed: usize,
    /// The cases that ended in any other way that was judged.
    pub failed: usize,
    /// The cases that the runtime declined.
    pub unsupported: usize,
}

/// What the cases say of an operator version or a type cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Every case passed.
    Passed,
    /// Some cases passed and some did not.
    Mixed,
    /// No case passed, and some failed.
    Failed,
    /// Every case was declined.
    Unsupported,
    /// No case says anything.
    Untested,
}

/// How many operator versions or type cells are in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States(BTreeMap<State, usize>);

impl Counts {
    /// Counts a result; one that is not judged counts as nothing.
    pub fn of(result: &CaseResult) -> Counts {
        let mut counts = Counts::default();
        match result.outcome {
            _ if result.level == Level::Open || result.outcome.is_inconclusive() => {}
            Outcome::Pass => counts.passed = 1,
            Outcome::Unsupported => counts.unsupported = 1,
            _ => counts.failed = 1,
        }
        counts
    }

    /// What the counts say.
    pub fn state(self) -> State {
        match (self.passed, self.failed, self.unsupported) {
            (0, 0, 0) => State::Untested,
            (_, 0, 0) => State::Passed,
            (0, 0, _) => State::Unsupported,
            (0, _, _) => State::Failed,
            _ => State::Mixed,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.unsupported += other.unsupported;
    }
}

impl State {
    /// Every state, best first.
    pub const ALL: [State; 5] = [State::Passed, State::Mixed, State::Failed, State::Unsupported, State::Untested];

    /// The name, as reports show it.
    pub const fn name(self) -> &'static str {
        match self {
            State::Passed => "passed",
            State::Mixed => "mixed",
            State::Failed => "failed",
            State::Unsupported => "unsupported",
            State::Untested => "untested",
        }
    }

    /// A sign that tells the states apart without colour.
    pub const fn sign(self) -> &'static str {
        match self {
            State::Passed => "✓",
            State::Mixed => "±",
            State::Failed => "✗",
            State::Unsupported => "–",
            State::Untested => "?",
        }
    }
}

impl States {
    /// How many are in this state.
    pub fn count(&self, state: State) -> usize {
        self.0.get(&state).copied().unwrap_or(0)
    }

    /// How many there are.
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// How many some case says something of.
    pub fn tested(&self) -> usize {
        self.total() - self.count(State::Untested)
    }
}

impl FromIterator<State> for States {
    fn from_iter<T: IntoIterator<Item = State>>(states: T) -> States {
        let mut counts = BTreeMap::new();
        states.into_iter().for_each(|state| *counts.entry(state).or_default() += 1);
        States(counts)
    }
}

impl<'a> Matrix<'a> {
    /// Joins the results of any number of runtimes with everything the specs name.
    pub fn new(specs: &Specs, measured: &[Measured<'a>]) -> Result<Matrix<'a>, LookupError> {
        let mut versions = rows(specs, measured.len())?;
        let places = Places::new(&versions);
        let mut cases: BTreeMap<&str, (Vec<Option<&CaseResult>>, BTreeSet<usize>)> = BTreeMap::new();
        for (column, runtime) in measured.iter().enumerate() {
            for result in runtime.results {
                let (results, touched) =
                    cases.entry(&result.id).or_insert_with(|| (vec![None; measured.len()], BTreeSet::new()));
                results[column] = Some(result);
                for place in places.touched(result) {
                    touched.insert(place.version);
                    versions[place.version].counts_at(place)[column] += Counts::of(result);
                }
            }
        }
        for (position, (_, touched)) in cases.values().enumerate() {
            for &version in touched {
                versions[version].cases.push(position);
            }
        }
        let cases = cases.into_iter().map(|(id, (results, _))| CaseRow { id, results }).collect();
        let runtimes = measured.iter().enumerate().map(|(at, runtime)| Column::new(at, runtime, &versions)).collect();
        Ok(Matrix { runtimes, versions, cases })
    }

    /// How many type cells there are, and how many of them belong to deprecated versions.
    pub fn cells(&self) -> (usize, usize) {
        let count = |deprecated_only: bool| {
            let rows = self.versions.iter().filter(|row| row.deprecated || !deprecated_only);
            rows.map(|row| row.cells.len()).sum()
        };
        (count(false), count(true))
    }
}

impl<'a> Column<'a> {
    fn new(at: usize, measured: &Measured<'a>, versions: &[VersionRow]) -> Column<'a> {
        let mut cases = Summary::default();
        measured.results.iter().for_each(|result| cases.add(result));
        let state = |counts: &[Counts]| counts.get(at).copied().unwrap_or_default().state();
        Column {
            runtime: measured.runtime,
            cases,
            case_states: measured.results.iter().map(|result| Counts::of(result).state()).collect(),
            versions: versions.iter().map(|row| state(&row.counts)).collect(),
            cells: versions.iter().flat_map(|row| &row.cells).map(|cell| state(&cell.counts)).collect(),
        }
    }
}

impl VersionRow {
    /// How many of its type cells some case of a runtime says something of.
    pub fn tested_cells(&self, runtime: usize) -> usize {
        let tested = |cell: &&CellRow| cell.counts.get(runtime).is_some_and(|counts| *counts != Counts::default());
        self.cells.iter().filter(tested).count()
    }

    fn counts_at(&mut self, place: Place) -> &mut [Counts] {
        match place.cell {
            Some(cell) => &mut self.cells[cell].counts,
            None => &mut self.counts,
        }
    }
}

fn rows(specs: &Specs, runtimes: usize) -> Result<Vec<VersionRow>, LookupError> {
    let counts = vec![Counts::default(); runtimes];
    let row = |version: OperatorVersion| {
        let spec = specs.get(&version)?;
        let types = spec.types.iter().flat_map(|(parameter, types)| types.iter().map(move |known| (parameter, known)));
        let cell = |(parameter, value_type): (&String, &ValueType)| CellRow {
            parameter: parameter.clone(),
            value_type: value_type.clone(),
            counts: counts.clone(),
        };
        Ok(VersionRow {
            opsets: specs.opsets(&version)?,
            deprecated: spec.deprecated,
            counts: counts.clone(),
            cells: types.map(cell).collect(),
            cases: Vec::new(),
            version,
        })
    };
    specs.all().map(row).collect()
}

/// An operator version or, with `cell`, one of its type cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    version: usize,
    cell: Option<usize>,
}

/// Where the names that results use stand in the matrix.
struct Places {
    by_name: BTreeMap<String, Place>,
    operators: Vec<String>,
}

impl Places {
    fn new(versions: &[VersionRow]) -> Places {
        let mut by_name = BTreeMap::new();
        for (version, row) in versions.iter().enumerate() {
            let name = row.version.qualified();
            for (at, cell) in row.cells.iter().enumerate() {
                let name = format!("{name} {}={}", cell.parameter, cell.value_type);
                by_name.insert(name, Place { version, cell: Some(at) });
            }
            by_name.insert(name, Place { version, cell: None });
        }
        let operator = |row: &VersionRow| format!("{}/{}", row.version.domain, row.version.name);
        Places { by_name, operators: versions.iter().map(operator).collect() }
    }

    /// What a result says something of. A pass speaks for all that the run went through, and any other result for
    /// what is to blame.
    fn touched(&self, result: &CaseResult) -> Vec<Place> {
        let ran = result.outcome == Outcome::Pass && !result.executed_cells.is_empty();
        let names = if ran { &result.executed_cells } else { &result.declared_cells };
        let mut places: Vec<Place> = names.iter().filter_map(|name| self.by_name.get(name)).copied().collect();
        if result.outcome != Outcome::Pass {
            let blamed = self.blamed(result, &places);
            places.extend(blamed.iter().map(|&version| Place { version, cell: None }));
            places.retain(|place| blamed.contains(&place.version));
            places.sort_unstable_by_key(|place| (place.version, place.cell));
            places.dedup();
        }
        places
    }

    /// The operator versions that a result which is no pass is held against: that of a generated case; else those that
    /// the runtime says it lacks, if the model names them; else all that the model names, for any may be the cause.
    fn blamed(&self, result: &CaseResult, named: &[Place]) -> BTreeSet<usize> {
        if let Some(place) = self.by_name.get(CaseId::parse(&result.id).group()) {
            return BTreeSet::from([place.version]);
        }
        let versions: BTreeSet<usize> = named.iter().map(|place| place.version).collect();
        let missing = result.missing.as_deref().and_then(|missing| missing.parse::<MissingFeature>().ok());
        let lacked = missing.as_ref().and_then(MissingFeature::operator);
        let lacked = lacked.map(ToString::to_string).unwrap_or_default();
        let lacks = |version: &&usize| {
            let is_version = self.by_name.get(&lacked).is_some_and(|place| place.version == **version);
            is_version || self.operators.get(**version).is_some_and(|operator| *operator == lacked)
        };
        let lacking: BTreeSet<usize> = versions.iter().filter(lacks).copied().collect();
        if lacking.is_empty() { versions } else { lacking }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results;

    fn result(id: &str, outcome: Outcome, missing: Option<&str>, cells: &[&str], named: &[&str]) -> CaseResult {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        CaseResult {
            missing: missing.map(str::to_owned),
            executed_cells: owned(cells),
            declared_cells: owned(named),
            ..test_results::result(id, outcome)
        }
    }

    fn runtime(name: &str) -> Declaration {
        Declaration::named(name, "1")
    }

    /// The counts of an operator version, or of a type cell of it, on each runtime as (passed, failed, unsupported).
    fn check(matrix: &Matrix<'_>, name: &str, expected: &[(usize, usize, usize)]) {
        let place = Places::new(&matrix.versions).by_name[name];
        let row = &matrix.versions[place.version];
        let counts = place.cell.map_or(&row.counts, |cell| &row.cells[cell].counts);
        let counts: Vec<_> = counts.iter().map(|counts| (counts.passed, counts.failed, counts.unsupported)).collect();
        assert_eq!(counts, expected, "{name}");
    }

    const SUM: [&str; 2] = ["ai.onnx/Sum-13", "ai.onnx/Sum-13 T=tensor(float)"];

    #[test]
    fn denominators_come_from_the_specs() {
        let (name, results) = (runtime("a"), []);
        let matrix = Matrix::new(Specs::embedded(), &[Measured { runtime: &name, results: &results }]).unwrap();
        assert_eq!(matrix.runtimes[0].versions.total(), 659);
        assert_eq!(matrix.runtimes[0].cells.total(), 8_898);
        assert_eq!(matrix.cells(), (8_898, 46));
        assert_eq!(matrix.versions.iter().filter(|row| row.deprecated).count(), 5);
        assert_eq!((matrix.runtimes[0].versions.tested(), matrix.runtimes[0].cells.tested()), (0, 0));
    }

    #[test]
    fn a_pass_counts_where_the_run_went_and_a_failure_where_the_model_points() {
        let results = [
            result("x/passes", Outcome::Pass, None, &SUM, &[]),
            result("x/differs", Outcome::Mismatch, None, &["ai.onnx/Abs-13"], &SUM),
            result("x/silent", Outcome::NotApplicable, None, &[], &SUM),
        ];
        let name = runtime("a");
        let matrix = Matrix::new(Specs::embedded(), &[Measured { runtime: &name, results: &results }]).unwrap();
        check(&matrix, "ai.onnx/Sum-13", &[(1, 1, 0)]);
        check(&matrix, "ai.onnx/Sum-13 T=tensor(float)", &[(1, 1, 0)]);
        check(&matrix, "ai.onnx/Sum-13 T=tensor(double)", &[(0, 0, 0)]);
        check(&matrix, "ai.onnx/Abs-13", &[(0, 0, 0)]);
        check(&matrix, "ai.onnx/Sum-8", &[(0, 0, 0)]);
        let column = &matrix.runtimes[0];
        assert_eq!((column.versions.count(State::Mixed), column.versions.tested()), (1, 1));
        assert_eq!(matrix.cases.len(), 3);
    }

    #[test]
    fn only_what_is_lacking_is_blamed() {
        let named = ["ai.onnx/Abs-13", "ai.onnx/Abs-13 T=tensor(int8)", SUM[0], SUM[1]];
        let unsupported = |id: &str, missing: &str| result(id, Outcome::Unsupported, Some(missing), &[], &named);
        let results = [
            unsupported("x/operator", "operator ai.onnx/Abs"),
            unsupported("x/version", "tensor(int8) in ai.onnx/Abs-13"),
            unsupported("x/elsewhere", "operator ai.onnx/Neg"),
            unsupported("ai.onnx/Sum-13/broadcast/T=float", "operator ai.onnx/Abs"),
        ];
        let name = runtime("a");
        let matrix = Matrix::new(Specs::embedded(), &[Measured { runtime: &name, results: &results }]).unwrap();
        check(&matrix, "ai.onnx/Abs-13", &[(0, 0, 3)]);
        check(&matrix, "ai.onnx/Abs-13 T=tensor(int8)", &[(0, 0, 3)]);
        check(&matrix, "ai.onnx/Sum-13", &[(0, 0, 2)]);
    }

    #[test]
    fn runtimes_stand_side_by_side() {
        let (one, other) = (runtime("one"), runtime("other"));
        let first = [result("x/sum", Outcome::Pass, None, &SUM, &[])];
        let second =
            [result("x/sum", Outcome::Crash, None, &[], &SUM), result("x/more", Outcome::Pass, None, &[], &SUM)];
        let measured = [Measured { runtime: &one, results: &first }, Measured { runtime: &other, results: &second }];
        let matrix = Matrix::new(Specs::embedded(), &measured).unwrap();
        check(&matrix, "ai.onnx/Sum-13", &[(1, 0, 0), (1, 1, 0)]);
        let present: Vec<Vec<bool>> =
            matrix.cases.iter().map(|case| case.results.iter().map(Option::is_some).collect()).collect();
        assert_eq!(present, [[false, true], [true, true]]);
    }

    #[test]
    fn unknown_is_not_no() {
        let counts = |passed, failed, unsupported| Counts { passed, failed, unsupported }.state();
        assert_eq!(counts(0, 0, 0), State::Untested);
        assert_eq!(counts(2, 0, 0), State::Passed);
        assert_eq!(counts(0, 0, 2), State::Unsupported);
        assert_eq!(counts(0, 1, 2), State::Failed);
        assert_eq!(counts(1, 0, 2), State::Mixed);
        assert_eq!(counts(1, 1, 0), State::Mixed);
    }
}
