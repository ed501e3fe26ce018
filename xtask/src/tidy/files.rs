//! Reads the project's files, except test data, which is upstream's.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use walkdir::{DirEntry, WalkDir};

use crate::tidy::masked::Masked;

/// A text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Path from the workspace's root.
    pub(crate) path: String,
    /// Contents.
    pub(crate) text: String,
    /// Code and comments of a Rust file.
    pub(crate) masked: Masked,
    /// True if the whole file is compiled only for tests.
    pub(crate) is_test: bool,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> File {
        let is_rust = has_extension(path, "rs");
        let masked = if is_rust { Masked::new(text) } else { Masked::default() };
        File { path: path.to_owned(), text: text.to_owned(), masked, is_test: path.starts_with("tests/") }
    }

    pub(crate) fn is_rust(&self) -> bool {
        has_extension(&self.path, "rs")
    }

    /// Returns true if the file is written by one of the project's commands.
    pub(crate) fn is_generated(&self) -> bool {
        self.text.lines().next().is_some_and(|line| line.contains("@generated"))
    }

    /// Returns each line with its number and true if only tests compile it. Comments at the end of a line are left out.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str, bool)> {
        let production = self.masked.production.lines().chain(std::iter::repeat(""));
        self.text.lines().zip(production).enumerate().map(|(number, (line, production))| {
            let is_test = self.is_test || production.is_empty() && !line.is_empty();
            (number + 1, line.split("//").next().unwrap_or(line), is_test)
        })
    }

    /// Returns the code without test-only items. Line numbers are preserved.
    pub(crate) fn production(&self) -> &str {
        if self.is_test { "" } else { &self.masked.production }
    }
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// Reads every text file of the project, in order.
pub(crate) fn read(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(is_ours) {
        let entry = entry?;
        if !entry.file_type().is_file() {
            continue;
        }
        let bytes = fs::read(entry.path()).with_context(|| entry.path().display().to_string())?;
        let relative = entry.path().strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(File::new(&relative, &text));
        }
    }
    let test_modules: BTreeSet<String> = files.iter().flat_map(test_modules).collect();
    for file in &mut files {
        file.is_test |= is_of_tests(&file.path, &test_modules);
    }
    Ok(files)
}

/// Returns false for the files of git, cargo and upstream.
fn is_ours(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let is_cache = entry.file_type().is_dir() && entry.path().join("CACHEDIR.TAG").exists();
    !is_cache
        && name != ".git"
        && name != "target"
        && name != "node_modules"
        && !(name == "testdata" && entry.depth() == 1)
}

/// Returns the files of the modules that a file declares for tests only.
fn test_modules(file: &File) -> Vec<String> {
    let folder = match file.path.rsplit_once('/') {
        Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => folder.to_owned(),
        _ => file.path.trim_end_matches(".rs").to_owned(),
    };
    let lines: Vec<&str> = file.masked.code.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]").filter_map(|pair| {
        let name = pair[1].strip_suffix(';')?.rsplit_once("mod ")?.1;
        Some([format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")])
    });
    declared.flatten().collect()
}

/// Returns true for the file of a test module, and for those of the modules inside it.
fn is_of_tests(path: &str, test_modules: &BTreeSet<String>) -> bool {
    let is_inside = |module: &String| {
        let rest = module.strip_suffix("/mod.rs").and_then(|folder| path.strip_prefix(folder));
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    test_modules.contains(path) || test_modules.iter().any(is_inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_inside_a_test_module_is_one() {
        let modules: BTreeSet<String> =
            test_modules(&File::new("src/a/mod.rs", "#[cfg(test)]\nmod two;\n")).into_iter().collect();
        for (path, is_test) in [
            ("src/a/two.rs", true),
            ("src/a/two/mod.rs", true),
            ("src/a/two/three.rs", true),
            ("src/a/two/three/four.rs", true),
            ("src/a/twofold/three.rs", false),
            ("src/a/one.rs", false),
        ] {
            assert_eq!(is_of_tests(path, &modules), is_test, "{path}");
        }
    }

    #[test]
    fn a_test_module_is_found_beside_the_file_that_declares_it() {
        let file = File::new("src/a/mod.rs", "mod one;\n#[cfg(test)]\nmod two;\n");
        assert_eq!(test_modules(&file), ["src/a/two.rs", "src/a/two/mod.rs"]);
        let file = File::new("src/a/b.rs", "#[cfg(test)]\npub(crate) mod two;\n");
        assert_eq!(test_modules(&file), ["src/a/b/two.rs", "src/a/b/two/mod.rs"]);
    }
}
