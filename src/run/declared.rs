//! Whether a case lies within what a runtime says that it does.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{Message, ModelProto, ValueInfoProto, decode};
use onnx_conformance_reference::spec::canonical_domain;
use onnx_conformance_reference::types::ValueType;

use crate::case::Case;
use crate::run::{CaseResult, Outcome};
use crate::runtime::Declaration;

/// What a case needs that the runtime does not declare. A refusal needs what its control needs.
pub(super) fn undeclared(declaration: &Declaration, case: &Case) -> Option<String> {
    if declaration.opsets.is_none() && declaration.types.is_none() {
        return None;
    }
    let case = case.refusal.as_ref().map_or(case, |refusal| &refusal.control);
    let model = ModelProto::decode(case.model.clone()).ok()?;
    for import in &model.opset_import {
        let domain = canonical_domain(import.domain());
        if !declaration.has_opset(domain, import.version()) {
            return Some(format!("opset {} of {domain} is not declared", import.version()));
        }
    }
    let graph = model.graph?;
    let infos: Vec<&ValueInfoProto> = graph.input.iter().chain(&graph.output).chain(&graph.value_info).collect();
    let declared = infos.iter().filter_map(|info| decode::value_type(info.r#type.as_ref()?).ok());
    let constants = graph.initializer.iter().filter_map(|tensor| ElementType::from_code(tensor.data_type()));
    let mut elements = declared.flat_map(|value_type| elements(&value_type)).chain(constants);
    elements.find(|element| !declaration.has_type(*element)).map(|element| format!("type {element} is not declared"))
}

/// The element types in a type.
fn elements(value_type: &ValueType) -> Vec<ElementType> {
    match value_type {
        ValueType::Tensor(element) | ValueType::SparseTensor(element) => vec![*element],
        ValueType::Sequence(item) | ValueType::Optional(item) => elements(item),
        ValueType::Map(key, value) => [vec![*key], elements(value)].concat(),
    }
}

impl CaseResult {
    /// The result of a case that was not sent.
    pub(super) fn not_declared(case: &Case, reason: String) -> CaseResult {
        CaseResult { outcome: Outcome::NotDeclared, message: reason, ..CaseResult::of(case) }
    }

    /// A pass of a case, before anything is known.
    pub(super) fn of(case: &Case) -> CaseResult {
        CaseResult {
            id: case.id.clone(),
            outcome: Outcome::Pass,
            message: String::new(),
            inputs: String::new(),
            missing: None,
            ulps: None,
            level: case.level,
            judged: case.judged,
            evidence: case.evidence.clone(),
            cells: Vec::new(),
            named: Vec::new(),
            ms: 0.0,
        }
    }
}
