//! Renamed cases. Expectation files and results with an old id are read as if they had the new one.

use std::sync::OnceLock;

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_reference::spec::yaml::{self, YamlError};
use serde::Deserialize;

use crate::promises::version::version_numbers;

static TEXT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/profiles/renames.yaml"));

/// A renamed case, or group of cases if the ids end with `/`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    /// The first version of the suite with the new id.
    since: String,
    old: String,
    new: String,
}

/// Renamed cases, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renames(Vec<Rename>);

impl Renames {
    /// Returns the renames of the suite.
    pub fn embedded() -> &'static Renames {
        static READ: OnceLock<Renames> = OnceLock::new();
        // A test parses the file.
        READ.get_or_init(|| Renames::parse("profiles/renames.yaml", TEXT).unwrap_or_default())
    }

    /// Parses a file of renames.
    pub fn parse(path: &str, text: &str) -> Result<Renames, Box<YamlError>> {
        yaml::read(path, text).map(Renames)
    }

    /// Returns the ids of a version of the suite that were renamed since, each with its current form.
    pub fn renamed<'a>(&self, ids: impl Iterator<Item = &'a str>, suite: &str) -> Vec<(&'a str, String)> {
        ids.filter_map(|id| self.current(id, Some(suite)).map(|current| (id, current))).collect()
    }

    /// Returns the current form of an id, or of a pattern that begins with an old name; `None` if it is current.
    /// `suite` is the version that the id is from; without it, the id may have been renamed at any time. An old name
    /// can be in use again, for the tests of an older release.
    pub fn current(&self, id: &str, suite: Option<&str>) -> Option<String> {
        let suite = suite.and_then(version_numbers);
        let is_later = |rename: &&Rename| {
            suite.is_none_or(|suite| version_numbers(&rename.since).is_none_or(|since| since > suite))
        };
        let renamed = |id: &str, rename: &Rename| {
            let CaseId { path, .. } = CaseId::parse(id);
            let is_meant = path == rename.old || (rename.old.ends_with('/') && id.starts_with(&rename.old));
            is_meant.then(|| format!("{}{}", rename.new, &id[rename.old.len()..]))
        };
        self.0
            .iter()
            .filter(is_later)
            .fold(None, |current, rename| renamed(current.as_deref().unwrap_or(id), rename).or(current))
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::suite::{Generated, Suite};

    use super::*;

    #[test]
    fn ids_and_patterns_become_current_step_by_step() {
        let text = "- {since: 0.2.0, old: a/A-1/x/, new: a/A-1/y/}\n- {since: 0.3.0, old: a/A-1/y/T=float, new: a/A-1/z/T=float}\n";
        let renames = Renames::parse("renames.yaml", text).unwrap();
        for (id, expected) in [
            ("a/A-1/x/T=int8", Some("a/A-1/y/T=int8")),
            ("a/A-1/x/**", Some("a/A-1/y/**")),
            ("a/A-1/x/T=float", Some("a/A-1/z/T=float")),
            ("a/A-1/y/T=float@constants", Some("a/A-1/z/T=float@constants")),
            ("a/A-1/y/T=float16", None),
            ("a/A-1/xy", None),
            ("**", None),
        ] {
            assert_eq!(renames.current(id, None).as_deref(), expected, "{id}");
        }
        let error = Renames::parse("renames.yaml", "- {old: a, new: b}\n").unwrap_err().to_string();
        assert!(error.contains("since"), "{error}");
    }

    #[test]
    fn renames_follow_the_version_that_an_id_is_of() {
        let text = "- {since: 0.2.0, old: onnx-9.1.0/, new: onnx-9.2.0/}\n- {since: 0.10.0, old: onnx-9.2.0/, new: onnx-9.3.0/}\n";
        let renames = Renames::parse("renames.yaml", text).unwrap();
        for (id, suite, expected) in [
            ("onnx-9.1.0/node/test_a", Some("0.1.0"), Some("onnx-9.3.0/node/test_a")),
            ("onnx-9.1.0/node/test_{a,b}", None, Some("onnx-9.3.0/node/test_{a,b}")),
            ("onnx-9.1.0/node/test_a", Some("0.2.0"), None),
            ("onnx-9.2.0/node/test_a", Some("0.2.0"), Some("onnx-9.3.0/node/test_a")),
            ("onnx-9.2.0/node/test_a", Some("0.10.0"), None),
            ("onnx-9.*/node/test_a", Some("0.1.0"), None),
        ] {
            assert_eq!(renames.current(id, suite).as_deref(), expected, "{id} of {suite:?}");
        }
        let ids = ["onnx-9.1.0/node/test_a", "onnx-9.0.0/node/test_a"];
        let renamed = renames.renamed(ids.into_iter(), "0.3.0");
        assert_eq!(renamed, []);
        let renamed = renames.renamed(ids.into_iter(), "0.1.0");
        assert_eq!(renamed, [("onnx-9.1.0/node/test_a", "onnx-9.3.0/node/test_a".to_owned())]);
    }

    #[test]
    fn every_rename_of_the_suite_leads_to_a_case() {
        let renames = Renames::parse("profiles/renames.yaml", TEXT).unwrap();
        let suite = Suite::project(None, Generated::embedded()).unwrap();
        for rename in &renames.0 {
            assert_eq!(rename.since.split('.').count(), 3, "{}: no version of the suite", rename.since);
            let group = CaseId::parse(&rename.new).group();
            assert!(suite.find_group(group).unwrap().is_some(), "{}: no group is called {group}", rename.new);
        }
    }
}
