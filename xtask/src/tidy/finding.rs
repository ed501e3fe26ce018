//! Finding of a rule.

use std::fmt;

#[cfg(test)]
use crate::tidy::files::File;

/// A place that violates a rule, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// File path from the workspace's root.
    pub(crate) path: String,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// The problem.
    pub(crate) rule: String,
    /// The fix.
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

/// Returns the lines of the findings of a rule in a file with this text.
#[cfg(test)]
pub(crate) fn lines(path: &str, text: &str, check: impl Fn(&File, &mut Vec<Finding>)) -> Vec<usize> {
    let mut findings = Vec::new();
    check(&File::new(path, text), &mut findings);
    findings.sort();
    findings.iter().map(|finding| finding.line).collect()
}
