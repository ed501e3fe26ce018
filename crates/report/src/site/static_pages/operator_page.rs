//! Page of an operator: results by version and runtime, signatures, changes, findings and rules.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::compare::BoundShare;
use onnx_conformance_cases::generate::OperatorFile;
use onnx_conformance_harness::measure::Measured;
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::spec::diff::{self, DiffError};
use onnx_conformance_reference::spec::{AttributeSpec, FormalParameter, OpSpec, Presence, Specs};

use crate::coverage::{Conversions, OperatorText};
use crate::signature;
use crate::site::column::Column;
use crate::site::findings::FindingData;
use crate::site::severity::CellState;
use crate::site::static_pages::address::{Address, Place, version_id};
use crate::site::static_pages::html::Html;
use crate::site::static_pages::mark::mark;
use crate::site::static_pages::page::Page;
use crate::site::table::{Levels, VersionTable};

/// Parts of an operator's page.
pub(crate) struct OperatorSources<'a> {
    /// The operator's op.yaml.
    pub(crate) file: &'a OperatorFile,
    /// Its versions, oldest first.
    pub(crate) tables: &'a [VersionTable],
    /// The columns.
    pub(crate) columns: &'a [Column],
    /// Findings about the operator.
    pub(crate) findings: &'a [FindingData],
    /// The sentences of the standard, each with its state.
    pub(crate) sentences: &'a OperatorText,
}

impl OperatorSources<'_> {
    /// Creates the page.
    pub(crate) fn page(&self) -> Result<Page, DiffError> {
        let (domain, name) = self.name();
        let mut page = Page::new(Address::Operator(domain, name), name, &self.file.summary);
        let place = page.place.clone();
        page.facts(self.facts(&place));
        page.section("Results", self.results(&place));
        if let Some(newest) = self.tables.last() {
            page.section("Outcomes", outcomes(newest, self.columns, &place));
        }
        page.section("Versions", self.versions(&place)?);
        page.section("Conversions", self.conversions());
        page.section("Findings", self.findings(&place));
        page.section("Rules", self.rules());
        page.section("Accuracy", self.accuracy());
        if let Some(newest) = self.tables.last() {
            page.section("Measured accuracy", self.shares(newest, &place));
        }
        page.section("Sentences of the standard", self.sentences());
        Ok(page)
    }

    fn name(&self) -> (&str, &str) {
        (self.tables.last().map_or("", |table| table.version.domain.as_str()), self.file.op.as_str())
    }

    fn facts(&self, place: &Place) -> Html {
        let (domain, name) = self.name();
        let version = |table: &VersionTable| {
            let since = table.version.since;
            place.link_to_version([domain, name], since, format!("{name}-{since}"))
        };
        let versions = Html::joined(self.tables.iter().rev().map(version), ", ");
        Html::terms("facts", [(Html::from("Domain"), Html::from(domain)), (Html::from("Versions"), versions)])
    }

    /// Returns the table of states by runtime and version, newest version first.
    fn results(&self, place: &Place) -> Html {
        let states: Vec<Vec<CellState>> =
            self.tables.iter().rev().map(|table| table.states(Levels::Required, self.columns.len())).collect();
        let names = self.tables.iter().rev().map(|table| format!("{}-{}", table.version.name, table.version.since));
        let head: Vec<String> = std::iter::once("runtime".to_owned()).chain(names).collect();
        let row = |(at, column): (usize, &Column)| {
            let mut row = vec![place.link(Address::Runtime(&column.key), column.title())];
            row.extend(states.iter().map(|of_version| of_version.get(at).map(mark).unwrap_or_default()));
            row
        };
        let about = "The worst outcome of the required cases decides. Numbers count behaviours, which are names of cases: \
                     1/25 is one of 25.";
        let table = Html::table("States by runtime and version", head, self.columns.iter().enumerate().map(row));
        Html::from([Html::with("p", &[("class", "quiet")], about), table])
    }

    /// Returns a part for each version, newest first.
    fn versions(&self, place: &Place) -> Result<Html, DiffError> {
        let mut parts = Vec::new();
        for (at, table) in self.tables.iter().enumerate().rev() {
            let before = at.checked_sub(1).and_then(|before| self.tables.get(before));
            parts.push(version(table, before, place)?);
        }
        Ok(parts.into_iter().collect())
    }

    /// Returns the number of cases of each version that convert to each opset.
    fn conversions(&self) -> Html {
        let (domain, name) = self.name();
        let all = Conversions::of_operator(domain, name);
        if all.is_empty() {
            return Html::default();
        }
        let targets: BTreeSet<u32> = all.iter().map(|it| it.opset).collect();
        let since: BTreeSet<u32> = all.iter().map(|it| it.version.since).collect();
        let row = |since: u32| {
            let of_target = |target: &u32| {
                let found = all.iter().find(|it| (it.version.since, it.opset) == (since, *target));
                found.map_or_else(|| Html::from("its own opset"), |it| Html::from(conversion(it)))
            };
            let first = Html::from(format!("{name}-{since}"));
            std::iter::once(first).chain(targets.iter().map(of_target)).collect::<Vec<_>>()
        };
        let head = std::iter::once("from".to_owned()).chain(targets.iter().map(|opset| format!("to opset {opset}")));
        let about = "Each converted case was run and gives its expected outputs. A refused case has no equivalent model at that \
                     opset, or none that is known.";
        let table = Html::table("Number of cases by conversion", head, since.into_iter().map(row));
        Html::from([Html::with("p", &[("class", "quiet")], about), table])
    }

    fn findings(&self, place: &Place) -> Html {
        let item = |finding: &FindingData| {
            let text = &finding.text;
            let id = format!("{}/{}", text.runtime, text.id);
            let about = Html::with("span", &[("class", "quiet")], format!(" {} {}", text.runtime, text.versions));
            Html::from([place.link(Address::Finding(&id), text.title.as_str()), about])
        };
        Html::list("found", self.findings.iter().map(item))
    }

    fn rules(&self) -> Html {
        let rules = self.file.constraints.0.iter();
        Html::terms("rules", rules.map(|(id, rule)| (Html::from(id.as_str()), Html::from(rule.says.as_str()))))
    }

    fn accuracy(&self) -> Html {
        let sentences = self.file.accuracy.sentences();
        Html::terms("accuracy", sentences.into_iter().map(|(types, rule)| (Html::from(types), Html::from(rule))))
    }

    /// Returns the numbers of cases of a version by the share of their error bound that their outputs take. An operator whose outputs
    /// are exact has none.
    fn shares(&self, table: &VersionTable, place: &Place) -> Html {
        let (mut rows, mut without) = (Vec::new(), Vec::new());
        for column in self.columns {
            let Some(accuracy) = &column.accuracy else {
                without.push(column.title());
                continue;
            };
            for used in accuracy.of(&table.version) {
                let runtime = place.link(Address::Runtime(&column.key), column.title());
                let counts = used.cases.iter().map(|count| Html::from(count.to_string()));
                let row = [runtime, used.element.name().into(), used.bound().into()].into_iter().chain(counts);
                rows.push(row.collect::<Vec<Html>>());
            }
        }
        let is_exact = self.file.accuracy.sentences().iter().all(|(_, rule)| rule == "exact");
        if rows.is_empty() && (is_exact || without.is_empty()) {
            return Html::default();
        }
        let title =
            format!("Number of cases of {}-{} by the share of their error bound", self.file.op, table.version.since);
        let head = ["runtime", "type", "bound"].map(str::to_owned).into_iter().chain(BoundShare::ALL.map(share_title));
        let quiet = |text: String| Html::with("p", &[("class", "quiet")], text);
        let table = if rows.is_empty() {
            Html::default()
        } else {
            let about = "The worst element of a case decides. The bound lies between `up to the bound` and `beyond`.";
            Html::from([quiet(about.to_owned()), Html::table(&title, head, rows)])
        };
        let missing = if without.is_empty() {
            Html::default()
        } else {
            quiet(format!("These measurements do not have the numbers of cases by error: {}.", without.join(", ")))
        };
        Html::from([table, missing])
    }

    /// Returns the number of sentences by state.
    fn sentences(&self) -> Html {
        let totals = OperatorText::totals(std::slice::from_ref(self.sentences));
        let parts: Vec<String> = totals.iter().map(|(state, count)| format!("{count} {state}")).collect();
        if parts.is_empty() { Html::default() } else { Html::element("p", parts.join(", ")) }
    }
}

/// Formats the numbers of a conversion that are not zero: `42 unchanged, 3 edited`.
fn conversion(it: &Conversions) -> String {
    let counts = [(it.same, "unchanged"), (it.edited, "edited"), (it.refused, "refused")];
    let parts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, way)| format!("{count} {way}")).collect();
    parts.join(", ")
}

/// Returns the number of cases of a version by runtime and outcome. Outcomes that no runtime has are omitted.
fn outcomes(table: &VersionTable, columns: &[Column], place: &Place) -> Html {
    let mut counts: Vec<BTreeMap<&'static str, usize>> = columns.iter().map(|_| BTreeMap::new()).collect();
    for case in &table.cases {
        for (of_column, measured) in counts.iter_mut().zip(&case.measured) {
            *of_column.entry(outcome_name(*measured)).or_default() += 1;
        }
    }
    let others = [INEXACT, NOT_ACCEPTED, NOT_MEASURED];
    let occurs = |name: &&'static str| counts.iter().any(|of_column| of_column.contains_key(*name));
    let names: Vec<&'static str> = Outcome::ALL.into_iter().map(Outcome::name).chain(others).filter(occurs).collect();
    let row = |(column, of_column): (&Column, &BTreeMap<&'static str, usize>)| {
        let mut row = vec![place.link(Address::Runtime(&column.key), column.title())];
        row.extend(names.iter().map(|name| of_column.get(name).copied().map(Html::from).unwrap_or_default()));
        row
    };
    let rows = columns.iter().zip(&counts).map(row);
    let title = format!("Number of cases of {}-{} by outcome", table.version.name, table.version.since);
    let head = std::iter::once("runtime").chain(names.iter().copied());
    let about = format!("{} cases, also those that the standard only recommends or leaves open.", table.cases.len());
    Html::from([Html::with("p", &[("class", "quiet")], about), Html::table(&title, head, rows)])
}

/// Returns the title of the column of a share.
fn share_title(share: BoundShare) -> String {
    match share {
        BoundShare::Exact => "exact".to_owned(),
        BoundShare::Whole => "up to the bound".to_owned(),
        BoundShare::Fourfold => "beyond, up to 4 times".to_owned(),
        BoundShare::More => "beyond, more".to_owned(),
        part => format!("up to {part}"),
    }
}

const INEXACT: &str = "inexact";
const NOT_ACCEPTED: &str = "not accepted";
const NOT_MEASURED: &str = "not measured";

fn outcome_name(measured: Measured) -> &'static str {
    match measured {
        Measured::Ended(outcome) => outcome.name(),
        Measured::Inexact(_) => INEXACT,
        Measured::NotAccepted => NOT_ACCEPTED,
        Measured::Unknown => NOT_MEASURED,
    }
}

/// Returns the part about a version: opsets, signature, and the changes since the version before.
fn version(table: &VersionTable, before: Option<&VersionTable>, place: &Place) -> Result<Html, DiffError> {
    let (spec, version) = (table.spec, &table.version);
    let title = format!("{}-{}", version.name, version.since);
    let mut notes = vec![Html::from(if table.opsets.start() == table.opsets.end() {
        format!("opset {}", table.opsets.start())
    } else {
        format!("opsets {} to {}", table.opsets.start(), table.opsets.end())
    })];
    let releases = Specs::embedded().releases().ok();
    let release = releases.and_then(|releases| releases.first_with(&version.domain, version.since));
    notes.extend(release.map(|it| place.link(Address::Release(&it.onnx), format!("ONNX {}", it.onnx))));
    notes.extend(spec.function.map(|kind| Html::from(format!("function: {kind}"))));
    notes.extend(spec.deprecated.then(|| Html::from("deprecated")));
    notes.extend(spec.experimental.then(|| Html::from("experimental")));
    let mut parts = vec![
        Html::with("h3", &[("id", version_id(version.since).as_str())], title),
        Html::element("p", Html::joined(notes, ", ")),
        Html::with("pre", &[("class", "signature")], signature::line(spec)),
        parameters(spec),
    ];
    if let Some(before) = before {
        let (from, to) = (before.version.since, version.since);
        let diff = diff::versions(Specs::embedded(), &version.domain, &version.name, from, to)?;
        let title = format!("Changes since {}-{from}", version.name);
        let changes = diff.changes.iter().map(|change| Html::from(change.to_string()));
        let changes = Html::list("changes", changes);
        let nothing = || Html::element("p", "Nothing in signature or meaning.");
        parts.extend([Html::element("h4", title), if changes.is_empty() { nothing() } else { changes }]);
    }
    Ok(parts.into_iter().collect())
}

/// Returns the attributes, inputs, outputs and types of a version.
fn parameters(spec: &OpSpec) -> Html {
    let attribute = |(name, it): (&String, &AttributeSpec)| {
        let rest = match (&it.default, it.required) {
            (Some(default), _) => format!(" = {default}"),
            (None, true) => ", required".to_owned(),
            (None, false) => String::new(),
        };
        format!("{name}: {}{rest}", it.kind)
    };
    let formals = |formals: &[FormalParameter]| {
        let formal = |formal: &FormalParameter| match formal.presence {
            Presence::Single => format!("{}: {}", formal.name, formal.kind),
            other => format!("{}: {}, {other}", formal.name, formal.kind),
        };
        formals.iter().map(formal).collect::<Vec<_>>().join("; ")
    };
    let attributes: Vec<String> = spec.attributes.iter().map(attribute).collect();
    let mut rows = vec![
        ("attributes".to_owned(), attributes.join("; ")),
        ("inputs".to_owned(), formals(&spec.inputs)),
        ("outputs".to_owned(), formals(&spec.outputs)),
    ];
    rows.extend(spec.types.iter().map(|(parameter, types)| {
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        (format!("types of {parameter}"), types.join(", "))
    }));
    let rows = rows.into_iter().filter(|(_, about)| !about.is_empty());
    Html::terms("facts", rows.map(|(term, about)| (Html::from(term), Html::inline("code", about))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::compare::UsedBound;
    use onnx_conformance_cases::generate::OperatorCatalog;
    use onnx_conformance_harness::findings::Findings;
    use onnx_conformance_harness::run::test_results::result;
    use onnx_conformance_harness::run::{CaseResult, Header, Read, Selected};
    use onnx_conformance_reference::dtype::ElementType;
    use onnx_conformance_reference::spec::OperatorVersion;
    use onnx_conformance_subject::Declaration;

    use crate::site::findings;

    const HOSTILE: &str = "<script>alert(1)</script>";

    /// Returns the page of `NonZero` with the committed columns and one of a hostile name.
    fn text() -> String {
        let mut columns = Column::committed().unwrap();
        let bound = Some(UsedBound { element: ElementType::Float, ulps: Some(4), share: BoundShare::Half });
        let results = vec![
            result("ai.onnx/NonZero-13/scalar/X=0/T=float", Outcome::Crash),
            CaseResult { bound, ..result("ai.onnx/NonZero-13/scalar/X=1/T=float", Outcome::Pass) },
        ];
        let header = Header::new(Declaration::named(HOSTILE, HOSTILE), "d".to_owned(), Selected::default());
        columns.push(Column::from_results(HOSTILE, &Read { header, results, is_torn: false }, "d"));
        let versions = [9, 13].map(|since| OperatorVersion::new("ai.onnx", "NonZero", since));
        let tables: Vec<VersionTable> =
            versions.iter().map(|version| VersionTable::new(version, &columns).unwrap()).collect();
        let catalog = OperatorCatalog::embedded();
        let findings = findings::about(Findings::embedded().unwrap(), &tables).unwrap();
        let sources = OperatorSources {
            file: catalog.get(&versions[1]).unwrap(),
            tables: &tables,
            columns: &columns,
            findings: &findings,
            sentences: &OperatorText::default(),
        };
        sources.page().unwrap().text(None)
    }

    #[test]
    fn a_page_has_results_versions_findings_and_rules() {
        let text = text();
        for part in [
            "<h1>NonZero</h1>",
            "<th scope=\"col\">NonZero-13</th><th scope=\"col\">NonZero-9</th>",
            "<h3 id=\"v13\">NonZero-13</h3>",
            "<h4>Changes since NonZero-9</h4>",
            "tensor(bfloat16) added to T",
            "href=\"../../finding/onnxruntime/nonzero-scalar.html\"",
            "href=\"../../index.html#/op/ai.onnx/NonZero\"",
            "<th scope=\"col\">crash</th>",
            "<th scope=\"col\">to opset 9</th><th scope=\"col\">to opset 13</th>",
            "<td>float</td><td>4 ULP</td><td>0</td><td>0</td><td>0</td><td>0</td><td>1</td><td>0</td><td>0</td><td>0</td>",
            "These measurements do not have the numbers of cases by error: ",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }

    #[test]
    fn a_hostile_runtime_is_text() {
        let text = text();
        assert!(!text.contains("<script"), "{text}");
        assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{text}");
    }
}
