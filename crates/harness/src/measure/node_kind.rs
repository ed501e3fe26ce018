//! Kind of a node: the properties that decide whether a measurement applies to it.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_check::facts::NodeFacts;
use onnx_conformance_check::settings::{Settings, type_arguments};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::{FormalType, OperatorVersion, Specs};
use onnx_conformance_reference::types::ValueType;

use onnx_conformance_cases::case::{CaseId, type_in_id};
use onnx_conformance_cases::suite::RecordedCase;

/// Operator version and opset of a node, its known type arguments, and its settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeKind {
    /// The operator version.
    pub version: OperatorVersion,
    /// The opset of the operator's domain in the node's model.
    pub opset: u32,
    /// Types of the type parameters that the version leaves open, in the spelling of ids.
    pub types: BTreeMap<String, String>,
    /// The settings.
    pub settings: Settings,
}

impl NodeKind {
    /// Returns the kind of a node; `None` if it does not call an ONNX operator.
    pub fn from_facts(facts: &NodeFacts<'_>) -> Option<NodeKind> {
        let opset = u32::try_from(facts.opset).ok()?;
        let spec = Specs::embedded().find(facts.node.domain(), facts.node.op_type(), opset).ok()?;
        let types = type_arguments(spec, facts);
        let types = types.into_iter().map(|(name, found)| (name.to_owned(), type_in_id(&found))).collect();
        Some(NodeKind { version: spec.version.clone(), opset, types, settings: Settings::from_node(spec, facts) })
    }

    /// Returns true if a case has these types: no type parameter that both have differs.
    pub fn has_types_of(&self, case: &RecordedCase) -> bool {
        let is_it =
            |(parameter, for_case): (&str, &str)| self.types.get(parameter).is_none_or(|of_node| of_node == for_case);
        CaseId::parse(&case.id)
            .types()
            .chain(case.facts.types.iter().filter_map(|pair| pair.split_once('=')))
            .all(is_it)
    }

    /// Returns the type parameter of the first input, if its type is unknown although the version allows several.
    pub fn unknown_type(&self) -> Option<&'static str> {
        let spec = Specs::embedded().get(&self.version).ok()?;
        let FormalType::Parameter(name) = &spec.input_at(0)?.kind else { return None };
        let is_open = spec.types.get(name).is_some_and(|allowed| allowed.len() > 1);
        (is_open && !self.types.contains_key(name)).then_some(name.as_str())
    }

    /// Returns the kind with any index type: type parameters that only choose between int32 and int64, such as Tind of Gather,
    /// are dropped. Kernels differ by the data they move, not by their index type.
    #[must_use]
    pub fn with_any_positions(&self) -> NodeKind {
        let spec = Specs::embedded().get(&self.version).ok();
        let is_of_positions = |parameter: &str| {
            spec.and_then(|spec| spec.types.get(parameter)).is_some_and(|allowed| {
                allowed.iter().all(|kind| matches!(kind, ValueType::Tensor(ElementType::Int32 | ElementType::Int64)))
            })
        };
        let mut kind = self.clone();
        kind.types.retain(|parameter, _| !is_of_positions(parameter));
        kind
    }
}

impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.version)?;
        let types: Vec<String> = self.types.iter().map(|(parameter, name)| format!("{parameter}={name}")).collect();
        if types.is_empty() { Ok(()) } else { write!(f, " {}", types.join(",")) }
    }
}
