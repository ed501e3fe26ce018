//! Folder of a release under testdata/onnx: an index of names, and a pack with the contents that no earlier release has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use onnx_conformance_cases::suite::{
    Pack, Release, ReleaseIndex, Releases, Test, release_key, sha256, short, write_pack,
};
use walkdir::WalkDir;

use super::{DEFAULT, Package, Taken, count};

const LIST: &str = "releases.yaml";

const HEADING: &str =
    "# Written by `cargo xtask vendor`; ARCHITECTURE.md says how the tests are kept, SOURCE.md where they are from.\n";

/// A release to write.
pub(crate) struct Packed {
    pub(super) release: Release,
    /// Index with the tests by name.
    pub(crate) index: ReleaseIndex,
    /// Text of the index.
    text: String,
    /// Index and bytes of the pack; `None` if there is no new content.
    pack: Option<(String, Vec<u8>)>,
    distinct: usize,
    objects: usize,
}

/// Contents of the earlier releases: their indexes, newest first, and the digests of the objects in their packs by short name.
struct Earlier {
    indexes: Vec<(String, ReleaseIndex)>,
    known: BTreeMap<String, String>,
}

/// Packs the contents of a package, based on the releases before it.
pub(super) fn pack(home: &Path, package: &Package, taken: &Taken) -> Result<Packed> {
    let name = &package.release;
    let files = files(&taken.folder)?;
    let Earlier { indexes, known } = earlier(home, name)?;
    let mut index = ReleaseIndex::default();
    let mut tests: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (path, (digest, _)) in &files {
        let digits = short(digest).to_owned();
        match taken.cases.keys().find_map(|case| Some((case, path.strip_prefix(case.as_str())?.strip_prefix('/')?))) {
            Some((case, file)) => tests.entry(case.clone()).or_default().push((file.to_owned(), digits)),
            None => drop(index.files.insert(path.clone(), digits)),
        }
    }
    let mut distinct = 0;
    for (test, files) in tests {
        let same = indexes.iter().find(|(_, index)| index.tests.get(&test) == Some(&Test::Files(files.clone())));
        distinct += usize::from(same.is_none());
        let entry = same.map_or(Test::Files(files), |(release, _)| Test::SameAs(release.clone()));
        index.tests.insert(test, entry);
    }
    let new = new_contents(&files, &known)?;
    let contents: Vec<&[u8]> = new.iter().map(|bytes| bytes.as_slice()).collect();
    let heading = format!("The contents of files that came with ONNX {name}; written by `cargo xtask vendor`.");
    let pack = if contents.is_empty() { None } else { Some(write_pack(&heading, &contents)?) };
    let heading = format!("The files of the backend tests of ONNX {name}; written by `cargo xtask vendor`.");
    let release = Release {
        release: name.clone(),
        package: std::iter::once(&package.file).chain(&package.run).cloned().collect::<Vec<_>>().join(", "),
        sha256: package.sha256.clone(),
        licence: taken.licence.clone(),
        cases: count(&taken.cases)?,
        files: checksums(&files)?,
        exceptions: taken
            .cases
            .iter()
            .filter(|(_, tolerance)| **tolerance != DEFAULT)
            .map(|(k, v)| (k.clone(), *v))
            .collect(),
    };
    Ok(Packed { release, text: index.to_text(&heading), index, pack, distinct, objects: new.len() })
}

/// Returns the contents that no pack has. Models come first, since they are similar and compress well.
fn new_contents<'a>(
    files: &'a BTreeMap<String, (String, Vec<u8>)>,
    known: &BTreeMap<String, String>,
) -> Result<Vec<&'a Vec<u8>>> {
    let mut ordered: Vec<_> = files.iter().collect();
    ordered.sort_by_key(|(path, _)| (!path.ends_with("model.onnx"), *path));
    let mut known = known.clone();
    let mut new = Vec::new();
    for (path, (digest, bytes)) in ordered {
        match known.insert(short(digest).to_owned(), digest.clone()) {
            None => new.push(bytes),
            Some(other) => {
                ensure!(other == *digest, "{path}: {digest} and {other} begin equally; use more digits");
            }
        }
    }
    Ok(new)
}

/// Reads the contents of the releases before this one.
fn earlier(home: &Path, name: &str) -> Result<Earlier> {
    let (mut indexes, mut known) = (Vec::new(), BTreeMap::new());
    for Release { release, .. } in read_list(home)?.into_iter().rev() {
        if release_key(&release) >= release_key(name) {
            continue;
        }
        let path = home.join(&release).join("index.txt");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let index = ReleaseIndex::parse(&text);
        let index = index.map_err(|line| anyhow::anyhow!("{}:{line}: is not a line of an index", path.display()))?;
        indexes.push((release.clone(), index));
        let path = home.join(&release).join("objects.txt");
        if path.exists() {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let pack = Pack::parse(&text).with_context(|| path.display().to_string())?;
            known.extend(pack.objects().iter().map(|object| (short(&object.sha256).to_owned(), object.sha256.clone())));
        }
    }
    Ok(Earlier { indexes, known })
}

impl Packed {
    /// Summarizes the packed release.
    pub(crate) fn summary(&self) -> String {
        let total: usize = self.release.cases.values().sum();
        format!("{total} tests, {} of them new, {} new contents of files", self.distinct, self.objects)
    }

    /// Writes the folder of the release, and then its entry in the list.
    pub(crate) fn write(&self, home: &Path) -> Result<()> {
        let folder = home.join(&self.release.release);
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, bytes).with_context(|| path.display().to_string())
        };
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        if let Some((text, bytes)) = &self.pack {
            put("objects.txt", text.as_bytes())?;
            put("objects.bin", bytes)?;
        }
        put("index.txt", self.text.as_bytes())?;
        let mut list = read_list(home)?;
        list.retain(|release| release.release != self.release.release);
        list.push(self.release.clone());
        list.sort_by_key(|release| release_key(&release.release));
        let path = home.join(LIST);
        fs::write(&path, format!("{HEADING}{}", serde_yaml::to_string(&list)?))
            .with_context(|| path.display().to_string())
    }

    /// Returns the differences of the committed release from the package. The table of the pack is compared, which has the
    /// digests, and every object is read: the bytes depend on the version of the compressor.
    pub(super) fn differences(&self, home: &Path) -> Result<Vec<String>> {
        let name = &self.release.release;
        let read = |file: &str| fs::read_to_string(home.join(name).join(file)).unwrap_or_default();
        let digests = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with("block ")).map(str::to_owned).collect()
        };
        let mut different = Vec::new();
        if read("index.txt") != self.text {
            different.push(format!("{name}/index.txt"));
        }
        let table = self.pack.as_ref().map_or("", |(text, _)| text);
        if digests(&read("objects.txt")) != digests(table) {
            different.push(format!("{name}/objects.txt"));
        }
        if !read_list(home)?.contains(&self.release) {
            different.push(format!("{LIST}, the entry of {name}"));
        }
        let releases = Releases::from_folder(home)?;
        if let Some(number) = releases.find(name) {
            let tests: Vec<String> = releases.index(number)?.tests.keys().cloned().collect();
            for test in tests {
                releases.read_test(number, &test)?;
            }
        }
        Ok(different)
    }
}

/// Returns the vendored releases; empty if there is no list yet.
pub(super) fn read_list(home: &Path) -> Result<Vec<Release>> {
    let path = home.join(LIST);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_yaml::from_str(&text).with_context(|| path.display().to_string())
}

/// Returns the files below a folder with their digests, by paths with `/` separators.
fn files(folder: &Path) -> Result<BTreeMap<String, (String, Vec<u8>)>> {
    let mut found = BTreeMap::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
        if entry.file_type().is_file() {
            let names: Vec<_> = entry.path().strip_prefix(folder)?.iter().map(|name| name.to_string_lossy()).collect();
            let bytes = fs::read(entry.path()).with_context(|| entry.path().display().to_string())?;
            found.insert(names.join("/"), (sha256(&bytes), bytes));
        }
    }
    let names: BTreeSet<String> = found.keys().map(|path| path.to_lowercase()).collect();
    ensure!(names.len() == found.len(), "two names differ only in case, which some file systems ignore");
    Ok(found)
}

/// Returns the digest of the `sha256sum` output for these files, sorted by path.
fn checksums(files: &BTreeMap<String, (String, Vec<u8>)>) -> Result<String> {
    let mut text = String::new();
    for (path, (digest, _)) in files {
        writeln!(text, "{digest}  {path}")?;
    }
    Ok(sha256(text.as_bytes()))
}
