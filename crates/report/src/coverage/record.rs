//! `records/coverage.txt`: the coverage of every group of cases, so that `coverage` runs only the cases of groups that have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_n;

use onnx_conformance_cases::case::{Level, digest_of_texts};
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_cases::suite::{Suite, SuiteError, WrappedCases, digests_with_sources};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use serde::{Deserialize, Serialize};

use crate::coverage::group::{GroupCoverage, OwnEvidence, is_omitted};
use crate::coverage::item::CoverageItem;
use crate::coverage::reach::Reached;
use crate::coverage::sizes::Sizes;
use crate::coverage::version_items::items_of;

/// The text of the record: a line per group, the name of its digest and a [`RecordedGroup`].
const TEXT: &str = include_str!("../../records/coverage.txt");

/// First line of the record.
const HEAD: &str =
    "# Written by `cargo xtask gen`: coverage of the cases of each group, which CI compares with a run; do not edit.\n";

/// The recorded coverage, and the digests of today's cases.
#[derive(Debug)]
pub struct CoverageRecord {
    /// By the name of the group. A group without a digest is not known to be the same.
    digests: BTreeMap<String, String>,
    /// The text of each group by its name.
    groups: BTreeMap<&'static str, &'static str>,
}

/// Coverage of a group as text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedGroup {
    /// The digest of the cases.
    digest: String,
    /// The digest of the items of the versions in `reached`.
    items: String,
    /// By operator version, a bit for each of its items, in hexadecimal digits.
    reached: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "is_omitted")]
    sizes: Sizes,
    #[serde(default, skip_serializing_if = "is_omitted")]
    other: usize,
    #[serde(default, skip_serializing_if = "is_omitted")]
    unjudged: usize,
    #[serde(default, skip_serializing_if = "is_omitted")]
    refusals: BTreeMap<Level, usize>,
    own: Vec<OwnEvidence>,
    /// Position in `own`, from 1, or 0 if a case has none, and the number of cases in a row with it, in the order of ids.
    cases: Vec<(usize, usize)>,
}

/// Returns the embedded text.
#[cfg(test)]
pub(super) fn record_text() -> &'static str {
    TEXT
}

/// Items of operator versions by their qualified names.
type ItemsByName = BTreeMap<String, (OperatorVersion, BTreeSet<CoverageItem>)>;

impl CoverageRecord {
    /// Returns the embedded record, for the cases of this suite of the project.
    pub fn embedded(suite: &Suite) -> Result<CoverageRecord, SuiteError> {
        let mut digests: BTreeMap<String, String> =
            digests_with_sources().map(|(version, digest)| (version.qualified(), digest)).collect();
        let all = digest_of_texts(digests.values().map(String::as_str));
        let mut others = suite.digests_outside_operators()?;
        // These are cases of operators.
        if let Some(wrapped) = others.get_mut(WrappedCases::GROUP) {
            *wrapped = digest_of_texts([wrapped.as_str(), all.as_str()]);
        }
        digests.extend(others);
        let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
        Ok(CoverageRecord { digests, groups: lines.filter_map(|line| line.split_once(' ')).collect() })
    }

    /// Returns the record with the lines of another text.
    #[cfg(test)]
    pub(super) fn with_text(self, text: &str) -> CoverageRecord {
        let text: &'static str = text.to_owned().leak();
        CoverageRecord { groups: text.lines().filter_map(|line| line.split_once(' ')).collect(), ..self }
    }

    /// Returns the coverage of a group if the record has it with exactly these cases, as they are now.
    pub(super) fn group(
        &self,
        name: &str,
        ids: &BTreeSet<&str>,
        specs: &Specs,
        operators: &OperatorCatalog,
    ) -> Option<GroupCoverage> {
        let recorded: RecordedGroup = serde_json::from_str(self.groups.get(name)?).ok()?;
        let count: usize = recorded.cases.iter().map(|(_, count)| *count).sum();
        if self.digests.get(name) != Some(&recorded.digest) || count != ids.len() {
            return None;
        }
        let versions = recorded.reached.keys().map(|name| name.parse().ok());
        let versions = versions.collect::<Option<Vec<OperatorVersion>>>()?;
        let items = items_by_name(versions, specs, operators)?;
        if digest_of_items(&items) != recorded.items {
            return None;
        }
        let reached = items.into_values().zip(recorded.reached.values());
        let reached = reached.map(|((version, items), bits)| Some((version, from_bits(items, bits)?)));
        let own = |number: usize| match number.checked_sub(1) {
            None => Some(None),
            Some(at) => recorded.own.get(at).cloned().map(Some),
        };
        let numbers = recorded.cases.iter().flat_map(|(number, count)| repeat_n(*number, *count));
        let cases = ids.iter().zip(numbers).map(|(id, number)| Some(((*id).to_owned(), own(number)?)));
        Some(GroupCoverage {
            reached: reached.collect::<Option<Reached>>()?,
            cases: cases.collect::<Option<BTreeMap<_, _>>>()?,
            sizes: recorded.sizes,
            other: recorded.other,
            unjudged: recorded.unjudged,
            refusals: recorded.refusals,
        })
    }

    /// Formats the line of a group; `None` if its cases have no digest.
    pub(super) fn line(
        &self,
        name: &str,
        group: &GroupCoverage,
        specs: &Specs,
        operators: &OperatorCatalog,
    ) -> Option<String> {
        let mut items = items_by_name(group.reached.keys().cloned(), specs, operators)?;
        let reached_of = |version: &OperatorVersion| -> BTreeSet<CoverageItem> {
            group.reached.get(version).into_iter().flatten().cloned().collect()
        };
        items.retain(|_, (version, items)| !items.is_disjoint(&reached_of(version)));
        let mut own: Vec<OwnEvidence> = group.cases.values().flatten().cloned().collect();
        own.sort();
        own.dedup();
        let mut cases: Vec<(usize, usize)> = Vec::new();
        for case in group.cases.values() {
            let at = case.as_ref().and_then(|case| own.binary_search(case).ok());
            let number = at.map_or(0, |at| at + 1);
            match cases.last_mut() {
                Some((last, count)) if *last == number => *count += 1,
                _ => cases.push((number, 1)),
            }
        }
        let bits = |(name, (version, items)): (&String, &(OperatorVersion, BTreeSet<CoverageItem>))| {
            (name.clone(), to_bits(items, &reached_of(version)))
        };
        let recorded = RecordedGroup {
            digest: self.digests.get(name)?.clone(),
            items: digest_of_items(&items),
            reached: items.iter().map(bits).collect(),
            sizes: group.sizes.clone(),
            other: group.other,
            unjudged: group.unjudged,
            refusals: group.refusals.clone(),
            own,
            cases,
        };
        Some(format!("{name} {}", serde_json::to_string(&recorded).ok()?))
    }

    /// Formats the record of these lines.
    pub(super) fn text(lines: impl Iterator<Item = String>) -> String {
        std::iter::once(HEAD.to_owned()).chain(lines.map(|line| line + "\n")).collect()
    }
}

fn items_by_name(
    versions: impl IntoIterator<Item = OperatorVersion>,
    specs: &Specs,
    operators: &OperatorCatalog,
) -> Option<ItemsByName> {
    let items = |version: OperatorVersion| {
        let items = items_of(specs, operators, &version).ok()?;
        Some((version.qualified(), (version, items)))
    };
    versions.into_iter().map(items).collect()
}

/// Returns a digest of items. Bits are about the same items only if it is the same.
fn digest_of_items(items: &ItemsByName) -> String {
    let texts: Vec<String> = items
        .iter()
        .flat_map(|(name, (_, items))| items.iter().map(move |item| format!("{name} {} {item}", item.kind.title())))
        .collect();
    digest_of_texts(texts.iter().map(String::as_str))
}

/// Formats a bit for each item, set if it is reached, in hexadecimal digits.
fn to_bits(items: &BTreeSet<CoverageItem>, reached: &BTreeSet<CoverageItem>) -> String {
    let flags: Vec<bool> = items.iter().map(|item| reached.contains(item)).collect();
    let digit = |four: &[bool]| {
        let value: u32 = four.iter().zip([8, 4, 2, 1]).map(|(is_set, bit)| if *is_set { bit } else { 0 }).sum();
        char::from_digit(value, 16).unwrap_or('0')
    };
    flags.chunks(4).map(digit).collect()
}

/// Returns the items whose bit is set; `None` if the text has another number of bits.
fn from_bits(items: BTreeSet<CoverageItem>, bits: &str) -> Option<BTreeSet<CoverageItem>> {
    let digits = bits.chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    if digits.len() != items.len().div_ceil(4) {
        return None;
    }
    let flags = digits.into_iter().flat_map(|digit| [8, 4, 2, 1].map(|bit| digit & bit != 0));
    Some(items.into_iter().zip(flags).filter(|(_, is_set)| *is_set).map(|(item, _)| item).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::item::CoverageKind;

    #[test]
    fn bits_read_back() {
        let items: BTreeSet<CoverageItem> =
            CoverageKind::ALL[..9].iter().map(|kind| CoverageItem::new(*kind)).collect();
        for take in [0, 1, 4, 9] {
            let reached: BTreeSet<CoverageItem> = items.iter().skip(9 - take).cloned().collect();
            let bits = to_bits(&items, &reached);
            assert_eq!((bits.len(), from_bits(items.clone(), &bits)), (3, Some(reached)), "{bits}");
        }
        for wrong in ["", "00", "0000", "00g"] {
            assert_eq!(from_bits(items.clone(), wrong), None, "{wrong}");
        }
    }
}
