//! Table of changes of meaning: different meanings of the versions of an operator, for implementers of runtimes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use onnx_conformance_reference::spec::{LookupError, MeaningChange, OperatorVersion, Specs};

/// First lines of the table.
const HEAD: &str = "| operators | since | meaning | before | cases that show it |\n|---|---|---|---|---|\n";

/// Replaces the rows of the table in a page. Returns `None` if the page has no such table.
pub fn page(old: &str, specs: &Specs) -> Result<Option<String>, LookupError> {
    let Some((before, rest)) = old.split_once(HEAD) else { return Ok(None) };
    let rows: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    let after = rest.get(rows..).unwrap_or_default();
    Ok(Some(format!("{before}{HEAD}{}{after}", table(specs)?)))
}

/// A row shared by operators: the change, its versions, and the cases that show it.
struct Row {
    operators: Vec<(String, BTreeSet<u32>)>,
    versions: BTreeSet<u32>,
    change: MeaningChange,
    cases: Vec<String>,
}

impl Row {
    /// Merges another row if both have the same text, and the versions of no operator would change. Returns true if
    /// merged.
    fn takes(&mut self, other: &Row) -> bool {
        let versions = &self.versions | &other.versions;
        let stays = |row: &Row| row.operators.iter().all(|(_, all)| all & &versions == all & &row.versions);
        let says = |row: &Row| (row.change.says.clone(), row.change.was.clone());
        let is_equal = says(self) == says(other) && self.cases == other.cases && stays(self) && stays(other);
        if is_equal {
            self.operators.extend(other.operators.iter().cloned());
            self.versions = versions;
        }
        is_equal
    }
}

/// Returns the rows by operator and version. Operators with equal rows share one.
fn table(specs: &Specs) -> Result<String, LookupError> {
    let mut rows: Vec<Row> = Vec::new();
    for domain in specs.domains() {
        for operator in specs.operators(domain) {
            let all: BTreeSet<u32> = specs.versions(domain, operator).collect();
            let name = if domain == "ai.onnx" { operator.to_owned() } else { format!("{domain}/{operator}") };
            for since in &all {
                for change in &specs.get(&OperatorVersion::new(domain, operator, *since))?.changes {
                    let row = Row {
                        operators: vec![(name.clone(), all.clone())],
                        versions: BTreeSet::from([*since]),
                        change: change.clone(),
                        cases: cases(change),
                    };
                    if !rows.iter_mut().any(|known| known.takes(&row)) {
                        rows.push(row);
                    }
                }
            }
        }
    }
    let mut text = String::new();
    for Row { operators, versions, change, cases } in rows {
        let operators: Vec<String> = operators.into_iter().map(|(name, _)| name).collect();
        let versions: Vec<String> = versions.iter().map(u32::to_string).collect();
        let cases: Vec<String> = cases.iter().map(|case| format!("`{case}`")).collect();
        let (operators, versions, cases) = (operators.join(", "), versions.join(", "), cases.join(", "));
        let (says, was) = (cell(&change.says), cell(&change.was.unwrap_or_default()));
        let _ = writeln!(text, "| {operators} | {versions} | {says} | {was} | {cases} |");
    }
    Ok(text)
}

/// Returns the names of the cases that show a change, without those of its examples if it lists any.
fn cases(change: &MeaningChange) -> Vec<String> {
    if !change.cases.is_empty() {
        return change.cases.clone();
    }
    let examples: BTreeSet<&str> = change.silent.iter().filter_map(|silent| silent.example.split('/').nth(2)).collect();
    examples.into_iter().map(str::to_owned).collect()
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(operator: &str, all: &[u32], versions: &[u32]) -> Row {
        Row {
            operators: vec![(operator.to_owned(), all.iter().copied().collect())],
            versions: versions.iter().copied().collect(),
            change: MeaningChange {
                says: "It broadcasts.".to_owned(),
                was: None,
                silent: Vec::new(),
                cases: vec!["both".to_owned()],
            },
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
        let page = |old: &str| page(old, Specs::embedded()).unwrap();
        let made = page(&format!("# Traps\n\n{HEAD}| Old | 2 | Nothing. | all | `old` |\n\n## More\n| a |\n")).unwrap();
        assert!(made.starts_with(&format!("# Traps\n\n{HEAD}| Add, ")), "{made}");
        assert!(made.ends_with(" |\n\n## More\n| a |\n") && !made.contains("Old"), "{made}");
        assert_eq!(page("# Traps\n"), None);
    }
}
