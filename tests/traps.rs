//! Page of traps: its table of open questions names existing operators and versions.

use std::fs;
use std::path::Path;

use onnx_conformance_reference::spec::Specs;

/// Domain, name and version of an operator in a cell.
type Named<'a> = (&'a str, &'a str, Option<u32>);

/// Returns the operators in a cell, each with the version after it, as in `AveragePool-10, 11` and
/// `ai.onnx.ml/LabelEncoder-4`.
fn operators(cell: &str) -> Vec<Named<'_>> {
    let words = cell.split([',', ';', ' ']).map(|word| word.rsplit_once('/').unwrap_or(("ai.onnx", word)));
    let words = words.filter(|(_, word)| word.starts_with(|c: char| c.is_ascii_uppercase()));
    let operator = |(domain, word)| match str::split_once(word, '-') {
        Some((name, since)) => (domain, name, Some(since.parse().unwrap())),
        None => (domain, word, None),
    };
    words.map(operator).collect()
}

#[test]
fn what_is_left_open_is_of_operators_that_exist() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/traps.md")).unwrap();
    let (_, table) = page.split_once("\n| where | what | what the suite asks |\n|---|---|---|\n").unwrap();
    let rows = table.lines().map_while(|line| line.strip_prefix("| ")?.split(" | ").next());
    let named: Vec<Named<'_>> = rows.flat_map(operators).collect();
    assert!(named.len() > 40, "only {} operators were read", named.len());
    for (domain, name, since) in named {
        let versions: Vec<u32> = Specs::embedded().versions(domain, name).collect();
        assert!(!versions.is_empty(), "there is no operator {name}");
        assert!(since.is_none_or(|since| versions.contains(&since)), "there is no {name}-{}", since.unwrap());
    }
}
