//! The cases of today's suite, listed once for the measurements of several tools.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_cases::suite::{HostileCases, WrappedCases};
use onnx_conformance_reference::spec::OperatorVersion;

use crate::expectations::answered_part;
use crate::run::{digest_text, sorted_by_digest};

/// Cases by their ids without variant, with the facts that decide whether a tool was asked about them.
#[derive(Debug)]
pub struct ListedCases<'a> {
    /// The cases, sorted by the digests of their ids.
    pub(super) cases: Vec<ListedCase<'a>>,
    /// The parts of the suite that they belong to.
    pub(super) parts: Vec<ListedPart>,
}

/// A case.
#[derive(Debug)]
pub(super) struct ListedCase<'a> {
    pub(super) id: &'a str,
    /// The first digits of the digest of the id.
    pub(super) digest: String,
    /// Position of its part.
    pub(super) part: usize,
    pub(super) is_hostile: bool,
    /// True for a case between no-ops. It is counted for its operator version, but has a digest of its own.
    pub(super) is_wrapped: bool,
}

/// A part of the suite: an operator version, a pattern of graphs, or a topic of the format.
#[derive(Debug)]
pub(super) struct ListedPart {
    pub(super) name: String,
    pub(super) version: Option<OperatorVersion>,
}

impl<'a> ListedCases<'a> {
    /// Lists the cases with these ids.
    pub fn new(ids: impl Iterator<Item = &'a str>) -> ListedCases<'a> {
        let (mut positions, mut parts) = (BTreeMap::<String, usize>::new(), Vec::new());
        let mut position_of = |name: String| {
            *positions.entry(name).or_insert_with_key(|name| {
                parts.push(ListedPart { name: name.clone(), version: version_of(name) });
                parts.len() - 1
            })
        };
        let sorted = sorted_by_digest(ids).into_iter();
        let cases = sorted.map(|(digest, id)| ListedCase {
            id,
            digest: digest_text(&digest),
            part: position_of(answered_part(id)),
            is_hostile: id.split('/').next() == Some(HostileCases::GROUP),
            is_wrapped: WrappedCases::plain_id(id).is_some(),
        });
        ListedCases { cases: cases.collect(), parts }
    }
}

/// Returns the operator version that a part is named after.
fn version_of(part: &str) -> Option<OperatorVersion> {
    CaseId::parse(part).version()
}
