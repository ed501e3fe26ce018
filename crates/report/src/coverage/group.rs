//! Coverage of the cases of a group: those of an operator version, or with another common beginning of their ids.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{Case, CaseId, Evidence, Level};
use onnx_conformance_cases::suite::recorded_cases;
use onnx_conformance_reference::proto::decode;
use onnx_conformance_reference::spec::{Specs, canonical_domain};
use serde::{Deserialize, Serialize};

use crate::coverage::reach::Reached;
use crate::coverage::sizes::Sizes;

/// Coverage of the cases of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupCoverage {
    pub(super) reached: Reached,
    pub(super) sizes: Sizes,
    /// Number of cases that do not pass.
    pub(super) other: usize,
    /// Number of passing cases whose outputs are judged only by type and shape, or not at all.
    pub(super) unjudged: usize,
    /// Number of passing refusals by level.
    pub(super) refusals: BTreeMap<Level, usize>,
    /// Every case by id, with the evidence of its own if it passes and its outputs are judged.
    pub(super) cases: BTreeMap<String, Option<OwnEvidence>>,
}

/// Evidence for the judged outputs of a case besides measured runtimes, and the facts by which these confirm it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnEvidence {
    /// The level.
    #[serde(default, skip_serializing_if = "is_omitted")]
    level: Level,
    /// The sources that confirm every judged output.
    #[serde(default, skip_serializing_if = "is_omitted")]
    pub(super) sources: BTreeSet<Evidence>,
    /// The judged outputs without a source.
    #[serde(default, skip_serializing_if = "is_omitted")]
    pub(super) unconfirmed: Vec<String>,
    /// Number of judged outputs after the first.
    #[serde(default, skip_serializing_if = "is_omitted")]
    more_outputs: usize,
    /// IR version and opsets of the model, unless they are those that `records/` give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    versions: Option<ModelVersions>,
}

/// IR version and opsets of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelVersions {
    ir: i64,
    /// By domain, only those of ONNX.
    opsets: BTreeMap<String, i64>,
}

/// Facts by which a runtime confirms a case.
pub(super) struct Confirmable {
    pub(super) level: Level,
    pub(super) ir: i64,
    pub(super) opsets: BTreeMap<String, i64>,
}

impl OwnEvidence {
    /// Collects the evidence of a case; `None` if no output is judged.
    pub(super) fn from_case(case: &Case) -> Option<OwnEvidence> {
        let outputs = case.judged_outputs();
        let of_output = |output: &&str| {
            let sources = case.evidence_of(output).filter(|source| !matches!(source, Evidence::Runtime(_)));
            sources.cloned().collect::<BTreeSet<Evidence>>()
        };
        let sources: Vec<BTreeSet<Evidence>> = outputs.iter().map(of_output).collect();
        let unconfirmed = outputs.iter().zip(&sources).filter(|(_, sources)| sources.is_empty());
        let own = ModelVersions::of_model(case);
        Some(OwnEvidence {
            level: case.level,
            unconfirmed: unconfirmed.map(|(output, _)| (*output).to_owned()).collect(),
            more_outputs: outputs.len().saturating_sub(1),
            versions: Some(own).filter(|own| ModelVersions::recorded(&case.id).as_ref() != Some(own)),
            sources: sources.into_iter().reduce(|common, sources| &common & &sources)?,
        })
    }

    /// Returns true if other outputs than those without a source are judged.
    pub(super) fn is_partial(&self) -> bool {
        self.unconfirmed.len() <= self.more_outputs
    }

    /// Returns the facts by which a runtime confirms the case with this id.
    pub(super) fn confirmable(&self, id: &str) -> Confirmable {
        let ModelVersions { ir, opsets } =
            self.versions.clone().or_else(|| ModelVersions::recorded(id)).unwrap_or_default();
        Confirmable { level: self.level, ir, opsets }
    }
}

/// Returns true for a value that the text omits.
pub(super) fn is_omitted<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl ModelVersions {
    fn of_model(case: &Case) -> ModelVersions {
        let model = decode::model(case.model.clone()).unwrap_or_default();
        let is_onnx = |domain: &str| Specs::embedded().domains().any(|known| known == domain);
        let imports = model.opset_import.iter().map(|import| (canonical_domain(import.domain()), import.version()));
        let opsets = imports.filter(|(domain, _)| is_onnx(domain)).map(|(domain, opset)| (domain.to_owned(), opset));
        ModelVersions { ir: model.ir_version(), opsets: opsets.collect() }
    }

    /// Returns those of a case from the specs, by `records/`.
    fn recorded(id: &str) -> Option<ModelVersions> {
        let parsed = CaseId::parse(id);
        let version = parsed.version()?;
        let cases = recorded_cases(&version);
        let at = cases.binary_search_by(|case| case.id.as_str().cmp(id)).ok()?;
        let needs = cases.get(at)?.facts.needs(&version, parsed);
        let opsets = needs.opsets.into_iter().map(|(domain, opset)| (domain, i64::from(opset))).collect();
        Some(ModelVersions { ir: i64::from(needs.ir), opsets })
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::suite::{Generated, Suite};

    use super::*;

    #[test]
    fn the_versions_of_a_case_from_the_specs_are_recorded() {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        let case = suite.find("ai.onnx/Abs-13/ranks/X=2x3x4/T=int8").unwrap().unwrap();
        let own = OwnEvidence::from_case(&case).unwrap();
        assert_eq!((own.more_outputs, own.is_partial(), &own.versions), (0, own.unconfirmed.is_empty(), &None));
        let confirmable = own.confirmable(&case.id);
        assert_eq!((confirmable.ir, confirmable.opsets["ai.onnx"], confirmable.level), (7, 13, Level::Required));
        let other = OwnEvidence::from_case(&Case { id: "graph/x/T=int8".to_owned(), ..case }).unwrap();
        assert_eq!(other.confirmable("graph/x/T=int8").opsets["ai.onnx"], 13);
        assert_ne!(own, other, "records do not have the versions of a graph");
    }
}
