//! Releases of ONNX: the IR version and the opsets that each introduced.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::unique::unique_map;
use super::version::canonical_domain;

/// Every release of ONNX, oldest first: `specs/releases.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Releases {
    /// The releases, oldest first.
    pub releases: Vec<Release>,
    /// The release that a development build leads to, in a program with the feature `next`. Its opsets and operator
    /// versions are known. It is no release yet, so the suite, its tests and its texts are of the newest one.
    #[serde(skip)]
    pub next: Vec<Release>,
}

/// One release of ONNX.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The version of the release.
    pub onnx: String,
    /// The newest IR version it supports.
    pub ir: u32,
    /// The newest opset it supports, by domain.
    #[serde(deserialize_with = "unique_map")]
    pub opsets: BTreeMap<String, u32>,
}

impl Releases {
    /// Finds a release by its version.
    pub fn find(&self, onnx: &str) -> Option<&Release> {
        self.releases.iter().find(|release| release.onnx == onnx)
    }

    /// The newest release.
    pub fn newest(&self) -> Option<&Release> {
        self.releases.last()
    }

    /// The releases and the next one, oldest first.
    pub(super) fn with_next(&self) -> impl Iterator<Item = &Release> {
        self.releases.iter().chain(&self.next)
    }

    /// The newest opset of a domain in any release, or in the next one.
    pub fn newest_opset(&self, domain: &str) -> Option<u32> {
        let domain = canonical_domain(domain);
        self.with_next().filter_map(|release| release.opsets.get(domain).copied()).max()
    }

    /// The first release that supports this opset of a domain. It may be the next one.
    pub fn first_with(&self, domain: &str, opset: u32) -> Option<&Release> {
        let domain = canonical_domain(domain);
        self.with_next().find(|release| release.opsets.get(domain).is_some_and(|newest| *newest >= opset))
    }

    /// The lowest IR version of a model that imports this opset.
    pub fn lowest_ir(&self, domain: &str, opset: u32) -> Option<u32> {
        self.first_with(domain, opset).map(|release| release.ir)
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::{Releases, Specs};

    fn releases() -> &'static Releases {
        Specs::embedded().releases().unwrap()
    }

    #[test]
    fn the_newest_release_has_the_newest_opset_of_every_domain() {
        let (newest, specs) = (releases().with_next().last().unwrap(), Specs::embedded());
        for (domain, opset) in &newest.opsets {
            assert_eq!(releases().newest_opset(domain), Some(*opset), "{domain}");
            let latest = specs.all().filter(|version| version.domain == *domain).map(|version| version.since).max();
            assert!(latest.is_none_or(|latest| latest <= *opset), "{domain} {opset}");
        }
        let domains: Vec<&str> = newest.opsets.keys().map(String::as_str).collect();
        assert!(specs.all().all(|version| domains.contains(&version.domain.as_str())), "{domains:?}");
        assert_eq!(releases().newest_opset(""), newest.opsets.get("ai.onnx").copied());
        assert_eq!(releases().newest_opset("com.microsoft"), None);
    }

    #[test]
    fn an_opset_fixes_the_lowest_ir_version() {
        for (domain, opset, ir) in [("", 1, 3), ("", 2, 3), ("", 9, 4), ("", 13, 7), ("", 25, 13), ("ai.onnx.ml", 3, 8)]
        {
            assert_eq!(releases().lowest_ir(domain, opset), Some(ir), "{domain} {opset}");
        }
        assert_eq!(releases().lowest_ir("", releases().newest_opset("").unwrap() + 1), None);
    }

    #[test]
    fn a_release_names_its_opsets() {
        let release = releases().find("1.8.1").unwrap();
        assert_eq!((release.opsets["ai.onnx"], release.opsets["ai.onnx.ml"]), (13, 2));
    }
}
