//! `records/unchanged.txt`: the cases that differ between two states of an operator version. All other cases stay measured when
//! cases are added or changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use onnx_conformance_reference::spec::OperatorVersion;

use onnx_conformance_cases::suite::{Filter, VersionRecord};

static TEXT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/records/unchanged.txt"));

/// Path of the file.
pub const UNCHANGED: &str = "records/unchanged.txt";

/// A line of the file: `ai.onnx/NonZero-13 ab12 cd34 one_value/** scalar/T=float`. It lists the cases of a version that are new
/// or changed in the second of two states, given by the digests in `records/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnchangedLine {
    /// The operator version.
    pub version: OperatorVersion,
    /// The digest of its cases before.
    pub before: String,
    /// The digest of its cases after.
    pub after: String,
    /// New or changed cases, as patterns over the part of ids after the version.
    pub changed: Vec<String>,
}

impl UnchangedLine {
    /// Parses a line; `None` for any other format, such as a comment.
    pub fn parse(line: &str) -> Option<UnchangedLine> {
        let mut words = line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
        let version = words.next()?.parse().ok()?;
        Some(UnchangedLine { version, before: words.next()?, after: words.next()?, changed: words.collect() })
    }

    /// Returns the lines of the embedded file.
    pub fn embedded() -> impl Iterator<Item = UnchangedLine> {
        TEXT.lines().filter_map(UnchangedLine::parse)
    }

    /// Returns the line between two records of an operator version.
    pub fn between(version: &OperatorVersion, before: &VersionRecord, after: &VersionRecord) -> UnchangedLine {
        UnchangedLine {
            version: version.clone(),
            before: before.digest.clone(),
            after: after.digest.clone(),
            changed: patterns(after.cases.keys().map(String::as_str), &after.changed_since(before)),
        }
    }

    /// Joins a line that ends where this one begins: its changed cases count as changed from there on.
    fn join(self, next: &UnchangedLine) -> UnchangedLine {
        let changed: BTreeSet<String> = self.changed.into_iter().chain(next.changed.iter().cloned()).collect();
        UnchangedLine { after: next.after.clone(), changed: changed.into_iter().collect(), ..self }
    }

    /// Returns the patterns over whole ids.
    fn patterns(&self) -> impl Iterator<Item = String> {
        let version = self.version.qualified();
        self.changed.iter().map(move |pattern| format!("{version}/{pattern}"))
    }

    /// Formats the line.
    pub fn to_text(&self) -> String {
        let UnchangedLine { version, before, after, changed } = self;
        [version.qualified(), before.clone(), after.clone()]
            .into_iter()
            .chain(changed.iter().cloned())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Updates the lines of the file. `new` are the lines from the previous records to the current ones, and `needed` the states that
/// measurements name. A line is kept if it leads from a needed state to the current one.
pub fn updated_lines(
    known: Vec<UnchangedLine>,
    new: &[UnchangedLine],
    needed: &BTreeSet<(OperatorVersion, String)>,
) -> Vec<UnchangedLine> {
    let (mut continued, mut others) = (Vec::new(), Vec::new());
    for line in known {
        let next = new.iter().find(|next| next.version == line.version && next.before == line.after);
        let is_outdated = new.iter().any(|next| next.version == line.version && next.after != line.after);
        match next {
            Some(next) => continued.push(line.join(next)),
            None if !is_outdated => others.push(line),
            None => {}
        }
    }
    let is_needed = |line: &UnchangedLine| needed.contains(&(line.version.clone(), line.before.clone()));
    let mut lines: Vec<UnchangedLine> = new
        .iter()
        .cloned()
        .chain(continued)
        .chain(others)
        .filter(|line| line.before != line.after && is_needed(line))
        .collect();
    lines.sort_by_cached_key(UnchangedLine::to_text);
    lines.dedup();
    lines
}

/// Returns patterns for the changed cases among all: a group if all of it is, else the case.
fn patterns<'a>(all: impl Iterator<Item = &'a str>, changed: &BTreeSet<&str>) -> Vec<String> {
    let same: BTreeSet<&str> = all.filter(|id| !changed.contains(id)).collect();
    let group_of_changed = |id: &str| {
        let mut groups = id.match_indices('/').map(|(end, _)| &id[..=end]);
        groups.find(|group| !same.iter().any(|other| other.starts_with(group))).map(|group| format!("{group}**"))
    };
    let found = changed.iter().map(|id| group_of_changed(id).unwrap_or_else(|| (*id).to_owned()));
    found.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Cases of an operator version that are new or changed between two states. Their patterns are compiled when a case is looked up.
#[derive(Debug)]
pub(super) struct ChangedCases {
    line: UnchangedLine,
    filter: OnceLock<Option<Filter>>,
}

impl ChangedCases {
    /// Returns true if a case is new or changed. Without readable patterns all are.
    pub(super) fn contain(&self, id: &str) -> bool {
        let filter = || Filter::new(&self.line.patterns().collect::<Vec<_>>()).ok();
        // A filter without patterns would select everything.
        !self.line.changed.is_empty()
            && self.filter.get_or_init(filter).as_ref().is_none_or(|filter| filter.matches(id))
    }
}

/// Returns the cases that are new or changed between two digests; `None` if unknown.
pub(super) fn unchanged_since(version: &OperatorVersion, before: &str, after: &str) -> Option<&'static ChangedCases> {
    type States = BTreeMap<(OperatorVersion, String, String), ChangedCases>;
    static LINES: OnceLock<States> = OnceLock::new();
    let lines = LINES.get_or_init(|| {
        let state = |line: UnchangedLine| {
            let states = (line.version.clone(), line.before.clone(), line.after.clone());
            (states, ChangedCases { line, filter: OnceLock::new() })
        };
        UnchangedLine::embedded().map(state).collect()
    });
    lines.get(&(version.clone(), before.to_owned(), after.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::suite::{recorded_cases, recorded_digests};

    #[test]
    fn lines_read_back_and_choose_cases_that_there_are() {
        let now: BTreeMap<OperatorVersion, &str> = recorded_digests().collect();
        for line in UnchangedLine::embedded() {
            assert_eq!(UnchangedLine::parse(&line.to_text()).as_ref(), Some(&line));
            let text = line.to_text();
            assert_eq!(now.get(&line.version), Some(&line.after.as_str()), "of other cases; take it out: {text}");
            let filters = line.patterns().map(|pattern| (Filter::new(&[&pattern]).unwrap(), pattern));
            for (filter, pattern) in filters {
                let cases = recorded_cases(&line.version);
                assert!(cases.iter().any(|case| filter.matches(&case.id)), "{pattern} chooses no case: {text}");
            }
        }
        let read = TEXT.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(UnchangedLine::embedded().count(), read);
        assert_eq!(UnchangedLine::parse("# a b c"), None);
    }

    #[test]
    fn a_group_that_changed_as_a_whole_is_one_pattern() {
        let all = ["a/x/T=1", "a/x/T=2", "a/y/T=1", "a/y/T=2", "b/T=1", "c"];
        let changed = BTreeSet::from(["a/x/T=2", "a/y/T=1", "a/y/T=2", "b/T=1", "c"]);
        assert_eq!(patterns(all.into_iter(), &changed), ["a/x/T=2", "a/y/**", "b/**", "c"]);
    }

    #[test]
    fn lines_lead_from_measured_states_to_the_current_one() {
        let line = |text: &str| UnchangedLine::parse(text).unwrap();
        let needed = ["0", "1"].map(|state| ("ai.onnx/Abs-13".parse().unwrap(), state.to_owned())).into();
        let known = vec![line("ai.onnx/Abs-13 0 1 a"), line("ai.onnx/Abs-13 9 1 b"), line("ai.onnx/Abs-6 0 1")];
        let new = [line("ai.onnx/Abs-13 1 2 c/** a")];
        let texts = |lines: Vec<UnchangedLine>| lines.iter().map(UnchangedLine::to_text).collect::<Vec<_>>();
        assert_eq!(
            texts(updated_lines(known.clone(), &new, &needed)),
            ["ai.onnx/Abs-13 0 2 a c/**", "ai.onnx/Abs-13 1 2 c/** a"]
        );
        assert_eq!(texts(updated_lines(known, &[], &needed)), ["ai.onnx/Abs-13 0 1 a"]);
        // The cases are again as they were measured.
        assert!(
            updated_lines(vec![line("ai.onnx/Abs-13 0 1 a")], &[line("ai.onnx/Abs-13 1 0 a")], &needed)
                .iter()
                .all(|line| line.before != "0")
        );
    }

    #[test]
    fn a_state_that_no_line_is_about_says_nothing() {
        for line in UnchangedLine::embedded() {
            let changed = unchanged_since(&line.version, &line.before, &line.after).unwrap();
            assert_eq!(
                line.changed.is_empty(),
                recorded_cases(&line.version).iter().all(|case| !changed.contain(&case.id))
            );
            assert!(unchanged_since(&line.version, &line.after, &line.before).is_none());
        }
    }
}
