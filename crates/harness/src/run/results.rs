//! results.jsonl: a header line, then one line per case, flushed at once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::path::Path;

use onnx_conformance_cases::case::{TextRelease, Variant, open_regular};
use onnx_conformance_cases::suite::SUITE_VERSION;
use onnx_conformance_subject::Declaration;
use serde::{Deserialize, Serialize};

use crate::escape;
use crate::promises::Renames;
use crate::run::{CaseResult, ProcessorFeature, ProcessorFeatures, Shard};

/// Version of the format.
const FORMAT: u32 = 2;

/// Maximum size of a line in bytes, much larger than any result.
const MAX_LINE: u64 = 2 << 20;

/// Largest size of a file in bytes.
const MAX_SIZE: u64 = 512 << 20;

/// The first line of a results file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of this format.
    pub format: u32,
    /// The version of the suite.
    pub suite: String,
    /// The digest of the sources of the suite's cases. If it is the same, so are the cases.
    pub digest: String,
    /// The release whose texts decide the levels of the cases; `None` for the cases of a folder, whose levels are fixed, and in a
    /// file of a program that did not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRelease>,
    /// The version of the program that ran them.
    pub tool: String,
    /// The runtime under test.
    pub runtime: Declaration,
    /// The day on which the run started, in UTC: `2026-11-23`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The machine on which it ran.
    pub machine: Machine,
    /// The selected cases.
    pub selected: Selected,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system.
    pub os: String,
    /// The processor's architecture.
    pub arch: String,
    /// Number of processors that the program may use.
    pub cpus: usize,
    /// The processor's features; `None` in a file of a program that did not detect them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<ProcessorFeatures>,
}

/// Selection of the cases of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// Number of cases.
    pub cases: usize,
    /// The patterns that selected them; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The groups that they were selected from, such as ONNX releases; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// The shard of the selected cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The digest of the times that the shards were balanced by; `None` for shards of equal size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// The variant of the cases.
    #[serde(default)]
    pub variant: Variant,
}

impl Header {
    /// Creates the header of a run of a runtime on this machine, by the texts of the suite's release. Requests to
    /// optimize a model affect no outcome, so the header does not record whether the runtime answers them.
    pub fn new(runtime: Declaration, digest: String, selected: Selected) -> Header {
        Header {
            format: FORMAT,
            suite: SUITE_VERSION.to_owned(),
            digest,
            text: Some(TextRelease::newest()),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            runtime: Declaration { optimize: None, ..runtime },
            date: None,
            machine: Machine::here(),
            selected,
        }
    }

    /// Returns the version and digest of the suite, as an expectation file names it: `0.1.0 08fcdb34d27a364b`. Texts of another
    /// release than the suite's follow: `0.1.0 08fcdb34d27a364b text 1.18.0`.
    pub fn suite_text(&self) -> String {
        let text = self.other_text().map(|text| format!(" text {text}")).unwrap_or_default();
        format!("{} {}{text}", self.suite, self.digest)
    }

    /// Returns the release whose texts decide the levels, if it is not the suite's.
    pub fn other_text(&self) -> Option<TextRelease> {
        self.text.and_then(TextRelease::if_other)
    }

    /// Returns the releases whose texts decide the levels in this run and in another, if they differ.
    pub fn texts_if_other_than(&self, other: &Header) -> Option<[TextRelease; 2]> {
        let texts = [self.text?, other.text?];
        (texts[0] != texts[1]).then_some(texts)
    }

    /// Fails unless results with this header can be combined with those of another run: suite, texts, runtime and variant are the same.
    pub fn check_same(&self, new: &Header) -> Result<(), OtherRun> {
        if self.runtime != new.runtime {
            let name =
                |runtime: &Declaration| escape::line(&format!("{} {}", runtime.name, runtime.version)).into_owned();
            let (old, new) = (name(&self.runtime), name(&new.runtime));
            let difference = if old == new { " with another declaration".to_owned() } else { format!(", not {new}") };
            return Err(OtherRun::Runtime { old, difference });
        }
        if (&self.suite, &self.digest) != (&new.suite, &new.digest) {
            let [old, new] =
                [self, new].map(|header| escape::line(&format!("{} {}", header.suite, header.digest)).into_owned());
            return Err(OtherRun::Suite { old, new });
        }
        if let Some([old, new]) = self.texts_if_other_than(new) {
            return Err(OtherRun::Text { old, new });
        }
        let (old, new) = (self.selected.variant, new.selected.variant);
        if old == new { Ok(()) } else { Err(OtherRun::Variant { old, new }) }
    }

    /// Sets the release whose texts decide the levels of the cases; `None` for the cases of a folder.
    #[must_use]
    pub fn by_text(self, text: Option<TextRelease>) -> Header {
        Header { text, ..self }
    }

    /// Sets the date of the run, such as `2026-01-31`.
    #[must_use]
    pub fn dated(self, date: String) -> Header {
        Header { date: Some(date), ..self }
    }
}

/// Difference of two runs whose results cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtherRun {
    /// Another runtime, version or declaration.
    #[error("is about {old}{difference}; results of two runtimes cannot be combined")]
    Runtime {
        /// Name and version of the first.
        old: String,
        /// Difference of the second.
        difference: String,
    },
    /// Another version of the suite, or other cases.
    #[error("is about another suite ({old}, not {new}), whose cases may differ; run them again")]
    Suite {
        /// Version and digest of the first.
        old: String,
        /// Version and digest of the second.
        new: String,
    },
    /// Texts of another release.
    #[error("was judged by the texts of ONNX {old}, not {new}; use --text {old}, or one file per text")]
    Text {
        /// The first release.
        old: TextRelease,
        /// The second release.
        new: TextRelease,
    },
    /// Another variant of the cases.
    #[error("is about the variant {old}, not {new}; use one file per variant")]
    Variant {
        /// The first variant.
        old: Variant,
        /// The second variant.
        new: Variant,
    },
}

impl Machine {
    /// Describes this machine.
    pub fn here() -> Machine {
        Machine {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            features: Some(ProcessorFeature::here()),
        }
    }
}

/// Contents of a results file.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Its first line.
    pub header: Header,
    /// The results, in the order of the ends of their cases.
    pub results: Vec<CaseResult>,
    /// True if the last line was cut off, for example because the run was killed. That line is ignored.
    pub is_torn: bool,
}

impl Read {
    /// Counts the selected cases without a result.
    pub fn missing(&self) -> usize {
        self.header.selected.cases.saturating_sub(self.results.len())
    }

    /// Returns true if every selected case has a result.
    pub fn is_complete(&self) -> bool {
        !self.is_torn && self.missing() == 0
    }
}

/// A results file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is larger than any that the suite makes.
    #[error("is larger than the limit of {MAX_SIZE} bytes; run the cases in parts (--shard)")]
    Large,
    /// A line is not a valid result.
    #[error("line {line} is not a result: {error}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The reason.
        error: serde_json::Error,
    },
    /// A line is longer than any result.
    #[error("line {0} exceeds the limit of {MAX_LINE} bytes; the file is not a results file of `onnx-conformance run`")]
    Long(usize),
    /// Two lines are results of the same case.
    #[error("lines {first} and {second} are both results of {id:?}; run the cases again, or remove the wrong line")]
    Twice {
        /// The case.
        id: String,
        /// The number of the first line, from 1.
        first: usize,
        /// The number of the second line.
        second: usize,
    },
    /// There are more results than selected cases.
    #[error("the first line announces {cases} cases, but {results} have a result; run the cases again")]
    TooMany {
        /// Number of selected cases.
        cases: usize,
        /// Number of cases with a result.
        results: usize,
    },
    /// The first line is not a valid header.
    #[error(
        "the first line does not name suite and runtime: {0}; this is not a results file of `onnx-conformance run`"
    )]
    Header(serde_json::Error),
    /// The file has another format version.
    #[error("the file has format {0}, but this program reads format {FORMAT}; run the cases again")]
    Format(u32),
    /// There is no header.
    #[error("the file is empty; its first line must name suite and runtime")]
    Empty,
}

/// Writes the header.
pub fn write_header(out: &mut dyn Write, header: &Header) -> Result<(), ResultsError> {
    write_line(out, header)
}

/// Writes a result and flushes it, so that a killed run leaves whole lines.
pub fn write_result(out: &mut dyn Write, result: &CaseResult) -> Result<(), ResultsError> {
    write_line(out, result)
}

fn write_line<T: Serialize>(out: &mut dyn Write, value: &T) -> Result<(), ResultsError> {
    let mut line = serde_json::to_vec(value).map_err(std::io::Error::from)?;
    line.push(b'\n');
    out.write_all(&line)?;
    Ok(out.flush()?)
}

/// Reads the results file at a path.
pub fn read_results_file(path: &Path) -> Result<Read, ResultsError> {
    let (file, size) = open_regular(path)?;
    if size > MAX_SIZE {
        return Err(ResultsError::Large);
    }
    // The file may grow during reading.
    read_results(&mut BufReader::new(file.take(MAX_SIZE)))
}

/// Reads a results file. Fails if a case has more than one result. A last line that was cut off is ignored.
pub fn read_results(file: &mut dyn BufRead) -> Result<Read, ResultsError> {
    /// The first field of every version of the format.
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let mut line = Vec::new();
    if !read_line(file, 1, &mut line)? {
        return Err(ResultsError::Empty);
    }
    let Version { format } = serde_json::from_slice(&line).map_err(ResultsError::Header)?;
    if format != FORMAT {
        return Err(ResultsError::Format(format));
    }
    let header = serde_json::from_slice(&line).map_err(ResultsError::Header)?;
    let mut read = Read { header, results: Vec::new(), is_torn: false };
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for number in 2.. {
        if !read_line(file, number, &mut line)? {
            break;
        }
        // A result without its line end may have lost more than that.
        if !line.ends_with(b"\n") {
            read.is_torn = true;
            break;
        }
        let mut result: CaseResult =
            serde_json::from_slice(&line).map_err(|error| ResultsError::Line { line: number, error })?;
        result.id = Renames::embedded().current(&result.id, Some(&read.header.suite)).unwrap_or(result.id);
        if let Some(first) = lines.insert(result.id.clone(), number) {
            return Err(ResultsError::Twice { id: result.id, first, second: number });
        }
        read.results.push(result);
    }
    let (cases, results) = (read.header.selected.cases, read.results.len());
    if results > cases {
        return Err(ResultsError::TooMany { cases, results });
    }
    Ok(read)
}

/// Reads the next line with its end, and returns true if there is one.
fn read_line(file: &mut dyn BufRead, number: usize, line: &mut Vec<u8>) -> Result<bool, ResultsError> {
    line.clear();
    let read = file.take(MAX_LINE + 1).read_until(b'\n', line)?;
    if read as u64 > MAX_LINE { Err(ResultsError::Long(number)) } else { Ok(read > 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Outcome;
    use crate::run::test_results::result;

    fn text() -> Vec<u8> {
        let selected = Selected { cases: 3, shard: Some("1/2".parse().unwrap()), ..Selected::default() };
        let mut text = Vec::new();
        write_header(&mut text, &Header::new(Declaration::named("a", "1"), "d".to_owned(), selected)).unwrap();
        write_result(&mut text, &result("a/b", Outcome::Pass)).unwrap();
        write_result(&mut text, &result("a/c", Outcome::Crash)).unwrap();
        text
    }

    #[test]
    fn written_results_read_back() {
        let read = read_results(&mut text().as_slice()).unwrap();
        assert_eq!(read.results, [result("a/b", Outcome::Pass), result("a/c", Outcome::Crash)]);
        assert_eq!((read.missing(), read.is_torn, read.is_complete()), (1, false, false));
        assert_eq!(read.header.selected.shard.unwrap().to_string(), "1/2");
        assert_eq!(
            (read.header.suite.as_str(), read.header.suite_text()),
            (SUITE_VERSION, format!("{SUITE_VERSION} d"))
        );
    }

    #[test]
    fn a_machine_names_its_processor_and_an_older_file_does_not() {
        let header: Header = serde_json::from_slice(text().split(|&byte| byte == b'\n').next().unwrap()).unwrap();
        assert_eq!(header.machine.features, Some(ProcessorFeature::here()));
        let older: Machine = serde_json::from_str(r#"{"os":"linux","arch":"x86_64","cpus":8}"#).unwrap();
        assert_eq!(older.features, None);
    }

    #[test]
    fn a_header_names_its_text_and_an_older_file_has_none() {
        let line = String::from_utf8(text()).unwrap().lines().next().unwrap().to_owned();
        let written = format!("\"text\":\"{}\",", TextRelease::newest());
        assert!(line.contains(&written), "{line}");
        let with = |text: &str| serde_json::from_str::<Header>(&line.replace(&written, text)).unwrap();
        let (own, other, older) = (with(&written), with("\"text\":\"1.18.0\","), with(""));
        assert_eq!((own.other_text(), older.text), (None, None));
        assert_eq!(other.other_text(), "1.18.0".parse().ok());
        assert_eq!(other.suite_text(), format!("{} text 1.18.0", own.suite_text()));
        assert!(own.texts_if_other_than(&other).is_some_and(|[own, other]| own > other));
        assert!(own.texts_if_other_than(&own).is_none() && own.texts_if_other_than(&older).is_none());
    }

    #[test]
    fn a_file_that_is_cut_off_anywhere_is_read_as_far_as_it_goes() {
        let text = text();
        let header = text.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        for end in header..text.len() {
            let read = read_results(&mut &text[..end]).unwrap();
            let whole = text[header..end].split(|&byte| byte == b'\n').count() - 1;
            assert_eq!((read.results.len(), read.is_torn), (whole, text[end - 1] != b'\n'), "{end}");
        }
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let read = |bytes: &[u8]| read_results(&mut &*bytes).unwrap_err().to_string();
        assert!(read(b"").contains("empty"));
        assert!(read(b"a,b\n").contains("not a results file"));
        assert!(read(b"{\"format\":7}\n").contains("format 7"));
        let broken = [text(), b"{}\n".to_vec()].concat();
        assert!(read(&broken).contains("line 4"), "{}", read(&broken));
    }

    #[test]
    fn a_line_has_a_bound() {
        let endless = std::io::repeat(b'x').take(1 << 40);
        let error = read_results(&mut std::io::BufReader::new(endless)).unwrap_err().to_string();
        assert!(error.starts_with("line 1 exceeds the limit of 2097152 bytes"), "{error}");
        let text = text();
        let endless = text.as_slice().chain(std::io::repeat(b'x').take(1 << 40));
        let error = read_results(&mut std::io::BufReader::new(endless)).unwrap_err().to_string();
        assert!(error.starts_with("line 4 exceeds the limit"), "{error}");
    }

    #[test]
    fn a_case_has_one_result() {
        let mut doubled = text();
        write_result(&mut doubled, &result("a/b", Outcome::Crash)).unwrap();
        let error = read_results(&mut doubled.as_slice()).unwrap_err().to_string();
        assert!(error.starts_with("lines 2 and 4 are both results of \"a/b\"; "), "{error}");
        let mut whole = text();
        write_result(&mut whole, &result("a/d", Outcome::Pass)).unwrap();
        assert!(read_results(&mut whole.as_slice()).unwrap().is_complete());
        write_result(&mut whole, &result("a/e", Outcome::Pass)).unwrap();
        let error = read_results(&mut whole.as_slice()).unwrap_err().to_string();
        assert!(error.contains("announces 3 cases, but 4 have a result"), "{error}");
    }
}
