//! Page of a release of ONNX: its opsets, its new operators, and the changes of others.

use std::collections::BTreeMap;

use onnx_conformance_reference::spec::diff::{self, VersionDiff};
use onnx_conformance_reference::spec::{OperatorVersion, Release, Specs};

use crate::site::static_pages::address::{Address, Place, short_name};
use crate::site::static_pages::error::StaticError;
use crate::site::static_pages::html::Html;
use crate::site::static_pages::page::Page;

/// Release with its changes in each domain.
pub(crate) struct ReleaseChanges {
    /// The release.
    pub(crate) release: &'static Release,
    domains: Vec<DomainChanges>,
}

/// New opsets of a domain.
struct DomainChanges {
    name: &'static str,
    /// Newest opset of the release before; `None` if it did not have the domain.
    from: Option<u32>,
    to: u32,
    added: Vec<OperatorVersion>,
    changed: Vec<VersionDiff>,
}

/// Returns all releases, oldest first, each compared with the one before.
pub(crate) fn releases() -> Result<Vec<ReleaseChanges>, StaticError> {
    let releases = Specs::embedded().releases()?;
    let mut opsets: BTreeMap<&'static str, u32> = BTreeMap::new();
    let mut all = Vec::new();
    for release in releases.releases.iter().chain(&releases.next) {
        let mut domains = Vec::new();
        for (name, to) in &release.opsets {
            let from = opsets.insert(name, *to);
            if from.is_none_or(|from| from < *to) {
                domains.push(DomainChanges::new(name, from, *to)?);
            }
        }
        all.push(ReleaseChanges { release, domains });
    }
    Ok(all)
}

impl DomainChanges {
    fn new(name: &'static str, from: Option<u32>, to: u32) -> Result<DomainChanges, StaticError> {
        let specs = Specs::embedded();
        let Some(before) = from else {
            let in_it = |operator: &str| specs.find(name, operator, to).ok().map(|spec| spec.version.clone());
            let added = specs.operators(name).filter_map(in_it).collect();
            return Ok(DomainChanges { name, from, to, added, changed: Vec::new() });
        };
        let diff = diff::opsets(specs, name, before, to)?;
        Ok(DomainChanges { name, from, to, added: diff.added, changed: diff.operators })
    }

    fn title(&self) -> String {
        match self.from {
            Some(from) => format!("{} {from} to {}", self.name, self.to),
            None => format!("{} {}", self.name, self.to),
        }
    }

    fn html(&self, place: &Place) -> Html {
        let link = |version: &OperatorVersion| {
            let title = format!("{}-{}", short_name(&version.domain, &version.name), version.since);
            place.link_to_version([&version.domain, &version.name], version.since, title)
        };
        let mut parts = Vec::new();
        if !self.added.is_empty() {
            parts.push(Html::element("h3", format!("New operators: {}", self.added.len())));
            parts.push(Html::with("p", &[("class", "links")], Html::joined(self.added.iter().map(link), ", ")));
        }
        if !self.changed.is_empty() {
            parts.push(Html::element("h3", format!("Changed operators: {}", self.changed.len())));
            let row = |diff: &VersionDiff| {
                let changes = diff.changes.iter().map(|change| Html::element("div", change.to_string()));
                let before = Html::from(format!(", before {}", diff.from.since));
                (Html::from([link(&diff.to), before]), changes.collect::<Html>())
            };
            parts.push(Html::terms("changes", self.changed.iter().map(row)));
        }
        if parts.is_empty() {
            parts.push(Html::element("p", "No operator is new or has changed."));
        }
        parts.into_iter().collect()
    }
}

impl ReleaseChanges {
    /// Returns the number of new operators, and of changed ones.
    pub(crate) fn counts(&self) -> [usize; 2] {
        let sum = |of: &dyn Fn(&DomainChanges) -> usize| self.domains.iter().map(of).sum::<usize>();
        [sum(&|domain| domain.added.len()), sum(&|domain| domain.changed.len())]
    }

    /// Returns the newest opset of each domain in words.
    pub(crate) fn opsets(&self) -> String {
        let opsets = self.release.opsets.iter().map(|(domain, opset)| format!("{domain} {opset}"));
        opsets.collect::<Vec<_>>().join(", ")
    }

    /// Creates the page.
    pub(crate) fn page(&self) -> Page {
        let onnx = &self.release.onnx;
        let about = match self.counts() {
            [0, 0] => format!("ONNX {onnx} has the operator versions of the release before it."),
            [added, changed] => format!("ONNX {onnx} has {added} new operators, and {changed} that changed."),
        };
        let mut page = Page::new(Address::Release(onnx), &format!("ONNX {onnx}"), &about);
        let place = page.place.clone();
        page.facts(Html::terms(
            "facts",
            [
                (Html::from("Opsets"), Html::from(self.opsets())),
                (Html::from("IR version"), Html::from(self.release.ir.to_string())),
            ],
        ));
        for domain in &self.domains {
            page.section(&domain.title(), domain.html(&place));
        }
        page
    }
}

/// Returns the versions of the releases that have a page, oldest first.
pub(crate) fn release_names() -> Result<Vec<&'static str>, StaticError> {
    let releases = Specs::embedded().releases()?;
    Ok(releases.releases.iter().chain(&releases.next).map(|release| release.onnx.as_str()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_what_it_brought() {
        let all = releases().unwrap();
        let text = |onnx: &str| {
            let release = all.iter().find(|release| release.release.onnx == onnx).unwrap();
            release.page().text(None)
        };
        let with_13 = text("1.8.0");
        for part in [
            "<h1>ONNX 1.8.0</h1>",
            "ai.onnx 12 to 13</h2>",
            "<a href=\"../op/ai.onnx/Softmax.html#v13\">Softmax-13</a>, before 11",
            "Works along `axis` alone",
        ] {
            assert!(with_13.contains(part), "no {part} in {with_13}");
        }
        assert!(text("1.8.1").contains("the operator versions of the release before"), "{}", text("1.8.1"));
        let first = &all[0];
        assert!(first.counts()[0] > 100 && first.counts()[1] == 0, "{:?}", first.counts());
    }
}
