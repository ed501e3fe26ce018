//! Files of a submission, with their digests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use onnx_conformance_cases::case::{read_file, read_text};
use onnx_conformance_cases::suite::{sha256, short};
use onnx_conformance_harness::escape;
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_subject::AdapterFile;

use crate::cli::print;
use crate::cli::submission::manifest::Manifest;

/// Name of the file with the seal.
const MANIFEST: &str = "submission.yaml";

/// Name of the file with the results.
const RESULTS: &str = "results.jsonl";

/// Beginning of the paths of the adapter's files.
const ADAPTER: &str = "adapter/";

/// Files of an adapter that are not its source.
const NO_SOURCE: [&str; 3] = ["adapter/adapter.yaml", "adapter/versions.yaml", "adapter/README.md"];

/// Maximum number of files.
const MAX_FILES: usize = 1_000;

/// Maximum number of folders within each other.
const MAX_DEPTH: usize = 16;

/// Maximum size of a file in bytes.
const MAX_SIZE: u64 = 512 << 20;

/// The folder of a submission.
#[derive(Debug)]
pub(crate) struct SubmissionFolder {
    root: PathBuf,
    /// SHA-256 of each file except the seal, by its path in the folder.
    digests: BTreeMap<String, String>,
}

impl SubmissionFolder {
    /// Reads all files below a folder.
    pub(crate) fn open(root: &Path) -> anyhow::Result<SubmissionFolder> {
        let mut files = BTreeMap::new();
        add_files(root, root, 0, &mut files)?;
        files.remove(MANIFEST);
        if !files.contains_key(RESULTS) {
            bail!("{}: is missing; put the results of a run of the whole suite there", root.join(RESULTS).display());
        }
        let mut digests = BTreeMap::new();
        for (name, path) in files {
            let bytes = read_file(&path, MAX_SIZE).with_context(|| path.display().to_string())?;
            digests.insert(name, sha256(&bytes));
        }
        Ok(SubmissionFolder { root: root.to_owned(), digests })
    }

    /// Returns the path of the results.
    pub(crate) fn results(&self) -> PathBuf {
        self.root.join(RESULTS)
    }

    /// Returns true if a path is below the folder. A path whose own folder does not exist is not.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let places = fs::canonicalize(folder).and_then(|folder| Ok((folder, fs::canonicalize(&self.root)?)));
        places.is_ok_and(|(folder, root)| folder.starts_with(root))
    }

    /// Returns the path of the seal for messages.
    pub(crate) fn seal_place(&self) -> String {
        self.root.join(MANIFEST).display().to_string()
    }

    /// Returns the digests of the files.
    pub(crate) fn digests(&self) -> &BTreeMap<String, String> {
        &self.digests
    }

    /// Reads the seal; `None` if there is none.
    pub(crate) fn manifest(&self) -> anyhow::Result<Option<Manifest>> {
        let path = self.root.join(MANIFEST);
        if !path.exists() {
            return Ok(None);
        }
        let place = path.display().to_string();
        let text = read_text(&path).with_context(|| place.clone())?;
        Manifest::parse(&place, &text).map(Some)
    }

    /// Writes the seal.
    pub(crate) fn write_manifest(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let path = self.root.join(MANIFEST);
        write_whole(&path, manifest.to_yaml().as_bytes()).with_context(|| path.display().to_string())?;
        print::note(&format!("wrote {}", path.display()));
        Ok(())
    }

    /// Fails unless the files are those that the seal lists, unchanged.
    pub(crate) fn check_files(&self, sealed: &Manifest) -> anyhow::Result<()> {
        let place = |name: &str| format!("{}/{}", self.root.display(), escape::line(name));
        for (name, digest) in &sealed.files {
            match self.digests.get(name) {
                Some(found) if found == digest => {}
                Some(_) => bail!(
                    "{}: has changed since the folder was sealed; restore the file, or seal the folder again with --seal",
                    place(name)
                ),
                None if is_outside(name) => bail!(
                    "{}: lists '{}', which is outside of the folder; remove the line, and put the file into the folder",
                    self.seal_place(),
                    escape::line(name)
                ),
                None => bail!(
                    "{}: is missing, but the seal lists it; restore the file, or seal the folder again with --seal",
                    place(name)
                ),
            }
        }
        if let Some(name) = self.digests.keys().find(|name| !sealed.files.contains_key(*name)) {
            bail!("{}: is not in the seal; remove the file, or seal the folder again with --seal", place(name));
        }
        Ok(())
    }

    /// Fails unless the adapter is there with its source.
    pub(crate) fn check_adapter(&self) -> anyhow::Result<()> {
        let path = self.root.join("adapter").join("adapter.yaml");
        let place = path.display();
        if !path.is_file() {
            bail!("{place}: is missing; copy the folder of the adapter to {}", self.root.join("adapter").display());
        }
        let text = read_text(&path).with_context(|| place.to_string())?;
        AdapterFile::parse(&place.to_string(), &text).map_err(|error| *error)?;
        if !self.adapter_files().any(|(name, _)| !NO_SOURCE.contains(&name)) {
            let folder = self.root.join("adapter");
            bail!(
                "{}: has no source of the adapter; copy the program that adapter.yaml starts there",
                folder.display()
            );
        }
        Ok(())
    }

    /// Returns the number of files of the adapter, and their digest: 16 hexadecimal digits.
    pub(crate) fn adapter(&self) -> (usize, String) {
        let lines: Vec<String> = self.adapter_files().map(|(name, digest)| format!("{name} {digest}\n")).collect();
        (lines.len(), short(&sha256(lines.concat().as_bytes())).to_owned())
    }

    fn adapter_files(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.digests.iter().map(|(name, digest)| (name.as_str(), digest.as_str()));
        files.filter(|(name, _)| name.starts_with(ADAPTER))
    }
}

/// Returns true if a path leads out of the folder that it is relative to.
fn is_outside(name: &str) -> bool {
    Path::new(name).is_absolute() || name.split(['/', '\\']).any(|part| part == "..")
}

/// Adds the files below a folder, by their paths in `root`.
fn add_files(root: &Path, folder: &Path, depth: usize, files: &mut BTreeMap<String, PathBuf>) -> anyhow::Result<()> {
    if depth > MAX_DEPTH {
        bail!("{}: is more than {MAX_DEPTH} folders deep; move its files up", folder.display());
    }
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry.with_context(|| folder.display().to_string())?;
        let path = entry.path();
        let place = path.display();
        let kind = entry.file_type().with_context(|| place.to_string())?;
        if kind.is_symlink() {
            bail!("{place}: is a link, which may lead out of the folder; put the file itself there");
        }
        if kind.is_dir() {
            add_files(root, &path, depth + 1, files)?;
            continue;
        }
        if !kind.is_file() {
            bail!("{place}: is not a regular file; remove it");
        }
        if files.len() == MAX_FILES {
            bail!("{}: has more than {MAX_FILES} files; remove what is no part of the submission", root.display());
        }
        let relative = path.strip_prefix(root).ok().and_then(Path::to_str);
        let Some(relative) = relative else { bail!("{place}: the name is not UTF-8; rename the file") };
        files.insert(relative.replace('\\', "/"), path.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("adapter/more")).unwrap();
        for (name, text) in [
            ("results.jsonl", "{}\n"),
            ("adapter/adapter.yaml", "command: [a]\n"),
            ("adapter/more/a.py", "pass\n"),
            ("submission.yaml", ""),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn open(folder: &TempDir) -> SubmissionFolder {
        SubmissionFolder::open(folder.path()).unwrap()
    }

    #[test]
    fn all_files_but_the_seal_have_a_digest() {
        let home = folder();
        let names: Vec<String> = open(&home).digests().keys().cloned().collect();
        assert_eq!(names, ["adapter/adapter.yaml", "adapter/more/a.py", "results.jsonl"]);
        let (count, before) = open(&home).adapter();
        assert_eq!((count, before.len()), (2, 16));
        fs::write(home.path().join("adapter/more/a.py"), "fail\n").unwrap();
        assert_ne!(open(&home).adapter().1, before);
    }

    #[test]
    fn a_path_below_the_folder_is_found_however_it_is_written() {
        let home = folder();
        let other = tempfile::tempdir().unwrap();
        for inside in ["a.svg", "adapter/a.svg", "adapter/../a.svg", "./adapter/more/a.svg"] {
            assert!(open(&home).contains(&home.path().join(inside)), "{inside}");
        }
        for outside in ["../a.svg", "gone/a.svg"] {
            assert!(!open(&home).contains(&home.path().join(outside)), "{outside}");
        }
        assert!(!open(&home).contains(&other.path().join("a.svg")));
    }

    #[test]
    fn files_that_differ_from_the_seal_are_named() {
        let home = folder();
        let sealed = Manifest::of_files(open(&home).digests().clone());
        open(&home).check_files(&sealed).unwrap();
        let said = |sealed: &Manifest| open(&home).check_files(sealed).unwrap_err().to_string();
        let with = |name: &str| {
            let mut sealed = sealed.clone();
            sealed.files.insert(name.to_owned(), "0a".to_owned());
            sealed
        };
        assert!(said(&with("gone.txt")).contains("gone.txt: is missing, but the seal lists it"));
        for outside in ["../a.txt", "/a.txt", "adapter/../../a.txt"] {
            assert!(said(&with(outside)).contains("which is outside of the folder"), "{outside}");
        }
        fs::write(home.path().join("notes.txt"), "").unwrap();
        assert!(said(&sealed).contains("notes.txt: is not in the seal"));
        fs::write(home.path().join("adapter/more/a.py"), "fail\n").unwrap();
        assert!(said(&sealed).contains("a.py: has changed since the folder was sealed"));
    }

    #[test]
    fn an_adapter_needs_its_source() {
        let home = folder();
        open(&home).check_adapter().unwrap();
        fs::remove_file(home.path().join("adapter/more/a.py")).unwrap();
        assert!(open(&home).check_adapter().unwrap_err().to_string().contains("has no source of the adapter"));
        fs::write(home.path().join("adapter/adapter.yaml"), "commands: [a]\n").unwrap();
        assert!(open(&home).check_adapter().unwrap_err().to_string().contains("adapter.yaml:1"));
        fs::remove_file(home.path().join("adapter/adapter.yaml")).unwrap();
        assert!(open(&home).check_adapter().unwrap_err().to_string().contains("adapter.yaml: is missing"));
        fs::remove_file(home.path().join("results.jsonl")).unwrap();
        assert!(SubmissionFolder::open(home.path()).unwrap_err().to_string().contains("results.jsonl: is missing"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused() {
        let home = folder();
        std::os::unix::fs::symlink("results.jsonl", home.path().join("adapter/b")).unwrap();
        assert!(SubmissionFolder::open(home.path()).unwrap_err().to_string().contains("is a link"));
    }
}
