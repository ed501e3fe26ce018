//! Files of the site: collected in memory, and written when all are made.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_harness::whole_folder::{WholeFolderError, write_whole_folder};
use serde::Serialize;

use crate::site::data_script::data_script;
use crate::site::static_pages::{self, BaseUrl, Page};

/// Name of the front page.
pub(crate) const FRONT_PAGE: &str = "index.html";

/// List of the site's files. A later site in the same folder removes those that it does not have.
const FILES: &str = "files.txt";

/// Bytes of the browser program per file, which is base64: no file of the site exceeds 2 MB.
const MODULE_PART: usize = 1_350_000;

/// A file of the site cannot be made or written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file cannot be written.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder.
        path: String,
        /// The cause.
        error: io::Error,
    },
    /// The data of a page cannot be read or written as JSON.
    #[error("{path}: {error}")]
    Json {
        /// The file.
        path: String,
        /// The cause.
        error: serde_json::Error,
    },
    /// A new folder cannot be written.
    #[error(transparent)]
    Folder(#[from] WholeFolderError),
}

/// Files of a site.
pub(crate) struct Output {
    /// Address at which the site is published.
    base: Option<BaseUrl>,
    /// Paths of the pages without JavaScript.
    pages: Vec<String>,
    /// All files by path.
    files: BTreeMap<String, Vec<u8>>,
}

/// Number and sizes of the files that were written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrittenFiles {
    /// Number of files.
    pub(crate) files: usize,
    /// Size of the largest file in bytes.
    pub(crate) largest: usize,
    /// Number of removed files of an earlier site.
    pub(crate) removed: usize,
}

impl Output {
    /// Creates a site without files.
    pub(crate) fn new(base: Option<BaseUrl>) -> Output {
        Output { base, pages: Vec::new(), files: BTreeMap::new() }
    }

    /// Adds a page without JavaScript.
    pub(crate) fn page(&mut self, page: &Page) {
        self.pages.push(page.path.clone());
        let text = page.text(self.base.as_ref());
        self.text(&page.path, text);
    }

    /// Adds the map of the site and the page for unknown addresses, if the address of the site is known.
    pub(crate) fn sitemap(&mut self) {
        let Some(base) = self.base.clone() else { return };
        let paths = std::iter::once(FRONT_PAGE).chain(self.pages.iter().map(String::as_str));
        let map = static_pages::sitemap(&base, paths);
        self.text("sitemap.xml", map);
        let missing = Page::missing(&base);
        self.text(&missing.path, missing.text(Some(&base)));
    }

    /// Adds data as a script.
    pub(crate) fn json(&mut self, path: &str, data: &impl Serialize) -> Result<(), OutputError> {
        let text = script(path, data)?;
        self.text(path, text);
        Ok(())
    }

    /// Adds the program that runs in the browser, and returns the number of its files.
    pub(crate) fn module(&mut self, module: &[u8]) -> Result<usize, OutputError> {
        let mut files = 0;
        let io = |error| OutputError::Io { path: "data/module".to_owned(), error };
        for part in packed(module).map_err(io)?.chunks(MODULE_PART) {
            let path = format!("data/module/{files}.js");
            // A page opened from a file may only load scripts, which are text.
            self.json(&path, &serde_json::json!({ "gzip": BASE64.encode(part) }))?;
            files += 1;
        }
        Ok(files)
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, path: &str, text: String) {
        self.bytes(path, text.into_bytes());
    }

    /// Adds a file.
    pub(crate) fn bytes(&mut self, path: &str, bytes: Vec<u8>) {
        self.files.insert(path.to_owned(), bytes);
    }

    /// Writes the files. A new folder appears when it is complete. In an existing one each file is replaced, the front page last, and
    /// the files of an earlier site that this one does not have are removed.
    pub(crate) fn put(mut self, folder: &Path) -> Result<WrittenFiles, OutputError> {
        let paths: Vec<&str> = self.files.keys().map(String::as_str).chain([FILES]).collect();
        let list = paths.join("\n") + "\n";
        self.text(FILES, list);
        let largest = self.files.values().map(Vec::len).max().unwrap_or(0);
        let files = self.files.len();
        if folder.exists() {
            return Ok(WrittenFiles { files, largest, removed: self.replace(folder)? });
        }
        let all: Vec<(String, Vec<u8>)> = self.files.into_iter().collect();
        write_whole_folder(folder, &all, &[], Path::new(""))?;
        Ok(WrittenFiles { files, largest, removed: 0 })
    }

    /// Writes the files into an existing folder, and returns the number of removed files of an earlier site.
    fn replace(&self, folder: &Path) -> Result<usize, OutputError> {
        let earlier = fs::read_to_string(folder.join(FILES)).unwrap_or_default();
        let others = self.files.iter().filter(|(path, _)| path.as_str() != FRONT_PAGE);
        for (path, bytes) in others.chain(self.files.get_key_value(FRONT_PAGE)) {
            write_file(&folder.join(path), bytes)?;
        }
        let is_below = |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let old = earlier.lines().filter(|path| !self.files.contains_key(*path) && is_below(path));
        Ok(old.filter(|path| fs::remove_file(folder.join(path)).is_ok()).count())
    }
}

/// Writes a file, with the folders above it.
fn write_file(place: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let failed = |error: io::Error| OutputError::Io { path: place.display().to_string(), error };
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    write_whole(place, bytes).map_err(failed)
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>, io::Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Returns the script of a file of data.
pub(crate) fn script(path: &str, data: &impl Serialize) -> Result<String, OutputError> {
    let name = path.strip_prefix("data/").and_then(|path| path.strip_suffix(".js")).unwrap_or(path);
    data_script(name, data).map_err(|error| OutputError::Json { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, paths: &[&str]) -> Result<WrittenFiles, OutputError> {
        let mut out = Output::new(None);
        for path in paths {
            out.text(path, "text".to_owned());
        }
        out.put(folder)
    }

    #[test]
    fn files_of_an_earlier_site_are_removed_and_no_others() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("site");
        let removed = |paths: &[&str]| put(&folder, paths).unwrap().removed;
        assert_eq!(removed(&["index.html", "runtime/mine-1.html"]), 0);
        fs::write(folder.join("notes.txt"), "own").unwrap();
        fs::write(home.path().join("other.txt"), "own").unwrap();
        assert_eq!(removed(&["index.html"]), 1);
        assert!(!folder.join("runtime/mine-1.html").exists());
        fs::write(folder.join(FILES), "../other.txt\nindex.html\ngone.html\n").unwrap();
        assert_eq!(removed(&["index.html"]), 0);
        let left = [folder.join("index.html"), folder.join("notes.txt"), home.path().join("other.txt")];
        assert!(left.iter().all(|path| path.is_file()));
    }

    #[test]
    fn a_new_folder_is_complete_or_does_not_exist() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/site");
        let written = put(&folder, &["index.html", "op/a.html"]).unwrap();
        assert_eq!(written, WrittenFiles { files: 3, largest: 31, removed: 0 });
        assert_eq!(fs::read_to_string(folder.join(FILES)).unwrap(), "index.html\nop/a.html\nfiles.txt\n");
        let other = home.path().join("other");
        assert!(put(&other, &["index.html", "index.html/below"]).is_err());
        assert!(!other.exists());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
