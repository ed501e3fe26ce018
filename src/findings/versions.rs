//! In which versions of its runtime a finding was measured.

use std::fmt;

/// In which versions of its runtime a finding was measured, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredVersions {
    /// Those in which cases of it fail.
    pub fails: Vec<&'static str>,
    /// Those in which all of its cases that were measured pass.
    pub passes: Vec<&'static str>,
}

impl fmt::Display for MeasuredVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.fails[..], &self.passes[..]) {
            ([], []) => f.write_str("not measured"),
            ([], [.., last]) => write!(f, "mended by {last}"),
            ([only], []) => f.write_str(only),
            ([first, .., last], []) => write!(f, "{first} to {last}, all that were measured"),
            (fails, passes) => write!(f, "{}; not in {}", fails.join(", "), passes.join(", ")),
        }
    }
}
