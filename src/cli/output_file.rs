//! Output files of a command. They are never files that it reads, and never replace files of another kind.

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use onnx_conformance_check::Limits;
use onnx_conformance_check::scan::scan;
use onnx_conformance_report::models::ModelFile;
use same_file::Handle;

use crate::cli::usage::Usage;

/// Number of leading bytes that identify the kind of a file.
const HEAD: u64 = 4096;

/// The kind of a file that a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Results, one line of JSON per case.
    Results,
    /// A report in `JUnit` XML.
    Junit,
    /// The summary of a run in markdown.
    Summary,
    /// The JSON of a badge.
    Badge,
    /// The image of a badge.
    BadgeImage,
    /// A report of `check` in plain text.
    Text,
    /// A report of `check` in JSON.
    CheckJson,
    /// A report in SARIF.
    Sarif,
    /// A report of `check` in markdown.
    CheckMarkdown,
    /// A report of `check` in HTML.
    CheckHtml,
    /// An ONNX model.
    Model,
    /// An expectation file.
    Expectations,
}

impl Kind {
    /// Returns the name of the kind in messages.
    const fn name(self) -> &'static str {
        match self {
            Kind::Results => "a results file",
            Kind::Junit => "a JUnit XML report",
            Kind::Summary => "a markdown summary of a run",
            Kind::Badge => "a badge",
            Kind::BadgeImage => "a badge in SVG",
            Kind::Text => "a text file",
            Kind::CheckJson => "a JSON report of `check`",
            Kind::Sarif => "a SARIF report",
            Kind::CheckMarkdown => "a markdown report of `check`",
            Kind::CheckHtml => "an HTML report of `check`",
            Kind::Model => "an ONNX model",
            Kind::Expectations => "an expectation file",
        }
    }

    /// Returns true if an existing file is of this kind, by its first bytes or its extension. An empty file is of every kind.
    fn is_of(self, path: &Path) -> io::Result<bool> {
        let mut head = Vec::new();
        File::open(path)?.take(HEAD).read_to_end(&mut head)?;
        if head.is_empty() {
            return Ok(true);
        }
        let text = String::from_utf8_lossy(&head);
        let begins = |start: &str| text.trim_start_matches('\u{feff}').trim_start().starts_with(start);
        let ends = |ends: &[&str]| {
            let end = path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default();
            ends.contains(&end.as_str())
        };
        Ok(match self {
            Kind::Results => begins("{\"format\":"),
            Kind::Junit => begins("<") && text.contains("<testsuite"),
            Kind::Summary => begins("## ONNX conformance of "),
            Kind::Badge => begins("{") && text.contains("\"schemaVersion\""),
            Kind::BadgeImage => begins("<svg") && text.contains("ONNX opset "),
            Kind::Text => ends(&["", "txt", "text", "log", "out"]) && !head.contains(&0),
            Kind::CheckJson => begins("{\n  \"format\":"),
            Kind::Sarif => begins("{") && text.contains("\"$schema\"") && text.contains("sarif"),
            Kind::CheckMarkdown => begins("# Models\n"),
            Kind::CheckHtml => begins("<!doctype html>") && text.contains("<title>ONNX models: "),
            Kind::Model => ends(&["onnx"]) || is_model(path),
            Kind::Expectations => ends(&["yaml", "yml"]),
        })
    }
}

/// Returns true if a file contains a model, regardless of its name.
fn is_model(path: &Path) -> bool {
    ModelFile::open(path).is_ok_and(|file| scan(&file, &Limits::default()).is_ok())
}

/// The files that one command reads and writes.
#[derive(Debug, Default)]
pub(crate) struct OutputFiles {
    /// The files that the command reads, with their names for messages.
    inputs: Vec<(Handle, String)>,
    /// The files that it writes: canonical path, and path as given.
    places: Vec<(PathBuf, PathBuf)>,
}

impl OutputFiles {
    /// Adds files that the command reads. `what` names them in messages: `the model`. A file that cannot be opened is skipped:
    /// its reader reports the error.
    pub(crate) fn reading<'a>(mut self, what: &str, paths: impl IntoIterator<Item = &'a Path>) -> OutputFiles {
        let regular = paths.into_iter().filter(|path| fs::metadata(path).is_ok_and(|found| found.is_file()));
        let handles = regular.filter_map(|path| Handle::from_path(path).ok());
        self.inputs.extend(handles.map(|handle| (handle, what.to_owned())));
        self
    }

    /// Adds a file to write.
    ///
    /// Fails if the command reads it, writes it twice, or it exists and is of another kind. Streams such as a pipe or a terminal
    /// are always allowed, because they hold no data that could be lost.
    pub(crate) fn add(&mut self, path: &Path, kind: Kind) -> Result<(), Usage> {
        let shown = path.display();
        let place = place(path);
        if let Ok(found) = fs::metadata(path) {
            if is_stream(&found) {
                return Ok(());
            }
            if !found.is_file() {
                return Err(Usage(format!("{shown} is not a regular file; choose another file")));
            }
            let handle = Handle::from_path(path).map_err(|error| Usage(format!("{shown}: {error}")))?;
            if let Some((_, what)) = self.inputs.iter().find(|(input, _)| *input == handle) {
                return Err(Usage(format!("{shown} is {what}, which this command reads; choose another file")));
            }
            if !kind.is_of(path).map_err(|error| Usage(format!("{shown}: {error}")))? {
                let name = kind.name();
                return Err(Usage(format!(
                    "{shown} exists and is not {name}, so it is not overwritten; choose another file, or remove it \
                     first"
                )));
            }
        }
        if let Some((_, other)) = self.places.iter().find(|(other, _)| *other == place) {
            return Err(Usage(format!(
                "{shown} and {} are the same file; choose two different files",
                other.display()
            )));
        }
        self.places.push((place, path.to_owned()));
        Ok(())
    }
}

/// Returns true if the file is a stream, where writing replaces no bytes.
fn is_stream(found: &Metadata) -> bool {
    #[cfg(unix)]
    fn is(kind: FileType) -> bool {
        use std::os::unix::fs::FileTypeExt as _;
        kind.is_fifo() || kind.is_char_device() || kind.is_socket()
    }
    #[cfg(not(unix))]
    fn is(_: FileType) -> bool {
        false
    }
    is(found.file_type())
}

/// Resolves the links in a path, as far as it exists.
fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let new = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(new).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates `files`, and returns the error of a command with these inputs and outputs.
    fn check(files: &[(&str, &str)], reads: &[&str], writes: &[(&str, Kind)]) -> Result<(), Usage> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let reads: Vec<PathBuf> = reads.iter().map(|name| folder.path().join(name)).collect();
        let mut outputs = OutputFiles::default().reading("the model", reads.iter().map(PathBuf::as_path));
        writes.iter().try_for_each(|(name, kind)| outputs.add(&folder.path().join(name), *kind))
    }

    #[test]
    fn a_file_that_is_read_is_not_written() {
        let Usage(error) = check(&[("a", "")], &["a"], &[("./a", Kind::Model)]).unwrap_err();
        assert!(error.ends_with("./a is the model, which this command reads; choose another file"), "{error}");
        assert_eq!(check(&[("a", "")], &["none"], &[("a", Kind::Model), ("b", Kind::Results)]), Ok(()));
        let Usage(error) = check(&[], &[], &[("a", Kind::Junit), ("./a", Kind::Badge)]).unwrap_err();
        assert!(error.contains("are the same file"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn another_name_of_a_file_that_is_read_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.onnx"), "").unwrap();
        fs::hard_link(at("a.onnx"), at("hard")).unwrap();
        std::os::unix::fs::symlink("a.onnx", at("soft")).unwrap();
        for name in ["hard", "soft"] {
            let mut outputs = OutputFiles::default().reading("the model", [at("a.onnx").as_path()]);
            assert!(outputs.add(&at(name), Kind::Model).unwrap_err().0.contains("is the model"), "{name}");
        }
        assert!(OutputFiles::default().add(folder.path(), Kind::Model).unwrap_err().0.contains("not a regular file"));
        assert!(OutputFiles::default().add(Path::new("/dev/null"), Kind::Junit).is_ok());
    }

    #[test]
    fn a_file_of_another_kind_is_not_replaced() {
        let own = [
            (Kind::Results, "a", "{\"format\":2,\"suite\":\"1\"}\n"),
            (Kind::Junit, "a", "<?xml version=\"1.0\"?>\n<testsuites name=\"a\">"),
            (Kind::Summary, "a", "## ONNX conformance of a: b"),
            (Kind::Badge, "a", "{\"schemaVersion\":1}"),
            (Kind::BadgeImage, "a", "<svg width=\"9\"><title>a: 1 of 2 operators of ONNX opset 13</title>"),
            (Kind::Text, "a.txt", "a.onnx: valid"),
            (Kind::CheckJson, "a", "{\n  \"format\": 1,"),
            (Kind::Sarif, "a", "{\n  \"$schema\": \"https://a/sarif-schema-2.1.0.json\","),
            (Kind::CheckMarkdown, "a", "# Models\n\n|"),
            (Kind::CheckHtml, "a", "<!doctype html>\n<title>ONNX models: 1 checked</title>"),
            (Kind::Model, "a.onnx", "broken"),
            (Kind::Expectations, "a.yaml", "runtime: a"),
        ];
        for (kind, name, text) in own {
            assert_eq!(check(&[(name, text)], &[], &[(name, kind)]), Ok(()), "{kind:?}");
            assert_eq!(check(&[("b", "")], &[], &[("b", kind)]), Ok(()), "{kind:?} and an empty file");
            for (other, _, other_text) in own.iter().filter(|(other, ..)| *other != kind) {
                let error = check(&[("b.py", other_text)], &[], &[("b.py", kind)]);
                assert!(
                    error.is_err_and(|Usage(error)| error.contains("exists and is not ")),
                    "{kind:?} over {other:?}"
                );
            }
        }
    }
}
