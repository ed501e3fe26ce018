//! Summary of an operator, for the lists and for the pages of runtimes.

use std::collections::BTreeMap;

use onnx_conformance_reference::spec::DEFAULT_DOMAIN;
use onnx_conformance_subject::Opsets;

use crate::site::column::Column;
use crate::site::severity::CellState;
use crate::site::table::{CaseRow, Levels, VersionTable, states};

/// Opset for the number of right operators, as on the front page and in `list measured`.
const OPSET: u32 = 21;

/// Summary of an operator.
#[derive(Debug)]
pub(crate) struct OperatorEntry {
    /// The domain.
    pub(crate) domain: String,
    /// The name.
    pub(crate) name: String,
    /// Its summary.
    pub(crate) summary: String,
    /// The newest version.
    pub(crate) since: u32,
    /// True if the newest version is deprecated.
    pub(crate) is_deprecated: bool,
    /// State of the newest version per column, by the required cases.
    pub(crate) states: Vec<CellState>,
    /// State in float per column at the opset of its count. Only ONNX's own operators count that are not deprecated there.
    pub(crate) in_float: Vec<Option<CellState>>,
}

/// Returns the opset at which the right operators of a column are counted: the newest that it accepts, if that is earlier.
pub(crate) fn counted_opset(column: &Column) -> u32 {
    let opsets = column.accepts.as_ref().and_then(|accepts| accepts.opsets.get(DEFAULT_DOMAIN));
    opsets.map_or(OPSET, |opsets| match opsets {
        Opsets::UpTo(newest) | Opsets::Between(_, newest) => OPSET.min(*newest),
    })
}

impl OperatorEntry {
    /// Summarizes the versions of an operator, oldest first. Returns `None` without a version.
    pub(crate) fn new(tables: &[VersionTable], summary: &str, columns: &[Column]) -> Option<OperatorEntry> {
        let newest = tables.last()?;
        let mut by_opset: BTreeMap<u32, Option<Vec<CellState>>> = BTreeMap::new();
        let mut in_float = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let opset = counted_opset(column);
            let states = by_opset.entry(opset).or_insert_with(|| float_states(tables, opset, columns.len()));
            in_float.push(states.as_ref().and_then(|states| states.get(at)).copied());
        }
        Some(OperatorEntry {
            domain: newest.version.domain.clone(),
            name: newest.version.name.clone(),
            summary: summary.to_owned(),
            since: newest.version.since,
            is_deprecated: newest.spec.deprecated,
            states: newest.states(Levels::Required, columns.len()),
            in_float,
        })
    }
}

/// Returns the states in float of the version in force at an opset; `None` if the operator does not count there.
fn float_states(tables: &[VersionTable], opset: u32, columns: usize) -> Option<Vec<CellState>> {
    let table = tables.iter().rev().find(|table| table.version.since <= opset)?;
    if table.spec.deprecated || table.version.domain != DEFAULT_DOMAIN {
        return None;
    }
    let cases: Vec<&CaseRow> = table.cases_in_float().into_iter().filter(|case| case.opset <= opset).collect();
    Some(states(&cases, Levels::Required, columns))
}

/// Counts the operators that are right in float in a column, and the measured ones.
pub(crate) fn right_in_float<'a>(operators: impl IntoIterator<Item = &'a OperatorEntry>, column: usize) -> [usize; 2] {
    let (mut right, mut measured) = (0, 0);
    for operator in operators {
        let Some(Some(state)) = operator.in_float.get(column) else { continue };
        right += usize::from(matches!(state, CellState::Right(_)));
        measured += usize::from(!matches!(state, CellState::Untested | CellState::Recorded | CellState::NotAccepted));
    }
    [right, measured]
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_harness::measure::{Measurements, Severity, cases_in_float};
    use onnx_conformance_reference::spec::Specs;

    #[test]
    fn right_operators_are_counted_as_by_list_measured() {
        let columns = Column::committed().unwrap();
        let specs = Specs::embedded();
        let entry = |name: &str| {
            let versions = specs.all().filter(|version| version.domain == DEFAULT_DOMAIN && version.name == name);
            let tables: Vec<VersionTable> =
                versions.map(|version| VersionTable::new(&version, &columns).unwrap()).collect();
            OperatorEntry::new(&tables, "", &columns).unwrap()
        };
        let names = ["Add", "Cast", "Resize", "Softmax", "Upsample"];
        let entries: Vec<OperatorEntry> = names.map(entry).into_iter().collect();
        for (at, column) in columns.iter().enumerate() {
            let measurement = Measurements::embedded().get(&column.runtime, &column.version).unwrap().unwrap();
            let opset = counted_opset(column);
            let operators = cases_in_float(opset).unwrap().into_iter();
            let of_it = operators.filter(|(version, _)| names.contains(&version.name.as_str()));
            let severities: Vec<Severity> =
                of_it.filter_map(|(version, cases)| measurement.severity_at(opset, &version, &cases)).collect();
            let right = severities.iter().filter(|severity| **severity == Severity::Right).count();
            assert_eq!(right_in_float(&entries, at), [right, severities.len()], "{}", column.key);
        }
    }
}
