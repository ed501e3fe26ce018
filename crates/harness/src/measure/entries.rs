//! Entries of a measurement, grouped by the cases that they cover, such as an operator version. A measurement has thousands of
//! entries, and most queries are about one group, so each group is parsed on first use.

use std::collections::HashMap;
use std::sync::OnceLock;

use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::{HostileCases, is_glob};
use onnx_conformance_reference::spec::OperatorVersion;

use crate::expectations::{Entry, ExpectationError, ExpectationMatcher, Expectations};

/// The entries of a measurement and the other content of its file.
#[derive(Debug)]
pub(super) struct MeasuredEntries {
    /// The file without the entries of groups.
    rest: ExpectationMatcher,
    groups: HashMap<String, Group>,
    /// Names of the groups of neither an operator nor the hostile models: tests of upstream, graphs, and `ir/**`.
    outside_operators: Vec<String>,
}

/// The entries of a group.
#[derive(Debug)]
struct Group {
    text: String,
    read: OnceLock<Option<ExpectationMatcher>>,
}

impl MeasuredEntries {
    /// Reads a file. The lines of the groups are collected, but not parsed yet.
    pub(super) fn read(path: &str, text: &str) -> Result<MeasuredEntries, ExpectationError> {
        let (mut rest, mut groups) = (Vec::new(), HashMap::<String, Group>::new());
        for line in text.lines() {
            match group_of_line(line) {
                Some(group) => groups.entry(group.to_owned()).or_insert_with(Group::empty).add(line),
                None => rest.push(line),
            }
        }
        // A key without a value is not a list.
        let says_nothing = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#');
        let content = rest.iter().rposition(|line| !says_nothing(line)).filter(|at| rest.get(*at) == Some(&"expect:"));
        rest.truncate(content.unwrap_or(rest.len()));
        let rest = Expectations::parse(path, &rest.join("\n"))?;
        let is_outside = |name: &&String| {
            name.parse::<OperatorVersion>().is_err() && name.split('/').next() != Some(HostileCases::GROUP)
        };
        let outside_operators = groups.keys().filter(is_outside).cloned().collect();
        Ok(MeasuredEntries { rest: ExpectationMatcher::with_every_condition(rest)?, groups, outside_operators })
    }

    /// Returns the content of the file other than the entries of groups.
    pub(super) fn rest(&self) -> &ExpectationMatcher {
        &self.rest
    }

    /// Returns the most precise entry that selects the case by its id, or an error if the entries of its group cannot be parsed.
    pub(super) fn about(&self, id: &str) -> Result<Option<&Entry>, UnreadableGroup> {
        Ok(self.of_case(id)?.about(id))
    }

    /// Returns the entries that may select a case by its id, or an error if the entries of its group cannot be parsed.
    pub(super) fn of_case(&self, id: &str) -> Result<EntriesOfGroup<'_>, UnreadableGroup> {
        let own = self.own(group_of_path(Variant::split_id(id).0).unwrap_or_default())?;
        Ok(EntriesOfGroup { own, shared: Some(&self.rest).filter(|rest| !rest.is_empty()) })
    }

    /// Returns the entries that may select cases of an operator version, or an error if they cannot be parsed.
    pub(super) fn of_version(&self, version: &OperatorVersion) -> Result<EntriesOfGroup<'_>, UnreadableGroup> {
        let name = version.qualified();
        let own = self.own(&name)?;
        Ok(EntriesOfGroup { own, shared: Some(&self.rest).filter(|rest| rest.may_select_from(&name)) })
    }

    fn own(&self, group: &str) -> Result<Option<&ExpectationMatcher>, UnreadableGroup> {
        self.groups.get(group).map(|group| group.read().ok_or(UnreadableGroup)).transpose()
    }

    /// Returns the entries about single cases outside of operators and hostile models, in the groups that `is_meant` accepts by
    /// their name.
    pub(super) fn outside_operators(&self, is_meant: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, &Entry)> {
        let names = self.outside_operators.iter().filter(move |name| is_meant(name));
        let groups = names.filter_map(move |name| self.groups.get(name)?.read());
        let entries = groups.flat_map(|group| &group.expectations().expect);
        entries.filter_map(|entry| Some((entry.cases.as_deref().filter(|id| !is_glob(id))?, entry)))
    }

    /// Returns the groups whose entries cannot be parsed.
    #[cfg(test)]
    pub(super) fn unreadable(&self) -> Vec<&str> {
        self.groups.iter().filter(|(_, group)| group.read().is_none()).map(|(name, _)| name.as_str()).collect()
    }
}

/// The entries that may select cases of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntriesOfGroup<'a> {
    /// Entries about this group alone.
    own: Option<&'a ExpectationMatcher>,
    /// Entries about several groups.
    shared: Option<&'a ExpectationMatcher>,
}

impl<'a> EntriesOfGroup<'a> {
    /// Returns the most precise entry that selects a case of the group by its id.
    pub(super) fn about(self, id: &str) -> Option<&'a Entry> {
        // An entry for several groups is less precise than any entry for one.
        self.own.and_then(|own| own.entry_about(id)).or_else(|| self.shared?.entry_about(id))
    }
}

/// The entries of a group cannot be parsed. A test shows that all entries of the embedded measurements can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnreadableGroup;

impl Group {
    fn empty() -> Group {
        Group { text: String::new(), read: OnceLock::new() }
    }

    fn add(&mut self, line: &str) {
        self.text.push_str(line.trim_start());
        self.text.push('\n');
    }

    fn read(&self) -> Option<&ExpectationMatcher> {
        let read = || ExpectationMatcher::with_every_condition(Expectations::parse_lines(&self.text).ok()?).ok();
        self.read.get_or_init(read).as_ref()
    }
}

/// Returns the group of an entry that is a single line and about a single group.
fn group_of_line(line: &str) -> Option<&str> {
    let entry = line.trim_start().strip_prefix("- {cases: ").filter(|_| line.ends_with('}'))?;
    group_of_path(entry.trim_start_matches(['"', '\'']))
}

/// Returns the first two parts of a path, unless they contain wildcards.
fn group_of_path(path: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let part_end = |from: usize| {
        let rest = path.as_bytes().get(from..)?;
        Some(from + rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len()))
    };
    let first = part_end(0).filter(|end| *end > 0 && path.as_bytes().get(*end) == Some(&b'/'))?;
    let second = part_end(first + 1).filter(|end| *end > first + 1)?;
    // A glob may continue in the second part.
    let ends = matches!(path.as_bytes().get(second), None | Some(b'/' | b',' | b'"' | b'\'' | b'@'));
    path.get(..second).filter(|_| ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::case::CaseId;

    const HEAD: &str = "runtime: x\nversion: 1\nexact: true\nexpect:\n";

    #[test]
    fn groups_answer_as_the_whole_file_does() {
        let text = format!(
            "{HEAD}{}",
            [
                "  - {cases: ai.onnx/Abs-13, outcome: error}",
                "  - {cases: ai.onnx/Abs-13/a/T=int8, outcome: crash}",
                "  - {cases: \"ai.onnx/Abs-13/**/T=int4\", outcome: timeout}",
                "  - {cases: ai.onnx/Abs-13@constants, outcome: mismatch}",
                "  - {cases: 'ai.onnx/Abs-1*/b', outcome: mismatch}",
                "  - {cases: '**/T=int2', outcome: wrong-shape}",
                "  - {cases: ai.onnx, outcome: mismatch}",
                "  - {cases: 'ai.onnx/{Neg,Not}-1/**', outcome: crash}",
                "  - cases: ai.onnx/Neg-13",
                "    outcome: error",
                "",
            ]
            .join("\n")
        );
        let whole = ExpectationMatcher::with_every_condition(Expectations::parse("a", &text).unwrap()).unwrap();
        let groups = MeasuredEntries::read("a", &text).unwrap();
        assert_eq!(groups.groups.len(), 1, "{groups:?}");
        for id in [
            "ai.onnx/Abs-13/a/T=int8",
            "ai.onnx/Abs-13/a/T=int4",
            "ai.onnx/Abs-13/a/T=int2",
            "ai.onnx/Abs-13/b",
            "ai.onnx/Abs-13/b@constants",
            "ai.onnx/Abs-14/b",
            "ai.onnx/Abs-14/c",
            "ai.onnx/Abs-13",
            "ai.onnx/Neg-1/a",
            "ai.onnx/Neg-13/a",
            "ai.onnx.ml/Scaler-1/T=int2",
            "ai.onnx.ml/Scaler-1/T=int8",
            "ir",
        ] {
            assert_eq!(groups.about(id), Ok(whole.entry_about(id)), "{id}");
            if let Some(version) = CaseId::parse(id).version() {
                assert_eq!(groups.of_version(&version).unwrap().about(id), whole.entry_about(id), "{id}");
            }
        }
    }

    #[test]
    fn comments_are_no_entries() {
        for between in ["", "  # known\n", "\n  # known\n\n"] {
            let text = format!("{HEAD}{between}  - {{cases: ai.onnx/Abs-13/a, outcome: error}}\n{between}");
            let groups = MeasuredEntries::read("a", &text).unwrap();
            assert!(groups.rest().is_empty() && groups.about("ai.onnx/Abs-13/a").unwrap().is_some(), "{text}");
        }
        assert!(MeasuredEntries::read("a", &format!("{HEAD}  []\n")).unwrap().rest().is_empty());
    }

    #[test]
    fn a_group_that_cannot_be_read_is_no_answer() {
        let text = format!(
            "{HEAD}  - {{cases: ai.onnx/Abs-13/a, ending: error}}\n  - {{cases: ai.onnx/Neg-1/a, outcome: error}}\n"
        );
        let groups = MeasuredEntries::read("a", &text).unwrap();
        assert_eq!(groups.about("ai.onnx/Abs-13/b"), Err(UnreadableGroup));
        assert_eq!(groups.about("ai.onnx/Neg-1/b"), Ok(None));
        assert_eq!(groups.unreadable(), ["ai.onnx/Abs-13"]);
    }
}
