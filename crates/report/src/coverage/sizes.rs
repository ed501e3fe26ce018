//! Histogram of the value sizes of cases.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use onnx_conformance_cases::case::{Case, CaseId};
use serde::{Deserialize, Serialize};

/// Maximum number of elements of each column except the last.
const UP_TO: [usize; 4] = [32, 256, 4096, 65_536];

/// Number of cases of an operator by the element count of their largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    columns: [usize; UP_TO.len() + 1],
    largest: usize,
}

/// Histogram of the largest value of each generated case that runs, by operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sizes(BTreeMap<String, Row>);

impl Sizes {
    /// Counts a case, unless it must be refused or does not belong to an operator.
    pub(super) fn add(&mut self, case: &Case) {
        let Some(version) = CaseId::parse(&case.id).version().filter(|_| case.refusal.is_none()) else { return };
        let row = self.0.entry(format!("{}/{}", version.domain, version.name)).or_default();
        row.add(largest(case));
    }

    /// Adds other cases.
    pub(super) fn merge(&mut self, other: &Sizes) {
        for (operator, row) in &other.0 {
            self.0.entry(operator.clone()).or_default().merge(row);
        }
    }

    /// Formats a line per operator, and one for all of them.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut all = Row::default();
        self.0.values().for_each(|row| all.merge(row));
        let mut head = format!("{:<44}", "elements of the largest value");
        for most in UP_TO {
            let _ = write!(head, "{:>9}", format!("<= {most}"));
        }
        let _ = write!(head, "{:>9}{:>10}", "more", "largest");
        let rows = self.0.iter().map(|(name, row)| row.line(name));
        std::iter::once(head).chain(rows).chain(std::iter::once(all.line("all"))).collect()
    }
}

impl Row {
    fn add(&mut self, largest: usize) {
        let column = UP_TO.iter().position(|most| largest <= *most).unwrap_or(UP_TO.len());
        self.columns[column] += 1;
        self.largest = self.largest.max(largest);
    }

    fn merge(&mut self, other: &Row) {
        self.largest = self.largest.max(other.largest);
        for (sum, count) in self.columns.iter_mut().zip(other.columns) {
            *sum += count;
        }
    }

    fn line(&self, name: &str) -> String {
        let mut text = format!("{name:<44}");
        for count in self.columns {
            let _ = write!(text, "{count:>9}");
        }
        let _ = write!(text, "{:>10}", self.largest);
        text
    }
}

/// Returns the element count of the largest input or output tensor.
fn largest(case: &Case) -> usize {
    let inputs = case.data.iter().flat_map(|data| &data.inputs);
    let inputs = inputs.filter_map(|input| Some(input.value.as_tensor()?.len()));
    let outputs = case.data.iter().flat_map(|data| &data.outputs);
    let outputs = outputs.filter_map(|output| Some(output.expected.declared().1?.iter().product()));
    inputs.chain(outputs).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_its_column() {
        let mut row = Row::default();
        for size in [0, 32, 33, 4096, 70_000, 65_536] {
            row.add(size);
        }
        assert_eq!(row.columns, [2, 1, 1, 1, 1]);
        assert!(row.line("a").ends_with("        2        1        1        1        1     70000"));
    }
}
