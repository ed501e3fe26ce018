//! Rules for models: id, level, sentence, the section of the ONNX standard, and examples. `build.rs` generates them from
//! `rules/*.yaml`.

use std::fmt;

use serde::{Serialize, Serializer};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The model breaks a rule of the standard.
    Error,
    /// The model is valid or the standard is silent, but runtimes are known to differ.
    Warning,
    /// Information.
    Note,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        })
    }
}

/// Model that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Example {
    /// The model in ONNX's text form.
    Text(&'static str),
    /// The bytes of the file, in hexadecimal.
    Hex(&'static str),
    /// The difference from the rule's good model, in words: `the graph has no name`.
    Change(&'static str),
}

/// Way to make a model follow a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    /// The edit changes neither what the model computes nor which runtimes load it.
    Safe(&'static str),
    /// The edit may change what the model computes or which runtimes load it, or requires knowledge of what was intended.
    Unsafe(&'static str),
}

/// Definition of a rule.
struct Definition {
    id: &'static str,
    level: Level,
    sentence: &'static str,
    source: &'static str,
    why: &'static str,
    bad: Example,
    also: &'static [&'static str],
    good: &'static str,
    fix: Fix,
    place: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

impl RuleId {
    /// The stable id: `node/type`.
    pub const fn id(self) -> &'static str {
        self.definition().id
    }

    /// The level of its findings.
    pub const fn level(self) -> Level {
        self.definition().level
    }

    /// The sentence that holds for a model that follows the rule; for a note, its statement.
    pub const fn sentence(self) -> &'static str {
        self.definition().sentence
    }

    /// The section of the ONNX standard that defines it.
    pub const fn source(self) -> &'static str {
        self.definition().source
    }

    /// The harm that a model does that breaks it, or for a note, the use of the note.
    pub const fn why(self) -> &'static str {
        self.definition().why
    }

    /// A small model that breaks it.
    pub const fn bad(self) -> Example {
        self.definition().bad
    }

    /// The ids of the other rules that findings of [`bad`](RuleId::bad) name.
    pub const fn also(self) -> &'static [&'static str] {
        self.definition().also
    }

    /// A model like [`bad`](RuleId::bad) that follows it, in ONNX's text form.
    pub const fn good(self) -> &'static str {
        self.definition().good
    }

    /// The way to fix a model that breaks it.
    pub const fn fix(self) -> Fix {
        self.definition().fix
    }

    /// The fix as the edit of a finding: `rename one of the inputs`.
    pub(crate) fn edit(self) -> String {
        let (Fix::Safe(text) | Fix::Unsafe(text)) = self.fix();
        let mut rest = text.trim_end_matches('.').chars();
        let first: String = rest.next().into_iter().flat_map(char::to_lowercase).collect();
        first + rest.as_str()
    }

    /// The file and the line of its entry in the repository: `crates/check/rules/node.yaml:2`.
    pub const fn place(self) -> &'static str {
        self.definition().place
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
