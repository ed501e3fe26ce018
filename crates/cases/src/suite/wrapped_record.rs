//! `records/wrapped.txt`: the cases of operators that the suite has between no-ops, too.
//!
//! A digest of the id selects a case, so a new case does not affect others: of each operator version one in [`RATE`] is
//! selected, and at least [`MIN`]. They are recorded, since only making a case shows that it has a wrapped form.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::ops::Range;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;
use hmac_sha256::Hash;
use onnx_conformance_reference::proto::decode;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OperatorVersion, canonical_domain};

use crate::case::{Case, CaseId, Level, Variant, WRAPPED, vary};

/// One of this many cases is selected.
const RATE: u32 = 32;

/// Minimum number of cases of an operator version, if it has so many.
const MIN: usize = 5;

/// First line of the record.
const HEAD: &str = "# Written by `cargo xtask gen`: the cases that the suite has between no-ops, too; do not edit.\n";

/// Path of the record.
pub(super) const PATH: &str = "records/wrapped.txt";

/// Common prefix of the ids.
pub(super) const GROUP: &str = "graph/wrapped";

/// The text of the record, compressed.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wrapped.z"));

/// The recorded ids, sorted, and the place of each operator version among them.
#[derive(Debug, Default)]
pub(super) struct WrappedRecord {
    /// The ids.
    pub(super) ids: Vec<String>,
    groups: BTreeMap<String, Range<usize>>,
}

impl WrappedRecord {
    /// Returns the embedded record.
    pub(super) fn embedded() -> &'static WrappedRecord {
        static RECORD: OnceLock<WrappedRecord> = OnceLock::new();
        RECORD.get_or_init(|| {
            let mut text = String::new();
            // A test compares the record with the cases, so a text that cannot be read is noticed.
            let read = ZlibDecoder::new(PACKED).read_to_string(&mut text);
            if read.is_ok() { WrappedRecord::parse(&text) } else { WrappedRecord::default() }
        })
    }

    fn parse(text: &str) -> WrappedRecord {
        let ids = text.lines().filter(|line| !line.starts_with('#'));
        let ids: Vec<String> = ids.map(|id| format!("{GROUP}/{id}")).collect();
        let mut groups: BTreeMap<String, Range<usize>> = BTreeMap::new();
        for (at, id) in ids.iter().enumerate() {
            let version = plain_id(id).map(|id| CaseId::parse(id).group()).unwrap_or_default();
            groups.entry(format!("{GROUP}/{version}")).or_insert(at..at).end = at + 1;
        }
        WrappedRecord { ids, groups }
    }

    /// Returns the groups, sorted: `graph/wrapped/ai.onnx/Abs-13`.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// Returns the ids of a group, or `None` if there is no such group.
    pub(super) fn ids_of(&self, group: &str) -> Option<&[String]> {
        self.ids.get(self.groups.get(group)?.clone())
    }
}

/// Returns the id of the case without no-ops.
pub(super) fn plain_id(id: &str) -> Option<&str> {
    id.strip_prefix(WRAPPED)
}

/// Selects from all cases of an operator version. Returns their ids, sorted.
pub(super) fn select(version: &OperatorVersion, cases: &[Case]) -> Vec<String> {
    let candidates = cases.iter().filter(|case| may_be_selected(version, case));
    let mut ranked: Vec<(u32, &Case)> = candidates.map(|case| (rank(&case.id), case)).collect();
    ranked.sort_by_key(|(rank, case)| (*rank, case.id.as_str()));
    let mut chosen = BTreeSet::new();
    for (rank, case) in ranked {
        if rank >= u32::MAX / RATE && chosen.len() >= MIN {
            break;
        }
        if vary(case, Variant::Wrapped).is_some() {
            chosen.insert(format!("{GROUP}/{}", case.id));
        }
    }
    chosen.into_iter().collect()
}

/// Returns the fraction of cases that is selected, as text.
pub(super) fn fraction() -> String {
    format!("1/{RATE} {MIN}")
}

/// Formats the record of these ids.
pub(super) fn record_text(ids: impl IntoIterator<Item = String>) -> String {
    let sorted: BTreeSet<String> = ids.into_iter().collect();
    let plain = sorted.iter().filter_map(|id| plain_id(id));
    std::iter::once(HEAD.to_owned()).chain(plain.map(|id| format!("{id}\n"))).collect()
}

/// Returns true if the case is a required one that has the same model in every release of ONNX.
fn may_be_selected(version: &OperatorVersion, case: &Case) -> bool {
    let imports_both = || {
        let model = decode::model(case.model.clone()).unwrap_or_default();
        version.domain != DEFAULT_DOMAIN
            && model.opset_import.iter().any(|import| canonical_domain(import.domain()) == DEFAULT_DOMAIN)
    };
    let is_required = case.level == Level::Required && case.text.is_none() && case.refusal.is_none();
    is_required && !CaseId::parse(&case.id).is_at_last_opset() && !imports_both()
}

/// Returns a number that decides if a case is selected.
fn rank(id: &str) -> u32 {
    let digest = Hash::hash(format!("wrapped#{id}").as_bytes());
    digest.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{OperatorCatalog, cases};

    #[test]
    fn a_new_case_moves_no_other_beyond_the_minimum() {
        let version: OperatorVersion = "ai.onnx/Resize-19".parse().unwrap();
        let catalog = OperatorCatalog::embedded();
        let mut cases = cases(&catalog, &version, &|_| true).unwrap();
        let all: BTreeSet<String> = select(&version, &cases).into_iter().collect();
        assert!(all.len() > MIN, "{}", all.len());
        cases.retain(|case| rank(&case.id).is_multiple_of(2));
        let half: BTreeSet<String> = select(&version, &cases).into_iter().collect();
        let mut kept = all.iter().filter(|id| cases.iter().any(|case| plain_id(id) == Some(&case.id)));
        assert!(kept.all(|id| half.contains(id)) && half.len() < all.len());
    }

    #[test]
    fn a_record_reads_back() {
        let ids = ["ai.onnx/Abs-13/a", "ai.onnx/Abs-13/b", "ai.onnx/Neg-13/c"].map(|id| format!("{GROUP}/{id}"));
        let record = WrappedRecord::parse(&record_text(ids.clone()));
        assert_eq!(record.ids, ids);
        assert_eq!(
            record.groups().collect::<Vec<_>>(),
            ["graph/wrapped/ai.onnx/Abs-13", "graph/wrapped/ai.onnx/Neg-13"]
        );
        assert_eq!(record.ids_of("graph/wrapped/ai.onnx/Abs-13"), Some(&ids[..2]));
        assert_eq!(record.ids_of("graph/wrapped/ai.onnx/Abs-6"), None);
    }

    #[test]
    fn only_wrapped_cases_have_a_plain_id() {
        assert_eq!(plain_id("graph/wrapped/ai.onnx/Abs-13/x"), Some("ai.onnx/Abs-13/x"));
        assert_eq!(plain_id("graph/wrappedx/y"), None);
        assert_eq!(plain_id("graph/reshapes/x"), None);
    }
}
