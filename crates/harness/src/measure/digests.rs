//! Digests of the measured cases, one per operator version, in a file next to the expectations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_cases::suite::{Filter, recorded_digests};
use onnx_conformance_reference::spec::OperatorVersion;

use crate::measure::unchanged::unchanged_since;

/// Digests of the measured cases, one per line: `ai.onnx/Abs-13 a4c9e265181e1c56`. They are copied from `records/` at the time of
/// the measurement, and show which versions have changed cases since then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredDigests(BTreeMap<OperatorVersion, String>);

impl MeasuredDigests {
    /// File name extension.
    pub(crate) const EXTENSION: &str = "digests";

    /// Returns the path of the digests of an expectation file: `expectations/tract/0.23.9.digests` for
    /// `expectations/tract/0.23.9.yaml`.
    pub fn path(expectations: &Path) -> PathBuf {
        expectations.with_extension(Self::EXTENSION)
    }

    /// Parses the file. A line in any other format is ignored, and so confirms nothing.
    pub fn parse(text: &str) -> MeasuredDigests {
        let line = |line: &str| {
            let (version, digest) = line.split_once(' ')?;
            Some((version.parse().ok()?, digest.to_owned()))
        };
        MeasuredDigests(text.lines().filter_map(line).collect())
    }

    /// Returns the current digests of the operator versions of these cases, from the embedded records.
    pub fn for_cases<'a>(ids: impl IntoIterator<Item = &'a str>) -> MeasuredDigests {
        let versions: BTreeSet<OperatorVersion> =
            ids.into_iter().filter_map(|id| CaseId::parse(id).version()).collect();
        let measured = recorded_digests().filter(|(version, _)| versions.contains(version));
        MeasuredDigests(measured.map(|(version, digest)| (version, digest.to_owned())).collect())
    }

    /// Copies the digests of versions, by name, from an earlier measurement, since they were not measured again.
    pub fn carry_over(&mut self, earlier: MeasuredDigests, versions: &[String]) {
        let kept = earlier.0.into_iter().filter(|(version, _)| versions.contains(&version.qualified()));
        self.0.extend(kept);
    }

    /// Returns the operator versions with unchanged cases since the measurement, each with a filter of the cases that are new or
    /// changed; `None` if all are unchanged.
    pub fn unchanged(&self) -> BTreeMap<OperatorVersion, Option<&'static Filter>> {
        let still_measured = |(version, now): (OperatorVersion, &str)| {
            let before = self.0.get(&version)?;
            let changed = if before == now { None } else { Some(unchanged_since(&version, before, now)?) };
            Some((version, changed))
        };
        recorded_digests().filter_map(still_measured).collect()
    }

    /// Formats the file.
    pub fn to_text(&self) -> String {
        let mut text =
            "# Written by `onnx-conformance run --update-expectations`: what records/ held when the cases were \
                        measured; do not edit.\n"
                .to_owned();
        for (version, digest) in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} {digest}", version.qualified());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_read_back_and_tell_what_has_changed() {
        let ids = [
            "ai.onnx/Abs-13/ranks/X=2x3x4/T=int8",
            "ai.onnx/Abs-6/x",
            "onnx-1.14.1/node/test_abs",
            "ai.onnx/NoSuch-1/x",
        ];
        let measured = MeasuredDigests::for_cases(ids);
        let names = |versions: BTreeMap<OperatorVersion, _>| {
            versions.keys().map(OperatorVersion::qualified).collect::<Vec<_>>()
        };
        assert_eq!(MeasuredDigests::parse(&measured.to_text()), measured);
        assert_eq!(names(measured.unchanged()), ["ai.onnx/Abs-6", "ai.onnx/Abs-13"]);
        let text = measured.to_text();
        let line = text.lines().find(|line| line.starts_with("ai.onnx/Abs-13 ")).unwrap();
        let changed = MeasuredDigests::parse(&text.replace(line, "ai.onnx/Abs-13 0123456789abcdef"));
        assert_eq!(names(changed.unchanged()), ["ai.onnx/Abs-6"]);
        assert!(MeasuredDigests::parse("<<<<<<<\nai.onnx/Abs-13\n").unchanged().is_empty());
    }

    #[test]
    fn unmeasured_groups_keep_their_digests() {
        let old = MeasuredDigests::parse("ai.onnx/Abs-13 0123456789abcdef\nai.onnx/Abs-6 0123456789abcdef\n");
        let mut new = MeasuredDigests::for_cases(["ai.onnx/Neg-13/x"]);
        new.carry_over(old, &["ai.onnx/Abs-13".to_owned()]);
        let text = new.to_text();
        assert!(text.contains("ai.onnx/Abs-13 0123456789abcdef\n") && !text.contains("Abs-6"), "{text}");
    }
}
