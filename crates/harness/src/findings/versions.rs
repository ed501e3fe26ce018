//! Versions of its runtime in which a finding was measured.

use std::fmt;

/// Versions of its runtime in which a finding was measured, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredVersions {
    /// Versions in which some of its cases fail.
    pub fails: Vec<&'static str>,
    /// Versions in which all of its measured cases pass.
    pub passes: Vec<&'static str>,
    /// First version with the fault, if an older measured version does not have it.
    pub since: Option<&'static str>,
    /// First version without the fault after the last one with it.
    pub fixed: Option<&'static str>,
}

impl MeasuredVersions {
    /// Takes the measured versions, oldest first, each with true if cases fail in it.
    pub fn new(outcomes: &[(&'static str, bool)]) -> MeasuredVersions {
        let of =
            |fails: bool| outcomes.iter().filter(move |(_, it)| *it == fails).map(|(version, _)| *version).collect();
        let (first, last) =
            (outcomes.iter().position(|(_, fails)| *fails), outcomes.iter().rposition(|(_, fails)| *fails));
        let version = |index: usize| outcomes.get(index).map(|(version, _)| *version);
        MeasuredVersions {
            fails: of(true),
            passes: of(false),
            since: first.filter(|first| *first > 0).and_then(version),
            fixed: last.and_then(|last| version(last + 1)),
        }
    }
}

impl fmt::Display for MeasuredVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.fails[..], &self.passes[..]) {
            ([], []) => return f.write_str("not measured"),
            ([], _) => return f.write_str("in no measured version"),
            ([only], _) => f.write_str(only)?,
            ([first, .., last], []) => return write!(f, "{first} to {last}, all measured versions"),
            (fails, _) => f.write_str(&fails.join(", "))?,
        }
        if let Some(since) = self.since {
            write!(f, "; since {since}")?;
        }
        if let Some(fixed) = self.fixed {
            write!(f, "; fixed in {fixed}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_say_since_when_and_until_when() {
        let shown = |outcomes: &[(&'static str, bool)]| MeasuredVersions::new(outcomes).to_string();
        assert_eq!(shown(&[]), "not measured");
        assert_eq!(shown(&[("1", false)]), "in no measured version");
        assert_eq!(shown(&[("1", true)]), "1");
        assert_eq!(shown(&[("1", true), ("2", true)]), "1 to 2, all measured versions");
        assert_eq!(shown(&[("1", false), ("2", true), ("3", true), ("4", false)]), "2, 3; since 2; fixed in 4");
        assert_eq!(shown(&[("1", true), ("2", false), ("3", true)]), "1, 3");
    }
}
