//! Parts of a run that are run apart: which cases are in which.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A part of the cases: number `number` of `of`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: usize,
    of: NonZeroUsize,
}

impl Shard {
    /// The ids of this part, in no order. All parts together are the whole, and none is larger by more than one. An id's
    /// place follows from the id alone, so that cases that are slow for one reason do not all end up in one part.
    pub fn take(self, mut ids: Vec<String>) -> Vec<String> {
        ids.sort_by_cached_key(|id| (shuffled(id), id.clone()));
        let start = |number: usize| ids.len() * number / self.of;
        let range = start(self.number - 1)..start(self.number);
        ids.drain(range).collect()
    }
}

/// A number for an id that has nothing to do with its order: FNV-1a, then the finalizer of SplitMix64. It never changes,
/// so that the parts of two runs are the same.
fn shuffled(id: &str) -> u64 {
    let hash = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            let (number, of): (usize, NonZeroUsize) = (number.parse().ok()?, of.parse().ok()?);
            (1..=of.get()).contains(&number).then_some(Shard { number, of })
        });
        parts.ok_or_else(|| format!("'{text}' is no part of a whole; the second of four is 2/4"))
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Shard, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole_and_of_one_size() {
        let ids: Vec<String> = (0..103).map(|number| format!("a/{number}")).collect();
        for of in [1, 2, 3, 7, 103, 200] {
            let parts = (1..=of).map(|number| format!("{number}/{of}").parse::<Shard>().unwrap().take(ids.clone()));
            let parts: Vec<Vec<String>> = parts.collect();
            let sizes = parts.iter().map(Vec::len);
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            let mut union: Vec<String> = parts.into_iter().flatten().collect();
            union.sort_by_key(|id| id[2..].parse::<usize>().unwrap());
            assert_eq!(union, ids);
        }
    }

    #[test]
    fn a_part_is_the_same_whatever_the_order() {
        let ids: Vec<String> = (0..10).map(|number| format!("a/{number}")).collect();
        let shard: Shard = "2/3".parse().unwrap();
        assert_eq!(shard.take(ids.clone()), shard.take(ids.into_iter().rev().collect()));
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for wrong in ["", "1", "0/2", "3/2", "1/0", "a/b", "-1/2", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        assert_eq!("2/4".parse::<Shard>().unwrap().to_string(), "2/4");
    }
}
