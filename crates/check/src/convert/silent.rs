//! Silent changes of meaning: matching of a node with the conditions of a `SilentChange`.

use onnx_conformance_reference::proto::{AttributeProto, NodeProto, Text};
use onnx_conformance_reference::spec::{AttributeValue, FormalParameter, FormalType, OpSpec, SilentChange};
use onnx_conformance_reference::types::ValueType;

use crate::facts::ValueFact;

/// Node with the known facts about its inputs and outputs.
#[derive(Clone, Copy, Debug)]
pub struct NodeFactsRef<'a> {
    /// The node.
    pub node: &'a NodeProto,
    /// Known facts about the inputs, by position.
    pub inputs: &'a [Option<ValueFact>],
    /// Known facts about the outputs, by position.
    pub outputs: &'a [Option<ValueFact>],
}

/// True if a node meets all conditions of a silent change of `spec`; `None` if that depends on unknown facts.
pub fn holds(silent: &SilentChange, spec: &OpSpec, known: NodeFactsRef) -> Option<bool> {
    let attributes = silent.attributes.iter().map(|(name, condition)| {
        condition.holds(|value| is_value(value, known.node.attribute.iter().find(|given| given.name() == name), known))
    });
    let types = silent.types.iter().map(|(name, condition)| {
        let bound = bound_type(name, spec, known);
        condition.holds(|element| bound.as_ref().map(|bound| bound.element_type() == element.0))
    });
    let ranks = silent.ranks.iter().map(|(name, condition)| {
        let position = spec.inputs.iter().position(|formal| formal.name == *name)?;
        let rank = known.inputs.get(position).and_then(|fact| fact.as_ref()?.rank());
        condition.holds(|value| rank.map(|rank| rank == *value))
    });
    let given = silent.given.iter().map(|name| Some(is_given(name, spec, known.node)));
    let left_out = silent.left_out.iter().map(|name| Some(!is_given(name, spec, known.node)));
    let mut is_known = true;
    for one in attributes.chain(types).chain(ranks).chain(given).chain(left_out) {
        match one {
            Some(false) => return Some(false),
            Some(true) => {}
            None => is_known = false,
        }
    }
    is_known.then_some(true)
}

fn is_value(value: &AttributeValue, given: Option<&AttributeProto>, known: NodeFactsRef) -> Option<bool> {
    let is_absent = *value == AttributeValue::Text("absent".to_owned());
    let Some(given) = given else { return Some(is_absent) };
    if !given.ref_attr_name().is_empty() {
        return if is_absent { Some(false) } else { None };
    }
    match value {
        AttributeValue::Int(value) => Some(given.i == Some(*value)),
        AttributeValue::Text(word) if word == "last" => match given.i() {
            -1 => Some(true),
            axis => {
                let rank = known.inputs.first().and_then(|fact| fact.as_ref()?.rank())?;
                Some(usize::try_from(axis).is_ok_and(|axis| axis.checked_add(1) == Some(rank)))
            }
        },
        AttributeValue::Text(_) if is_absent => Some(false),
        AttributeValue::Text(text) => Some(given.s.as_deref() == Some(text.as_bytes())),
    }
}

/// The type of a type parameter, as far as the node's inputs and outputs determine it.
fn bound_type(name: &str, spec: &OpSpec, known: NodeFactsRef) -> Option<ValueType> {
    let inputs = known.inputs.iter().enumerate().map(|(at, fact)| (spec.input_at(at), fact));
    let outputs = known.outputs.iter().enumerate().map(|(at, fact)| (spec.output_at(at), fact));
    let of_parameter = |(formal, fact): (Option<&FormalParameter>, &Option<ValueFact>)| match &formal?.kind {
        FormalType::Parameter(parameter) if parameter == name => fact.as_ref()?.value_type.clone(),
        _ => None,
    };
    inputs.chain(outputs).find_map(of_parameter)
}

fn is_given(name: &str, spec: &OpSpec, node: &NodeProto) -> bool {
    let is_there = |formals: &[FormalParameter], names: &[Text]| {
        let position = formals.iter().position(|formal| formal.name == name);
        position.and_then(|position| names.get(position)).is_some_and(|name| !name.is_empty())
    };
    // If an input has the same name, the output is meant.
    if spec.outputs.iter().any(|formal| formal.name == name) {
        return is_there(&spec.outputs, &node.output);
    }
    is_there(&spec.inputs, &node.input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::attributes;
    use onnx_conformance_reference::dtype::ElementType;
    use onnx_conformance_reference::model::graph::Dim;
    use onnx_conformance_reference::proto::texts;
    use onnx_conformance_reference::spec::{Specs, yaml};

    fn check(silent: &str, attribute: Option<AttributeProto>, rank: Option<usize>, expected: Option<bool>) {
        let silent: SilentChange = yaml::read("silent", silent).unwrap();
        let spec = Specs::embedded().find("", "Softmax", 13).unwrap();
        let node = NodeProto {
            input: texts(["x"]),
            output: texts(["y"]),
            attribute: attribute.into_iter().collect(),
            ..NodeProto::default()
        };
        let shape = rank.map(|rank| vec![Dim::Unknown; rank]);
        let value_type = Some(ValueType::Tensor(ElementType::Float16));
        let inputs = [Some(ValueFact { value_type, shape, ..ValueFact::default() })];
        assert_eq!(holds(&silent, spec, NodeFactsRef { node: &node, inputs: &inputs, outputs: &[None] }), expected);
    }

    #[test]
    fn conditions_hold_or_do_not_or_depend() {
        let moved = "{example: b, attributes: {axis: {not: [last]}}, ranks: {input: {not: [2]}}}";
        check(moved, Some(attributes::int("axis", 1)), Some(3), Some(true));
        check(moved, Some(attributes::int("axis", 2)), Some(3), Some(false));
        check(moved, Some(attributes::int("axis", -1)), None, Some(false));
        check(moved, Some(attributes::int("axis", 1)), None, None);
        check(moved, None, Some(2), Some(false));
        check("{example: b, types: {T: [float16]}, given: [output]}", None, None, Some(true));
        check("{example: b, left_out: [input]}", None, None, Some(false));
        check("{example: b, attributes: {axis: [absent]}}", None, None, Some(true));
    }
}
