//! Changes between two versions of the suite.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use onnx_conformance_cases::case::{CaseChange, CaseId, FrozenCase};
use serde::Serialize;

use crate::promises::frozen_list::FrozenList;
use crate::promises::renames::Renames;

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The level is stricter.
    Raised,
    /// The bounds are tighter.
    Tightened,
    /// The model, inputs or expected outputs differ.
    Changed,
    /// The case is gone.
    Gone,
    /// The case has another id.
    Renamed,
    /// The level is less strict.
    Lowered,
    /// The bounds are wider.
    Weakened,
    /// The case is new.
    New,
}

impl Kind {
    /// All kinds, those that may break a runtime's gate first.
    pub const ALL: [Kind; 8] = [
        Kind::Raised,
        Kind::Tightened,
        Kind::Changed,
        Kind::Gone,
        Kind::Renamed,
        Kind::Lowered,
        Kind::Weakened,
        Kind::New,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Raised => "raised",
            Kind::Tightened => "tightened",
            Kind::Changed => "changed",
            Kind::Gone => "gone",
            Kind::Renamed => "renamed",
            Kind::Lowered => "lowered",
            Kind::Weakened => "weakened",
            Kind::New => "new",
        })
    }
}

impl From<CaseChange> for Kind {
    fn from(change: CaseChange) -> Kind {
        match change {
            CaseChange::Raised => Kind::Raised,
            CaseChange::Lowered => Kind::Lowered,
            CaseChange::Tightened => Kind::Tightened,
            CaseChange::Weakened => Kind::Weakened,
            CaseChange::Changed => Kind::Changed,
        }
    }
}

/// Changes between two versions of the suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// The earlier version.
    pub from: String,
    /// The later version.
    pub to: String,
    /// The ids of the changed cases by kind; of a renamed case the earlier one.
    pub cases: BTreeMap<Kind, Vec<String>>,
    /// The new id of each renamed case.
    pub renamed: BTreeMap<String, String>,
}

impl Changes {
    /// Compares two versions. A case is renamed if the list of renames has it, or if a new case of its group has the
    /// same digest and level. A renamed case that has also changed counts by its change.
    pub fn between(from: &FrozenList, to: &FrozenList, renames: &Renames) -> Changes {
        let key = |id: &'_ str, case: &FrozenCase| (CaseId::parse(id).group().to_owned(), case.level, case.digest);
        let is_gone = |id: &&str| !to.cases.contains_key(*id);
        let mut renamed: BTreeMap<String, String> = renames
            .renamed(from.cases.keys().map(String::as_str).filter(is_gone), &from.suite)
            .into_iter()
            .filter(|(_, new)| to.cases.contains_key(new) && !from.cases.contains_key(new))
            .map(|(old, new)| (old.to_owned(), new))
            .collect();
        let recorded: BTreeSet<String> = renamed.values().cloned().collect();
        let mut appeared: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        let is_new = |id: &str| !from.cases.contains_key(id) && !recorded.contains(id);
        for (id, case) in to.cases.iter().filter(|(id, _)| is_new(id)).rev() {
            appeared.entry(key(id, case)).or_default().push(id);
        }
        let mut cases: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
        for (id, case) in &from.cases {
            let new = renamed.get(id);
            let kind = match to.cases.get(new.unwrap_or(id)) {
                Some(later) => match later.change_since(case) {
                    Some(change) => change.into(),
                    None if new.is_some() => Kind::Renamed,
                    None => continue,
                },
                None => match appeared.get_mut(&key(id, case)).and_then(Vec::pop) {
                    Some(new) => {
                        renamed.insert(id.clone(), new.to_owned());
                        Kind::Renamed
                    }
                    None => Kind::Gone,
                },
            };
            cases.entry(kind).or_default().push(id.clone());
        }
        let mut new: Vec<String> = appeared.into_values().flatten().map(str::to_owned).collect();
        new.sort_unstable();
        if !new.is_empty() {
            cases.insert(Kind::New, new);
        }
        Changes { from: from.suite.clone(), to: to.suite.clone(), cases, renamed }
    }

    /// Adds new cases.
    #[must_use]
    pub(super) fn with_new(mut self, ids: Vec<String>) -> Changes {
        if !ids.is_empty() {
            let new = self.cases.entry(Kind::New).or_default();
            new.extend(ids);
            new.sort_unstable();
        }
        self
    }

    /// Returns the number of cases with a change of this kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.cases.get(&kind).map_or(0, Vec::len)
    }

    /// Returns the changed cases of a kind by behaviour: the operator version or folder with the name of the case, and their
    /// number, the most frequent first. The earlier name of a renamed case precedes the later one: `a/A-1/x -> a/A-1/y`. If only
    /// the group of a case has another name, as for the tests of a new release, its cases are counted together.
    pub fn behaviours(&self, kind: Kind) -> Vec<(String, usize)> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for id in self.cases.get(&kind).into_iter().flatten() {
            let new = self.renamed.get(id);
            let is_moved =
                |new: &String| kind == Kind::Renamed && CaseId::parse(new).name() == CaseId::parse(id).name();
            let shown: fn(&str) -> String = if new.is_some_and(is_moved) { group } else { behaviour };
            let new = new.map(|new| format!(" -> {}", shown(new)));
            *counts.entry(format!("{}{}", shown(id), new.unwrap_or_default())).or_default() += 1;
        }
        let mut all: Vec<(String, usize)> = counts.into_iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all
    }
}

/// Returns the behaviour that a case belongs to: `ai.onnx/Abs-13/ranks`.
fn behaviour(id: &str) -> String {
    let parsed = CaseId::parse(id);
    format!("{}/{}", parsed.group(), parsed.name().split('/').next().unwrap_or_default())
}

fn group(id: &str) -> String {
    CaseId::parse(id).group().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(version: &str, lines: &[&str]) -> FrozenList {
        FrozenList::parse(version, &format!("suite {version}\n{}\n", lines.join("\n"))).unwrap()
    }

    #[test]
    fn every_kind_of_change_is_found() {
        let from = list(
            "1.0.0",
            &[
                "ai.onnx/Abs-13/changed/T=float required 000001 000001 0e0",
                "ai.onnx/Abs-13/gone/T=float required 000002 000002 0e0",
                "ai.onnx/Abs-13/lowered/T=float required 000003 000003 0e0",
                "ai.onnx/Abs-13/old/T=double required 000005 000005 0e0",
                "ai.onnx/Abs-13/old/T=float required 000004 000004 0e0",
                "ai.onnx/Abs-13/raised/T=float open 000006 000006 0e0",
                "ai.onnx/Abs-13/same/T=float required 000007 000007 0e0",
                "ai.onnx/Abs-13/tightened/T=float required 000008 000009 2e0",
                "ai.onnx/Abs-13/weakened/T=float required 00000a 00000b 2e0",
            ],
        );
        let to = list(
            "1.1.0",
            &[
                "ai.onnx/Abs-13/changed/T=float required 100001 100001 0e0",
                "ai.onnx/Abs-13/lowered/T=float recommended 000003 000003 0e0",
                "ai.onnx/Abs-13/name/T=double required 000005 000005 0e0",
                "ai.onnx/Abs-13/name/T=float required 000004 000004 0e0",
                "ai.onnx/Abs-13/new/T=float required 10000c 10000c 0e0",
                "ai.onnx/Abs-13/raised/T=float required 000006 000006 0e0",
                "ai.onnx/Abs-13/same/T=float required 000007 000007 0e0",
                "ai.onnx/Abs-13/tightened/T=float required 100008 000009 1e0",
                "ai.onnx/Abs-13/weakened/T=float required 10000a 00000b 4e0",
                // The same content in another group is not a rename.
                "ai.onnx/Neg-13/gone/T=float required 000002 000002 0e0",
            ],
        );
        let changes = Changes::between(&from, &to, &Renames::default());
        let counts = Kind::ALL.map(|kind| (kind, changes.count(kind)));
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<usize>(), 10);
        assert_eq!((changes.count(Kind::Renamed), changes.count(Kind::New)), (2, 2));
        assert!(counts.iter().all(|(_, count)| *count > 0), "{counts:?}");
        assert_eq!(changes.renamed["ai.onnx/Abs-13/old/T=float"], "ai.onnx/Abs-13/name/T=float");
        assert_eq!(changes.behaviours(Kind::Renamed), [("ai.onnx/Abs-13/old -> ai.onnx/Abs-13/name".to_owned(), 2)]);
        assert!(Changes::between(&from, &from, &Renames::default()).cases.is_empty());
    }

    #[test]
    fn a_recorded_rename_is_followed_though_the_case_has_changed() {
        let from = list(
            "1.0.0",
            &[
                "ai.onnx/Abs-13/old/T=double open 000002 000002 0e0",
                "ai.onnx/Abs-13/old/T=float required 000001 000001 0e0",
            ],
        );
        let to = list(
            "1.1.0",
            &[
                "ai.onnx/Abs-13/name/T=double required 000002 000002 0e0",
                "ai.onnx/Abs-13/name/T=float required 000001 000001 0e0",
            ],
        );
        let renames = "- {since: 1.1.0, old: ai.onnx/Abs-13/old/, new: ai.onnx/Abs-13/name/}\n";
        let changes = Changes::between(&from, &to, &Renames::parse("renames.yaml", renames).unwrap());
        let kinds: Vec<Kind> = changes.cases.keys().copied().collect();
        assert_eq!(kinds, [Kind::Raised, Kind::Renamed]);
        assert_eq!(changes.renamed["ai.onnx/Abs-13/old/T=double"], "ai.onnx/Abs-13/name/T=double");
        let unrecorded = Changes::between(&from, &to, &Renames::default());
        assert_eq!((unrecorded.count(Kind::Gone), unrecorded.count(Kind::New)), (1, 1));
    }

    #[test]
    fn tests_of_a_new_release_are_renamed_together() {
        let lines = |release: &str, last: &str| {
            let test =
                |name: &str, digest: &str| format!("onnx-{release}/node/test_{name} required {digest} {digest} 0e0");
            [test("a", "000001"), test("b", "000002"), test("c", last)]
        };
        let (old, new) = (lines("9.0.0", "000003"), lines("9.1.0", "000004"));
        let from = list("1.0.0", &old.each_ref().map(String::as_str));
        let to = list("1.1.0", &new.each_ref().map(String::as_str));
        let renames = "- {since: 1.1.0, old: onnx-9.0.0/, new: onnx-9.1.0/}\n";
        let changes = Changes::between(&from, &to, &Renames::parse("renames.yaml", renames).unwrap());
        assert_eq!(changes.behaviours(Kind::Renamed), [("onnx-9.0.0/node -> onnx-9.1.0/node".to_owned(), 2)]);
        let changed = "onnx-9.0.0/node/test_c -> onnx-9.1.0/node/test_c".to_owned();
        assert_eq!(changes.behaviours(Kind::Changed), [(changed, 1)]);
        assert_eq!((changes.count(Kind::Gone), changes.count(Kind::New)), (0, 0));
    }
}
