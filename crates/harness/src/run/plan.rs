//! The cases of a run, and the variant that is sent to the runtime.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use hmac_sha256::Hash;
use serde::{Deserialize, Serialize};

use onnx_conformance_cases::case::{Case, Variant, vary};
use onnx_conformance_cases::suite::{Filter, SelectedGroup, Suite, SuiteError};

/// The cases of a run, by the group that they are loaded with. Each case goes through three steps before it is sent to
/// the runtime: it is loaded, evidence is added, and it is converted to the variant.
pub struct Plan<'a> {
    pub(super) groups: Vec<SelectedGroup<'a>>,
    /// Number of selected cases.
    pub selected: usize,
    variant: Variant,
    evidence: Option<&'a dyn Confirm>,
}

/// The step that adds evidence for the outputs of a case to the evidence of its source.
pub trait Confirm: Sync {
    /// Adds to the evidence of a case.
    fn confirm(&self, case: &mut Case);
}

/// Selects the cases of a run.
pub fn plan<'a>(suite: &'a Suite, filter: &Filter, variant: Variant) -> Result<Plan<'a>, SuiteError> {
    let mut plan = Plan { groups: suite.choose(filter)?, selected: 0, variant, evidence: None };
    plan.count();
    Ok(plan)
}

impl<'a> Plan<'a> {
    /// Adds a step that adds evidence.
    #[must_use]
    pub fn confirmed_by(self, evidence: &'a dyn Confirm) -> Plan<'a> {
        Plan { evidence: Some(evidence), ..self }
    }

    /// Returns the groups of cases, in order.
    pub fn groups(&self) -> &[SelectedGroup<'a>] {
        &self.groups
    }

    /// Loads the selected cases of a group, with their evidence, before conversion to the variant.
    pub fn load(&self, (source, group, ids): &SelectedGroup<'_>) -> Result<Vec<Case>, SuiteError> {
        let chosen: HashSet<&str> = ids.iter().map(String::as_str).collect();
        let mut cases = source.load(group, &|id| chosen.contains(id))?;
        // The evidence does not cover ONNX's older releases, which are not selected by default.
        if let Some(evidence) = self.evidence.filter(|_| source.is_default()) {
            for case in &mut cases {
                evidence.confirm(case);
            }
        }
        Ok(cases)
    }

    /// Returns the variant of the cases that is sent to the runtime.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Returns the ids of the selected cases, without variant.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().flat_map(|(_, _, ids)| ids.iter().map(String::as_str))
    }

    /// Removes the cases that are not wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        for (_, _, ids) in &mut self.groups {
            ids.retain(|id| is_wanted(id));
        }
        self.groups.retain(|(_, _, ids)| !ids.is_empty());
        self.count();
    }

    /// Keeps one of several parts. The parts are disjoint, of similar size, and complete: the ids are sorted by their
    /// digests, and the list is cut.
    pub fn retain_shard(&mut self, shard: Shard) {
        let wanted: BTreeSet<String> = shard.part_of(self.ids()).into_iter().map(str::to_owned).collect();
        self.retain(|id| wanted.contains(id));
    }

    /// Converts a case to the variant of the run and returns true. If there is no such variant, returns the case
    /// unchanged, under the id of the variant, and false.
    pub(super) fn varied(&self, case: Case) -> (Case, bool) {
        match self.variant {
            Variant::Runtime => (case, true),
            variant => match vary(&case, variant) {
                Some(case) => (case, true),
                None => (Case { id: variant.id(&case.id), ..case }, false),
            },
        }
    }

    fn count(&mut self) {
        self.selected = self.groups.iter().map(|(_, _, ids)| ids.len()).sum();
    }
}

/// Digest that decides the part of an id.
pub(crate) type IdDigest = [u8; 32];

/// Returns the first 16 hexadecimal digits of the digest that decides the part of an id.
pub(crate) fn id_digest(id: &str) -> String {
    digest_text(&Hash::hash(id.as_bytes()))
}

/// Returns the first 16 hexadecimal digits of a digest.
pub(crate) fn digest_text(digest: &IdDigest) -> String {
    let [a, b, c, d, e, f, g, h, ..] = *digest;
    format!("{:016x}", u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

/// Returns ids with their digests, sorted by them.
pub(crate) fn sorted_by_digest<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<(IdDigest, &'a str)> {
    let mut ids: Vec<(IdDigest, &str)> = ids.map(|id| (Hash::hash(id.as_bytes()), id)).collect();
    ids.sort_unstable();
    ids
}

/// One of several parts of a run: `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: usize,
    of: usize,
}

/// Text that names no part of a run.
#[derive(Debug, thiserror::Error)]
#[error("expected K/N with K from 1 to N, such as 2/8")]
pub struct ShardError;

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        parts.and_then(|(number, of)| Shard::new(number, of)).ok_or(ShardError)
    }
}

impl Shard {
    /// Returns part `number` of `of`, unless it is not one of 1 to `of`.
    pub fn new(number: usize, of: usize) -> Option<Shard> {
        (1..=of).contains(&number).then_some(Shard { number, of })
    }

    /// Returns the ids in this part of all ids, sorted by their digests.
    pub fn part_of<'a>(self, ids: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let ids = sorted_by_digest(ids);
        let part = ids.get(self.range(ids.len())).unwrap_or_default();
        part.iter().map(|(_, id)| *id).collect()
    }

    /// Returns the positions of this part in a list of ids that is sorted by their digests.
    pub(crate) fn range(self, ids: usize) -> Range<usize> {
        let cut = |part: usize| ids * part / self.of;
        cut(self.number - 1)..cut(self.number)
    }

    /// Returns the number of the part, from 1.
    pub const fn number(self) -> usize {
        self.number
    }

    /// Returns the number of parts.
    pub const fn of(self) -> usize {
        self.of
    }

    /// Returns true if the part is the whole.
    pub const fn is_whole(self) -> bool {
        self.of == 1
    }
}

impl TryFrom<String> for Shard {
    type Error = ShardError;

    fn try_from(text: String) -> Result<Shard, ShardError> {
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
    use onnx_conformance_cases::suite::Generated;

    #[test]
    fn shards_are_disjoint_and_together_the_whole() {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        let filter = Filter::new(&["ai.onnx/{Abs,Sum}-*/**"]).unwrap();
        let whole: BTreeSet<String> = suite.ids(&filter).unwrap().into_iter().collect();
        let mut union = BTreeSet::new();
        for number in 1..=3 {
            let mut plan = plan(&suite, &filter, Variant::Runtime).unwrap();
            plan.retain_shard(format!("{number}/3").parse().unwrap());
            assert!(plan.selected.abs_diff(whole.len() / 3) <= 1);
            assert!(plan.ids().all(|id| union.insert(id.to_owned())), "an id is in two shards");
        }
        assert_eq!(union, whole);
    }

    #[test]
    fn an_invalid_shard_is_refused() {
        for wrong in ["0/3", "4/3", "1", "1/0", "a/b", "-1/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
