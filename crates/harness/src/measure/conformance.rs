//! Conformance with an opset: the operators whose required cases all pass, from the results of a whole run.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_cases::suite::{is_in_type, opset_of};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, LookupError, OpSpec, OperatorVersion, Specs};
use onnx_conformance_reference::types::ValueType;

use crate::run::{CaseResult, Outcome};

/// Results of the operators of ONNX's own domain at an opset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conformance {
    /// The opset.
    pub opset: u32,
    /// The element type that the statement is about; `None` for all types.
    pub element: Option<ElementType>,
    /// The operators in force at the opset, with the results of their cases at that opset or an older one.
    pub operators: BTreeMap<OperatorVersion, OperatorConformance>,
}

/// Results of one operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorConformance {
    /// Number of cases that count: required cases, and cases of any level without an answer.
    pub cases: usize,
    /// Number of these that do not pass, including cases that were not sent.
    pub failing: usize,
    /// Types of the failing cases, in the spelling of ids: `T=float16`.
    pub types: BTreeSet<String>,
}

impl Conformance {
    /// Collects the results at an opset. With an element type, an operator counts if a type parameter allows it, and a case if
    /// every such parameter has it.
    pub fn at(opset: u32, element: Option<ElementType>, results: &[CaseResult]) -> Result<Conformance, LookupError> {
        let specs = Specs::embedded();
        let mut operators: BTreeMap<OperatorVersion, OperatorConformance> = BTreeMap::new();
        for result in results.iter().filter(|result| is_required(result)) {
            let id = CaseId::parse(&result.id);
            let Some(version) = id.version().filter(|version| version.domain == DEFAULT_DOMAIN) else { continue };
            let spec = specs.get(&version)?;
            let is_in_force = !spec.deprecated && specs.opsets(&version)?.contains(&opset);
            let is_about = element.is_none_or(|element| allows(spec, element) && is_in_type(spec, id, element));
            if is_in_force && is_about && opset_of(&version, id) <= opset {
                operators.entry(version).or_default().add(result, id, spec);
            }
        }
        Ok(Conformance { opset, element, operators })
    }

    /// Returns the operators with a failing case.
    pub fn failing(&self) -> impl Iterator<Item = (&OperatorVersion, &OperatorConformance)> {
        self.operators.iter().filter(|(_, results)| results.failing > 0)
    }

    /// Returns true if the runtime conforms with the opset: every case that counts passes.
    pub fn holds(&self) -> bool {
        !self.operators.is_empty() && self.failing().next().is_none()
    }
}

impl OperatorConformance {
    fn add(&mut self, result: &CaseResult, id: CaseId<'_>, spec: &OpSpec) {
        self.cases += 1;
        if result.outcome != Outcome::Pass {
            self.failing += 1;
            // The last part of an id without types may have values of alternatives.
            let types = id.types().filter(|(parameter, _)| spec.types.contains_key(*parameter));
            let types: Vec<String> = types.map(|(parameter, named)| format!("{parameter}={named}")).collect();
            self.types.extend(Some(types.join(",")).filter(|types| !types.is_empty()));
        }
    }
}

/// Returns true if a statement about conformance depends on a result. A refusal whose control fails proves nothing, and the control
/// counts.
pub fn is_required(result: &CaseResult) -> bool {
    result.counts(false) && result.outcome != Outcome::NotApplicable
}

/// Returns true if a type parameter of an operator allows tensors of an element type.
fn allows(spec: &OpSpec, element: ElementType) -> bool {
    let wanted = ValueType::Tensor(element);
    spec.types.values().any(|types| types.contains(&wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results::result;
    use onnx_conformance_cases::case::Level;

    fn at(opset: u32, results: &[CaseResult]) -> Conformance {
        Conformance::at(opset, None, results).unwrap()
    }

    #[test]
    fn an_opset_holds_if_every_required_case_of_its_versions_passes() {
        let results = [
            result("ai.onnx/Abs-13/a/T=float", Outcome::Pass),
            result("ai.onnx/Abs-6/a/T=float", Outcome::Mismatch),
            result("ai.onnx.ml/Scaler-1/a", Outcome::Crash),
            result("onnx-1.2.3/node/test_abs", Outcome::Crash),
        ];
        assert!(at(13, &results).holds() && at(20, &results).holds());
        assert!(!at(12, &results).holds());
        assert!(!at(5, &results).holds(), "no operator is in force");
    }

    #[test]
    fn failing_operators_have_their_types() {
        let results = [
            result("ai.onnx/Abs-13/a/T=float", Outcome::Pass),
            result("ai.onnx/Abs-13/a/T=double", Outcome::Mismatch),
            result("ai.onnx/Abs-13/b/T=double", Outcome::NotDeclared),
            result("ai.onnx/Abs-13/refuse/X=2x3", Outcome::Accepted),
            result("ai.onnx/Add-14/a/T=float", Outcome::Pass),
        ];
        let statement = at(14, &results);
        let failing: Vec<_> = statement.failing().collect();
        let [(version, operator)] = failing[..] else { panic!("{statement:?}") };
        assert_eq!((version.to_string(), operator.cases, operator.failing), ("Abs-13".to_owned(), 4, 3));
        assert_eq!(operator.types.iter().collect::<Vec<_>>(), ["T=double"]);
        assert_eq!(statement.operators.len(), 2);
    }

    #[test]
    fn a_type_has_the_operators_that_allow_it() {
        let results = [
            result("ai.onnx/Abs-13/a/T=float", Outcome::Pass),
            result("ai.onnx/Abs-13/a/T=double", Outcome::Mismatch),
            result("ai.onnx/And-7/a/T=bool", Outcome::Crash),
        ];
        let in_type = |element| Conformance::at(13, Some(element), &results).unwrap();
        assert!(in_type(ElementType::Float).holds() && in_type(ElementType::Float).operators.len() == 1);
        assert!(!in_type(ElementType::Double).holds());
        assert!(!in_type(ElementType::Bool).holds());
        assert!(in_type(ElementType::String).operators.is_empty());
    }

    #[test]
    fn open_cases_and_later_opsets_do_not_count() {
        let open = CaseResult { level: Level::Open, ..result("ai.onnx/Abs-13/a/T=float", Outcome::Mismatch) };
        let later = result("ai.onnx/Abs-13/b/T=float@opset=15", Outcome::Error);
        let unproven = result("ai.onnx/Abs-13/refuse/c", Outcome::NotApplicable);
        let results = [result("ai.onnx/Abs-13/d/T=float", Outcome::Pass), open.clone(), later, unproven];
        assert!(at(14, &results).holds());
        assert!(!at(15, &results).holds());
        let crash = CaseResult { outcome: Outcome::Crash, ..open };
        assert!(!at(14, &[crash]).holds(), "a missing answer counts at every level");
    }
}
