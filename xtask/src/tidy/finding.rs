//! What a rule finds.

use std::fmt;

/// A place that breaks a rule, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The file, from the workspace's root.
    pub(crate) path: String,
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) rule: String,
    /// What to do.
    pub(crate) fix: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, rule: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, rule: rule.into(), fix: fix.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.rule, self.fix)
    }
}
