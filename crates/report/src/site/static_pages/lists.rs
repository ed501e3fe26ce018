//! Lists of operators, runtimes, findings, rules of `check` and releases.

use std::collections::BTreeMap;

use onnx_conformance_check::rules::RuleId;
use onnx_conformance_harness::expectations::ExpectationError;

use crate::site::column::Column;
use crate::site::columns::ShownColumns;
use crate::site::finding_pages::MeasuredFinding;
use crate::site::severity::CellState;
use crate::site::static_pages::address::{Address, Place};
use crate::site::static_pages::entry::OperatorEntry;
use crate::site::static_pages::finding_page::subject;
use crate::site::static_pages::html::Html;
use crate::site::static_pages::mark::{letter_mark, mark};
use crate::site::static_pages::page::Page;
use crate::site::static_pages::release_page::ReleaseChanges;
use crate::site::static_pages::rule_page::level;
use crate::site::static_pages::runtime_page::{Operators, accepted, sentence};

/// Creates the list of operators by domain, with the state of the newest version on the newest version of each runtime.
pub(crate) fn operators(columns: &ShownColumns, operators: &Operators<'_>) -> Page {
    let about = "Every operator of ONNX. The states are those of its newest version in the required cases of all types: \
                 the worst outcome decides, and numbers count behaviours.";
    let mut page = Page::new(Address::Operators, "Operators", about);
    let place = page.place.clone();
    let mut by_domain: BTreeMap<&str, Vec<&OperatorEntry>> = BTreeMap::new();
    for &(entry, _) in operators {
        by_domain.entry(&entry.domain).or_default().push(entry);
    }
    for (domain, entries) in by_domain {
        page.section(domain, operator_table(domain, &entries, columns, &place));
    }
    page
}

fn operator_table(domain: &str, entries: &[&OperatorEntry], columns: &ShownColumns, place: &Place) -> Html {
    let newest: Vec<(usize, &Column)> =
        columns.newest().iter().filter_map(|at| Some((*at, columns.get(*at)?))).collect();
    let mut head = vec![Html::from("operator"), Html::from("newest"), Html::from("summary")];
    head.extend(newest.iter().map(|(_, column)| place.link(Address::Runtime(&column.key), column.title())));
    let row = |entry: &&OperatorEntry| {
        let deprecated = if entry.is_deprecated { ", deprecated" } else { "" };
        let mut row = vec![
            place.link(Address::Operator(&entry.domain, &entry.name), entry.name.as_str()),
            Html::from(format!("{}{deprecated}", entry.since)),
            Html::from(entry.summary.as_str()),
        ];
        row.extend(newest.iter().map(|(at, _)| mark(entry.states.get(*at).unwrap_or(&CellState::Untested))));
        row
    };
    Html::table(&format!("Operators of {domain}"), head, entries.iter().map(row))
}

/// Creates the list of runtimes.
pub(crate) fn runtimes(columns: &[Column], operators: &Operators<'_>) -> Page {
    let about =
        "Every measured version of a runtime. An operator is right in float if all its required cases in float pass.";
    let mut page = Page::new(Address::Runtimes, "Runtimes", about);
    let place = page.place.clone();
    let row = |(at, column): (usize, &Column)| {
        vec![
            place.link(Address::Runtime(&column.key), column.title()),
            Html::from(accepted(column).unwrap_or_else(|| "not said".to_owned())),
            Html::from(column.date.as_deref().unwrap_or("not recorded")),
            Html::from(sentence(at, column, operators)),
        ]
    };
    let head = ["runtime", "accepts", "measured", "right operators"];
    page.section("Measured versions", Html::table("Measured versions", head, columns.iter().enumerate().map(row)));
    page
}

/// Creates the list of findings by runtime.
pub(crate) fn findings(findings: &[MeasuredFinding<'_>]) -> Result<Page, ExpectationError> {
    let about = format!(
        "A finding is a deviation of a runtime from the standard, with the sentence that decides and a case that shows it. \
         There are {}.",
        findings.len()
    );
    let mut page = Page::new(Address::Findings, "Findings", &about);
    let place = page.place.clone();
    let mut by_runtime: BTreeMap<&str, Vec<Vec<Html>>> = BTreeMap::new();
    for finding in findings {
        let row = finding.row()?;
        let id = finding.finding.full_id();
        let since = row.since.map(|version| format!("since {version}"));
        let fixed = row.fixed.map(|version| format!("fixed in {version}"));
        let history = [since, fixed].into_iter().flatten().collect::<Vec<_>>().join(", ");
        by_runtime.entry(row.runtime).or_default().push(vec![
            place.link(Address::Finding(&id), row.title),
            letter_mark(row.state),
            Html::joined(row.about.iter().map(|name| subject(name, &place)), ", "),
            Html::from(row.failures),
            Html::from(history),
        ]);
    }
    let head = ["finding", "state", "about", "failing cases", "history"];
    for (runtime, rows) in by_runtime {
        page.section(runtime, Html::table(&format!("Findings about {runtime}"), head, rows));
    }
    Ok(page)
}

/// Creates the list of rules of `check` by group.
pub(crate) fn rules() -> Page {
    let about = format!("The command check tests a model with {} rules, without running it.", RuleId::ALL.len());
    let mut page = Page::new(Address::Rules, "Rules of check", &about);
    let place = page.place.clone();
    let mut by_group: BTreeMap<&str, Vec<Vec<Html>>> = BTreeMap::new();
    for rule in RuleId::ALL {
        let group = rule.id().split('/').next().unwrap_or_default();
        let name = place.link(Address::Rule(rule.id()), rule.id());
        by_group.entry(group).or_default().push(vec![name, level(rule), Html::from(rule.sentence())]);
    }
    for (group, rows) in by_group {
        page.section(group, Html::table(&format!("Rules about {group}"), ["rule", "level", "sentence"], rows));
    }
    page
}

/// Creates the list of releases of ONNX, newest first.
pub(crate) fn releases(releases: &[ReleaseChanges]) -> Page {
    let about = "Every release of ONNX, with its opsets, and the operators that are new or have changed.";
    let mut page = Page::new(Address::Releases, "Releases of ONNX", about);
    let place = page.place.clone();
    let row = |changes: &ReleaseChanges| {
        let (release, [added, changed]) = (changes.release, changes.counts());
        vec![
            place.link(Address::Release(&release.onnx), release.onnx.as_str()),
            Html::from(changes.opsets()),
            Html::from(release.ir.to_string()),
            Html::from(added),
            Html::from(changed),
        ]
    };
    let head = ["release", "opsets", "IR version", "new operators", "changed operators"];
    page.section("Releases", Html::table("Releases of ONNX", head, releases.iter().rev().map(row)));
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_listed() {
        let text = rules().text(None);
        for rule in RuleId::ALL {
            let link = format!("<a href=\"../rule/{rule}.html\">{rule}</a>");
            assert!(text.contains(&link), "no {link} in {text}");
        }
    }
}
