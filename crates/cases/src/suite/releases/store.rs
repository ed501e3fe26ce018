//! All vendored releases, from the program itself or from a folder.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use bytes::Bytes;
use flate2::read::ZlibDecoder;
use onnx_conformance_reference::spec::yaml;
use serde::{Deserialize, Serialize};

use crate::case::{MAX_BINARY, read_file};
use crate::suite::SuiteError;
use crate::suite::releases::{Pack, PackError, ReleaseIndex, Test, short};

static EMBEDDED: LazyLock<Result<Arc<Releases>, SuiteError>> =
    LazyLock::new(|| Releases::open(Home::Embedded).map(Arc::new));

/// The list of releases.
const LIST: &str = "releases.yaml";

/// Defects of tests.
const DEFECTS: &str = "defects.yaml";

/// Remedy for a malformed file.
const REMEDY: &str = "run `cargo xtask vendor` for this release again";

/// Upstream's bound on a floating-point value: `|actual - expected| <= atol + rtol * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Relative to the expected value.
    pub rtol: f64,
    /// Absolute.
    pub atol: f64,
}

/// A vendored release: the origin of its files, and the tolerances of upstream's runner.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Its name, such as `1.7.0`.
    pub release: String,
    /// The file name of the Python package with its tests.
    pub package: String,
    /// The SHA-256 of that file.
    pub sha256: String,
    /// The licence of the tests, by its SPDX name; its text is a file of the release.
    pub licence: String,
    /// Number of tests in each group.
    pub cases: BTreeMap<String, usize>,
    /// The SHA-256 of the checksums of all its files, as sha256sum writes them, sorted by path.
    pub files: String,
    /// Tests with another tolerance in upstream's runner than the usual one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exceptions: BTreeMap<String, Tolerance>,
}

/// A test in the release that stores it.
#[derive(Clone, Copy, Debug)]
pub struct FullTest<'a> {
    /// The index of the release that stores the test, the first that has it in this form.
    pub origin: usize,
    /// Its files with the digits of their contents.
    pub files: &'a [(String, String)],
}

/// Location of the files.
#[derive(Debug)]
enum Home {
    Embedded,
    Folder(PathBuf),
}

/// The parts of a release that have been read.
#[derive(Debug)]
struct Entry {
    index: OnceLock<ReleaseIndex>,
    file: OnceLock<Bytes>,
}

/// The objects of all packs, by their digits.
#[derive(Debug)]
struct Objects {
    /// The packs by the index of their release.
    packs: BTreeMap<usize, Pack>,
    places: HashMap<String, (usize, usize)>,
}

/// All vendored releases. Nothing is read before it is needed.
#[derive(Debug)]
pub struct Releases {
    home: Home,
    list: Vec<Release>,
    entries: Vec<Entry>,
    objects: OnceLock<Objects>,
}

impl Releases {
    /// Returns the embedded releases.
    pub fn embedded() -> Result<Arc<Releases>, SuiteError> {
        EMBEDDED.as_ref().map(Arc::clone).map_err(SuiteError::Embedded)
    }

    /// Returns the releases in `onnx` below a folder, such as `testdata` of a checkout, or the embedded ones.
    pub fn below(testdata: Option<&Path>) -> Result<Arc<Releases>, SuiteError> {
        match testdata {
            Some(folder) => Releases::from_folder(&folder.join("onnx")),
            None => Releases::embedded(),
        }
    }

    /// Returns the releases in a folder, such as `testdata/onnx` of a checkout.
    pub fn from_folder(folder: &Path) -> Result<Arc<Releases>, SuiteError> {
        Releases::open(Home::Folder(folder.to_owned())).map(Arc::new)
    }

    fn open(home: Home) -> Result<Releases, SuiteError> {
        let (path, text) = (home.path(LIST), home.text(LIST)?);
        let file_error = |rule: String| SuiteError::File { path: path.clone(), rule };
        let list: Vec<Release> =
            yaml::read(&path.display().to_string(), &text).map_err(|error| file_error(error.message))?;
        let in_order = list.windows(2).all(|pair| match pair {
            [one, next] => super::release_key(&one.release) < super::release_key(&next.release),
            _ => true,
        });
        if list.is_empty() || !in_order {
            return Err(file_error(
                "has no releases, or they are out of order; sort them by number, without duplicates".to_owned(),
            ));
        }
        let entries = list.iter().map(|_| Entry { index: OnceLock::new(), file: OnceLock::new() }).collect();
        Ok(Releases { home, list, entries, objects: OnceLock::new() })
    }

    /// Returns the releases, oldest first.
    pub fn all(&self) -> &[Release] {
        &self.list
    }

    /// Returns the index of a release in [`Releases::all`], by its name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|release| release.release == name)
    }

    /// Returns the file list of the release at this index.
    pub fn index(&self, number: usize) -> Result<&ReleaseIndex, SuiteError> {
        let (Some(release), Some(entry)) = (self.list.get(number), self.entries.get(number)) else {
            let rule = format!("has no release number {number}, only {}", self.list.len());
            return Err(SuiteError::File { path: self.home.path(LIST), rule });
        };
        if let Some(index) = entry.index.get() {
            return Ok(index);
        }
        let name = format!("{}/index.txt", release.release);
        let line = |line: usize| self.file_error(&name, &format!("line {line} is malformed"));
        let index = ReleaseIndex::parse(&self.home.text(&name)?).map_err(line)?;
        for (group, &recorded) in &release.cases {
            let of_group = |test: &&String| test.split_once('/').is_some_and(|(name, _)| name == group);
            let found = index.tests.keys().filter(of_group).count();
            if found != recorded {
                return Err(
                    self.file_error(&name, &format!("lists {found} tests of {group}, but {recorded} are recorded"))
                );
            }
        }
        Ok(entry.index.get_or_init(|| index))
    }

    /// Returns a text that changes when a release's files or the known defects change.
    pub fn fingerprint(&self, number: usize) -> Result<String, SuiteError> {
        let files = self.list.get(number).map_or("", |release| &release.files);
        Ok(format!("{files}\n{}", self.defects()?))
    }

    /// Returns the text of `defects.yaml`.
    pub fn defects(&self) -> Result<String, SuiteError> {
        if self.home.has(DEFECTS) { self.home.text(DEFECTS) } else { Ok("[]".to_owned()) }
    }

    /// Returns a test of a release, with its stored files, or `None` if the release has no such test.
    pub fn test(&self, number: usize, name: &str) -> Result<Option<FullTest<'_>>, SuiteError> {
        match self.index(number)?.tests.get(name) {
            None => Ok(None),
            Some(Test::Files(files)) => Ok(Some(FullTest { origin: number, files })),
            Some(Test::SameAs(earlier)) => {
                let origin = self.find(earlier).filter(|origin| *origin < number);
                let index = origin.map(|origin| self.index(origin)).transpose()?;
                if let Some((origin, Test::Files(files))) = origin.zip(index.and_then(|index| index.tests.get(name))) {
                    return Ok(Some(FullTest { origin, files }));
                }
                let release = self.list.get(number).map_or("", |release| &release.release);
                let rule = format!("{name} refers to {earlier}, which does not store it");
                Err(self.file_error(&format!("{release}/index.txt"), &rule))
            }
        }
    }

    /// Returns the contents of a test's files by name, or `None` if the release has no such test.
    pub fn read_test(&self, number: usize, name: &str) -> Result<Option<BTreeMap<String, Bytes>>, SuiteError> {
        let Some(FullTest { files, .. }) = self.test(number, name)? else { return Ok(None) };
        let read = |(file, digits): &(String, String)| Ok((file.clone(), self.read(digits)?));
        files.iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    /// Returns the contents of the object with these digits.
    pub fn read(&self, digits: &str) -> Result<Bytes, SuiteError> {
        let objects = self.objects()?;
        let Some(&(number, at)) = objects.places.get(digits) else {
            let rule = format!("no pack has the object {digits}; {REMEDY}");
            return Err(SuiteError::File { path: self.home.path(""), rule });
        };
        let release = self.list.get(number).map_or("", |release| &release.release);
        let name = format!("{release}/objects.bin");
        let file = self.file(number, &name)?;
        let file_error = |error: PackError| self.file_error(&name, &error.to_string());
        let found = objects.packs.get(&number).and_then(|pack| Some((pack, pack.objects().get(at)?)));
        let (pack, object) = found.ok_or_else(|| self.file_error(&name, &format!("has no object {digits}")))?;
        pack.read(object, file).map_err(file_error)
    }

    fn file(&self, number: usize, name: &str) -> Result<&Bytes, SuiteError> {
        let entry = self.entries.get(number).ok_or_else(|| self.file_error(name, "belongs to no release"))?;
        if let Some(file) = entry.file.get() {
            return Ok(file);
        }
        let file = self.home.bytes(name)?;
        Ok(entry.file.get_or_init(|| file))
    }

    fn objects(&self) -> Result<&Objects, SuiteError> {
        if let Some(objects) = self.objects.get() {
            return Ok(objects);
        }
        let mut objects = Objects { packs: BTreeMap::new(), places: HashMap::new() };
        for (number, release) in self.list.iter().enumerate() {
            let name = format!("{}/objects.txt", release.release);
            if !self.home.has(&name) {
                continue;
            }
            let text = self.home.text(&name)?;
            let pack = Pack::parse(&text).map_err(|error| self.file_error(&name, &error.to_string()))?;
            for (at, object) in pack.objects().iter().enumerate() {
                if objects.places.insert(short(&object.sha256).to_owned(), (number, at)).is_some() {
                    return Err(self.file_error(&name, &format!("duplicate object {}", object.sha256)));
                }
            }
            objects.packs.insert(number, pack);
        }
        Ok(self.objects.get_or_init(|| objects))
    }

    fn file_error(&self, name: &str, rule: &str) -> SuiteError {
        SuiteError::File { path: self.home.path(name), rule: format!("{rule}; {REMEDY}") }
    }
}

impl Home {
    fn path(&self, name: &str) -> PathBuf {
        match self {
            Home::Embedded => Path::new("testdata/onnx").join(name),
            Home::Folder(folder) => folder.join(name),
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Home::Embedded => Embedded::find(name).is_some(),
            Home::Folder(folder) => folder.join(name).is_file(),
        }
    }

    fn bytes(&self, name: &str) -> Result<Bytes, SuiteError> {
        let io = |error| SuiteError::Io { path: self.path(name), error };
        match self {
            Home::Embedded => {
                let missing = || io(std::io::Error::other("the program was built without this file"));
                Embedded::find(name).ok_or_else(missing)?.bytes().map_err(io)
            }
            Home::Folder(folder) => read_file(&folder.join(name), MAX_BINARY).map(Bytes::from).map_err(io),
        }
    }

    fn text(&self, name: &str) -> Result<String, SuiteError> {
        let file_error = |_| SuiteError::File { path: self.path(name), rule: format!("is not UTF-8; {REMEDY}") };
        String::from_utf8(self.bytes(name)?.into()).map_err(file_error)
    }
}

/// An embedded file, plain or compressed.
enum Embedded {
    Plain(&'static [u8]),
    Zlib(&'static [u8]),
}

impl Embedded {
    fn find(name: &str) -> Option<Embedded> {
        let file =
            |name: &str| onnx_conformance_testdata::file(name).or_else(|| onnx_conformance_testdata_old::file(name));
        file(name).map(Embedded::Plain).or_else(|| file(&format!("{name}.z")).map(Embedded::Zlib))
    }

    fn bytes(self) -> std::io::Result<Bytes> {
        match self {
            Embedded::Plain(bytes) => Ok(Bytes::from_static(bytes)),
            Embedded::Zlib(packed) => {
                let mut bytes = Vec::new();
                ZlibDecoder::new(packed).read_to_end(&mut bytes)?;
                Ok(bytes.into())
            }
        }
    }
}
