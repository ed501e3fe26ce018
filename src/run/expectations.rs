//! What is expected of a runtime besides passing: the cases that it does not pass, how, and why.

use std::collections::BTreeSet;
use std::fmt::Write;

use miette::Diagnostic;
use onnx_conformance_reference::spec::yaml::{self, YamlError};
use serde::{Deserialize, Serialize};

use crate::run::{CaseResult, Outcome};
use crate::suite::Filter;

/// expectations/<runtime>.yaml.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// The runtime that the file is about.
    pub runtime: String,
    /// What it does not pass.
    #[serde(default)]
    pub expect: Vec<Entry>,
}

/// Cases that a runtime does not pass. An entry selects either by id or by what the runtime says it lacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// A glob over case ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<String>,
    /// What the runtime lacks, in its own words: every case that is unsupported for this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    /// How the cases end; an entry for `unsupported` needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// How the message begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it is discussed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// An expectation file that cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum ExpectationError {
    /// The text is not such a file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] Box<YamlError>),
    /// An entry contradicts itself.
    #[error("{path}: entry {number}: {rule}")]
    Entry {
        /// The file.
        path: String,
        /// The number of the entry, from 1.
        number: usize,
        /// What is wrong.
        rule: String,
    },
    /// The file is about another runtime.
    #[error("{path}: is about '{found}', not '{runtime}'; name the runtime's own file")]
    Runtime {
        /// The file.
        path: String,
        /// The runtime that the file names.
        found: String,
        /// The runtime that is run.
        runtime: String,
    },
}

/// How a result stands to what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It passes, and nothing else is expected.
    Pass,
    /// It fails as listed.
    Expected,
    /// It fails and is not listed, or fails worse than listed.
    Regression,
    /// It passes though listed, or fails less badly.
    Improvement,
    /// It bears on nothing: what the standard leaves open, what was not sent, what says nothing.
    Silent,
}

impl Expectations {
    /// Reads `text`, the contents of the expectation file called `path`.
    pub fn parse(path: &str, text: &str) -> Result<Expectations, ExpectationError> {
        let file: Expectations = yaml::read(path, text)?;
        for (at, entry) in file.expect.iter().enumerate() {
            let wrong = |rule: &str| {
                Err(ExpectationError::Entry { path: path.to_owned(), number: at + 1, rule: rule.to_owned() })
            };
            match (&entry.cases, &entry.unsupported, entry.outcome) {
                (None, None, _) => return wrong("selects nothing; give it `cases` or `unsupported`"),
                (Some(_), Some(_), _) => return wrong("selects twice; give it `cases` or `unsupported`, not both"),
                (Some(_), None, None) => return wrong("has no outcome; say how the cases end"),
                (Some(_), None, Some(Outcome::Pass)) => return wrong("expects a pass, which needs no entry"),
                (None, Some(_), Some(_)) => return wrong("says `unsupported` already; leave out the outcome"),
                _ => {}
            }
            if let Some(pattern) = &entry.cases
                && let Err(error) = Filter::new(&[pattern])
            {
                return wrong(&error.to_string());
            }
        }
        Ok(file)
    }

    /// The expectations of the file called `path` themselves, if they are about this runtime.
    pub fn about(self, path: &str, runtime: &str) -> Result<Expectations, ExpectationError> {
        if self.runtime == runtime {
            return Ok(self);
        }
        Err(ExpectationError::Runtime { path: path.to_owned(), found: self.runtime, runtime: runtime.to_owned() })
    }

    /// The entries that select a result, by position.
    fn matching(&self, result: &CaseResult) -> impl Iterator<Item = (usize, &Entry)> {
        self.expect.iter().enumerate().filter(move |(_, entry)| match (&entry.cases, &entry.unsupported) {
            (Some(pattern), _) => Filter::new(&[pattern]).is_ok_and(|filter| filter.matches(&result.id)),
            (None, Some(what)) => result.missing.as_ref() == Some(what),
            (None, None) => false,
        })
    }

    /// How a result stands, and notes in `used` the entries that selected it.
    pub fn standing(&self, result: &CaseResult, strict: bool, used: &mut BTreeSet<usize>) -> Standing {
        let mut listed = None;
        for (at, entry) in self.matching(result) {
            used.insert(at);
            let outcome = entry.outcome.unwrap_or(Outcome::Unsupported);
            let says = entry.message.as_ref().is_none_or(|message| result.message.starts_with(message));
            if result.outcome == outcome && says {
                return Standing::Expected;
            }
            listed = listed.max(Some(outcome.rank()));
        }
        let rank = result.outcome.rank();
        match listed {
            _ if result.outcome.is_silent() || !result.is_gated(strict) => Standing::Silent,
            Some(listed) if rank < listed => Standing::Improvement,
            None if result.outcome == Outcome::Pass => Standing::Pass,
            Some(_) | None => Standing::Regression,
        }
    }

    /// The entries, by position, that selected no result of a whole run.
    pub fn unused<'a>(&'a self, used: &'a BTreeSet<usize>) -> impl Iterator<Item = &'a Entry> {
        self.expect.iter().enumerate().filter(|(at, _)| !used.contains(at)).map(|(_, entry)| entry)
    }

    /// The file that these results ask for: one entry for each thing the runtime lacks, one for each other failure.
    /// Entries that still hold keep their reasons.
    #[must_use]
    pub fn updated<'a>(&self, results: impl IntoIterator<Item = &'a CaseResult>, strict: bool) -> Expectations {
        let failing: Vec<&CaseResult> = results
            .into_iter()
            .filter(|result| result.outcome != Outcome::Pass && !result.outcome.is_silent() && result.is_gated(strict))
            .collect();
        let holds = |entry: &Entry| {
            let alone = Expectations { runtime: String::new(), expect: vec![entry.clone()] };
            let mut used = BTreeSet::new();
            let standings: Vec<Standing> =
                failing.iter().map(|result| alone.standing(result, strict, &mut used)).collect();
            !used.is_empty() && standings.contains(&Standing::Expected)
        };
        let mut expect: Vec<Entry> = self.expect.iter().filter(|entry| holds(entry)).cloned().collect();
        let kept = Expectations { runtime: self.runtime.clone(), expect: expect.clone() };
        let mut lacks = BTreeSet::new();
        for result in failing {
            if kept.standing(result, strict, &mut BTreeSet::new()) == Standing::Expected {
                continue;
            }
            match &result.missing {
                Some(what) if result.outcome == Outcome::Unsupported => {
                    if lacks.insert(what) {
                        expect.push(Entry { unsupported: Some(what.clone()), ..Entry::default() });
                    }
                }
                _ => expect.push(Entry {
                    cases: Some(result.id.clone()),
                    outcome: Some(result.outcome),
                    ..Entry::default()
                }),
            }
        }
        expect.sort_by_key(|entry| (entry.cases.is_some(), entry.unsupported.clone(), entry.cases.clone()));
        Expectations { runtime: self.runtime.clone(), expect }
    }

    /// The file's text: a line an entry.
    pub fn to_yaml(&self) -> String {
        let mut text =
            format!("# The cases that this runtime does not pass, how, and why.\nruntime: {}\n", self.runtime);
        if self.expect.is_empty() {
            return text + "expect: []\n";
        }
        text.push_str("expect:\n");
        for entry in &self.expect {
            let fields = [
                ("cases", entry.cases.clone()),
                ("unsupported", entry.unsupported.clone()),
                ("outcome", entry.outcome.map(|outcome| outcome.to_string())),
                ("message", entry.message.clone()),
                ("reason", entry.reason.clone()),
                ("url", entry.url.clone()),
            ];
            let written: Vec<String> =
                fields.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}", quoted(&value?)))).collect();
            let _ = writeln!(text, "  - {{{}}}", written.join(", "));
        }
        text
    }
}

/// A YAML scalar, quoted where plain text would be read as something else.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ' ');
    let safe = text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.ends_with(' ');
    if safe { text.to_owned() } else { format!("{text:?}") }
}
