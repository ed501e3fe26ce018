//! The compatibility matrix as one page that needs nothing but a browser.

use std::collections::BTreeMap;

use onnx_conformance_reference::spec::{Specs, diff};
use serde::Serialize;

use crate::case::RuleRef;
use crate::report::coverage::{Count, CoverageKind};
use crate::report::matrix::{Column, Counts, Matrix, State, States, VersionRow};
use crate::report::terminal;
use crate::run::{CaseResult, Outcome};

/// The most cases of one kind, passed or not, that the page lists under an operator version.
const MOST_CASES: usize = 40;
/// The most characters of a message on the page; results.jsonl has all.
const MOST_CHARACTERS: usize = 300;

const PAGE: &str = include_str!("templates/page.html");
const STYLE: &str = include_str!("templates/page.css");
const SCRIPT: &str = include_str!("templates/page.js");

/// The page: the matrix, how far the suite reaches, and what confirms its cases.
pub fn page(
    matrix: &Matrix<'_>,
    specs: &Specs,
    reach: &BTreeMap<CoverageKind, Count>,
    evidence: Vec<(String, usize)>,
) -> Result<String, serde_json::Error> {
    let data = in_script(&serde_json::to_string(&Data { evidence, ..Data::new(matrix, specs, reach) })?);
    let mut page = String::with_capacity(data.len() + PAGE.len() + STYLE.len() + SCRIPT.len());
    let mut rest = PAGE;
    for (mark, part) in [("{style}", STYLE), ("{data}", &data), ("{script}", SCRIPT)] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(part);
        rest = after;
    }
    page.push_str(rest);
    Ok(page)
}

/// JSON that no HTML parser can take for the end of its script element.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// What the page knows. Lists of one entry a runtime follow the order of `runtimes`.
#[derive(Serialize)]
struct Data<'a> {
    suite: &'static str,
    /// The command that runs a case, with {} for its id.
    command: String,
    states: Vec<StateData>,
    runtimes: Vec<RuntimeData<'a>>,
    domains: Vec<DomainData<'a>>,
    /// Every type, which type cells name by position.
    types: Vec<String>,
    deprecated_cells: usize,
    operators: Vec<OperatorData<'a>>,
    /// Every case that some operator version lists.
    cases: Vec<CaseData<'a>>,
    /// The rules of op.yaml that cases are about.
    rules: Vec<String>,
    /// How far the suite reaches: of what, how many reached, excused, and in all.
    reach: Vec<(&'static str, Triple)>,
    /// How many cases each source confirms besides the built-in executor, and how many nothing.
    evidence: Vec<(String, usize)>,
}

#[derive(Serialize)]
struct StateData {
    name: &'static str,
    sign: &'static str,
}

#[derive(Serialize)]
struct RuntimeData<'a> {
    name: &'a str,
    version: &'a str,
    cases: BTreeMap<State, usize>,
    versions: BTreeMap<State, usize>,
    cells: BTreeMap<State, usize>,
}

#[derive(Serialize)]
struct DomainData<'a> {
    name: &'a str,
    newest: u32,
}

#[derive(Serialize)]
struct OperatorData<'a> {
    domain: usize,
    name: &'a str,
    versions: Vec<VersionData<'a>>,
}

#[derive(Serialize)]
struct VersionData<'a> {
    since: u32,
    last: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deprecated: bool,
    /// What changed since the version before; none for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<String>>,
    counts: Vec<Triple>,
    /// Each type parameter with its cells: the type, and the counts of each runtime where a case touched it.
    parameters: Vec<(&'a str, Vec<CellData>)>,
    /// The cases listed, by position.
    cases: Vec<usize>,
    /// How many cases touched the version, listed or not.
    touched: usize,
}

/// A case: its id, each runtime's result, and the position of its rule.
type CaseData<'a> = (&'a str, Vec<Option<ResultData>>, Option<usize>);

/// The state that the result alone makes, its outcome and its message.
type ResultData = (State, Outcome, String);

/// Passed, failed, unsupported.
type Triple = [usize; 3];

/// A type cell that no case touched is its type alone.
#[derive(Serialize)]
#[serde(untagged)]
enum CellData {
    Untested(usize),
    Tested(usize, Vec<Triple>),
}

impl<'a> Data<'a> {
    fn new(matrix: &'a Matrix<'a>, specs: &'a Specs, reach: &BTreeMap<CoverageKind, Count>) -> Data<'a> {
        let domains: Vec<DomainData> = specs
            .domains()
            .map(|name| DomainData { name, newest: specs.newest_opset(name).unwrap_or_default() })
            .collect();
        let mut interned = Interned::default();
        let mut operators: Vec<OperatorData> = Vec::new();
        for row in &matrix.versions {
            let domain = domains.iter().position(|domain| domain.name == row.version.domain).unwrap_or_default();
            let is_next = |last: &&mut OperatorData| last.domain == domain && last.name == row.version.name;
            let before = operators.last_mut().filter(is_next);
            let since = before.as_ref().and_then(|operator| Some(operator.versions.last()?.since));
            let version = version_data(matrix, specs, row, since, &mut interned);
            match before {
                Some(operator) => operator.versions.push(version),
                None => operators.push(OperatorData { domain, name: &row.version.name, versions: vec![version] }),
            }
        }
        let mut rules = Rules::default();
        let mut cases = Vec::new();
        for &position in &interned.cases {
            let case = &matrix.cases[position];
            let rule = case.results.iter().flatten().find_map(|result| result.rule.as_ref());
            let results = case.results.iter().map(|result| result.map(result_data)).collect();
            cases.push((case.id, results, rule.map(|rule| rules.position(rule))));
        }
        Data {
            suite: env!("CARGO_PKG_VERSION"),
            command: terminal::command("onnx-conformance run", "{}"),
            states: State::ALL.iter().map(|state| StateData { name: state.name(), sign: state.sign() }).collect(),
            runtimes: matrix.runtimes.iter().map(RuntimeData::new).collect(),
            domains,
            deprecated_cells: matrix.cells().1,
            operators,
            cases,
            rules: rules.texts,
            types: interned.types,
            reach: reach
                .iter()
                .map(|(aspect, count)| (aspect.title(), [count.reached, count.excused, count.all]))
                .collect(),
            evidence: Vec::new(),
        }
    }
}

/// The rules that cases are about, each once.
#[derive(Default)]
struct Rules {
    texts: Vec<String>,
    positions: BTreeMap<String, usize>,
}

impl Rules {
    fn position(&mut self, rule: &RuleRef) -> usize {
        let text = rule.to_string();
        *self.positions.entry(text.clone()).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() - 1
        })
    }
}

/// What many operator versions share, in the order in which it is first needed.
#[derive(Default)]
struct Interned {
    types: Vec<String>,
    cases: Vec<usize>,
    places: BTreeMap<usize, usize>,
}

impl Interned {
    fn type_at(&mut self, name: String) -> usize {
        self.types.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.types.push(name);
            self.types.len() - 1
        })
    }

    fn case_at(&mut self, position: usize) -> usize {
        *self.places.entry(position).or_insert_with(|| {
            self.cases.push(position);
            self.cases.len() - 1
        })
    }
}

fn version_data<'a>(
    matrix: &Matrix<'_>,
    specs: &Specs,
    row: &'a VersionRow,
    before: Option<u32>,
    interned: &mut Interned,
) -> VersionData<'a> {
    let mut parameters: Vec<(&str, Vec<CellData>)> = Vec::new();
    for cell in &row.cells {
        let value_type = interned.type_at(cell.value_type.to_string());
        let tested = cell.counts.iter().any(|counts| *counts != Counts::default());
        let cell_data = if tested {
            CellData::Tested(value_type, cell.counts.iter().map(triple).collect())
        } else {
            CellData::Untested(value_type)
        };
        match parameters.last_mut().filter(|(parameter, _)| *parameter == cell.parameter) {
            Some((_, cells)) => cells.push(cell_data),
            None => parameters.push((&cell.parameter, vec![cell_data])),
        }
    }
    let version = &row.version;
    let changes = before.and_then(|from| {
        let difference = diff::versions(specs, &version.domain, &version.name, from, version.since).ok()?;
        Some(difference.changes.iter().map(ToString::to_string).collect())
    });
    VersionData {
        since: version.since,
        last: *row.opsets.end(),
        deprecated: row.deprecated,
        changes,
        counts: row.counts.iter().map(triple).collect(),
        parameters,
        cases: listed(matrix, row).map(|position| interned.case_at(position)).collect(),
        touched: row.cases.len(),
    }
}

/// The cases that a version lists: those that did not pass on some runtime first, at most so many of each kind.
fn listed<'a>(matrix: &'a Matrix<'_>, row: &'a VersionRow) -> impl Iterator<Item = usize> {
    let passes = |&&position: &&usize| {
        let mut results = matrix.cases[position].results.iter().flatten();
        results.all(|result| result.outcome == Outcome::Pass)
    };
    let (passed, other): (Vec<&usize>, Vec<&usize>) = row.cases.iter().partition(|position| passes(position));
    other.into_iter().take(MOST_CASES).chain(passed.into_iter().take(MOST_CASES)).copied()
}

fn triple(counts: &Counts) -> Triple {
    [counts.passed, counts.failed, counts.unsupported]
}

fn result_data(result: &CaseResult) -> ResultData {
    let mut message: String = result.message.chars().take(MOST_CHARACTERS).collect();
    if message.len() < result.message.len() {
        message.push('…');
    }
    (Counts::of(result).state(), result.outcome, message)
}

impl<'a> RuntimeData<'a> {
    fn new(column: &Column<'a>) -> RuntimeData<'a> {
        let by_state = |states: &States| State::ALL.map(|state| (state, states.count(state))).into();
        RuntimeData {
            name: &column.runtime.name,
            version: &column.runtime.version,
            cases: by_state(&column.case_states),
            versions: by_state(&column.versions),
            cells: by_state(&column.cells),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::matrix::Measured;
    use crate::run::test_results;
    use crate::runtime::Declaration;

    fn result(id: &str, message: &str) -> CaseResult {
        CaseResult {
            message: message.to_owned(),
            declared_cells: vec!["ai.onnx/Sum-13".to_owned(), "ai.onnx/Sum-13 T=tensor(float)".to_owned()],
            ..test_results::result(id, Outcome::Mismatch)
        }
    }

    fn page_of(results: &[CaseResult]) -> String {
        let runtime = Declaration::named("a", "1");
        let matrix = Matrix::new(Specs::embedded(), &[Measured { runtime: &runtime, results }]).unwrap();
        page(
            &matrix,
            Specs::embedded(),
            &BTreeMap::from([(CoverageKind::Overflow, Count { reached: 1, excused: 2, all: 4 })]),
            vec![("literal".to_owned(), 3), ("nothing".to_owned(), 1)],
        )
        .unwrap()
    }

    /// The data of a page, read back as a browser would.
    fn data_of(page: &str) -> serde_json::Value {
        let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn no_text_ends_the_script_that_holds_it() {
        let hostile = "</script><script>alert(1)</script><!-- & \u{2028} {script} {data}";
        let page = page_of(&[result("x/y", hostile)]);
        assert!(!page.contains("alert(1)</script>"));
        assert_eq!(data_of(&page)["cases"][0], serde_json::json!(["x/y", [["failed", "mismatch", hostile]], null]));
    }

    #[test]
    fn the_page_asks_nothing_of_the_network() {
        let page = page_of(&[]);
        for reference in ["http://", "https://", "src=", "<link", "@import", "url("] {
            assert!(!page.contains(reference), "{reference}");
        }
    }

    #[test]
    fn every_operator_version_is_on_the_page_with_what_changed() {
        let data = data_of(&page_of(&[result("x/y", "")]));
        let operators = data["operators"].as_array().unwrap();
        let versions = |operator: &serde_json::Value| operator["versions"].as_array().unwrap().clone();
        assert_eq!(operators.iter().map(|operator| versions(operator).len()).sum::<usize>(), 659);
        let sum = operators.iter().find(|operator| operator["name"] == "Sum").unwrap();
        let last = versions(sum).pop().unwrap();
        assert_eq!((&last["since"], &last["last"], &last["touched"]), (&13.into(), &28.into(), &1.into()));
        assert_eq!(last["changes"], serde_json::json!(["tensor(bfloat16) added to T"]));
        assert_eq!(last["counts"], serde_json::json!([[0, 1, 0]]));
    }

    #[test]
    fn the_page_says_how_far_the_suite_reaches_and_what_confirms_it() {
        assert_eq!(data_of(&page_of(&[]))["reach"], serde_json::json!([[CoverageKind::Overflow.title(), [1, 2, 4]]]));
        assert_eq!(data_of(&page_of(&[]))["evidence"], serde_json::json!([["literal", 3], ["nothing", 1]]));
    }

    #[test]
    fn the_first_cases_are_listed_and_all_are_counted() {
        let results: Vec<CaseResult> = (0..100).map(|number| result(&format!("x/{number}"), "")).collect();
        let data = data_of(&page_of(&results));
        assert_eq!(data["cases"].as_array().unwrap().len(), MOST_CASES);
    }
}
