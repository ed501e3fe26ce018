//! The columns that the tables show, and how they relate to each other.

use std::collections::BTreeMap;
use std::ops::Deref;

use onnx_conformance_harness::expectations::version_key;

use crate::site::column::Column;

/// Shown columns, in the order of the tables.
#[derive(Debug)]
pub(crate) struct ShownColumns {
    pub(super) columns: Vec<Column>,
    /// Position of the previous release, for each committed column that has one.
    pub(super) previous: Vec<Option<usize>>,
    /// Position of the newest version of each runtime.
    pub(super) newest: Vec<usize>,
}

impl Deref for ShownColumns {
    type Target = [Column];

    fn deref(&self) -> &[Column] {
        &self.columns
    }
}

impl ShownColumns {
    /// Relates columns by runtime and version.
    pub(crate) fn new(columns: Vec<Column>) -> ShownColumns {
        let (previous, newest) = (previous(&columns), newest(&columns));
        ShownColumns { columns, previous, newest }
    }

    /// Returns the position of the previous release of a column's runtime.
    pub(crate) fn previous(&self, column: usize) -> Option<usize> {
        self.previous.get(column).copied().flatten()
    }

    /// Returns the position of the newest version of each runtime. A results file takes precedence over a committed measurement.
    pub(crate) fn newest(&self) -> &[usize] {
        &self.newest
    }
}

fn previous(columns: &[Column]) -> Vec<Option<usize>> {
    let earlier = |column: &Column| {
        let older = columns.iter().enumerate().filter(|(_, other)| {
            other.file.is_none()
                && other.runtime == column.runtime
                && version_key(&other.version) < version_key(&column.version)
        });
        older.max_by_key(|(_, other)| version_key(&other.version)).map(|(index, _)| index)
    };
    columns.iter().map(earlier).collect()
}

fn newest(columns: &[Column]) -> Vec<usize> {
    let mut newest: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, column) in columns.iter().enumerate() {
        let rank = |column: &Column| (version_key(&column.version), column.file.is_some());
        let is_newer = |known: &usize| columns.get(*known).is_none_or(|known| rank(known) <= rank(column));
        if newest.get(column.runtime.as_str()).is_none_or(is_newer) {
            newest.insert(&column.runtime, index);
        }
    }
    newest.into_values().collect()
}
