//! Index of globs by the text before their first wildcard.

use std::collections::BTreeMap;
use std::iter;
use std::ops::Bound::{Included, Unbounded};

use crate::suite::glob::PathGlob;

/// Any number of globs, each with a value. An id is only tested against the globs whose text before the first wildcard begins it.
#[derive(Debug)]
pub struct GlobIndex<T> {
    by_start: BTreeMap<String, Vec<(PathGlob, T)>>,
}

impl<T> Default for GlobIndex<T> {
    fn default() -> GlobIndex<T> {
        GlobIndex { by_start: BTreeMap::new() }
    }
}

impl<T> GlobIndex<T> {
    /// Adds a glob and its value.
    pub fn insert(&mut self, glob: PathGlob, value: T) {
        self.by_start.entry(glob.start().to_owned()).or_default().push((glob, value));
    }

    /// Returns true if there is no glob.
    pub fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }

    /// Returns the values of the globs that match an id. The order is that of insertion only if the globs begin alike.
    pub fn matching<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a T> {
        self.beginning(id).filter(move |(glob, _)| glob.matches(id)).map(|(_, value)| value)
    }

    /// Returns false if it is certain that no id below a group matches.
    pub fn may_match_from(&self, group: &str) -> bool {
        let next = self.by_start.range::<str, _>((Included(group), Unbounded)).next();
        next.is_some_and(|(start, _)| start.starts_with(group))
            || self.beginning(group).any(|(glob, _)| glob.may_match_below(group))
    }

    /// Returns the globs whose text before the first wildcard begins this text, the longest first.
    fn beginning<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a (PathGlob, T)> {
        let mut rest = Some(text);
        let starts = iter::from_fn(move || {
            loop {
                // Every beginning of `rest` sorts before it, and a longer one behind a shorter one.
                let before = rest?;
                let (start, globs) = self.by_start.range::<str, _>((Unbounded, Included(before))).next_back()?;
                if before.starts_with(start.as_str()) {
                    rest = shorter(start);
                    return Some(globs);
                }
                rest = Some(common_beginning(before, start));
            }
        });
        starts.flatten()
    }
}

/// Returns a text without its last character; `None` if it has none.
fn shorter(text: &str) -> Option<&str> {
    text.char_indices().next_back().and_then(|(last, _)| text.get(..last))
}

/// Returns the longest text that begins both texts.
fn common_beginning<'a>(text: &'a str, other: &str) -> &'a str {
    let equal = text.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    text.get(..equal.map(|(c, _)| c.len_utf8()).sum()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_meets_the_globs_that_match_it() {
        let patterns = [
            "a/b-*/**",
            "a/b-1/**",
            "a/*",
            "**",
            "*/b-1/x",
            "a/b-1/x*",
            "a/b-1/y*",
            "a/b?1/**",
            "é/**",
            "éa*/b",
            "b/**",
            "a/b-10/**",
            "a/{b,c}-1/x",
            "a/b-1/**/x",
        ];
        let mut index = GlobIndex::default();
        for pattern in patterns {
            index.insert(PathGlob::new(pattern).unwrap(), pattern);
        }
        for id in ["a/b-1/x", "a/b-1/y/x", "a/b-10/x", "a/b", "b/x", "é/b", "éa/b", "éb", "a", "", "c/b-1/x", "a/c-1/x"]
        {
            let mut found: Vec<&str> = index.matching(id).copied().collect();
            found.sort_unstable();
            let mut expected = patterns.to_vec();
            expected.retain(|pattern| PathGlob::new(pattern).unwrap().matches(id));
            expected.sort_unstable();
            assert_eq!(found, expected, "{id}");
        }
        assert!(index.matching("a/b-1/x").count() > 5);
    }

    #[test]
    fn a_group_may_have_ids_that_match() {
        let mut index = GlobIndex::default();
        assert!(index.is_empty() && !index.may_match_from("a"));
        for pattern in ["a/b/c*", "d/e-*/x"] {
            index.insert(PathGlob::new(pattern).unwrap(), ());
        }
        for (group, expected) in [("a/b", true), ("a", true), ("b", false), ("d/e-1", true), ("d/f-1", false)] {
            assert_eq!(index.may_match_from(group), expected, "{group}");
        }
    }
}
