//! What `convert` was counted to do with every case: `records/conversions.txt`, which `tests/convert` writes and holds.

use std::fmt;

use onnx_conformance_reference::spec::OperatorVersion;

use onnx_conformance_cases::suite::Filter;

const TEXT: &str = include_str!("../../records/conversions.txt");

/// What became of the cases of an operator version at an opset. None of them gave other outputs than it must: where one does, nothing
/// is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversions {
    /// The version that the cases are of.
    pub version: OperatorVersion,
    /// The opset that they were brought to.
    pub opset: u32,
    /// How many run there as they are.
    pub same: usize,
    /// How many were edited.
    pub edited: usize,
    /// How many were refused, each for a stated reason.
    pub refused: usize,
}

impl Conversions {
    /// Those of the versions that the filter chooses.
    pub fn chosen(filter: &Filter) -> Vec<Conversions> {
        let all = TEXT.lines().filter(|line| !line.starts_with('#')).filter_map(parse);
        all.filter(|conversions| filter.touches(&conversions.version.qualified())).collect()
    }

    /// The sums of several: `12 pairs: 30 cases as they are, 4 edited, 3 refused, 0 wrong`.
    pub fn summary(all: &[Conversions]) -> String {
        let sum = |count: fn(&Conversions) -> usize| all.iter().map(count).sum::<usize>();
        let (same, edited, refused) = (sum(|it| it.same), sum(|it| it.edited), sum(|it| it.refused));
        format!(
            "{} pairs of an operator version and an opset: {same} cases as they are, {edited} edited, {refused} refused, 0 wrong",
            all.len()
        )
    }
}

impl fmt::Display for Conversions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conversions { version, opset, same, edited, refused } = self;
        let version = version.qualified();
        write!(f, "{version} at {opset}: {same} as they are, {edited} edited, {refused} refused, 0 wrong")
    }
}

fn parse(line: &str) -> Option<Conversions> {
    let mut words = line.split(' ');
    let version = words.next()?.parse().ok()?;
    let opset = words.next()?.parse().ok()?;
    let mut count = || words.next()?.parse().ok();
    Some(Conversions { version, opset, same: count()?, edited: count()?, refused: count()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_record_is_a_pair() {
        let everything = Filter::new(&["**"]).unwrap();
        let lines = TEXT.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(Conversions::chosen(&everything).len(), lines);
        let softmax = Conversions::chosen(&Filter::new(&["ai.onnx/Softmax-13/**"]).unwrap());
        assert!(softmax.len() == 2 && softmax.iter().all(|it| it.version.since == 13), "{softmax:?}");
        assert!(softmax.iter().any(|it| it.opset == 11 && it.edited > 0), "{softmax:?}");
    }
}
