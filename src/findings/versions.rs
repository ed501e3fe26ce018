//! In which versions of its runtime a finding was measured.

use std::fmt;

use crate::expectations::ExpectationError;
use crate::findings::file::Finding;
use crate::measure::Measurements;

/// In which versions of its runtime a finding was measured, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredVersions {
    /// Those in which cases of it fail.
    pub fails: Vec<&'static str>,
    /// Those in which all of its cases that were measured pass.
    pub passes: Vec<&'static str>,
}

impl MeasuredVersions {
    /// Those of a finding.
    pub fn of(finding: &Finding) -> Result<MeasuredVersions, ExpectationError> {
        let all = Measurements::embedded();
        let versions = all.runtimes().into_iter().find(|(runtime, _)| *runtime == finding.runtime);
        let mut measured = MeasuredVersions::default();
        for version in versions.map(|(_, versions)| versions).unwrap_or_default() {
            let Some(measurement) = all.get(finding.runtime, version)? else { continue };
            if !finding.failures(measurement).is_empty() {
                measured.fails.push(version);
            } else if finding.was_measured(measurement) {
                measured.passes.push(version);
            }
        }
        Ok(measured)
    }
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
