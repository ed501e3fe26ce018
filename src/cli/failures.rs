//! The cases that fail unexpectedly, as files: a model, its inputs, and the outputs that are expected.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::case::{Case, files};
use crate::cli::output;
use crate::run::{Book, CaseResult, Standing};

/// Writes unexpected failures, while the cases are at hand.
pub(crate) struct Failures<'a> {
    book: &'a Book,
    folder: PathBuf,
    most: usize,
    count: AtomicUsize,
}

impl<'a> Failures<'a> {
    /// Writes at most `most` failures that `book` does not expect, each into a folder of its own below `folder`.
    pub(crate) fn new(book: &'a Book, folder: PathBuf, most: usize) -> Failures<'a> {
        Failures { book, folder, most, count: AtomicUsize::new(0) }
    }

    /// Looks at a case and its result.
    pub(crate) fn inspect(&self, case: &Case, result: &CaseResult) {
        if self.book.standing(result).0 != Standing::Regression {
            return;
        }
        if self.count.fetch_add(1, Ordering::Relaxed) < self.most
            && let Err(error) = write(&self.home(&case.id), case)
        {
            output::note(&format!("{}: cannot be written: {error}", self.home(&case.id).display()));
        }
    }

    /// Where a case is written: its id, with what not every file system takes as `_`.
    fn home(&self, id: &str) -> PathBuf {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-=,+".contains(c);
        let parts = id.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
        let parts = parts.map(|part| part.chars().map(|c| if plain(c) { c } else { '_' }).collect::<String>());
        self.folder.join(parts.collect::<PathBuf>())
    }

    /// Says where the files are.
    pub(crate) fn finish(&self) {
        if self.count.load(Ordering::Relaxed) > 0 {
            output::note(&format!("models, inputs and expected outputs of what failed: {}", self.folder.display()));
        }
    }
}

fn write(home: &Path, case: &Case) -> io::Result<()> {
    if home.exists() {
        fs::remove_dir_all(home)?;
    }
    for (name, bytes) in files(case) {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap_or(home))?;
        fs::write(path, bytes)?;
    }
    Ok(())
}
