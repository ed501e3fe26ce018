//! Questions that a check answers, in addition to validity.

use std::collections::BTreeMap;

use onnx_conformance_check::convert::Target;
use onnx_conformance_harness::measure::Measurement;
use onnx_conformance_reference::proto::ModelProto;
use onnx_conformance_reference::spec::{Release, canonical_domain};

use crate::models::probe::RuntimeProbe;
use crate::models::saved::Saving;

/// Opsets and IR version that models are checked against or converted to, and the requested runtimes.
#[derive(Clone, Debug, Default)]
pub struct CheckQuestions {
    /// The opset of each domain.
    pub opsets: BTreeMap<String, i64>,
    /// The IR version.
    pub ir: Option<i64>,
    /// ONNX release that must support the opsets and the IR version. Newer numbers are lowered.
    pub release: Option<Release>,
    /// Label of the request in answers: `opset 12`.
    pub label: String,
    /// True if edits of nodes do not count as an answer.
    pub relabel_only: bool,
    /// Measurements that models are compared with.
    pub runtimes: Vec<&'static Measurement>,
    /// Runtimes that are started to try nodes that no measurement covers.
    pub probes: Vec<RuntimeProbe>,
    /// Nodes to write as separate models.
    pub save: Option<Saving>,
    /// True if the type and shape of every value of the main graph are requested.
    pub shapes: bool,
    /// True if parameters, bytes and operations are requested.
    pub summary: bool,
}

impl CheckQuestions {
    /// Returns true if there are requested runtimes.
    pub(super) fn asks_about_runtimes(&self) -> bool {
        !self.runtimes.is_empty() || !self.probes.is_empty()
    }

    /// Returns true if other opsets or another IR version are requested.
    pub fn asks_for_conversion(&self) -> bool {
        !self.opsets.is_empty() || self.ir.is_some() || self.release.is_some()
    }

    /// Returns the conversion target of a model.
    pub fn target(&self, model: &ModelProto) -> Target {
        let mut target = Target { opsets: self.opsets.clone(), ir: self.ir, relabel_only: self.relabel_only };
        if let Some(release) = &self.release {
            for import in &model.opset_import {
                let domain = canonical_domain(import.domain());
                if let Some(newest) = release.opsets.get(domain) {
                    target.opsets.insert(domain.to_owned(), import.version().min(i64::from(*newest)));
                }
            }
            target.ir = Some(model.ir_version().min(i64::from(release.ir)));
        }
        target
    }
}
