//! Entries of an expectation file that select cases by id, indexed so that an id is not tested against each.

use std::collections::HashMap;

use onnx_conformance_cases::case::folders;
use onnx_conformance_cases::suite::{FilterError, GlobIndex, PathGlob, alternatives, wildcard};

use crate::expectations::entry::literal;

/// Positions of the entries that select cases by id.
#[derive(Debug, Default)]
pub(super) struct EntriesById {
    /// By the id or the path of a group, or by the folder before the first wildcard of a glob.
    paths: HashMap<String, EntriesOfPath>,
    /// True at the length of each path in bytes. Most folders of an id have another length, and are not looked up.
    lengths: Vec<bool>,
}

/// Positions of the entries of a path.
#[derive(Debug, Default)]
struct EntriesOfPath {
    /// Entries that name the path itself.
    named: Vec<usize>,
    /// Entries for all ids below the path with a part, by this part: `T=int8` of `ai.onnx/Abs-13/**/T=int8`.
    parts: HashMap<String, Vec<usize>>,
    /// Entries with another glob in this folder.
    globs: GlobIndex<usize>,
}

impl EntriesById {
    /// Adds the entry at a position, which must be later than those before. The pattern has no variant.
    pub(super) fn add(&mut self, index: usize, pattern: &str) -> Result<(), FilterError> {
        if let Some(path) = literal(pattern) {
            self.entries(path.trim_end_matches('/')).named.push(index);
            return Ok(());
        }
        alternatives(pattern).iter().try_for_each(|pattern| self.add_glob(index, pattern))
    }

    /// Adds an alternative of a pattern, which may be a path without wildcards. An entry that names the path alone precedes it.
    fn add_glob(&mut self, index: usize, pattern: &str) -> Result<(), FilterError> {
        let start = pattern.get(..wildcard(pattern)).unwrap_or_default();
        let entries = self.entries(folders(start).next_back().unwrap_or_default());
        let glob = PathGlob::new(pattern)?;
        match glob.part() {
            Some(part) => entries.parts.entry(part.to_owned()).or_default().push(index),
            None => entries.globs.insert(glob, index),
        }
        Ok(())
    }

    /// Returns the positions of the entries that name a path.
    pub(super) fn named(&self, path: &str) -> impl Iterator<Item = usize> {
        self.of_path(path).into_iter().flat_map(|entries| entries.named.iter().copied())
    }

    /// Returns the positions of the entries that select a case by its id, the most precise first.
    pub(super) fn about<'a>(&'a self, id: &'a str) -> impl Iterator<Item = usize> + 'a {
        // A glob with a leading wildcard has no folder.
        let paths = std::iter::once(id).chain(folders(id).rev()).chain([""]);
        let known = paths.filter_map(move |path| Some((path, self.of_path(path)?)));
        known.flat_map(move |(path, entries)| {
            let globs = std::iter::once_with(move || entries.globs_about(id, path)).flatten();
            entries.named.iter().copied().chain(globs)
        })
    }

    /// Returns false if it is certain that no entry selects a case below a group.
    pub(super) fn may_select_from(&self, group: &str) -> bool {
        let is_below = |path: &str| path.strip_prefix(group).is_some_and(|rest| rest.starts_with('/'));
        let above = || std::iter::once(group).chain(folders(group)).chain([""]).filter_map(|path| self.of_path(path));
        above().any(|entries| entries.may_select_from(group)) || self.paths.keys().any(|path| is_below(path))
    }

    fn of_path(&self, path: &str) -> Option<&EntriesOfPath> {
        let may_be_known = self.lengths.get(path.len()).copied().unwrap_or(false);
        if may_be_known { self.paths.get(path) } else { None }
    }

    fn entries(&mut self, path: &str) -> &mut EntriesOfPath {
        if self.lengths.len() <= path.len() {
            self.lengths.resize(path.len() + 1, false);
        }
        if let Some(is_known) = self.lengths.get_mut(path.len()) {
            *is_known = true;
        }
        self.paths.entry(path.to_owned()).or_default()
    }
}

impl EntriesOfPath {
    /// Returns false if it is certain that no entry of this path, which contains the group, selects a case below the group.
    fn may_select_from(&self, group: &str) -> bool {
        !self.named.is_empty() || !self.parts.is_empty() || self.globs.may_match_from(group)
    }

    /// Returns the positions of the entries with a glob that an id below this path matches, in order.
    fn globs_about(&self, id: &str, path: &str) -> Vec<usize> {
        let matching = self.globs.matching(id).copied();
        let below = if self.parts.is_empty() { "" } else { id.get(path.len()..).unwrap_or_default() };
        let with_part = below.split('/').filter_map(|part| self.parts.get(part)).flatten().copied();
        let mut found: Vec<usize> = matching.chain(with_part).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATTERNS: [&str; 15] = [
        "a/A-1/**/T=int8",
        "a/A-1/x/T=int8",
        "a/A-1/x/**",
        "a/A-1/**/T=int8,U=bool",
        "a/A-1",
        "a/A-1/**/x/T=float",
        "a/A-1/x*/**",
        "**/T=float",
        "a/A-*/**",
        "a/A-1/**/x",
        "a/A-1/x/**/T=int8",
        "a/**/T=int8",
        "a/{A-1,B-*}/x/T=float",
        "a/{A,B}-1/y/**",
        "a/{A-1/x,A-1/y}",
    ];

    #[test]
    fn an_id_meets_the_entries_whose_patterns_it_matches() {
        let mut entries = EntriesById::default();
        for (index, pattern) in PATTERNS.iter().enumerate() {
            entries.add(index, pattern).unwrap();
        }
        for id in [
            "a/A-1/x/T=int8",
            "a/A-1/x/T=int8,U=bool",
            "a/A-1/x/T=float",
            "a/A-1/y/T=int8",
            "a/A-1/x/y/T=int8@opset=last",
            "a/A-1/x/x",
            "a/A-1/T=int8/T=int8",
            "a/A-1",
            "a/A-2/y/T=int8",
            "b/A-1/y/T=int8",
            "a/B-7/x/T=float",
            "T=float",
            "a",
        ] {
            let mut found: Vec<usize> = entries.about(id).collect();
            found.sort_unstable();
            let matches = |pattern: &str| match literal(pattern) {
                Some(path) => id == path || id.starts_with(&format!("{path}/")),
                None => PathGlob::new(pattern).unwrap().matches(id),
            };
            let expected: Vec<usize> = (0..PATTERNS.len()).filter(|index| matches(PATTERNS[*index])).collect();
            assert_eq!(found, expected, "{id}");
            assert!(found.is_empty() || folders(id).all(|group| entries.may_select_from(group)), "{id}");
        }
        assert!(entries.may_select_from("b"), "**/T=float");
    }

    #[test]
    fn a_group_without_entries_is_recognized() {
        let mut entries = EntriesById::default();
        for (index, pattern) in ["a/A-1/x", "a/A-*/**", "a/{B,C}-1/x", "b/**/T=x", "c"].iter().enumerate() {
            entries.add(index, pattern).unwrap();
        }
        for group in ["a/A-1", "a/A-2", "a/B-1", "a", "b/D-1", "c/E-1"] {
            assert!(entries.may_select_from(group), "{group}");
        }
        for group in ["a/B-2", "a/D-1", "d/A-1", "cc"] {
            assert!(!entries.may_select_from(group), "{group}");
        }
    }

    #[test]
    fn the_nearest_path_precedes_and_the_order_of_the_file_decides_in_a_path() {
        let mut entries = EntriesById::default();
        for (index, pattern) in PATTERNS.iter().enumerate() {
            entries.add(index, pattern).unwrap();
        }
        let about = |id: &str| entries.about(id).collect::<Vec<_>>();
        assert_eq!(about("a/A-1/x/T=int8"), [1, 2, 10, 4, 0, 6, 9, 14, 8, 11]);
        assert_eq!(entries.named("a/A-1").collect::<Vec<_>>(), [4]);
        assert_eq!(entries.named("a/A-1/x").count(), 0);
    }
}
