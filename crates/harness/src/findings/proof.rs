//! Proof of a finding: the sentence of the standard that decides, or another authority if there is none.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Proof that a runtime differs from the standard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// A sentence of the standard.
    Quote(Quote),
    /// The function body of the operator version.
    Body,
    /// A test of the standard, if the text leaves it open.
    UpstreamTest,
    /// The judgement of this suite, if the text implies it or is silent.
    Suite,
}

/// Kind of a proof other than a quote, as written in files.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DecidedBy {
    Body,
    UpstreamTest,
    Suite,
}

/// Sentence of the standard, verbatim. ` ... ` marks omitted text between two pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quote {
    /// Source: an operator version, a document such as IR.md, or `signature`. Without it, the text of the sample's operator version.
    pub from: Option<String>,
    /// The quoted text.
    pub says: String,
}

/// Quote as written in files: a sentence of the sample's operator version, or a sentence with its source.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum QuoteEntry {
    Says(String),
    From { from: String, says: String },
}

impl Proof {
    /// Returns the proof of an entry; `None` unless it has exactly one of a quote and a `by`.
    pub(super) fn from_entry(quote: Option<QuoteEntry>, by: Option<DecidedBy>) -> Option<Proof> {
        Some(match (quote, by) {
            (Some(QuoteEntry::Says(says)), None) => Proof::Quote(Quote { from: None, says }),
            (Some(QuoteEntry::From { from, says }), None) => Proof::Quote(Quote { from: Some(from), says }),
            (None, Some(DecidedBy::Body)) => Proof::Body,
            (None, Some(DecidedBy::UpstreamTest)) => Proof::UpstreamTest,
            (None, Some(DecidedBy::Suite)) => Proof::Suite,
            _ => return None,
        })
    }

    /// Returns true if the standard itself decides, so that the finding may be filed as an issue.
    pub const fn is_standard(&self) -> bool {
        matches!(self, Proof::Quote(_) | Proof::Body)
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proof::Quote(Quote { from: None, says }) => write!(f, "\"{says}\""),
            Proof::Quote(Quote { from: Some(from), says }) => write!(f, "\"{says}\" ({from})"),
            Proof::Body => f.write_str("the function body of the operator version"),
            Proof::UpstreamTest => f.write_str("a test of the standard; the text leaves it open"),
            Proof::Suite => f.write_str("this suite's judgement; the text leaves it open or only implies it"),
        }
    }
}
