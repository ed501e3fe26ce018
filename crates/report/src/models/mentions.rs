//! Mentions of findings and nodes in reports on models.

use onnx_conformance_check::finding::{PathStep, Place};
use serde::Serialize;

/// Summary of a finding.
#[derive(Clone, Debug, Serialize)]
pub struct FindingReport {
    /// Its id with the runtime: `onnxruntime/gather-strings`.
    pub id: String,
    /// Title of the finding.
    pub title: String,
}

/// Formats the place of a node, without the main graph.
pub(super) fn short_place(place: &Place) -> String {
    match (&place.path[..], &place.node) {
        ([PathStep::Graph(_)], Some(node)) => node.to_string(),
        _ => place.to_string(),
    }
}
