//! The document of traps and the specs: every version that a row names has a case of that row, with outputs by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance::case::CaseId;
use onnx_conformance::generate::OperatorCatalog;
use onnx_conformance::suite::recorded_cases;
use onnx_conformance_reference::spec::{OperatorVersion, Specs};

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// A row: operators, versions, and the names of cases.
struct Row {
    operators: Vec<String>,
    versions: Vec<u32>,
    cases: Vec<String>,
}

/// The rows of the first table, which is the one with versions in its second column.
fn rows() -> Vec<Row> {
    let text = read(&root().join("docs/traps.md"));
    let list = |cell: &str| cell.split(',').map(|item| item.trim().trim_matches('`').to_owned()).collect::<Vec<_>>();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let [operators, versions, _, cases] = cells[..] else { return None };
        let versions = list(versions).iter().map(|version| version.parse().ok()).collect::<Option<Vec<u32>>>()?;
        Some(Row { operators: list(operators), versions, cases: list(cases) })
    };
    text.lines().filter_map(row).collect()
}

/// The versions for which the record of an operator lists a case by its name, with what it runs with behind it or without.
fn recorded(operator: &str, case: &str) -> BTreeSet<u32> {
    let lists = |since: &u32| {
        let cases = recorded_cases(&OperatorVersion::new("ai.onnx", operator, *since));
        cases.iter().any(|recorded| CaseId::parse(&recorded.id).name().split('/').next() == Some(case))
    };
    Specs::embedded().versions("ai.onnx", operator).filter(lists).collect()
}

#[test]
fn every_version_of_a_trap_has_a_case_with_outputs_by_hand() {
    let rows = rows();
    let operators = OperatorCatalog::embedded();
    assert!(rows.len() > 90, "only {} rows were read", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        for name in &row.operators {
            let version = OperatorVersion::new("ai.onnx", name, 1);
            let (file, _) = operators.get(&version).unwrap_or_else(|error| panic!("{name}: {error}"));
            let by_hand = |case: &str| {
                let cases = file.cases.iter().filter(|found| found.name == case);
                cases
                    .flat_map(|found| &found.outputs.0)
                    .any(|(_, output)| output.values.is_some() || output.all.is_some() || output.any_of.is_some())
            };
            let told: BTreeSet<u32> =
                row.cases.iter().filter(|case| by_hand(case)).flat_map(|case| recorded(name, case)).collect();
            let exists = |version: &u32| root().join(format!("specs/ai.onnx/{name}/{version}.yaml")).exists();
            let missing = row.versions.iter().filter(|version| exists(version) && !told.contains(version));
            wrong.extend(missing.map(|version| format!("{name}-{version}: no case among {:?}", row.cases)));
        }
        for case in &row.cases {
            let versions: BTreeSet<u32> = row.operators.iter().flat_map(|name| recorded(name, case)).collect();
            if row.versions.iter().all(|version| !versions.contains(version)) {
                wrong.push(format!("{:?} have no case {case} in {:?}", row.operators, row.versions));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
