//! Check of a case against the declaration of a runtime.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, decode};
use onnx_conformance_reference::spec::{Specs, canonical_domain};
use onnx_conformance_reference::types::ValueType;

use onnx_conformance_cases::case::{Case, Variant};
use onnx_conformance_subject::{Declaration, MissingFeature};

/// Returns the feature that a case needs and the runtime does not declare, as a missing feature; `None` if the case is
/// sent. For a negative case, its control is checked, since a violation is seldom declared. A hostile model without a
/// control is always sent.
pub fn undeclared_feature(case: &Case, declaration: &Declaration) -> Option<String> {
    DecodedCase::new(case).undeclared_feature(declaration)
}

/// Case to compare with several declarations. Its model is decoded at most once.
#[derive(Debug)]
pub struct DecodedCase<'a> {
    case: &'a Case,
    /// Model of the case, or of the control of a negative case; `None` for bytes that are not a model.
    model: OnceCell<Option<ModelProto>>,
}

impl<'a> DecodedCase<'a> {
    /// Creates the view of a case.
    pub fn new(case: &'a Case) -> DecodedCase<'a> {
        DecodedCase { case, model: OnceCell::new() }
    }

    /// Returns the case.
    pub fn case(&self) -> &'a Case {
        self.case
    }

    /// Returns the feature that the case needs and the runtime does not declare, as [`undeclared_feature`] does.
    pub fn undeclared_feature(&self, declaration: &Declaration) -> Option<String> {
        let case = self.case;
        let (_, variant) = Variant::split_id(&case.id);
        if !declaration.has_variant(variant) {
            return Some(format!("variant {variant}"));
        }
        if declaration.opsets.is_none() && declaration.ir.is_none() && declaration.types.is_none() {
            return None;
        }
        if case.is_hostile && case.refusal.is_none() {
            return None;
        }
        let case = case.refusal.as_ref().map_or(case, |refusal| &refusal.control);
        // Bytes that are not a model are sent to the runtime.
        let model = self.model.get_or_init(|| decode::model(case.model.clone()).ok()).as_ref()?;
        feature_of_model(case, model, declaration)
    }
}

/// Returns the feature that the model and the data of a case need and the runtime does not declare.
fn feature_of_model(case: &Case, model: &ModelProto, declaration: &Declaration) -> Option<String> {
    let imports = model.opset_import.iter().map(|import| (canonical_domain(import.domain()), import.version()));
    // Other domains belong to the model's own functions.
    let is_onnx = |domain: &str| Specs::embedded().domains().any(|known| known == domain);
    let unknown = |(domain, opset): &(&str, i64)| is_onnx(domain) && !declaration.has_opset(domain, *opset);
    if let Some((domain, opset)) = imports.into_iter().find(unknown) {
        return Some(MissingFeature::Opset(opset, domain.to_owned()).to_string());
    }
    if !declaration.has_ir(model.ir_version()) {
        return Some(MissingFeature::Ir(model.ir_version()).to_string());
    }
    declaration.types.as_ref()?;
    let mut types = BTreeSet::new();
    for data in &case.data {
        types.extend(data.inputs.iter().flat_map(|input| elements(&input.value.value_type())));
        types.extend(data.outputs.iter().flat_map(|output| elements(&output.expected.declared().0)));
    }
    model.graph.iter().for_each(|graph| add_graph_types(graph, &mut types));
    model.functions.iter().flat_map(|function| &function.node).for_each(|node| add_node_types(node, &mut types));
    let unknown = types.into_iter().find(|element| !declaration.has_type(*element))?;
    Some(MissingFeature::Type(ValueType::Tensor(unknown), None).to_string())
}

fn add_graph_types(graph: &GraphProto, types: &mut BTreeSet<ElementType>) {
    let infos = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
    types.extend(infos.filter_map(declared).flat_map(|declared| elements(&declared)));
    let values = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    types.extend(graph.initializer.iter().chain(values).filter_map(tensor_element));
    graph.node.iter().for_each(|node| add_node_types(node, types));
}

fn add_node_types(node: &NodeProto, types: &mut BTreeSet<ElementType>) {
    for attribute in &node.attribute {
        types.extend(attribute.all_tensors().filter_map(tensor_element));
        attribute.all_graphs().for_each(|graph| add_graph_types(graph, types));
    }
}

fn declared(info: &ValueInfoProto) -> Option<ValueType> {
    decode::value_type(info.r#type.as_ref()?).ok()
}

/// Returns the element types in a type.
fn elements(value_type: &ValueType) -> Vec<ElementType> {
    match value_type {
        ValueType::Tensor(element) | ValueType::SparseTensor(element) => vec![*element],
        ValueType::Sequence(item) | ValueType::Optional(item) => elements(item),
        ValueType::Map(key, value) => [vec![*key], elements(value)].concat(),
    }
}

fn tensor_element(tensor: &TensorProto) -> Option<ElementType> {
    ElementType::from_code(tensor.data_type())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::case::CaseId;
    use onnx_conformance_cases::generate::{OperatorCatalog, cases};

    fn declaration(fields: &str) -> Declaration {
        serde_json::from_str(&format!("{{\"name\": \"a\", \"version\": \"1\"{fields}}}")).unwrap()
    }

    fn check(id: &str, fields: &str, expected: Option<&str>) {
        let unit = CaseId::parse(id).version().unwrap();
        let cases = cases(&OperatorCatalog::embedded(), &unit, &|other| other == id).unwrap();
        assert_eq!(undeclared_feature(&cases[0], &declaration(fields)).as_deref(), expected, "{fields}");
    }

    #[test]
    fn an_undeclared_feature_is_named() {
        let id = "ai.onnx/Abs-13/refuse/attribute=no_such_attribute";
        check(id, "", None);
        check(id, r#", "opsets": {"ai.onnx": 12}"#, Some("opset 13 of ai.onnx"));
        check(id, r#", "opsets": {"ai.onnx": [7, 13]}, "types": ["float"]"#, None);
        check(id, r#", "ir": [3, 6]"#, Some("IR version 7"));
        check(id, r#", "ir": 7"#, None);
        check(id, r#", "types": ["int8"]"#, Some("tensor(float)"));
        check(id, r#", "variants": ["constants"]"#, Some("variant runtime"));
    }

    #[test]
    fn a_refusal_is_judged_by_its_control() {
        check("ai.onnx/Abs-13/refuse/T=string", r#", "types": ["float"]"#, None);
    }
}
