//! Page of a measured version of a runtime: totals, the operators with failures, and findings.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_harness::runtimes::released;

use crate::site::causes::{FailureCause, FailureCauses};
use crate::site::column::Column;
use crate::site::failures::{Failure, OperatorFailures};
use crate::site::finding_pages::MeasuredFinding;
use crate::site::severity::{CellState, letter_of, rank_of, state_of};
use crate::site::static_pages::address::{Address, Place, short_name};
use crate::site::static_pages::entry::{OperatorEntry, counted_opset, right_in_float};
use crate::site::static_pages::html::Html;
use crate::site::static_pages::mark::{letter_mark, mark};
use crate::site::static_pages::page::Page;

/// Maximum number of behaviours named for an operator.
const MAX_NAMED: usize = 8;

/// Operators with their failures by column.
pub(crate) type Operators<'a> = [(&'a OperatorEntry, &'a OperatorFailures)];

/// Creates the page of the column at a position.
pub(crate) fn page(at: usize, columns: &[Column], operators: &Operators<'_>, findings: &[MeasuredFinding<'_>]) -> Page {
    let Some(column) = columns.get(at) else { return Page::new(Address::Runtimes, "No such runtime", "") };
    let about = format!("{} {}: {}.", column.runtime, column.version, sentence(at, column, operators));
    let mut page = Page::new(Address::Runtime(&column.key), &column.title(), &about);
    let place = page.place.clone();
    page.facts(facts(column));
    page.section("Totals", totals(at, operators));
    if let Some(causes) = &column.causes {
        page.section("Causes of the failures", failure_causes(causes));
    }
    page.section("Operators with failures", failures(at, operators, &place));
    page.section("Findings", own_findings(column, findings, &place));
    page.section("Other versions", others(column, columns, &place));
    page
}

/// Returns the number of right operators in words.
pub(crate) fn sentence(at: usize, column: &Column, operators: &Operators<'_>) -> String {
    let opset = counted_opset(column);
    match right_in_float(operators.iter().map(|(entry, _)| *entry), at) {
        [_, 0] => format!("not measured at opset {opset}"),
        [right, measured] => {
            format!("at opset {opset}, {right} of {measured} measured operators of ai.onnx are right in float")
        }
    }
}

/// Returns the accepted opsets of ONNX's own domain and the accepted IR versions in words.
pub(crate) fn accepted(column: &Column) -> Option<String> {
    column.accepts.as_ref().map(ToString::to_string)
}

fn facts(column: &Column) -> Html {
    let measured = [&column.date, &column.platform].into_iter().flatten().map(String::as_str).collect::<Vec<_>>();
    let rows = [
        ("Released", released(&column.runtime, &column.version).map(str::to_owned)),
        ("Accepts", accepted(column)),
        ("Measured", (!measured.is_empty()).then(|| measured.join(", "))),
        ("Results file", column.file.clone()),
        ("Digest of the suite", column.digest.clone()),
    ];
    let rows = rows.into_iter().filter_map(|(term, about)| Some((Html::from(term), Html::from(about?))));
    let remarks = column.remarks.iter().map(|remark| Html::with("p", &[("class", "notice")], remark.as_str()));
    Html::from([Html::terms("facts", rows), remarks.collect()])
}

/// Returns the number of operators by state of their newest version, in all types.
fn totals(at: usize, operators: &Operators<'_>) -> Html {
    let mut counts: BTreeMap<usize, (char, usize)> = BTreeMap::new();
    for &(entry, _) in operators {
        let letter = entry.states.get(at).map_or('?', letter_of);
        counts.entry(rank_of(letter)).or_insert((letter, 0)).1 += 1;
    }
    let row =
        |(letter, count): (char, usize)| vec![letter_mark(letter), Html::from(count), Html::from(state_of(letter).one)];
    let rows = counts.into_values().map(row);
    let title = "Operators by the state of their newest version, in all types";
    Html::table(title, ["state", "operators", "meaning"], rows)
}

/// Returns the causes of the failures in a results file, the one with the most failures first.
fn failure_causes(causes: &FailureCauses) -> Html {
    let row = |cause: &FailureCause| {
        let lines = [&cause.message, &cause.model].into_iter().filter(|line| !line.is_empty());
        let example = Html::from([
            Html::inline("code", cause.example.as_str()),
            lines.map(|line| Html::element("p", line.as_str())).collect(),
        ]);
        vec![Html::from(cause.outcome), Html::from(cause.title.as_str()), Html::from(cause.extent.as_str()), example]
    };
    Html::table(&causes.summary, ["outcome", "cause", "cases", "smallest case"], causes.shown.iter().map(row))
}

/// Returns the operators with failures, the worst first.
fn failures(at: usize, operators: &Operators<'_>, place: &Place) -> Html {
    let mut failing: Vec<(&OperatorEntry, Vec<&Failure>)> = Vec::new();
    for &(entry, failures) in operators {
        let own = failures.failures.get(at).into_iter().flatten();
        let own: Vec<&Failure> = own.filter(|failure| state_of(failure.state).bad).collect();
        if !own.is_empty() {
            failing.push((entry, own));
        }
    }
    if failing.is_empty() {
        return Html::element("p", "No measured case fails.");
    }
    let rank = |own: &[&Failure]| (own.iter().map(|failure| rank_of(failure.state)).min(), Reverse(own.len()));
    failing.sort_by(|(a, own), (b, other)| rank(own).cmp(&rank(other)).then_with(|| a.name.cmp(&b.name)));
    let row = |(entry, own): (&OperatorEntry, Vec<&Failure>)| {
        let name = short_name(&entry.domain, &entry.name);
        let state = entry.states.get(at).copied().unwrap_or(CellState::Untested);
        let worst = own.iter().map(|failure| failure.state).min_by_key(|state| rank_of(*state)).unwrap_or('?');
        vec![
            place.link(Address::Operator(&entry.domain, &entry.name), name),
            letter_mark(worst),
            mark(&state),
            behaviours(&own),
        ]
    };
    let head = ["operator", "worst failure", "newest version", "behaviours that fail in some version"];
    Html::table("Operators with failures, the worst first", head, failing.into_iter().map(row))
}

fn behaviours(failures: &[&Failure]) -> Html {
    let names: BTreeSet<&str> = failures.iter().map(|failure| failure.behaviour.as_str()).collect();
    let named = names.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MAX_NAMED) {
        None | Some(0) => Html::from(named),
        Some(more) => Html::from(format!("{named} and {more} more")),
    }
}

/// Returns the findings that fail in the version of the column.
fn own_findings(column: &Column, findings: &[MeasuredFinding<'_>], place: &Place) -> Html {
    let of_column = |finding: &&MeasuredFinding<'_>| {
        let fails = |(version, failures, _): &(&'static str, usize, char)| *version == column.version && *failures > 0;
        column.file.is_none() && finding.finding.runtime == column.runtime && finding.measured.iter().any(fails)
    };
    let item = |finding: &MeasuredFinding<'_>| {
        place.link(Address::Finding(&finding.finding.full_id()), finding.finding.title.as_str())
    };
    Html::list("found", findings.iter().filter(of_column).map(item))
}

fn others(column: &Column, columns: &[Column], place: &Place) -> Html {
    let same = columns.iter().filter(|other| other.runtime == column.runtime && other.key != column.key);
    Html::list("found", same.map(|other| place.link(Address::Runtime(&other.key), other.title())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_harness::findings::Findings;
    use onnx_conformance_reference::spec::OperatorVersion;

    use crate::site::columns::ShownColumns;
    use crate::site::table::VersionTable;

    #[test]
    fn a_runtime_has_totals_failures_and_findings() {
        let columns = ShownColumns::new(Column::committed().unwrap());
        let table = VersionTable::new(&OperatorVersion::new("ai.onnx", "NonZero", 13), &columns).unwrap();
        let entry = OperatorEntry::new(std::slice::from_ref(&table), "", &columns).unwrap();
        let failures = OperatorFailures::new(&[table], &columns);
        let finding = *Findings::embedded().unwrap().named("onnxruntime/nonzero-scalar").first().unwrap();
        let findings = [MeasuredFinding { finding, shown: &[], measured: vec![("1.20.1", 1, 'w')] }];
        let at = columns.iter().position(|column| column.key == "onnxruntime-1.20.1").unwrap();
        let text = page(at, &columns, &[(&entry, &failures)], &findings).text(None);
        for part in [
            "<h1>onnxruntime 1.20.1</h1>",
            "of 1 measured operators of ai.onnx are right in float",
            "<dt>Released</dt>\n<dd>2024-11-21</dd>",
            "<a href=\"../op/ai.onnx/NonZero.html\">NonZero</a>",
            "scalar",
            "<a href=\"../finding/onnxruntime/nonzero-scalar.html\">",
            "<a href=\"../runtime/onnxruntime-1.31.1.html\">",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
}
