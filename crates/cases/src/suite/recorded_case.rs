//! Facts about a case from `records/`, without making it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use onnx_conformance_check::Limits;
use onnx_conformance_check::infer::infer;
use onnx_conformance_check::settings::{Settings, type_arguments};
use onnx_conformance_reference::proto::{ModelProto, decode};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OperatorVersion, Specs, canonical_domain};

use crate::case::{
    Case, CaseDigest, CaseId, CaseOpset, Level, RefusalClass, TextLevel, TextRelease, Variant, type_in_id, vary,
};

/// A case from the specs, as recorded in `records/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCase {
    /// The id.
    pub id: String,
    /// Its facts, shared with other cases of the version.
    pub facts: Arc<CaseFacts>,
    /// Its digest.
    pub digest: CaseDigest,
}

impl RecordedCase {
    /// Returns the type of a type parameter of the operator version, in the spelling of ids, if the case has one.
    pub fn type_of(&self, parameter: &str) -> Option<&str> {
        let recorded = self.facts.types.iter().filter_map(|pair| pair.split_once('='));
        CaseId::parse(&self.id).types().chain(recorded).find(|(name, _)| *name == parameter).map(|(_, found)| found)
    }
}

/// Facts about a case, without its model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaseFacts {
    /// Level of the expectation: required, recommended or open.
    pub level: Level,
    /// The level by the texts of some releases, if they decide it.
    pub text: Option<TextLevel>,
    /// The part of the case that shows a runtime that it must refuse; `None` if the case must run.
    pub refusal: Option<RefusalClass>,
    /// True for a refusal of the class `refusal/static` about which no checker is asked, since only a run shows the violation.
    pub only_at_run_time: bool,
    /// True if the case is about special values.
    pub is_edge: bool,
    /// The opset of ONNX's own domain, if the model of another domain also imports it.
    pub default_domain_opset: Option<u32>,
    /// Types of type parameters that the id does not name, such as `T2=string`. Empty for a negative case.
    pub types: BTreeSet<String>,
    /// The settings of all nodes under test. Empty for a negative case.
    pub settings: Settings,
}

/// The word of a refusal that only a run shows.
const RUN_TIME: &str = "run-time";

/// Requirements on a runtime to receive a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The IR version.
    pub ir: u32,
    /// The opsets by domain.
    pub opsets: Vec<(String, u32)>,
}

impl CaseFacts {
    /// Collects the facts of a case of an operator version.
    pub(super) fn from_case(version: &OperatorVersion, case: &Case) -> CaseFacts {
        let model = decode::model(case.model.clone()).unwrap_or_default();
        let default_domain_opset = model
            .opset_import
            .iter()
            .find(|import| version.domain != DEFAULT_DOMAIN && canonical_domain(import.domain()) == DEFAULT_DOMAIN);
        let refusal = case.refusal_class();
        let (types, settings) = if refusal.is_some() {
            (BTreeSet::new(), Settings::default())
        } else {
            types_and_settings(version, case, &model)
        };
        CaseFacts {
            level: case.level,
            text: case.text,
            refusal,
            only_at_run_time: refusal == Some(RefusalClass::Static) && vary(case, Variant::Check).is_none(),
            is_edge: case.is_edge,
            default_domain_opset: default_domain_opset.and_then(|import| u32::try_from(import.version()).ok()),
            types,
            settings,
        }
    }

    /// Returns the level of the expectation by the text of a release.
    pub fn level_by(&self, text: TextRelease) -> Level {
        self.text.map_or(self.level, |decided| decided.by(text))
    }

    /// Returns the requirements of the case of this id.
    pub fn needs(&self, version: &OperatorVersion, id: CaseId<'_>) -> Needs {
        self.needs_at(opset_of(version, id), self.default_domain_opset, version)
    }

    /// Returns the requirements of a case whose model imports this opset of the domain of its operator version and, if it also
    /// imports ONNX's own domain, this opset of that.
    pub fn needs_at(&self, opset: u32, default_domain_opset: Option<u32>, version: &OperatorVersion) -> Needs {
        let mut opsets = vec![(version.domain.clone(), opset)];
        opsets.extend(default_domain_opset.map(|opset| (DEFAULT_DOMAIN.to_owned(), opset)));
        let releases = Specs::embedded().releases().ok();
        let lowest = |(domain, opset): &(String, u32)| releases.and_then(|all| all.lowest_ir(domain, *opset));
        let ir = opsets.iter().filter_map(lowest).max().unwrap_or_default();
        Needs { ir: ir.max(3), opsets }
    }

    /// Parses the output of `Display`.
    pub(super) fn parse(text: &str) -> Option<CaseFacts> {
        let (kind, settings) = text.split_once(';').unwrap_or((text, ""));
        let mut facts = CaseFacts {
            level: Level::Required,
            text: None,
            refusal: None,
            only_at_run_time: false,
            is_edge: false,
            default_domain_opset: None,
            types: BTreeSet::new(),
            settings: Settings::parse(settings),
        };
        for word in kind.split_whitespace() {
            match word {
                "required" => facts.level = Level::Required,
                "recommended" => facts.level = Level::Recommended,
                "open" => facts.level = Level::Open,
                "edge" => facts.is_edge = true,
                RUN_TIME => facts.only_at_run_time = true,
                "refusal/static" => facts.refusal = Some(RefusalClass::Static),
                "refusal/value" => facts.refusal = Some(RefusalClass::Value),
                _ if word.contains("..") => facts.text = Some(TextLevel::parse(word)?),
                _ if word.contains('=') => {
                    facts.types.insert(word.to_owned());
                }
                _ => facts.default_domain_opset = Some(word.strip_prefix("ai.onnx-")?.parse().ok()?),
            }
        }
        Some(facts)
    }
}

impl fmt::Display for CaseFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level)?;
        self.text.iter().try_for_each(|decided| write!(f, " {}", decided.word()))?;
        self.refusal.iter().try_for_each(|class| write!(f, " {class}"))?;
        if self.only_at_run_time {
            write!(f, " {RUN_TIME}")?;
        }
        self.default_domain_opset.iter().try_for_each(|opset| write!(f, " ai.onnx-{opset}"))?;
        f.write_str(if self.is_edge { " edge" } else { "" })?;
        self.types.iter().try_for_each(|pair| write!(f, " {pair}"))?;
        match self.settings.words().next() {
            Some(_) => write!(f, "; {}", self.settings),
            None => Ok(()),
        }
    }
}

/// Returns the opset of the operator's domain in the model of a case of an operator version.
pub fn opset_of(version: &OperatorVersion, id: CaseId<'_>) -> u32 {
    match id.opset() {
        None => version.since,
        Some(CaseOpset::At(opset)) => opset,
        Some(CaseOpset::Last) => Specs::embedded().released_opsets(version).map_or(version.since, |range| *range.end()),
    }
}

/// Maximum size in bytes of an input whose value counts as a trait.
const MAX_VALUE: usize = 8192;

/// Returns the types that the id of a case does not name, and the settings, for the nodes of an operator version.
fn types_and_settings(version: &OperatorVersion, case: &Case, model: &ModelProto) -> (BTreeSet<String>, Settings) {
    let Ok(spec) = Specs::embedded().get(version) else { return (BTreeSet::new(), Settings::default()) };
    let inferred = infer(model, &Limits::default());
    let all = inferred.nodes().filter_map(|node| inferred.node_facts(node)).filter(|facts| {
        facts.node.op_type() == version.name && canonical_domain(facts.node.domain()) == version.domain
    });
    let named: BTreeSet<&str> = CaseId::parse(&case.id).types().map(|(parameter, _)| parameter).collect();
    let (mut types, mut settings) = (BTreeSet::new(), Vec::new());
    let given = case.data.first().map_or(&[][..], |data| &data.inputs);
    for mut facts in all {
        for (name, fact) in facts.node.input.iter().zip(&mut facts.inputs) {
            let named = given.iter().find(|named| named.name == *name && named.value.size() <= MAX_VALUE);
            let value = named.map(|named| named.value.clone());
            if let (Some(fact), Some(value)) = (fact, value) {
                fact.constant.get_or_insert(value);
            }
        }
        let own = type_arguments(spec, &facts).into_iter().filter(|(parameter, _)| !named.contains(parameter));
        types.extend(own.map(|(parameter, found)| format!("{parameter}={}", type_in_id(&found))));
        settings.push(Settings::from_node(spec, &facts));
    }
    (types, Settings::joined(settings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::recorded_cases;

    #[test]
    fn facts_read_back() {
        for text in [
            "required",
            "open edge; +roi mode=cubic rank=4",
            "recommended refusal/value",
            "required refusal/static run-time",
            "required ai.onnx-25; rank=2",
            "open required/1.10.0.. edge; rank=1",
            "required edge T1=double T2=string; rank=2",
        ] {
            assert_eq!(CaseFacts::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(CaseFacts::parse("required nonsense"), None);
    }

    #[test]
    fn a_case_needs_its_opset_and_the_lowest_ir_version() {
        let version = OperatorVersion::new("ai.onnx", "Abs", 6);
        let cases = recorded_cases(&version);
        let needs = |id: &str| cases[0].facts.needs(&version, CaseId::parse(id));
        assert_eq!(needs("ai.onnx/Abs-6/x"), Needs { ir: 3, opsets: vec![("ai.onnx".to_owned(), 6)] });
        assert_eq!(needs("ai.onnx/Abs-6/x@opset=11"), Needs { ir: 6, opsets: vec![("ai.onnx".to_owned(), 11)] });
        assert_eq!(needs("ai.onnx/Abs-6/x@opset=last"), Needs { ir: 7, opsets: vec![("ai.onnx".to_owned(), 12)] });
    }
}
