//! Digests of the measured cases, one per operator version, in a file next to the expectations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_cases::suite::{WrappedCases, recorded_digests, recorded_digests_of_others};
use onnx_conformance_reference::spec::{OperatorVersion, Releases, Specs};

use crate::measure::unchanged::{ChangedCases, unchanged_since};
use crate::run::id_digest;

/// Digests of the measured cases, one per line: `ai.onnx/Abs-13 a4c9e265181e1c56`, or for cases of no operator
/// `onnx-1.23.2 0ece0b9734595527` and, by topic, `graph/reshapes 4c2ee33e9ed6f0a5`. They are copied from `records/` at
/// the time of the measurement, and show which cases have changed since then. If a new release takes over the results
/// of tests that it has unchanged, its line lists the other tests:
/// `onnx-1.23.2 0ece0b9734595527 node/test_a node/test_b`. The line `opsets ai.onnx=28 ...` has the opsets that were
/// the last ones when the cases `@opset=last` were measured. If only a part of the suite was sent to a tool, the line
/// `part 2a04... 3fe1...` has the first and the last digest of the ids in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredDigests {
    versions: BTreeMap<OperatorVersion, String>,
    /// By the common beginning of ids, each with the remaining parts of ids that were not measured.
    others: BTreeMap<String, String>,
}

/// Cases that are unchanged since a measurement.
#[derive(Clone, Debug, Default)]
pub struct UnchangedCases {
    /// Operator versions, each with the cases that are new or changed; `None` if all are unchanged.
    versions: BTreeMap<OperatorVersion, Option<&'static ChangedCases>>,
    /// Common beginnings of the ids of cases of no operator, each with the rest of the ids that were not measured.
    others: BTreeMap<String, BTreeSet<String>>,
}

/// State of the cases of an operator version since a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) enum VersionState {
    /// The version was not measured, or it is unknown which cases have changed.
    NotMeasured,
    /// No case has changed.
    Unchanged,
    /// These cases are new or changed.
    Changed(&'static ChangedCases),
}

impl VersionState {
    /// Returns true if the case with this path has not changed since it was measured.
    pub(super) fn has_measured(self, path: &str) -> bool {
        match self {
            VersionState::NotMeasured => false,
            VersionState::Unchanged => true,
            VersionState::Changed(changed) => !changed.contain(path),
        }
    }
}

impl UnchangedCases {
    /// Returns true if the case has not changed since it was measured.
    pub fn contains(&self, id: CaseId<'_>, version: Option<&OperatorVersion>) -> bool {
        let Some(version) = version else {
            // The choice of an operator version's wrapped cases depends on all its cases.
            let is_chosen_again =
                plain_version(id).is_none_or(|version| matches!(self.versions.get(&version), Some(None)));
            let rest = |name: &str| id.path.strip_prefix(name).map_or("", |rest| rest.trim_start_matches('/'));
            let found = beginnings(id).into_iter().find_map(|name| self.others.get_key_value(name));
            return is_chosen_again && found.is_some_and(|(name, unmeasured)| !unmeasured.contains(rest(name)));
        };
        self.state_of(version).has_measured(id.path)
    }

    /// Returns the state of the cases of an operator version.
    pub(super) fn state_of(&self, version: &OperatorVersion) -> VersionState {
        match self.versions.get(version) {
            None => VersionState::NotMeasured,
            Some(None) => VersionState::Unchanged,
            Some(Some(changed)) => VersionState::Changed(changed),
        }
    }
}

/// Returns the name of the digest that covers a case: its operator version, its topic such as `graph/reshapes`, or the first part of
/// its id.
pub fn digest_name(id: &str) -> String {
    static OTHERS: OnceLock<BTreeSet<&str>> = OnceLock::new();
    let id = CaseId::parse(id);
    if let Some(version) = id.version() {
        return version.qualified();
    }
    let others = OTHERS.get_or_init(|| recorded_digests_of_others().map(|(name, _)| name).collect());
    let found = beginnings(id).into_iter().find(|name| others.contains(name));
    found.unwrap_or_else(|| first_part(id.path)).to_owned()
}

/// Returns the names that a digest of a case of no operator may have: its topic, such as `graph/reshapes`, or the first part
/// of its id.
fn beginnings(id: CaseId<'_>) -> [&str; 2] {
    let topic = if WrappedCases::plain_id(id.path).is_some() { WrappedCases::GROUP } else { id.group() };
    [topic, first_part(id.path)]
}

fn first_part(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// Returns the operator version of a wrapped case.
fn plain_version(id: CaseId<'_>) -> Option<OperatorVersion> {
    CaseId::parse(WrappedCases::plain_id(id.path)?).version()
}

impl MeasuredDigests {
    /// Name of the line with the last opsets.
    const OPSETS: &str = "opsets";

    /// Name of the line with the ends of a part of the suite.
    const PART: &str = "part";

    /// File name extension.
    pub(crate) const EXTENSION: &str = "digests";

    /// Returns the path of the digests of an expectation file: `expectations/tract/0.23.9.digests` for
    /// `expectations/tract/0.23.9.yaml`.
    pub fn path(expectations: &Path) -> PathBuf {
        expectations.with_extension(Self::EXTENSION)
    }

    /// Parses the file. A line in any other format is ignored, and so confirms nothing.
    pub fn parse(text: &str) -> MeasuredDigests {
        let mut read = MeasuredDigests::default();
        for (name, digest) in text.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| *name != "#") {
            match name.parse() {
                Ok(version) => drop(read.versions.insert(version, digest.to_owned())),
                Err(_) => drop(read.others.insert(name.to_owned(), digest.to_owned())),
            }
        }
        read
    }

    /// Returns the current digests of the operator versions and other sources of these cases.
    pub fn for_cases<'a>(ids: impl IntoIterator<Item = &'a str>) -> MeasuredDigests {
        let (mut versions, mut others) = (BTreeSet::new(), BTreeSet::new());
        for id in ids.into_iter().map(CaseId::parse) {
            match id.version() {
                Some(version) => drop(versions.insert(version)),
                None => others.extend(beginnings(id)),
            }
            versions.extend(plain_version(id));
        }
        let measured = recorded_digests().filter(|(version, _)| versions.contains(version));
        let others = recorded_digests_of_others().filter(|(name, _)| others.contains(name));
        let others = others.map(|(name, digest)| (name.to_owned(), digest.to_owned()));
        MeasuredDigests {
            versions: measured.map(|(version, digest)| (version, digest.to_owned())).collect(),
            others: others.chain([(Self::OPSETS.to_owned(), newest_opsets())]).collect(),
        }
    }

    /// Returns the current digests of the cases that were sent to a tool, by their ids without variant. If they are a
    /// part of the suite, the digests name the part by its first and last id, since its ends move when the number of
    /// cases changes.
    pub fn for_tool(ids: &BTreeSet<&str>, is_part: bool) -> MeasuredDigests {
        let mut digests = MeasuredDigests::for_cases(ids.iter().copied());
        let sorted: BTreeSet<String> = ids.iter().map(|id| id_digest(id)).collect();
        if let Some((first, last)) = sorted.first().zip(sorted.last()).filter(|_| is_part) {
            digests.others.insert(Self::PART.to_owned(), format!("{first} {last}"));
        }
        digests
    }

    /// Returns true if a case that the suite had at the time of the measurement was in the measured part, by the digest of its id.
    pub(super) fn part_contains(&self, digest: &str) -> bool {
        let ends = self.others.get(Self::PART).and_then(|ends| ends.split_once(' '));
        ends.is_none_or(|(first, last)| (first..=last).contains(&digest))
    }

    /// Returns true if the last opsets are those of the measurement. A converter converts to the newest opset.
    pub(super) fn has_current_opsets(&self) -> bool {
        self.others.get(Self::OPSETS).is_some_and(|opsets| *opsets == newest_opsets())
    }

    /// Returns the opset of a domain that was the last one at the time of the measurement, if the file has it.
    pub(super) fn last_opset(&self, domain: &str) -> Option<u32> {
        let mut opsets = self.others.get(Self::OPSETS)?.split(' ').filter_map(|word| word.split_once('='));
        opsets.find(|(name, _)| *name == domain)?.1.parse().ok()
    }

    /// Copies the digests of groups, by name, from an earlier measurement, since they were not measured again.
    pub fn carry_over(&mut self, earlier: MeasuredDigests, groups: &[String]) {
        let MeasuredDigests { versions, others } = earlier;
        self.versions.extend(versions.into_iter().filter(|(version, _)| groups.contains(&version.qualified())));
        let is_missing = |name: &str| groups.iter().any(|group| group == name || first_part(group) == name);
        self.others.extend(others.into_iter().filter(|(name, _)| is_missing(name)));
    }

    /// Returns the cases that are unchanged since the measurement.
    pub fn unchanged(&self) -> UnchangedCases {
        let still_measured = |(version, now): (OperatorVersion, &str)| {
            let before = self.versions.get(&version)?;
            let changed = if before == now { None } else { Some(unchanged_since(&version, before, now)?) };
            Some((version, changed))
        };
        let others = recorded_digests_of_others().filter_map(|(name, now)| {
            let mut words = self.others.get(name)?.split(' ');
            let is_same = words.next() == Some(now);
            is_same.then(|| (name.to_owned(), words.map(str::to_owned).collect()))
        });
        UnchangedCases { versions: recorded_digests().filter_map(still_measured).collect(), others: others.collect() }
    }

    /// Returns the digests of operator versions.
    pub fn versions(&self) -> impl Iterator<Item = (&OperatorVersion, &str)> {
        self.versions.iter().map(|(version, digest)| (version, digest.as_str()))
    }

    /// Formats the file.
    pub fn to_text(&self) -> String {
        let mut text =
            "# Written by `onnx-conformance run --update-expectations`: what records/ held when the cases were \
                        measured; do not edit.\n"
                .to_owned();
        // Writing to a string cannot fail.
        for (version, digest) in &self.versions {
            let _ = writeln!(text, "{} {digest}", version.qualified());
        }
        for (name, digest) in &self.others {
            let _ = writeln!(text, "{name} {digest}");
        }
        text
    }
}

/// Formats the newest opsets by domain.
fn newest_opsets() -> String {
    let newest = Specs::embedded().releases().ok().and_then(Releases::newest);
    let opsets = newest.iter().flat_map(|release| &release.opsets);
    opsets.map(|(domain, opset)| format!("{domain}={opset}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_has_the_digest_of_its_version_topic_or_beginning() {
        for (id, expected) in [
            ("ai.onnx/Abs-13/ranks/X=2x3x4/T=int8", "ai.onnx/Abs-13"),
            ("graph/reshapes/x/good/T=float", "graph/reshapes"),
            ("graph/wrapped/ai.onnx/Abs-13/x", "graph/wrapped"),
            ("onnx-1.14.1/node/test_abs", "onnx-1.14.1"),
            ("hostile/depth/subgraphs_30", "hostile"),
        ] {
            assert_eq!(digest_name(id), expected);
        }
    }

    #[test]
    fn digests_read_back_and_tell_what_has_changed() {
        let ids = [
            "ai.onnx/Abs-13/ranks/X=2x3x4/T=int8",
            "ai.onnx/Abs-6/x",
            "onnx-1.14.1/node/test_abs",
            "ai.onnx/NoSuch-1/x",
        ];
        let measured = MeasuredDigests::for_cases(ids);
        let names =
            |unchanged: UnchangedCases| unchanged.versions.keys().map(OperatorVersion::qualified).collect::<Vec<_>>();
        assert_eq!(MeasuredDigests::parse(&measured.to_text()), measured);
        assert_eq!(names(measured.unchanged()), ["ai.onnx/Abs-6", "ai.onnx/Abs-13"]);
        assert_eq!(measured.last_opset("ai.onnx"), Specs::embedded().newest_opset("").ok());
        assert_eq!(MeasuredDigests::parse("opsets ai.onnx=9 ai.onnx.ml=2\n").last_opset("ai.onnx.ml"), Some(2));
        let text = measured.to_text();
        let line = text.lines().find(|line| line.starts_with("ai.onnx/Abs-13 ")).unwrap();
        let changed = MeasuredDigests::parse(&text.replace(line, "ai.onnx/Abs-13 0123456789abcdef"));
        assert_eq!(names(changed.unchanged()), ["ai.onnx/Abs-6"]);
        assert!(names(MeasuredDigests::parse("<<<<<<<\nai.onnx/Abs-13\n").unchanged()).is_empty());
    }

    #[test]
    fn cases_of_no_operator_are_measured_by_source() {
        let release = Specs::embedded().newest_release();
        let id = format!("onnx-{release}/node/test_abs");
        let measured = MeasuredDigests::for_cases([id.as_str(), "hostile/sizes/x"]);
        let unchanged = measured.unchanged();
        let contains = |unchanged: &UnchangedCases, id: &str| unchanged.contains(CaseId::parse(id), None);
        assert!(contains(&unchanged, &id) && contains(&unchanged, "hostile/other/y"));
        assert!(!contains(&unchanged, "ir/graph/x") && !contains(&unchanged, "folder/case"));
        let line = measured.to_text().lines().find(|line| line.starts_with("hostile ")).unwrap().to_owned();
        let changed = MeasuredDigests::parse(&measured.to_text().replace(&line, "hostile 0123456789abcdef"));
        assert!(contains(&changed.unchanged(), &id) && !contains(&changed.unchanged(), "hostile/other/y"));
        assert_eq!(MeasuredDigests::parse(&measured.to_text()), measured);
    }

    #[test]
    fn a_wrapped_case_is_measured_by_its_operator_version_and_the_no_ops() {
        let id = WrappedCases::all_ids().iter().find(|id| id.contains("/ai.onnx/Abs-13/")).unwrap();
        let text = MeasuredDigests::for_cases([id.as_str()]).to_text();
        let contains = |text: &str| MeasuredDigests::parse(text).unchanged().contains(CaseId::parse(id), None);
        assert!(contains(&text));
        for start in ["graph/wrapped ", "ai.onnx/Abs-13 "] {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap();
            assert!(!contains(&text.replace(line, &format!("{start}0123456789abcdef"))), "{line}");
        }
    }

    #[test]
    fn graphs_and_cases_of_the_format_are_measured_by_topic() {
        let measured = MeasuredDigests::for_cases(["graph/reshapes/x/good", "graph/slices/x/good", "ir/scope/x"]);
        let text = measured.to_text();
        let line = text.lines().find(|line| line.starts_with("graph/slices ")).unwrap();
        let changed = MeasuredDigests::parse(&text.replace(line, "graph/slices 0123456789abcdef"));
        let unchanged = changed.unchanged();
        let contains = |id: &str| unchanged.contains(CaseId::parse(id), None);
        assert!(contains("graph/reshapes/y/near/z/T=float") && contains("ir/scope/refuse/y"), "{text}");
        for id in ["graph/slices/x/good", "graph/transposes/x/good", "ir/graph/y", "graph"] {
            assert!(!contains(id), "{id} was not measured: {text}");
        }
        let mut new = MeasuredDigests::for_cases(["graph/reshapes/x/good"]);
        new.carry_over(changed, &["graph/slices".to_owned()]);
        let text = new.to_text();
        assert!(text.contains("graph/slices 0123456789abcdef\n") && !text.contains("ir/scope"), "{text}");
    }

    #[test]
    fn a_release_that_took_over_results_lists_the_tests_without_one() {
        let release = Specs::embedded().newest_release();
        let [measured, changed] = ["node/test_abs", "node/test_abs_new"].map(|test| format!("onnx-{release}/{test}"));
        let text = MeasuredDigests::for_cases([measured.as_str()]).to_text();
        let line = text.lines().find(|line| line.starts_with("onnx-")).unwrap();
        let text = text.replace(line, &format!("{line} node/test_abs_new"));
        let digests = MeasuredDigests::parse(&text);
        assert_eq!(digests.to_text(), text);
        let unchanged = digests.unchanged();
        assert!(unchanged.contains(CaseId::parse(&measured), None));
        assert!(!unchanged.contains(CaseId::parse(&changed), None));
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
