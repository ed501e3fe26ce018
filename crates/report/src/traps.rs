//! Table of traps: different meanings of the versions of an operator, for implementers of runtimes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use onnx_conformance_reference::spec::{OperatorVersion, Specs};

use onnx_conformance_cases::generate::{GenerateError, OperatorCatalog};

/// First lines of the table.
const HEAD: &str = "| operators | versions | behaviour | cases that show it |\n|---|---|---|---|\n";

/// Replaces the rows of the table in a page. Returns `None` if the page has no such table.
pub fn page(old: &str, specs: &Specs, catalog: &OperatorCatalog) -> Result<Option<String>, GenerateError> {
    let Some((before, rest)) = old.split_once(HEAD) else { return Ok(None) };
    let rows: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    let after = rest.get(rows..).unwrap_or_default();
    Ok(Some(format!("{before}{HEAD}{}{after}", table(specs, catalog)?)))
}

/// A row shared by operators: the behaviour, its versions, and the cases that test it.
struct Row {
    operators: Vec<(String, BTreeSet<u32>)>,
    versions: BTreeSet<u32>,
    says: String,
    cases: Vec<String>,
}

impl Row {
    /// Merges another row if both say the same, and no operator's own versions would change. Returns true if merged.
    fn takes(&mut self, other: &Row) -> bool {
        let versions = &self.versions | &other.versions;
        let stays = |row: &Row| row.operators.iter().all(|(_, all)| all & &versions == all & &row.versions);
        let is_equal = self.says == other.says && self.cases == other.cases && stays(self) && stays(other);
        if is_equal {
            self.operators.extend(other.operators.iter().cloned());
            self.versions = versions;
        }
        is_equal
    }
}

/// Returns the rows by operator, in the order of op.yaml. Operators with equal rows share one.
fn table(specs: &Specs, catalog: &OperatorCatalog) -> Result<String, GenerateError> {
    let mut rows: Vec<Row> = Vec::new();
    for domain in specs.domains() {
        for operator in specs.operators(domain) {
            let all: BTreeSet<u32> = specs.versions(domain, operator).collect();
            let Some(newest) = all.last().map(|since| OperatorVersion::new(domain, operator, *since)) else { continue };
            if !catalog.has(&newest) {
                continue;
            }
            let name = if domain == "ai.onnx" { operator.to_owned() } else { format!("{domain}/{operator}") };
            for trap in &catalog.get(&newest)?.0.traps {
                let row = Row {
                    operators: vec![(name.clone(), all.clone())],
                    versions: all.iter().copied().filter(|since| trap.covers(*since)).collect(),
                    says: trap.says.replace('|', "\\|"),
                    cases: trap.cases.clone(),
                };
                if !rows.iter_mut().any(|known| known.takes(&row)) {
                    rows.push(row);
                }
            }
        }
    }
    let mut text = String::new();
    for Row { operators, versions, says, cases } in rows {
        let operators: Vec<String> = operators.into_iter().map(|(name, _)| name).collect();
        let versions: Vec<String> = versions.iter().map(u32::to_string).collect();
        let (operators, versions, cases) = (operators.join(", "), versions.join(", "), cases.join("`, `"));
        let _ = writeln!(text, "| {operators} | {versions} | {says} | `{cases}` |");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(operator: &str, all: &[u32], versions: &[u32]) -> Row {
        Row {
            operators: vec![(operator.to_owned(), all.iter().copied().collect())],
            versions: versions.iter().copied().collect(),
            says: "it broadcasts".to_owned(),
            cases: vec!["both".to_owned()],
        }
    }

    #[test]
    fn operators_share_a_row_whose_versions_are_right_for_each() {
        let mut add = row("Add", &[1, 7, 13], &[7, 13]);
        assert!(add.takes(&row("Less", &[1, 9], &[9])));
        assert_eq!(add.versions, BTreeSet::from([7, 9, 13]));
        assert!(!add.takes(&row("Pow", &[7, 12], &[12])), "Pow-7 is not among its own");
        assert!(!add.takes(&row("Max", &[1, 8], &[1])), "Add-1 is not among its own");
    }

    #[test]
    fn text_around_the_table_stays() {
        let page = |old: &str| page(old, Specs::embedded(), &OperatorCatalog::embedded()).unwrap();
        let made = page(&format!("# Traps\n\n{HEAD}| Old | 1 | nothing | `old` |\n\n## More\n| a |\n")).unwrap();
        assert!(made.starts_with(&format!("# Traps\n\n{HEAD}| Add, ")), "{made}");
        assert!(made.ends_with("` |\n\n## More\n| a |\n") && !made.contains("Old"), "{made}");
        assert_eq!(page("# Traps\n"), None);
    }
}
