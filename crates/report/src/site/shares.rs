//! Shares of the error bounds that outputs take, by version and column, for the histograms.

use std::collections::BTreeMap;

use onnx_conformance_cases::compare::BoundShare;

use crate::site::column::Column;
use crate::site::table::VersionTable;

/// Element type, bound in representable values, and the numbers of cases in the order of [`BoundShare::ALL`].
pub(crate) type ShareRow = (&'static str, Option<u64>, [u32; BoundShare::ALL.len()]);

/// Rows by version and column key.
pub(crate) type Shares<'a> = BTreeMap<u32, BTreeMap<&'a str, Vec<ShareRow>>>;

/// Collects the shares of the versions of an operator. A column is missing if its measurement has no shares, and has no
/// rows if no case has a bound.
pub(crate) fn shares<'a>(tables: &[VersionTable], columns: &'a [Column]) -> Shares<'a> {
    let of_column = |table: &VersionTable, column: &'a Column| {
        let of_version = column.accuracy.as_ref()?.of(&table.version).into_iter();
        Some((
            column.key.as_str(),
            of_version.map(|it| (it.element.name(), it.ulps, it.cases)).collect::<Vec<ShareRow>>(),
        ))
    };
    let of_version = |table: &VersionTable| {
        let of_columns = columns.iter().filter_map(|column| of_column(table, column));
        (table.version.since, of_columns.collect::<BTreeMap<&str, Vec<ShareRow>>>())
    };
    tables.iter().map(of_version).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::compare::UsedBound;
    use onnx_conformance_harness::run::test_results::result;
    use onnx_conformance_harness::run::{CaseResult, Header, Outcome, Read, Selected};
    use onnx_conformance_reference::dtype::ElementType;
    use onnx_conformance_reference::spec::OperatorVersion;
    use onnx_conformance_subject::Declaration;

    #[test]
    fn a_column_has_the_shares_of_its_results() {
        let bound = UsedBound { element: ElementType::Float, ulps: Some(4), share: BoundShare::Half };
        let column = |name: &str, bound: Option<UsedBound>| {
            let results =
                vec![CaseResult { bound, ..result("ai.onnx/Exp-13/ranks/input=2x3x4/T=float", Outcome::Pass) }];
            let header = Header::new(Declaration::named(name, "1"), "d".to_owned(), Selected::default());
            Column::from_results(&format!("{name}.jsonl"), &Read { header, results, is_torn: false }, "d")
        };
        let columns = [column("with", Some(bound)), column("without", None)];
        let table = |since| VersionTable::new(&OperatorVersion::new("ai.onnx", "Exp", since), &columns).unwrap();
        let found = shares(&[table(6), table(13)], &columns);
        let rows = vec![("float", Some(4), [0, 0, 0, 0, 1, 0, 0, 0])];
        let expected = |rows| BTreeMap::from([("with-1", rows)]);
        assert_eq!(found, BTreeMap::from([(6, expected(Vec::new())), (13, expected(rows))]));
    }
}
