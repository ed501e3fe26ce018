//! What is asked of models besides whether they are valid.

use std::collections::BTreeMap;

use onnx_conformance_check::convert::Target;
use onnx_conformance_reference::proto::ModelProto;
use onnx_conformance_reference::spec::{Release, canonical_domain};

use crate::models::probe::RuntimeProbe;
use crate::models::saved::Saving;
use onnx_conformance_harness::measure::Measurement;

/// The opsets and the IR version that models are held to, or brought to, and the runtimes that are asked about.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The opset of each domain.
    pub opsets: BTreeMap<String, i64>,
    /// The IR version.
    pub ir: Option<i64>,
    /// A release of ONNX that is to know the opsets and the IR version: what is newer is lowered.
    pub release: Option<Release>,
    /// What was asked for, as it is answered: `opset 12`.
    pub label: String,
    /// Whether edits of nodes do not count as an answer.
    pub relabel_only: bool,
    /// The measurements that models are held against.
    pub runtimes: Vec<&'static Measurement>,
    /// Runtimes that are started to try nodes of which no measurement says anything.
    pub probes: Vec<RuntimeProbe>,
    /// Which nodes are written as models of their own.
    pub save: Option<Saving>,
}

impl Wanted {
    /// Whether runtimes are asked about.
    pub(super) fn asks_of_runtimes(&self) -> bool {
        !self.runtimes.is_empty() || !self.probes.is_empty()
    }

    /// Whether other opsets or another IR version are asked about.
    pub fn is_something(&self) -> bool {
        !self.opsets.is_empty() || self.ir.is_some() || self.release.is_some()
    }

    /// What a model is to become.
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
