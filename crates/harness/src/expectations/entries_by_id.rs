//! Entries of an expectation file that select cases by id, indexed so that an id is not tested against each.

use std::collections::HashMap;

use onnx_conformance_cases::case::folders;
use onnx_conformance_cases::suite::{FilterError, PathGlob, wildcard};

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
    globs: Vec<(usize, PathGlob)>,
}

impl EntriesById {
    /// Adds the entry at a position, which must be later than those before. The pattern has no variant.
    pub(super) fn add(&mut self, index: usize, pattern: &str) -> Result<(), FilterError> {
        if let Some(path) = literal(pattern) {
            self.entries(path.trim_end_matches('/')).named.push(index);
            return Ok(());
        }
        let start = pattern.get(..wildcard(pattern)).unwrap_or_default();
        let glob = PathGlob::new(pattern)?;
        let entries = self.entries(folders(start).next_back().unwrap_or_default());
        match glob.part() {
            Some(part) => entries.parts.entry(part.to_owned()).or_default().push(index),
            None => entries.globs.push((index, glob)),
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
    /// Returns the positions of the entries with a glob that an id below this path matches, in order.
    fn globs_about(&self, id: &str, path: &str) -> Vec<usize> {
        let matching = self.globs.iter().filter(|(_, glob)| glob.matches(id)).map(|(index, _)| *index);
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

    const PATTERNS: [&str; 12] = [
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
        }
    }

    #[test]
    fn the_nearest_path_precedes_and_the_order_of_the_file_decides_in_a_path() {
        let mut entries = EntriesById::default();
        for (index, pattern) in PATTERNS.iter().enumerate() {
            entries.add(index, pattern).unwrap();
        }
        let about = |id: &str| entries.about(id).collect::<Vec<_>>();
        assert_eq!(about("a/A-1/x/T=int8"), [1, 2, 10, 4, 0, 6, 9, 8, 11]);
        assert_eq!(entries.named("a/A-1").collect::<Vec<_>>(), [4]);
        assert_eq!(entries.named("a/A-1/x").count(), 0);
    }
}
