//! Settings: the properties of a node, besides its element types, that select the code of a runtime. The same function classifies
//! the nodes of cases and of models, so measurements of cases apply to the nodes of models.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use onnx_conformance_reference::proto::{AttributeProto, NodeProto};
use onnx_conformance_reference::spec::{AttributeType, DefaultValue, FormalParameter, FormalType, OpSpec, Presence};
use onnx_conformance_reference::types::ValueType;

use crate::facts::{NodeFacts, ValueFact};

/// The largest distinguished rank.
const MAX_DISTINCT_RANK: usize = 5;

/// Settings of a node: words in order, such as `mode=cubic antialias +roi rank=4`.
///
/// - `mode=cubic`: an attribute whose values the standard lists, and its value, or the default if it is omitted;
/// - `antialias`: another optional attribute whose value is not the default;
/// - `+roi`: an optional input that is present;
/// - `-B`: an optional input that has an empty name and no present input after it;
/// - `rank=4`: the rank of the first tensor input; `rank=5+` from 5 on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Settings(BTreeSet<String>);

impl Settings {
    /// The settings of a node of this operator version.
    pub fn from_node(spec: &OpSpec, facts: &NodeFacts<'_>) -> Settings {
        let mut words: BTreeSet<String> = attributes(spec, facts.node).collect();
        for (position, input) in spec.inputs.iter().enumerate() {
            let is_given = facts.node.input.get(position).is_some_and(|name| !name.is_empty());
            if input.presence == Presence::Optional && is_given {
                words.insert(format!("+{}", input.name));
            }
            let mut rest = facts.node.input.iter().skip(position);
            if input.presence == Presence::Optional && rest.len() > 0 && rest.all(String::is_empty) {
                words.insert(format!("-{}", input.name));
            }
        }
        let first = facts.inputs.iter().flatten().find(|fact| is_tensor(fact));
        words.extend(first.and_then(ValueFact::rank).map(rank_word));
        Settings(words)
    }

    /// The union of the settings of several nodes that run together.
    pub fn joined(all: impl IntoIterator<Item = Settings>) -> Settings {
        Settings(all.into_iter().flat_map(|settings| settings.0).collect())
    }

    /// Parses settings as written by `Display`.
    pub fn parse(text: &str) -> Settings {
        Settings(text.split_whitespace().map(str::to_owned).collect())
    }

    /// The words.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The settings without the rank.
    #[must_use]
    pub fn without_rank(&self) -> Settings {
        Settings(self.0.iter().filter(|word| !word.starts_with("rank=")).cloned().collect())
    }

    /// True if the rank is known.
    pub fn has_rank(&self) -> bool {
        self.0.iter().any(|word| word.starts_with("rank="))
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(String::as_str).collect::<Vec<_>>().join(" "))
    }
}

/// The types of a node's type parameters that have more than one allowed type: those of its inputs, and those derived for its
/// outputs, as from `to` of Cast.
pub fn type_arguments<'a>(spec: &'a OpSpec, facts: &NodeFacts<'_>) -> BTreeMap<&'a str, ValueType> {
    let inputs = facts.inputs.iter().enumerate().map(|(position, fact)| (spec.input_at(position), fact));
    let outputs = facts.outputs.iter().enumerate().map(|(position, fact)| (spec.output_at(position), fact));
    let mut types = BTreeMap::new();
    for (formal, fact) in inputs.chain(outputs) {
        let known = fact.as_ref().and_then(|fact| fact.value_type.as_ref());
        if let (Some(FormalParameter { kind: FormalType::Parameter(name), .. }), Some(known)) = (formal, known)
            && spec.types.get(name).is_some_and(|allowed| allowed.len() > 1)
        {
            types.entry(name.as_str()).or_insert_with(|| known.clone());
        }
    }
    types
}

/// The words for the attributes.
fn attributes<'a>(spec: &'a OpSpec, node: &'a NodeProto) -> impl Iterator<Item = String> + 'a {
    spec.attributes.iter().filter_map(move |(name, attribute)| {
        let given = node.attribute.iter().find(|given| given.name() == name);
        let is_listed = attribute.kind == AttributeType::String && !spec.facts.values(name).is_empty();
        if is_listed {
            let default = match &attribute.default {
                Some(DefaultValue::String(text)) => Some(text.clone()),
                _ => None,
            };
            let value = given.map(|given| String::from_utf8_lossy(given.s()).into_owned()).or(default)?;
            return Some(format!("{name}={}", value.split_whitespace().collect::<String>()));
        }
        let differs = given.is_some_and(|given| !attribute.default.as_ref().is_some_and(|default| has(given, default)));
        let is_implied = given.is_some_and(|given| attribute.default.is_none() && implied(spec, given));
        (!attribute.required && differs && !is_implied).then(|| name.clone())
    })
}

/// True if an attribute without a declared default has the default given in the operators' texts: strides and dilations of 1
/// along each axis, pads of 0, and the kernel shape of a convolution equal to that of its weights (`Conv-11`, attributes).
/// Exporters write them anyway.
fn implied(spec: &OpSpec, given: &AttributeProto) -> bool {
    let has_weights = spec.inputs.get(1).is_some_and(|input| ["W", "w", "weight"].contains(&input.name.as_str()));
    match given.name() {
        "strides" | "dilations" => given.ints.iter().all(|&value| value == 1),
        "pads" | "output_padding" => given.ints.iter().all(|&value| value == 0),
        "kernel_shape" => has_weights,
        _ => false,
    }
}

/// True if an attribute has this value.
fn has(given: &AttributeProto, value: &DefaultValue) -> bool {
    match value {
        DefaultValue::Int(value) => given.i() == *value,
        DefaultValue::Float(value) => given.f().to_bits() == value.to_bits(),
        DefaultValue::String(value) => given.s() == value.as_bytes(),
        DefaultValue::Ints(values) => given.ints == *values,
        DefaultValue::Floats(values) => given.floats.iter().map(|x| x.to_bits()).eq(values.iter().map(|x| x.to_bits())),
        DefaultValue::Strings(values) => {
            given.strings.iter().map(AsRef::as_ref).eq(values.iter().map(String::as_bytes))
        }
    }
}

/// True if a value is or may be a tensor.
fn is_tensor(fact: &ValueFact) -> bool {
    fact.value_type.as_ref().is_none_or(|kind| matches!(kind, ValueType::Tensor(_)))
}

fn rank_word(rank: usize) -> String {
    if rank >= MAX_DISTINCT_RANK { format!("rank={MAX_DISTINCT_RANK}+") } else { format!("rank={rank}") }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::spec::Specs;

    use super::*;
    use crate::infer::infer;
    use crate::limits::Limits;

    /// Checks the settings of the only node of a model.
    fn check(text: &str, expected: &str) {
        let model = parse_model(text).unwrap();
        let inferred = infer(&model, &Limits::default());
        let facts = inferred.node_facts(inferred.nodes().next().unwrap()).unwrap();
        let opset = u32::try_from(facts.opset).unwrap();
        let spec = Specs::embedded().find(facts.node.domain(), facts.node.op_type(), opset).unwrap();
        let settings = Settings::from_node(spec, &facts);
        assert_eq!(settings.to_string(), expected);
        assert_eq!(Settings::parse(expected), settings);
    }

    #[test]
    fn attributes_inputs_and_rank_make_the_settings() {
        let resize = |attributes: &str, inputs: &str| {
            format!(
                "<ir_version: 8, opset_import: [\"\": 13]> g (float[1, 1, 2, 2] x, float[8] r, float[4] s) => (float y) \
                 {{ y = Resize <{attributes}> ({inputs}) }}"
            )
        };
        check(
            &resize("mode = \"cubic\", exclude_outside = 1", "x, r, s"),
            "+roi +scales coordinate_transformation_mode=half_pixel exclude_outside mode=cubic \
             nearest_mode=round_prefer_floor rank=4",
        );
        check(
            &resize("cubic_coeff_a = -0.75", "x, , s"),
            "+scales coordinate_transformation_mode=half_pixel mode=nearest nearest_mode=round_prefer_floor rank=4",
        );
        let clip = |inputs: &str| {
            format!(
                "<ir_version: 8, opset_import: [\"\": 13]> g (float[2] x, float m) => (float[2] y) {{ y = Clip ({inputs}) }}"
            )
        };
        check(&clip("x, \"\", m"), "+max rank=1");
        check(&clip("x, m, \"\""), "+min -max rank=1");
        check(&clip("x, \"\""), "-min rank=1");
        let concat =
            "<ir_version: 8, opset_import: [\"\": 13]> g (float[a] x) => (float[b] y) { y = Concat <axis = 0> (x) }";
        check(concat, "rank=1");
    }

    #[test]
    fn an_attribute_chooses_a_type_as_an_input_does() {
        let text =
            "<ir_version: 8, opset_import: [\"\": 13]> g (double[2] x) => (float16[2] y) { y = Cast <to = 10> (x) }";
        let model = parse_model(text).unwrap();
        let inferred = infer(&model, &Limits::default());
        let facts = inferred.node_facts(inferred.nodes().next().unwrap()).unwrap();
        let types = type_arguments(Specs::embedded().find("", "Cast", 13).unwrap(), &facts);
        let types: Vec<String> = types.iter().map(|(name, found)| format!("{name}={found}")).collect();
        assert_eq!(types, ["T1=tensor(double)", "T2=tensor(float16)"]);
    }
}
