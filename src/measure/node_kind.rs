//! The kind of a node: what of it decides whether a measurement says anything of it.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_check::facts::{NodeFacts, ValueFact};
use onnx_conformance_check::settings::Settings;
use onnx_conformance_reference::spec::{FormalParameter, FormalType, OpSpec, OperatorVersion, Specs};
use onnx_conformance_reference::types::ValueType;

use crate::case::{CaseId, type_in_id};

/// The operator version of a node, the types of its type parameters as far as they are known, and its settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeKind {
    /// The operator version.
    pub version: OperatorVersion,
    /// The types of type parameters that the version leaves a choice of, as ids spell them.
    pub types: BTreeMap<String, String>,
    /// The settings.
    pub settings: Settings,
}

impl NodeKind {
    /// The kind of a node; nothing for one that calls no operator of ONNX.
    pub fn of(facts: &NodeFacts<'_>) -> Option<NodeKind> {
        let opset = u32::try_from(facts.opset).ok()?;
        let spec = Specs::embedded().find(facts.node.domain(), facts.node.op_type(), opset).ok()?;
        let mut types = BTreeMap::new();
        for (position, fact) in facts.inputs.iter().enumerate() {
            add_type(&mut types, spec, spec.input_at(position), fact.as_ref());
        }
        for (position, fact) in facts.outputs.iter().enumerate() {
            add_type(&mut types, spec, spec.output_at(position), fact.as_ref());
        }
        Some(NodeKind { version: spec.version.clone(), types, settings: Settings::of(spec, facts) })
    }

    /// Whether a case, by its id, is about these types: no type parameter that both name is of another type.
    pub fn has_types_of(&self, id: &str) -> bool {
        let path = CaseId::parse(id).path;
        let last = path.rsplit('/').next().unwrap_or(path);
        let last = last.split_once('@').map_or(last, |(types, _)| types);
        let mut pairs = last.split(',').filter_map(|pair| pair.split_once('='));
        pairs.all(|(parameter, of_case)| self.types.get(parameter).is_none_or(|of_node| of_node == of_case))
    }
}

impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.version)?;
        let types: Vec<String> = self.types.iter().map(|(parameter, name)| format!("{parameter}={name}")).collect();
        if types.is_empty() { Ok(()) } else { write!(f, " {}", types.join(",")) }
    }
}

/// Notes the type of a value for the type parameter of the formal parameter that it is given to.
fn add_type(
    types: &mut BTreeMap<String, String>,
    spec: &OpSpec,
    formal: Option<&FormalParameter>,
    fact: Option<&ValueFact>,
) {
    let known: Option<&ValueType> = fact.and_then(|fact| fact.value_type.as_ref());
    if let (Some(FormalParameter { kind: FormalType::Parameter(name), .. }), Some(known)) = (formal, known)
        && spec.types.get(name).is_some_and(|allowed| allowed.len() > 1)
    {
        types.entry(name.clone()).or_insert_with(|| type_in_id(known));
    }
}
