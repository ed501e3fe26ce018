//! Expectation files: the cases that a runtime does not pass, their outcome, and the reason.

use std::collections::BTreeMap;

use miette::Diagnostic;
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::{Filter, FilterError};
use onnx_conformance_reference::spec::yaml::{self, YamlError};
use onnx_conformance_subject::{Accepted, Opsets, name_problem, version_problem};
use serde::{Deserialize, Serialize};

use crate::expectations::answers::{Answers, Complete, OperatorAnswers, counts_value};
use crate::expectations::entry::{Entry, EntryFault, quoted};
use crate::expectations::text::ExpectationText;
use crate::measure::AccuracyError;
use crate::promises::{Renames, suite_version};
use crate::questions::MetadataCounts;
use crate::run::{Header, PatternNames, ProcessorFeatures, Shard, feature_list};

/// `expectations/<runtime>.yaml`, or `expectations/<runtime>/<version>.yaml` for the measurement of one version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// The runtime.
    pub runtime: String,
    /// Version of the runtime that the file was last compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Date of the measurement, in UTC: `2026-11-23`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Platform of the measurement: `linux-x86_64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Features of the processor of the measurement; `None` if they were not detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<ProcessorFeatures>,
    /// Version and digest of the suite that the file was written for: `0.1.0 08fcdb34d27a364b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Digests of the adapters that the cases were measured through: more than one if the adapter changed before cases were
    /// measured again. `unknown` for cases that were measured before the project kept digests. Empty for a file that
    /// `cargo xtask measure` did not write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adapter: Vec<String>,
    /// True if recommended cases also count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// True if unsupported cases are also listed one by one. The file is then a measurement, and the runtime confirms each case
    /// that is not listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// The cases that the file is about, as patterns over ids; empty for all cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// Opsets and IR versions that the runtime accepts. Cases in other files are not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Accepted>,
    /// Patterns of graphs whose good form the runtime's optimizer rewrites, by topic; `None` if the runtime was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrites: Option<PatternNames>,
    /// The part of the suite that a tool was asked about; `None` for the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Answers of a tool to each question, by outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// Number of models about whose outputs this much was inferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<Complete>,
    /// Metadata that a tool dropped from the models that it rewrote well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataCounts>,
    /// Processor time that the answers of a tool took, together with that of judging them, in seconds; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<u64>,
    /// Answers of a tool by operator version, pattern of graphs, or topic of the format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operators: Option<BTreeMap<String, OperatorAnswers>>,
    /// The cases that it does not pass.
    #[serde(default)]
    pub expect: Vec<Entry>,
    /// Source file and the line of each entry.
    #[serde(skip)]
    origin: Origin,
}

/// Source of the expectations.
#[derive(Clone, Debug, Default, PartialEq)]
struct Origin {
    path: String,
    lines: Vec<usize>,
}

/// An unusable expectation file.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum ExpectationError {
    /// The text is not an expectation file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] Box<YamlError>),
    /// The file with the shares of error bounds of a measurement cannot be read.
    #[error(transparent)]
    Accuracy(#[from] AccuracyError),
    /// A key outside of the entries has an invalid value.
    #[error("{path}: {fault}")]
    Header {
        /// The file.
        path: String,
        /// The problem.
        fault: HeaderFault,
    },
    /// An entry contradicts itself or another entry.
    #[error("{path}: entry {number}: {fault}")]
    Entry {
        /// The file.
        path: String,
        /// The number of the entry, from 1.
        number: usize,
        /// The problem.
        fault: EntryFault,
    },
    /// The file is about another runtime.
    #[error("{path}: is about '{found}', not '{runtime}'; use the file of this runtime")]
    Runtime {
        /// The file.
        path: String,
        /// The runtime that the file names.
        found: String,
        /// The runtime that is run.
        runtime: String,
    },
    /// The text cannot be rewritten in place.
    #[error("{0}: `expect` must be a list with one `- ` line per entry; rewrite it, or remove the file")]
    ExpectationText(String),
}

/// Fault of a key outside of the entries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderFault {
    /// The name of the runtime is not a word.
    #[error("`runtime`: {0}")]
    Runtime(String),
    /// The version is not a word.
    #[error("`version`: {0}")]
    Version(String),
    /// The scope names a variant. This is the pattern without it.
    #[error("`scope` covers every variant; write '{0}'")]
    ScopeOfVariant(String),
    /// A measurement breaks a rule that other files need not keep.
    #[error("{0}")]
    Measurement(&'static str),
    /// A pattern of the scope cannot be read.
    #[error("`scope`: {0}")]
    Scope(FilterError),
}

impl Expectations {
    /// Expects a runtime to pass everything.
    pub fn empty(runtime: &str) -> Expectations {
        Expectations { runtime: runtime.to_owned(), ..Expectations::default() }
    }

    /// Reads `text`, the contents of the expectation file called `path`.
    pub fn parse(path: &str, text: &str) -> Result<Expectations, ExpectationError> {
        let mut file: Expectations = yaml::read(path, text)?;
        file.rename_cases();
        let checked = file.check_names().and_then(|()| file.check_scope());
        checked.map_err(|fault| ExpectationError::Header { path: path.to_owned(), fault })?;
        file.check_entries(path)?;
        let lines = ExpectationText::read(text).map(|layout| layout.lines()).unwrap_or_default();
        let lines = if lines.len() == file.expect.len() { lines } else { Vec::new() };
        file.origin = Origin { path: path.to_owned(), lines };
        Ok(file)
    }

    /// Reads entries that have a line each, as a file of some runtime that has no other content.
    pub(crate) fn parse_lines(lines: &str) -> Result<Expectations, ExpectationError> {
        let runtime = "any";
        let Some(expect) = lines.lines().map(Entry::from_plain_line).collect::<Option<Vec<Entry>>>() else {
            return Expectations::parse("", &format!("runtime: {runtime}\nexpect:\n{lines}"));
        };
        let mut file = Expectations { expect, ..Expectations::empty(runtime) };
        file.rename_cases();
        file.check_entries("")?;
        Ok(file)
    }

    /// Replaces names of cases of earlier versions of the suite by those of today.
    fn rename_cases(&mut self) {
        let suite = self.suite.as_deref().and_then(suite_version);
        for cases in self.expect.iter_mut().filter_map(|entry| entry.cases.as_mut()) {
            if let Some(current) = Renames::embedded().current(cases, suite) {
                *cases = current;
            }
        }
    }

    fn check_entries(&self, path: &str) -> Result<(), ExpectationError> {
        for (index, entry) in self.expect.iter().enumerate() {
            if let Err(fault) = entry.check() {
                return Err(ExpectationError::Entry { path: path.to_owned(), number: index + 1, fault });
            }
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), HeaderFault> {
        let version = || version_problem(self.version.as_deref()?).map(HeaderFault::Version);
        let name = name_problem(&self.runtime).map(HeaderFault::Runtime);
        name.or_else(version).map_or(Ok(()), Err)
    }

    fn check_scope(&self) -> Result<(), HeaderFault> {
        if let Some(pattern) = self.scope.iter().find(|pattern| Variant::split_id(pattern).1 != Variant::Runtime) {
            return Err(HeaderFault::ScopeOfVariant(Variant::split_id(pattern).0.to_owned()));
        }
        Filter::new(&self.scope).map(drop).map_err(HeaderFault::Scope)
    }

    /// Returns the expectations of the file called `path`, or an error if they are for another runtime.
    pub fn about(self, path: &str, runtime: &str) -> Result<Expectations, ExpectationError> {
        if self.runtime == runtime {
            return Ok(self);
        }
        Err(ExpectationError::Runtime { path: path.to_owned(), found: self.runtime, runtime: runtime.to_owned() })
    }

    /// Returns the path of the source file; empty if there is none.
    pub fn path(&self) -> &str {
        &self.origin.path
    }

    /// Formats an entry with its file and line for messages: `expectations/a.yaml:4: cases: ai.onnx/Sum-13/known_values`.
    pub fn place(&self, index: usize) -> String {
        let entry = self.expect.get(index).map(Entry::selector).unwrap_or_default();
        match self.origin.lines.get(index) {
            Some(line) => format!("{}:{line}: {entry}", self.origin.path),
            None => format!("entry {}: {entry}", index + 1),
        }
    }

    /// Formats the expectations as a new file.
    pub fn to_yaml(&self) -> String {
        let mut text = format!(
            "# The cases that this runtime does not pass, how, and why. `onnx-conformance run` compares results with this file.\n\
             runtime: {}\n",
            quoted(&self.runtime)
        );
        for (key, value) in [("version", &self.version), ("date", &self.date), ("platform", &self.platform)] {
            text.extend(value.iter().map(|value| head_line(key, &quoted(value))));
        }
        text.extend(self.cpu.iter().map(|features| head_line("cpu", &features_value(features))));
        text.extend(self.suite.iter().map(|suite| head_line("suite", &quoted(suite))));
        if !self.adapter.is_empty() {
            text.push_str(&adapter_line(&self.adapter));
        }
        if self.strict {
            text.push_str("strict: true\n");
        }
        if self.exact {
            text.push_str("exact: true\n");
        }
        if !self.scope.is_empty() {
            let patterns: Vec<String> = self.scope.iter().map(|pattern| quoted(pattern)).collect();
            text.extend(["scope: [", &patterns.join(", "), "]\n"]);
        }
        text.push_str(&self.accepts.as_ref().map(accepts_line).unwrap_or_default());
        text.extend(self.rewrites.iter().flat_map(rewrites_lines).map(|line| line + "\n"));
        text.extend(self.shard.iter().map(|shard| head_line("shard", &shard.to_string())));
        if let Some(answers) = &self.answers {
            text.push_str("answers:\n");
            text.extend(answers.iter().map(|(question, counts)| format!("  {question}: {}\n", counts_value(counts))));
        }
        text.extend(self.complete.iter().map(|counts| head_line("complete", &counts_value(counts))));
        text.extend(self.metadata.iter().map(|counts| head_line("metadata", &counts.to_string())));
        text.extend(self.cpu_seconds.iter().map(|seconds| head_line("cpu_seconds", &seconds.to_string())));
        if let Some(operators) = &self.operators {
            text.push_str("operators:\n");
            text.extend(operators.iter().map(|(name, answers)| format!("  {}: {}\n", quoted(name), answers.to_yaml())));
        }
        text.push_str(if self.expect.is_empty() { "expect: []\n" } else { "expect:\n" });
        for entry in &self.expect {
            text.extend(["  - ", &entry.to_yaml(), "\n"]);
        }
        text
    }
}

/// Provenance of a measurement: version, date, platform, processor and suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The version of the runtime.
    pub version: String,
    /// The day in UTC: `2026-11-23`; `None` if the results do not have it.
    pub date: Option<String>,
    /// The platform: `linux-x86_64`.
    pub platform: String,
    /// Features of the processor; `None` if the results do not have them.
    pub cpu: Option<ProcessorFeatures>,
    /// The version and digest of the suite.
    pub suite: String,
}

impl Provenance {
    /// Returns the provenance of the results with this header.
    pub fn from_header(header: &Header) -> Provenance {
        Provenance {
            version: header.runtime.version.clone(),
            date: header.date.clone(),
            platform: format!("{}-{}", header.machine.os, header.machine.arch),
            cpu: header.machine.features.clone(),
            suite: header.suite_text(),
        }
    }
}

/// Returns the text of an expectation file with the runtime's current `accepts`.
pub fn with_accepted(text: &str, accepted: &Accepted) -> String {
    with_head(text, "accepts", accepts_line(accepted).trim_end())
}

/// Returns the text of an expectation file with the suite that it holds for.
pub fn with_suite(text: &str, header: &Header) -> String {
    with_head(text, "suite", head_line("suite", &quoted(&header.suite_text())).trim_end())
}

/// Returns the text of a measurement with the digests of the adapters that its cases were measured through.
pub fn with_adapter(text: &str, digests: &[String]) -> String {
    with_head(text, "adapter", adapter_line(digests).trim_end())
}

/// Returns the text of an expectation file with `strict: true`.
pub fn with_strict(text: &str) -> String {
    with_head(text, "strict", "strict: true")
}

/// Returns the text of a measurement with a new provenance.
pub fn with_provenance(text: &str, provenance: &Provenance) -> String {
    let Provenance { version, date, platform, cpu, suite } = provenance;
    let keys = [
        ("version", Some(quoted(version))),
        ("date", date.as_deref().map(quoted)),
        ("platform", Some(quoted(platform))),
        ("cpu", cpu.as_ref().map(features_value)),
        ("suite", Some(quoted(suite))),
    ];
    keys.into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .fold(text.to_owned(), |text, (key, value)| with_head(&text, key, head_line(key, &value).trim_end()))
}

/// Returns the text of a measurement with the patterns that the runtime rewrites.
pub fn with_rewrites(text: &str, rewrites: &PatternNames) -> String {
    let (mut lines, mut is_block) = (Vec::new(), false);
    for line in text.lines() {
        is_block = line.starts_with(REWRITES) || (is_block && line.starts_with(' '));
        if !is_block {
            lines.push(line.to_owned());
        }
    }
    let at = lines.iter().position(|line| line.starts_with("expect:")).unwrap_or(lines.len());
    lines.splice(at..at, rewrites_lines(rewrites));
    lines.join("\n") + "\n"
}

/// Key of the patterns that a runtime rewrites.
const REWRITES: &str = "rewrites:";

/// Longest line of a list of patterns.
const MAX_WIDTH: usize = 120;

/// Formats the patterns that a runtime rewrites: a list per topic.
fn rewrites_lines(rewrites: &PatternNames) -> Vec<String> {
    if rewrites.is_empty() {
        return vec![format!("{REWRITES} {{}}")];
    }
    let mut lines = vec![REWRITES.to_owned()];
    for (topic, patterns) in rewrites {
        let mut line = format!("  {}: [", quoted(topic));
        for (index, pattern) in patterns.iter().enumerate() {
            let item = format!("{}{}", quoted(pattern), if index + 1 < patterns.len() { "," } else { "]" });
            if line.len() + item.len() > MAX_WIDTH {
                lines.push(line.trim_end().to_owned());
                "    ".clone_into(&mut line);
            }
            line.push_str(&item);
            line.push(' ');
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// Replaces the line of a key in the text, or inserts it before `accepts` and the entries.
fn with_head(text: &str, key: &str, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let find =
        |key: &str| lines.iter().position(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
    let after =
        ["strict", "exact", "scope", "accepts", "expect"].into_iter().filter(|_| key != "accepts").find_map(find);
    match (find(key), after.or_else(|| find("expect"))) {
        (Some(index), _) => lines.splice(index..=index, [line]),
        (None, Some(index)) => lines.splice(index..index, [line]),
        (None, None) => lines.splice(lines.len().., [line]),
    };
    lines.join("\n") + "\n"
}

fn adapter_line(digests: &[String]) -> String {
    let digests: Vec<String> = digests.iter().map(|digest| quoted(digest)).collect();
    head_line("adapter", &format!("[{}]", digests.join(", ")))
}

/// Formats the value of the key `cpu` of a measurement.
fn features_value(features: &ProcessorFeatures) -> String {
    format!("[{}]", feature_list(features))
}

fn head_line(key: &str, value: &str) -> String {
    format!("{key}: {value}\n")
}

/// Formats the line with the key `accepts` of an expectation file.
fn accepts_line(accepts: &Accepted) -> String {
    let range = |opsets: &Opsets| match opsets {
        Opsets::UpTo(newest) => newest.to_string(),
        Opsets::Between(oldest, newest) => format!("[{oldest}, {newest}]"),
    };
    let opsets: Vec<String> =
        accepts.opsets.iter().map(|(domain, opsets)| format!("{}: {}", quoted(domain), range(opsets))).collect();
    format!("accepts: {{ir: {}, opsets: {{{}}}}}\n", range(&accepts.ir), opsets.join(", "))
}

#[cfg(test)]
mod tests;
