//! `since`: the versions of a case or a refusal.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The versions of a case: from one on, as in `13`, or ranges, as in `[[1, 6], [13]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(untagged))]
pub enum Since {
    /// All versions from the one that begins at this opset.
    From(u32),
    /// Ranges: the first version and the last, or only the first if the range is open.
    Ranges(Vec<Vec<u32>>),
}

impl Since {
    /// Returns true if the version that begins at this opset is included.
    pub fn covers(&self, since: u32) -> bool {
        match self {
            Since::From(first) => *first <= since,
            Since::Ranges(ranges) => ranges.iter().any(|range| {
                let is_after = range.first().is_some_and(|first| *first <= since);
                is_after && range.get(1).is_none_or(|last| since <= *last)
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Since {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SinceVisitor)
    }
}

struct SinceVisitor;

impl<'de> Visitor<'de> for SinceVisitor {
    type Value = Since;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a version such as 13, or ranges such as [[1, 6], [13]]")
    }

    fn visit_u64<E: Error>(self, version: u64) -> Result<Since, E> {
        u32::try_from(version).map(Since::From).map_err(|_| E::custom(format!("{version} is not a version")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Since, A::Error> {
        let ranges: Vec<Vec<u32>> = Vec::deserialize(SeqAccessDeserializer::new(list))?;
        let is_range =
            |range: &Vec<u32>| matches!(range.as_slice(), [_]) || matches!(range.as_slice(), [a, b] if a <= b);
        match ranges.iter().find(|range| !is_range(range)) {
            Some(range) => {
                let advice = "write the first and the last version, or only the first if all later ones are included";
                Err(A::Error::custom(format!("{range:?} is not a range of versions; {advice}")))
            }
            None => Ok(Since::Ranges(ranges)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_both_ends_or_the_first_alone() {
        let covered = |text: &str| {
            let since: Since = serde_yaml::from_str(text).unwrap();
            (1..=20).filter(|version| since.covers(*version)).collect::<Vec<u32>>()
        };
        assert_eq!(covered("18"), [18, 19, 20]);
        assert_eq!(covered("[[1, 3], [7, 7], [19]]"), [1, 2, 3, 7, 19, 20]);
        for invalid in ["[[3, 1]]", "[[]]", "[[1, 2, 3]]", "[13]", "'13'"] {
            assert!(serde_yaml::from_str::<Since>(invalid).is_err(), "{invalid}");
        }
    }
}
