//! The tests of a new release in the promises of the suite: their ids begin with the release, so they are renamed.

use std::fs;

use anyhow::{Context as _, Result};
use onnx_conformance_cases::suite::SUITE_VERSION;
use onnx_conformance_harness::promises::FrozenList;

use super::section::Section;
use super::tests_of::TestChanges;
use crate::workspace;

const RENAMES: &str = "profiles/renames.yaml";

/// Adds the rename of the tests to `profiles/renames.yaml`, which expectation files of users follow. Returns the
/// remaining tasks.
pub(super) fn rename_tests(tests: &TestChanges) -> Result<Section> {
    let is_frozen = FrozenList::versions().any(|version| version == SUITE_VERSION);
    let since = if is_frozen { next_minor(SUITE_VERSION)? } else { SUITE_VERSION.to_owned() };
    let path = workspace::root().join(RENAMES);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {RENAMES}"))?;
    fs::write(&path, with_rename(&text, &since, tests)).with_context(|| format!("cannot write {RENAMES}"))?;
    anstream::println!("{RENAMES}: onnx-{} is onnx-{} since suite {since}", tests.old, tests.new);
    let raise = format!("SUITE_VERSION in crates/cases/src/suite/version.rs: {since} instead of {SUITE_VERSION}");
    Ok(Section::new(
        "version of the suite",
        "The version before is frozen. Raise it, with a heading in CHANGELOG.md; `cargo xtask freeze` when it is published.",
        is_frozen.then_some(raise).into_iter().collect(),
    ))
}

/// Returns the renames with the one of the tests added, unless they have it already, since the task may be repeated.
fn with_rename(text: &str, since: &str, tests: &TestChanges) -> String {
    let rename = format!("old: onnx-{}/, new: onnx-{}/}}", tests.old, tests.new);
    if text.lines().any(|line| line.ends_with(&rename)) {
        return text.to_owned();
    }
    let earlier = text.strip_suffix("[]\n").unwrap_or(text);
    format!("{earlier}- {{since: {since}, {rename}\n")
}

/// Returns the next version that may add and rename cases.
fn next_minor(version: &str) -> Result<String> {
    let next = || {
        let (major, rest) = version.split_once('.')?;
        let minor: u32 = rest.split_once('.')?.0.parse().ok()?;
        Some(format!("{major}.{}.0", minor + 1))
    };
    next().with_context(|| format!("'{version}' is not a version of three numbers"))
}

#[cfg(test)]
mod tests {
    use onnx_conformance_harness::promises::Renames;

    use super::*;

    #[test]
    fn tests_of_a_release_are_renamed_once() {
        let tests = TestChanges { old: "9.0.0".to_owned(), new: "9.1.0".to_owned(), ..TestChanges::default() };
        let text = with_rename("# Head.\n[]\n", "0.2.0", &tests);
        assert_eq!(text, "# Head.\n- {since: 0.2.0, old: onnx-9.0.0/, new: onnx-9.1.0/}\n");
        assert_eq!(with_rename(&text, "0.2.0", &tests), text);
        let later = TestChanges { old: "9.1.0".to_owned(), new: "9.2.0".to_owned(), ..TestChanges::default() };
        let renames = Renames::parse(RENAMES, &with_rename(&text, "0.3.0", &later)).unwrap();
        let current = |suite| renames.current("onnx-9.0.0/node/test_a", Some(suite));
        assert_eq!(current("0.1.0").as_deref(), Some("onnx-9.2.0/node/test_a"));
        assert_eq!(current("0.2.0"), None);
    }

    #[test]
    fn the_next_version_may_rename() {
        assert_eq!(next_minor("0.9.3").unwrap(), "0.10.0");
        assert!(next_minor("0.9").is_err());
    }
}
