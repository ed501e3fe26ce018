//! Walk through a folder and the folders below it.

use std::fs::{metadata, read_dir};
use std::path::{Path, PathBuf};

use crate::suite::SuiteError;

/// A file, link or folder of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WalkEntry {
    /// Path, which begins with the path of the walked folder.
    pub(super) path: PathBuf,
    /// Number of folders between the entry and the walked folder, plus one; zero for that folder itself.
    pub(super) depth: usize,
    /// True for a regular file, not for a link to one.
    pub(super) is_file: bool,
    is_folder: bool,
}

impl WalkEntry {
    /// Returns true if the last part of the path is this name.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.path.file_name().is_some_and(|own| own == name)
    }
}

/// Iterator over the entries of a folder. A folder comes before its entries, which are sorted by name.
pub(super) struct Walk {
    max_depth: usize,
    /// Entries to visit, the next one last.
    pending: Vec<WalkEntry>,
    /// Error that ends the walk of a part.
    error: Option<SuiteError>,
}

/// Walks through a folder, which may be a link. Links below it are not followed.
pub(super) fn walk(folder: &Path) -> Walk {
    walk_to_depth(folder, usize::MAX)
}

/// Walks through a folder, and not into folders of this depth.
pub(super) fn walk_to_depth(folder: &Path, max_depth: usize) -> Walk {
    let mut walk = Walk { max_depth, pending: Vec::new(), error: None };
    match metadata(folder) {
        Ok(kind) => walk.pending.push(WalkEntry {
            path: folder.to_owned(),
            depth: 0,
            is_file: kind.is_file(),
            is_folder: kind.is_dir(),
        }),
        Err(error) => walk.error = Some(SuiteError::Io { path: folder.to_owned(), error }),
    }
    walk
}

impl Walk {
    /// Adds the entries of a folder to those to visit.
    fn enter(&mut self, folder: &Path, depth: usize) -> std::io::Result<()> {
        let mut entries = Vec::new();
        for entry in read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            entries.push(WalkEntry { path: entry.path(), depth, is_file: kind.is_file(), is_folder: kind.is_dir() });
        }
        entries.sort_unstable_by(|a, b| b.path.file_name().cmp(&a.path.file_name()));
        self.pending.append(&mut entries);
        Ok(())
    }
}

impl Iterator for Walk {
    type Item = Result<WalkEntry, SuiteError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        let entry = self.pending.pop()?;
        if entry.is_folder
            && entry.depth < self.max_depth
            && let Err(error) = self.enter(&entry.path, entry.depth + 1)
        {
            self.error = Some(SuiteError::Io { path: entry.path.clone(), error });
        }
        Some(Ok(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(walk: Walk, folder: &Path) -> Vec<(String, usize, bool)> {
        let entry = |entry: WalkEntry| {
            let path = entry.path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
            (path, entry.depth, entry.is_file)
        };
        walk.map(|found| entry(found.unwrap())).collect()
    }

    #[test]
    fn entries_are_sorted_and_follow_their_folder() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("b/deep")).unwrap();
        for file in ["a", "b/2", "b/1", "b/deep/x", "c"] {
            std::fs::write(home.path().join(file), "").unwrap();
        }
        let all = [
            ("", 0, false),
            ("a", 1, true),
            ("b", 1, false),
            ("b/1", 2, true),
            ("b/2", 2, true),
            ("b/deep", 2, false),
            ("b/deep/x", 3, true),
            ("c", 1, true),
        ];
        let expected: Vec<_> =
            all.iter().map(|(path, depth, is_file)| ((*path).to_owned(), *depth, *is_file)).collect();
        assert_eq!(names(walk(home.path()), home.path()), expected);
        let short: Vec<_> = expected.into_iter().filter(|(_, depth, _)| *depth <= 2).collect();
        assert_eq!(names(walk_to_depth(home.path(), 2), home.path()), short);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let missing = home.path().join("missing");
        let found: Vec<_> = walk(&missing).collect();
        assert!(matches!(&found[..], [Err(SuiteError::Io { path, .. })] if *path == missing), "{found:?}");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_folder_itself_may_be_a_link() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("real")).unwrap();
        std::fs::write(home.path().join("real/file"), "").unwrap();
        std::os::unix::fs::symlink("real", home.path().join("link")).unwrap();
        std::os::unix::fs::symlink(".", home.path().join("real/self")).unwrap();
        let link = home.path().join("link");
        let expected = [("", 0, false), ("file", 1, true), ("self", 1, false)]
            .map(|(path, depth, is)| (path.to_owned(), depth, is));
        assert_eq!(names(walk(&link), &link), expected);
    }
}
