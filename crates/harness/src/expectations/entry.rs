//! Entry of an expectation file: cases that a runtime does not pass, their outcome, and the reason.

use onnx_conformance_cases::suite::{FilterError, PathGlob, is_glob, loose_glob};
use serde::{Deserialize, Serialize};

use crate::expectations::condition::{Condition, Processors};
use crate::run::{CaseResult, Outcome, begins_as};

/// Cases that a runtime does not pass. An entry selects by id, by the missing feature, or by the outcome and the message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// An id, the path of a group of cases, or a glob over ids. With a variant suffix such as `@constants` it matches that
    /// variant only; without one, it selects only cases without a variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<String>,
    /// The missing feature in the runtime's own wording. Matches every case that is unsupported for this reason. A `*` matches
    /// any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    /// Outcome of the cases; optional for `unsupported`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Largest distance over the cases of a mismatch whose outputs are only inexact, in representable values. No verdict depends
    /// on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ulp: Option<u64>,
    /// Beginning of the message, in which `*` stands for any text. Without `cases` the entry matches every case with the outcome and
    /// such a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// True if the outcome changes from run to run. `outcome` is then the worst one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub varies: bool,
    /// True if the entry covers several operators on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spans_operators: bool,
    /// True if the binding that calls the runtime causes the failure, and not the runtime.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binding: bool,
    /// Condition of the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// Reason for the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Address of a discussion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Fault of an entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// The keys of the entry contradict each other.
    #[error("{0}")]
    Contradiction(&'static str),
    /// A pattern cannot be read.
    #[error(transparent)]
    Pattern(#[from] FilterError),
    /// Another entry, by its number, selects the same cases.
    #[error("selects the same cases as entry {0}; keep one")]
    Repeated(usize),
}

impl Entry {
    /// Creates an entry for a missing feature.
    pub fn unsupported(what: &str) -> Entry {
        Entry { unsupported: Some(what.to_owned()), ..Entry::default() }
    }

    /// Creates an entry for cases with the same outcome.
    pub fn ending(cases: String, outcome: Outcome) -> Entry {
        Entry { cases: Some(cases), outcome: Some(outcome), ..Entry::default() }
    }

    /// Creates an entry for all cases with the same outcome and message, whatever their operator.
    pub(super) fn with_message(message: String, outcome: Outcome) -> Entry {
        Entry { message: Some(message), outcome: Some(outcome), ..Entry::default() }
    }

    /// Parses a line in the form of nearly all lines of measurements, without a parser of YAML, which takes most of the time to read
    /// one: `- {cases: ai.onnx/Abs-13/x/T=int8, outcome: mismatch, ulp: 2}`. Returns `None` for any other form.
    pub(super) fn from_plain_line(line: &str) -> Option<Entry> {
        let fields = line.strip_prefix("- {cases: ")?.strip_suffix('}')?;
        let (cases, rest) = match fields.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').filter(|(cases, _)| !cases.contains('\\'))?,
            None => fields.split_at_checked(fields.find(',')?).filter(|(cases, _)| is_plain_path(cases))?,
        };
        let rest = rest.strip_prefix(", outcome: ")?;
        let (name, ulp) = match rest.split_once(", ulp: ") {
            Some((name, ulp)) => (name, Some(ulp.parse().ok()?)),
            None => (rest, None),
        };
        let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)?;
        Some(Entry { ulp, ..Entry::ending(cases.to_owned(), outcome) })
    }

    /// Returns true if the entry is for this case alone.
    pub(super) fn names(&self, id: &str) -> bool {
        self.cases.as_deref().and_then(literal).is_some_and(|literal| literal == id)
    }

    /// Returns the expected outcome of the cases.
    pub fn outcome(&self) -> Outcome {
        self.outcome.unwrap_or(Outcome::Unsupported)
    }

    /// Returns true if a case ends as listed by the entry.
    pub fn agrees(&self, result: &CaseResult) -> bool {
        self.is_no_worse_variation(result)
            || result.outcome == self.outcome()
                && self.message.as_ref().is_none_or(|message| begins_as(&result.message, message))
    }

    fn is_no_worse_variation(&self, result: &CaseResult) -> bool {
        self.varies
            && (result.outcome.rank() <= self.outcome().rank()
                || self.outcome().is_limit() && result.outcome.is_limit())
    }

    /// Returns the selector of the entry as written.
    pub fn selector(&self) -> String {
        match (&self.cases, &self.unsupported, &self.message) {
            (Some(cases), ..) => format!("cases: {cases}"),
            (None, Some(what), _) => format!("unsupported: {what}"),
            (None, None, Some(message)) => format!("outcome: {}, message: {message}", self.outcome()),
            (None, None, None) => String::new(),
        }
    }

    /// Returns the entry as one line of YAML.
    pub fn to_yaml(&self) -> String {
        let when = self.when.as_ref().map(|when| {
            let version = when.version.clone().map(String::from);
            format!(
                "{{{}}}",
                fields_to_yaml([
                    ("platform", when.platform.as_deref().map(quoted)),
                    ("version", version.as_deref().map(quoted)),
                    ("cpu", when.cpu.as_ref().map(Processors::to_yaml)),
                ])
            )
        });
        let plain = |value: &Option<String>| value.as_ref().map(|value| quoted(value));
        let fields = [
            ("cases", plain(&self.cases)),
            ("unsupported", plain(&self.unsupported)),
            ("outcome", self.outcome.map(|outcome| outcome.to_string())),
            ("ulp", self.ulp.map(|ulp| ulp.to_string())),
            ("message", plain(&self.message)),
            ("varies", self.varies.then(|| "true".to_owned())),
            ("spans_operators", self.spans_operators.then(|| "true".to_owned())),
            ("binding", self.binding.then(|| "true".to_owned())),
            ("when", when),
            ("reason", plain(&self.reason)),
            ("url", plain(&self.url)),
        ];
        format!("{{{}}}", fields_to_yaml(fields))
    }

    pub(super) fn check(&self) -> Result<(), EntryFault> {
        let rule = match (&self.cases, &self.unsupported, self.outcome) {
            (None, None, _) if self.message.is_none() => {
                "selects no cases; add `cases`, `unsupported`, or a `message` with an `outcome`"
            }
            (Some(_), Some(_), _) => "has both `cases` and `unsupported`; keep one",
            (_, None, None) => "has no outcome; add `outcome`",
            (_, None, Some(Outcome::Pass)) => "expects a pass, which needs no entry",
            (_, None, Some(outcome)) if outcome.is_inconclusive() => {
                "expects an outcome that is not a failure; a case that is not sent to the runtime needs no entry"
            }
            (None, Some(_), Some(_)) => "has `unsupported` already; omit the outcome",
            _ if self.ulp.is_some() && self.outcome != Some(Outcome::Mismatch) => {
                "has `ulp`, the distance of wrong values, but another outcome; omit `ulp`, or write `outcome: mismatch`"
            }
            _ if self.ulp == Some(0) => "has `ulp: 0`, but a mismatch has a distance; write at least 1, or omit it",
            _ if self.when.as_ref().is_some_and(Condition::is_empty) => {
                "has an empty `when`; add `platform`, `version` or `cpu`, or omit it"
            }
            _ if self.cases.as_ref().is_some_and(|pattern| pattern.starts_with('!')) => {
                "only excludes cases; add a pattern that selects some"
            }
            _ => return Ok(self.check_patterns()?),
        };
        Err(EntryFault::Contradiction(rule))
    }

    fn check_patterns(&self) -> Result<(), FilterError> {
        if let Some(pattern) = self.cases.as_deref().filter(|pattern| is_glob(pattern)) {
            PathGlob::new(pattern)?;
        }
        if let Some(pattern) = self.unsupported.as_deref().filter(|pattern| is_glob(pattern)) {
            loose_glob(pattern)?;
        }
        Ok(())
    }
}

/// Returns true for a path that YAML reads as this text, without quotes.
fn is_plain_path(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b'=' | b'@');
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.contains('/') && text.bytes().all(is_plain)
}

/// An entry and the positions of the failures that it covers.
pub(super) type EntryGroup = (Entry, Vec<usize>);

/// Returns the only text that a pattern matches, if it matches one: a path, perhaps with characters of patterns in brackets, `[*]`.
pub(super) fn literal(pattern: &str) -> Option<String> {
    if !is_glob(pattern) {
        return Some(pattern.to_owned());
    }
    let (mut text, mut rest) = (String::new(), pattern.chars());
    while let Some(c) = rest.next() {
        text.push(match c {
            '[' => match (rest.next()?, rest.next()?) {
                (escaped, ']') if escaped != '!' => escaped,
                _ => return None,
            },
            '*' | '?' | '{' | '}' | ']' => return None,
            plain => plain,
        });
    }
    Some(text)
}

fn fields_to_yaml<const N: usize>(fields: [(&str, Option<String>); N]) -> String {
    let written: Vec<String> =
        fields.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}", value?))).collect();
    written.join(", ")
}

/// Formats a YAML scalar, with quotes if plain text would be parsed as something else.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '=' | '(' | ')' | '@' | ' ');
    let is_word = matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off");
    let is_plain = text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_plain && !is_word && !text.ends_with(' ') {
        return text.to_owned();
    }
    // A JSON string is a valid YAML string.
    serde_json::Value::from(text).to_string()
}
