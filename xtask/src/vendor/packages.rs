//! `packages.yaml`: the pinned Python packages of ONNX's releases. The last row is the release that the project states: the specs
//! are imported from it, and its tests are the default suite.

use std::fs;

use anyhow::{Context as _, Result};
use onnx_conformance_cases::suite::release_key;
use serde::Deserialize;

use crate::workspace;

/// Path of the file from the root.
pub(crate) const PACKAGES: &str = "xtask/src/vendor/packages.yaml";

/// Name of the package that has the releases.
const ONNX: &str = "onnx";

/// A pinned package with the tests and the schemas of a release: a wheel of the package index.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Package {
    /// The release. A candidate or a development build has the number of the release that it leads to.
    pub(crate) release: String,
    /// Name on the index, if it is not `onnx`.
    #[serde(default = "onnx", rename = "package")]
    pub(crate) name: String,
    /// Version on the index, if it is not the release: `1.24.0rc1`.
    #[serde(default)]
    pub(crate) version: Option<String>,
    pub(crate) file: String,
    pub(crate) sha256: String,
    /// Other packages to generate its tests with, if it ships them as code.
    #[serde(default)]
    pub(crate) run: Vec<String>,
}

fn onnx() -> String {
    ONNX.to_owned()
}

impl Package {
    /// Pins a wheel of a version on the index.
    pub(crate) fn new(release: &str, name: &str, version: &str, file: &str, sha256: &str) -> Package {
        Package {
            release: release.to_owned(),
            name: name.to_owned(),
            version: Some(version.to_owned()).filter(|version| version != release),
            file: file.to_owned(),
            sha256: sha256.to_owned(),
            run: Vec::new(),
        }
    }

    /// Returns the version on the index.
    pub(crate) fn version(&self) -> &str {
        self.version.as_ref().unwrap_or(&self.release)
    }

    /// Returns the requirement of pip: `onnx==1.23.2`.
    pub(crate) fn requirement(&self) -> String {
        format!("{}=={}", self.name, self.version())
    }

    /// Returns true for a release, and false for a candidate or a development build of it.
    pub(crate) fn is_released(&self) -> bool {
        self.name == ONNX && self.version.is_none()
    }

    /// Formats the row.
    fn row(&self) -> String {
        let mut row = format!("- release: {}\n", self.release);
        let optional = [
            ("package", Some(&self.name).filter(|name| *name != ONNX)),
            ("version", self.version.as_ref()),
            ("file", Some(&self.file)),
            ("sha256", Some(&self.sha256)),
        ];
        for (key, value) in optional.iter().filter_map(|(key, value)| Some((key, (*value)?))) {
            row.extend(["  ", key, ": ", value, "\n"]);
        }
        if !self.run.is_empty() {
            row.extend(["  run: [", &self.run.join(", "), "]\n"]);
        }
        row
    }
}

/// Returns the pinned packages of all releases, oldest first.
pub(crate) fn packages() -> Result<Vec<Package>> {
    parse(&read()?)
}

/// Returns the package of the release that the project states.
pub(crate) fn newest() -> Result<Package> {
    packages()?.pop().with_context(|| format!("{PACKAGES} pins no package; add a row with the wheel of a release"))
}

/// Reads the text of the file in the tree, which a task may have changed.
pub(crate) fn read() -> Result<String> {
    fs::read_to_string(workspace::root().join(PACKAGES)).with_context(|| format!("cannot read {PACKAGES}"))
}

fn parse(text: &str) -> Result<Vec<Package>> {
    let mut packages: Vec<Package> = serde_yaml::from_str(text).context(PACKAGES)?;
    packages.sort_by_key(|package| release_key(&package.release));
    Ok(packages)
}

/// Returns the text of the file with a row for this package, which replaces one of the same release.
pub(crate) fn with_row(text: &str, package: &Package) -> String {
    let mut parts: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match parts.last_mut().filter(|_| !line.starts_with("- ")) {
            Some(part) => part.push_str(line),
            None => parts.push(line.to_owned()),
        }
    }
    let first = format!("- release: {}\n", package.release);
    match parts.iter_mut().find(|part| part.starts_with(&first)) {
        Some(part) => *part = package.row(),
        None => parts.push(package.row()),
    }
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_they_are_committed() {
        let text = read().unwrap();
        for package in parse(&text).unwrap() {
            assert_eq!(with_row(&text, &package), text, "{}", package.release);
        }
    }

    #[test]
    fn the_specs_are_those_of_the_newest_package() {
        use onnx_conformance_reference::spec::Specs;

        assert_eq!(newest().unwrap().release, Specs::embedded().newest_release());
    }

    #[test]
    fn a_row_replaces_that_of_the_same_release() {
        let build = Package::new("9.1.0", "onnx-weekly", "9.1.0.dev1", "w.whl", "ab");
        let text = "# Head.\n- release: 9.0.0\n  file: a.whl\n  sha256: cd\n";
        let with_build = with_row(text, &build);
        let row = "- release: 9.1.0\n  package: onnx-weekly\n  version: 9.1.0.dev1\n  file: w.whl\n  sha256: ab\n";
        assert_eq!(with_build, format!("{text}{row}"));
        assert_eq!(parse(&with_build).unwrap().pop(), Some(build.clone()));
        assert_eq!((build.requirement().as_str(), build.is_released()), ("onnx-weekly==9.1.0.dev1", false));
        let released =
            Package { run: vec!["numpy==1".to_owned()], ..Package::new("9.1.0", "onnx", "9.1.0", "r.whl", "ef") };
        let row = "- release: 9.1.0\n  file: r.whl\n  sha256: ef\n  run: [numpy==1]\n";
        assert_eq!(with_row(&with_build, &released), format!("{text}{row}"));
        assert_eq!((released.requirement().as_str(), released.is_released()), ("onnx==9.1.0", true));
    }
}
