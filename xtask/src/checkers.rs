//! The newest checkers by what is wrong with a model: the tables of docs/tools.md, and the file that the site shows.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::{
    CheckedRefusal, Filter, Generated, GraphCases, IrCases, Suite, SuiteError, checked_refusals,
};
use onnx_conformance_harness::expectations::Expectations;
use onnx_conformance_harness::measure::{EarlierAnswers, MeasuredDigests};
use onnx_conformance_report::checkers::{CheckedSuite, CheckerColumn, CheckerCounts, CheckerRow, CheckerTable};
use onnx_conformance_report::tools::newest_answering;

use crate::measured_tools::measurements;
use crate::workspace;

/// Heading of the table of invalid models.
const INVALID: &str = "#### By what is wrong: refused / accepted\n";

/// Heading of the table of valid models.
const VALID: &str = "#### Valid models that are refused\n";

/// Returns the file for the site.
pub(crate) fn file() -> Result<String> {
    Ok(table()?.to_json()?)
}

/// Returns the tables of the page, each with its heading.
pub(crate) fn tables() -> Result<[(&'static str, String); 2]> {
    Ok(tables_of(table()?))
}

/// Counts the answers of the newest checkers, once.
fn table() -> Result<&'static CheckerTable> {
    static TABLE: OnceLock<CheckerTable> = OnceLock::new();
    if let Some(table) = TABLE.get() {
        return Ok(table);
    }
    let newest = newest_answering(measurements()?, Variant::Check.name());
    let measured = newest.into_iter().map(answers).collect::<Result<Vec<EarlierAnswers>>>()?;
    let ids = Suite::project(None, Generated::embedded())?.ids(&Filter::default())?;
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let invalid = refusals()?;
    let suite = CheckedSuite { ids: &ids, refusals: &invalid };
    let table = CheckerTable::new("cargo xtask gen", &measured, suite)?;
    Ok(TABLE.get_or_init(|| table))
}

/// Reads a measurement case by case.
fn answers(file: &Expectations) -> Result<EarlierAnswers> {
    let text = fs::read_to_string(file.path()).with_context(|| file.path().to_owned())?;
    let digests = fs::read_to_string(MeasuredDigests::path(Path::new(file.path()))).ok();
    Ok(EarlierAnswers::read(file.path(), &text, digests.as_deref())?)
}

/// Returns the models that a checker must refuse.
fn refusals() -> Result<Vec<CheckedRefusal>, SuiteError> {
    checked_refusals(&[&IrCases::new(&workspace::root().join("testdata")), &GraphCases])
}

fn tables_of(table: &CheckerTable) -> [(&'static str, String); 2] {
    let refused = |CheckerCounts([right, wrong, other]): CheckerCounts| match other {
        0 => format!("{right} / {wrong}"),
        _ => format!("{right} / {wrong} / {other}"),
    };
    let invalid: [(&str, Number); 2] = [
        ("not judged: the checker refuses the model without the violation, too", |column| column.not_judged),
        ("not counted: new, changed or not asked about", |column| column.unknown_invalid),
    ];
    let of_all = |counts: CheckerCounts| {
        let CheckerCounts([_, wrong, _]) = counts;
        format!("{wrong} of {}", counts.total())
    };
    let valid: [(&str, Number); 1] = [("not counted: new, changed or not asked about", |column| column.unknown_valid)];
    let first = format!("| the model must be refused, because{}", markdown(table, &table.invalid, &refused, &invalid));
    let second = format!("| beginning of the ids{}", markdown(table, &table.valid, &of_all, &valid));
    [(INVALID, first), (VALID, second)]
}

/// A number that a checker has besides its answers.
type Number = fn(&CheckerColumn) -> usize;

/// Formats the rest of the head and the rows: the given ones, their sums, and numbers of models that no row counts.
fn markdown(
    table: &CheckerTable,
    rows: &[CheckerRow],
    cell: &dyn Fn(CheckerCounts) -> String,
    others: &[(&str, Number)],
) -> String {
    let checkers = &table.checkers;
    let line = |name: &str, cells: Vec<String>| format!("| {name} | {} |\n", cells.join(" | "));
    let names = checkers.iter().map(|checker| format!("{} {}", checker.name, checker.version));
    let rule = "--:|".repeat(checkers.len());
    let mut text = format!(" | {} |\n|---|{rule}\n", names.collect::<Vec<_>>().join(" | "));
    let mut sums = vec![CheckerCounts::default(); checkers.len()];
    for row in rows {
        text.push_str(&line(&row.name, row.counts.iter().map(|counts| cell(*counts)).collect()));
        for (sum, counts) in sums.iter_mut().zip(&row.counts) {
            sum.extend(*counts);
        }
    }
    text.push_str(&line("all of these", sums.into_iter().map(cell).collect()));
    for (name, number) in others {
        text.push_str(&line(name, checkers.iter().map(|checker| number(checker).to_string()).collect()));
    }
    text
}

#[cfg(test)]
mod tests {
    use onnx_conformance_harness::run::Outcome;

    use super::*;

    fn sum(rows: &[CheckerRow], at: usize) -> CheckerCounts {
        rows.iter().fold(CheckerCounts::default(), |mut sum, row| {
            sum.extend(row.counts[at]);
            sum
        })
    }

    /// The rows of a checker that was asked about the whole of today's suite are the cells of the table of checkers.
    #[test]
    fn the_kinds_add_up_to_the_answers_of_a_measurement() {
        let (table, refusals) = (table().unwrap(), refusals().unwrap());
        for (at, checker) in table.checkers.iter().enumerate() {
            let is_of =
                |file: &&Expectations| file.runtime == checker.name && file.version.as_ref() == Some(&checker.version);
            let answers = measurements().unwrap().iter().find(is_of).unwrap().answers.as_ref().unwrap();
            let measured = |question: &str, wrong| {
                [Outcome::Pass, wrong].map(|outcome| answers[question].get(&outcome).copied().unwrap_or_default())
            };
            let invalid = measured("check-refusals", Outcome::Accepted);
            let valid = measured("check", Outcome::Error);
            let counted =
                [(&table.invalid, invalid, checker.unknown_invalid), (&table.valid, valid, checker.unknown_valid)];
            for (rows, expected, unknown) in counted {
                let CheckerCounts([right, wrong, _]) = sum(rows, at);
                let is_part = right <= expected[0] && wrong <= expected[1];
                let holds = if unknown == 0 { [right, wrong] == expected } else { is_part };
                assert!(holds, "{}: {right}, {wrong}, not {expected:?}; {unknown} unknown", checker.name);
            }
            let left_out = checker.unknown_invalid + checker.not_judged;
            assert_eq!(sum(&table.invalid, at).total() + left_out, refusals.len(), "{}", checker.name);
        }
    }

    /// This project accepts every valid model, so each invalid one counts: the models of a part are those that were asked about.
    #[test]
    fn every_refusal_of_this_project_is_judged() {
        let own = table().unwrap().checkers.iter().find(|checker| checker.name == "builtin").unwrap();
        assert_eq!(own.not_judged, 0);
    }

    #[test]
    fn the_page_has_a_row_per_kind_and_the_models_that_are_left_out() {
        let column = |name: &str, not_judged| CheckerColumn {
            name: name.to_owned(),
            version: "1.0".to_owned(),
            unknown_invalid: 4,
            not_judged,
            unknown_valid: 5,
        };
        let row = |name: &str, counts: [[usize; 3]; 2]| CheckerRow {
            name: name.to_owned(),
            counts: counts.map(CheckerCounts).to_vec(),
        };
        let table = CheckerTable {
            comment: String::new(),
            checkers: vec![column("a", 0), column("b", 3)],
            invalid: vec![row("an input is missing", [[2, 0, 0], [1, 1, 0]]), row("x", [[1, 1, 1], [0, 3, 0]])],
            valid: vec![row("ir", [[7, 1, 0], [8, 0, 0]])],
        };
        let [(_, invalid), (_, valid)] = tables_of(&table);
        let expected = "\
| the model must be refused, because | a 1.0 | b 1.0 |
|---|--:|--:|
| an input is missing | 2 / 0 | 1 / 1 |
| x | 1 / 1 / 1 | 0 / 3 |
| all of these | 3 / 1 / 1 | 1 / 4 |
| not judged: the checker refuses the model without the violation, too | 0 | 3 |
| not counted: new, changed or not asked about | 4 | 4 |
";
        assert_eq!(invalid, expected);
        let expected = "\
| beginning of the ids | a 1.0 | b 1.0 |
|---|--:|--:|
| ir | 1 of 8 | 0 of 8 |
| all of these | 1 of 8 | 0 of 8 |
| not counted: new, changed or not asked about | 5 | 5 |
";
        assert_eq!(valid, expected);
    }
}
