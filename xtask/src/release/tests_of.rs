//! The tests of a release compared with those of the release before it, by the digests of their files.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use onnx_conformance_cases::suite::{ReleaseIndex, Releases, Test, release_key};

/// The tests of two releases, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestChanges {
    /// The earlier release.
    pub(crate) old: String,
    /// The later release.
    pub(crate) new: String,
    /// Tests with the same files in both.
    pub(crate) equal: BTreeSet<String>,
    /// Tests with other files.
    pub(crate) changed: BTreeSet<String>,
    /// Tests that only the later release has.
    pub(crate) added: BTreeSet<String>,
    /// Tests that only the earlier release has.
    pub(crate) removed: BTreeSet<String>,
}

impl TestChanges {
    /// Compares the tests of a release with those of the last vendored release before it.
    pub(crate) fn since_last(releases: &Releases, new: &str, index: &ReleaseIndex) -> Result<TestChanges> {
        let before = |release: &str| release_key(release) < release_key(new);
        let number = releases.all().iter().rposition(|release| before(&release.release));
        let number = number.with_context(|| format!("testdata/onnx has no release before {new}"))?;
        let name = |number: usize| releases.all().get(number).map_or("", |release| &release.release);
        let mut changes = TestChanges { old: name(number).to_owned(), new: new.to_owned(), ..TestChanges::default() };
        for test in releases.index(number)?.tests.keys() {
            let origin = releases.test(number, test)?.map(|test| name(test.origin));
            let to = match index.tests.get(test) {
                None => &mut changes.removed,
                Some(Test::SameAs(release)) if origin == Some(release) => &mut changes.equal,
                Some(_) => &mut changes.changed,
            };
            to.insert(test.clone());
        }
        let is_new = |test: &&String| !changes.equal.contains(*test) && !changes.changed.contains(*test);
        changes.added = index.tests.keys().filter(is_new).cloned().collect();
        Ok(changes)
    }

    /// Returns the tests of the later release that no runtime was measured on.
    pub(crate) fn unmeasured(&self) -> impl Iterator<Item = &String> {
        self.added.union(&self.changed)
    }

    /// Returns the id of a test in the later release.
    pub(crate) fn id(&self, test: &str) -> String {
        format!("onnx-{}/{test}", self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The releases know which of their tests are the same, and the index of each is compared with the one before.
    #[test]
    fn tests_are_equal_if_one_release_stores_both() {
        let releases = Releases::embedded().unwrap();
        let mut equal = 0;
        for (number, release) in releases.all().iter().enumerate().skip(1) {
            let index = releases.index(number).unwrap();
            let changes = TestChanges::since_last(&releases, &release.release, index).unwrap();
            assert_eq!(changes.old, releases.all()[number - 1].release);
            assert_eq!(changes.equal.len() + changes.unmeasured().count(), index.tests.len());
            for (test, before) in changes.equal.iter().take(3).map(|test| (test, releases.read_test(number - 1, test)))
            {
                assert_eq!(releases.read_test(number, test).unwrap(), before.unwrap(), "{test}");
            }
            for test in changes.changed.iter().take(3) {
                let before = releases.read_test(number - 1, test).unwrap();
                assert_ne!(releases.read_test(number, test).unwrap(), before, "{test}");
            }
            equal += changes.equal.len();
        }
        assert!(equal > 30_000, "{equal}");
        assert!(TestChanges::since_last(&releases, "1.0.0", releases.index(0).unwrap()).is_err());
    }
}
