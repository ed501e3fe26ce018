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

    /// The newest opset of a domain in any release.
    pub fn newest_opset(&self, domain: &str) -> Option<u32> {
        let domain = canonical_domain(domain);
        self.releases.iter().filter_map(|release| release.opsets.get(domain).copied()).max()
    }

    /// The first release that supports this opset of a domain.
    pub fn first_with(&self, domain: &str, opset: u32) -> Option<&Release> {
        let domain = canonical_domain(domain);
        self.releases.iter().find(|release| release.opsets.get(domain).is_some_and(|newest| *newest >= opset))
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
    fn the_newest_opsets_are_those_of_the_imported_release() {
        let newest = releases().newest().unwrap();
        assert_eq!((newest.onnx.as_str(), newest.ir), ("1.23.2", 14));
        for (domain, opset) in [
            ("", 28),
            ("ai.onnx.ml", 5),
            ("ai.onnx.preview", 1),
            ("ai.onnx.preview.training", 1),
            ("ai.onnx.training", 1),
        ] {
            assert_eq!(releases().newest_opset(domain), Some(opset), "{domain}");
        }
        assert_eq!(releases().newest_opset("com.microsoft"), None);
    }

    #[test]
    fn an_opset_fixes_the_lowest_ir_version() {
        for (domain, opset, ir) in [("", 1, 3), ("", 2, 3), ("", 9, 4), ("", 13, 7), ("", 28, 14), ("ai.onnx.ml", 3, 8)]
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
