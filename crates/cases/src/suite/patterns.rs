//! Patterns that select cases by id.

use std::collections::BTreeSet;

use crate::case::folders;
use crate::suite::glob::{FilterError, PathGlob, alternatives, is_glob};
use crate::suite::glob_index::GlobIndex;

/// Any number of patterns, indexed so that an id is not tested against each.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    /// Ids and paths of groups.
    paths: BTreeSet<String>,
    globs: GlobIndex<()>,
}

impl Patterns {
    /// Adds an id, the path of a group, or a glob.
    pub(super) fn add(&mut self, pattern: &str) -> Result<(), FilterError> {
        for pattern in alternatives(pattern) {
            if is_glob(&pattern) {
                self.globs.insert(PathGlob::new(&pattern)?, ());
            } else {
                self.paths.insert(pattern.trim_end_matches('/').to_owned());
            }
        }
        Ok(())
    }

    /// Returns true if there is no pattern.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.globs.is_empty()
    }

    /// Returns true if a pattern selects an id.
    pub(super) fn matches(&self, id: &str) -> bool {
        !self.is_empty() && (self.names(id) || self.globs.matching(id).next().is_some())
    }

    /// Returns true if the patterns name an id or a group that contains it.
    fn names(&self, id: &str) -> bool {
        !self.paths.is_empty() && (self.paths.contains(id) || folders(id).any(|group| self.paths.contains(group)))
    }

    /// Returns true if some id that begins with the name of a group may match.
    pub(super) fn may_match_from(&self, group: &str) -> bool {
        let below = format!("{group}/");
        let path = self.paths.range(below.clone()..).next();
        self.names(group) || path.is_some_and(|path| path.starts_with(&below)) || self.globs.may_match_from(group)
    }
}

/// Returns true if a path is a group or in it.
pub(super) fn is_in(path: &str, group: &str) -> bool {
    path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
