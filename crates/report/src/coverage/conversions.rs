//! Counts of `convert` on every case: `records/conversions.txt`, which `tests/convert` writes and checks.

use std::fmt;

use onnx_conformance_reference::spec::OperatorVersion;

use onnx_conformance_cases::suite::Filter;

const TEXT: &str = include_str!("../../records/conversions.txt");

/// Conversion of the cases of an operator version to an opset. All outputs stay correct: nothing is recorded if one does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversions {
    /// Version of the cases.
    pub version: OperatorVersion,
    /// Target opset.
    pub opset: u32,
    /// Number of cases that run there unchanged.
    pub same: usize,
    /// Number of edited cases.
    pub edited: usize,
    /// Number of refused cases, each for a stated reason.
    pub refused: usize,
}

impl Conversions {
    /// Returns the conversions of the versions that the filter selects.
    pub fn chosen(filter: &Filter) -> Vec<Conversions> {
        let all = TEXT.lines().filter(|line| !line.starts_with('#')).filter_map(parse);
        all.filter(|conversions| filter.selects_group(&conversions.version.qualified())).collect()
    }

    /// Returns the conversions of all versions of an operator, as the record has them.
    pub fn of_operator(domain: &str, name: &str) -> Vec<Conversions> {
        let start = format!("{domain}/{name}-");
        TEXT.lines().filter(|line| line.starts_with(&start)).filter_map(parse).collect()
    }

    /// Formats the sums: `12 pairs: 30 cases unchanged, 4 edited, 3 refused, 0 wrong`.
    pub fn summary(all: &[Conversions]) -> String {
        let sum = |count: fn(&Conversions) -> usize| all.iter().map(count).sum::<usize>();
        let (same, edited, refused) = (sum(|it| it.same), sum(|it| it.edited), sum(|it| it.refused));
        format!(
            "{} pairs of an operator version and an opset: {same} cases unchanged, {edited} edited, {refused} \
             refused, 0 wrong",
            all.len()
        )
    }
}

impl fmt::Display for Conversions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conversions { version, opset, same, edited, refused } = self;
        let version = version.qualified();
        write!(f, "{version} at {opset}: {same} unchanged, {edited} edited, {refused} refused, 0 wrong")
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

    #[test]
    fn the_conversions_of_an_operator_are_those_of_its_versions() {
        let all = Conversions::of_operator("ai.onnx", "Max");
        assert_eq!(all, Conversions::chosen(&Filter::new(&["ai.onnx/Max-*/**"]).unwrap()));
        assert!(all.len() > 2 && all.iter().all(|it| it.version.name == "Max"), "{all:?}");
        assert!(Conversions::of_operator("ai.onnx", "Gone").is_empty());
    }
}
