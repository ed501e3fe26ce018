//! `submission.yaml`: the facts of a submission, and the digest of each of its files.

use std::collections::BTreeMap;

use anyhow::bail;
use onnx_conformance_harness::escape;
use onnx_conformance_reference::spec::yaml;
use serde::Deserialize;
use serde_json::Value;

/// Version of the format.
const FORMAT: u32 = 1;

/// Name of the whole suite. No other profile exists.
const FULL: &str = "full";

/// Contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// Version of this format.
    pub(crate) format: u32,
    /// Name of the runtime.
    pub(crate) runtime: String,
    /// Version of the runtime.
    pub(crate) version: String,
    /// Address at which anybody can get the version.
    pub(crate) package: String,
    /// Version and digest of the suite: `0.1.0 08fcdb34d27a364b`.
    pub(crate) suite: String,
    /// The part of the suite that was run.
    pub(crate) profile: String,
    /// Day of the run, in UTC.
    pub(crate) date: String,
    /// Platform of the run: `linux-x86_64`.
    pub(crate) platform: String,
    /// Features of the processor: `avx2, fma`.
    pub(crate) cpu: String,
    /// Digest of the adapter's files.
    pub(crate) adapter: String,
    /// SHA-256 of each file, by its path in the folder.
    pub(crate) files: BTreeMap<String, String>,
}

impl Manifest {
    /// Creates the manifest of files, with facts to be filled in.
    pub(crate) fn of_files(files: BTreeMap<String, String>) -> Manifest {
        Manifest {
            format: FORMAT,
            runtime: String::new(),
            version: String::new(),
            package: String::new(),
            suite: String::new(),
            profile: FULL.to_owned(),
            date: String::new(),
            platform: String::new(),
            cpu: String::new(),
            adapter: String::new(),
            files,
        }
    }

    /// Parses the text of the file at `place`.
    pub(crate) fn parse(place: &str, text: &str) -> anyhow::Result<Manifest> {
        let manifest: Manifest = yaml::read(place, text).map_err(|error| *error)?;
        if manifest.format != FORMAT {
            let format = manifest.format;
            bail!(
                "{place}: has format {format}, but this program reads format {FORMAT}; remove the file, and seal the folder again"
            );
        }
        if manifest.profile != FULL {
            let shown = escape::line(&manifest.profile);
            bail!("{place}: is about the profile '{shown}', which this program does not know; it knows {FULL}");
        }
        if !is_address(&manifest.package) {
            let shown = escape::line(&manifest.package);
            bail!(
                "{place}: the package '{shown}' is no address that begins with https://; seal the folder again with --seal --package URL"
            );
        }
        Ok(manifest)
    }

    /// Returns the facts, by key.
    fn facts(&self) -> [(&'static str, &str); 9] {
        [
            ("runtime", &self.runtime),
            ("version", &self.version),
            ("package", &self.package),
            ("suite", &self.suite),
            ("profile", &self.profile),
            ("date", &self.date),
            ("platform", &self.platform),
            ("cpu", &self.cpu),
            ("adapter", &self.adapter),
        ]
    }

    /// Fails if a fact differs from what the folder shows.
    pub(crate) fn check_facts(&self, place: &str, shown: &Manifest) -> anyhow::Result<()> {
        let differing = self.facts().into_iter().zip(shown.facts()).find(|(sealed, found)| sealed != found);
        if let Some(((key, sealed), (_, found))) = differing {
            bail!(
                "{place}: says `{key}: {}`, but the results and the adapter show '{}'; seal the folder again with --seal",
                escape::line(sealed),
                escape::line(found)
            );
        }
        Ok(())
    }

    /// Formats the file.
    pub(crate) fn to_yaml(&self) -> String {
        let mut text =
            format!("# A submission, sealed by `onnx-conformance submit-check DIR --seal`.\nformat: {}\n", self.format);
        // A JSON string is a valid YAML string.
        let quoted = |value: &str| Value::from(value).to_string();
        for (key, value) in self.facts() {
            text.extend([key, ": ", &quoted(value), "\n"]);
        }
        text.push_str("files:\n");
        for (path, digest) in &self.files {
            text.extend(["  ", &quoted(path), ": ", &quoted(digest), "\n"]);
        }
        text
    }
}

/// Returns true if a text is an address of the web.
pub(crate) fn is_address(text: &str) -> bool {
    text.len() > "https://".len() && text.starts_with("https://") && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let files = BTreeMap::from([("results.jsonl".to_owned(), "0a".to_owned())]);
        let (version, package) = ("1.10".to_owned(), "https://example.org/a-1.10".to_owned());
        Manifest { version, package, ..Manifest::of_files(files) }
    }

    #[test]
    fn a_manifest_reads_back() {
        let text = manifest().to_yaml();
        assert_eq!(Manifest::parse("a.yaml", &text).unwrap(), manifest());
        for (old, new, rule) in [
            ("format: 1", "format: 2", "has format 2, but this program reads format 1"),
            ("\"full\"", "\"pr\"", "is about the profile 'pr', which this program does not know; it knows full"),
            ("version:", "versions:", "versions"),
            ("files:\n", "file:\n", "file"),
            ("https:", "http:", "is no address that begins with https://"),
        ] {
            let error = Manifest::parse("a.yaml", &text.replacen(old, new, 1)).unwrap_err().to_string();
            assert!(error.contains(rule) && error.starts_with("a.yaml"), "{error}");
        }
    }

    #[test]
    fn a_fact_that_differs_is_named() {
        let other = Manifest { version: "1.11".to_owned(), ..manifest() };
        manifest().check_facts("a.yaml", &manifest()).unwrap();
        let error = manifest().check_facts("a.yaml", &other).unwrap_err().to_string();
        assert!(
            error.starts_with("a.yaml: says `version: 1.10`, but the results and the adapter show '1.11'; "),
            "{error}"
        );
    }
}
