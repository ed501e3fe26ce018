//! Settings: the properties of a node that, with its element types, select the code of a runtime. The same function
//! classifies the nodes of cases and of models, so measurements of cases apply to the nodes of models.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use onnx_conformance_reference::proto::{AttributeProto, NodeProto, Text};
use onnx_conformance_reference::spec::{AttributeType, DefaultValue, FormalParameter, FormalType, OpSpec, Presence};
use onnx_conformance_reference::types::ValueType;

use crate::facts::{NodeFacts, ValueFact};
use crate::settings::traits::{is_tensor, rank_text};

mod traits;

/// Settings of a node: words in order, such as `mode=cubic antialias +roi rank=4`.
///
/// - `mode=cubic`: an attribute whose values the standard lists, and its value, or the default if it is omitted;
/// - `antialias`: another optional attribute whose value is not the default;
/// - `+roi`: an optional input that is present;
/// - `-B`: an optional input that has an empty name and no present input after it;
/// - `rank=4`: the rank of the first tensor input; `rank=5+` from 5 on;
/// - `rank(Scale)=1`: a trait, which has parentheses. Traits explain why a case fails on a runtime, and need not all be equal for a
///   case to be similar ([`Settings::traits`]).
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
            if input.presence == Presence::Optional && rest.len() > 0 && rest.all(Text::is_empty) {
                words.insert(format!("-{}", input.name));
            }
        }
        let first = facts.inputs.iter().flatten().find(|fact| is_tensor(fact));
        words.extend(first.and_then(ValueFact::rank).map(|rank| format!("rank={}", rank_text(rank))));
        words.extend(traits::of_node(spec, facts));
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

    /// The settings without traits.
    #[must_use]
    pub fn without_traits(&self) -> Settings {
        Settings(self.0.iter().filter(|word| !is_trait(word)).cloned().collect())
    }

    /// The settings without the rank and without traits.
    #[must_use]
    pub fn without_rank(&self) -> Settings {
        Settings(self.0.iter().filter(|word| !is_trait(word) && !is_rank(word)).cloned().collect())
    }

    /// True if both are equal apart from traits, and, if `any_rank`, apart from the rank.
    pub fn equal_without_traits(&self, other: &Settings, any_rank: bool) -> bool {
        let counts = |word: &&str| !(is_trait(word) || any_rank && is_rank(word));
        self.words().filter(counts).eq(other.words().filter(counts))
    }

    /// The traits of the node, in addition to its settings:
    ///
    /// - `rank(Scale)=1`: the rank of another tensor input, by its name in the operator;
    /// - `empty(A)`: an input without elements;
    /// - `value(k)=extreme`: an integer beyond the 32-bit range, in an input whose type is fixed;
    /// - `value(x_zero_point)=nonzero`: a zero point other than 0; `=unknown` if the values are not known before the model runs;
    /// - `equation(capitals)`, `equation(ellipsis)`, `equation(implicit)`, `equation(repeats)`, `equation(spaces)`,
    ///   `equation(terms)=2`: the form of an Einsum equation;
    /// - `body(swaps)`: a loop body that returns a state in place of another one;
    /// - `body(condition)`: a loop body that computes its condition.
    pub fn traits(&self) -> impl Iterator<Item = &str> {
        self.words().filter(|word| is_trait(word))
    }

    /// The traits of `self` that contradict `other`, the traits of a node: traits that the node is known not to have.
    /// `coarse` compares only if an input is a scalar.
    pub fn traits_beyond<'a>(&'a self, other: &'a Settings, coarse: bool) -> impl Iterator<Item = &'a str> {
        self.traits().filter(move |word| !traits::may_have(&other.0, word, coarse))
    }

    /// True if the rank is known.
    pub fn has_rank(&self) -> bool {
        self.0.iter().any(|word| is_rank(word))
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

/// True if an attribute of a node has its default value, so that omitting it changes nothing.
pub(crate) fn is_default(spec: &OpSpec, given: &AttributeProto) -> bool {
    match spec.attributes.get(given.name()).and_then(|attribute| attribute.default.as_ref()) {
        Some(default) => has(given, default),
        None => implied(spec, given),
    }
}

/// True if an attribute without a declared default has the default value that the operators' texts give: strides and
/// dilations of 1 along each axis, pads of 0, and the kernel shape of a convolution equal to that of its weights
/// (`Conv-11`, attributes). Exporters write them anyway.
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

/// True if a word is the rank of the first tensor input.
fn is_rank(word: &str) -> bool {
    word.starts_with("rank=")
}

/// True if a word is a trait.
fn is_trait(word: &str) -> bool {
    word.contains('(')
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
        assert_eq!(settings.without_traits().to_string(), expected);
        assert_eq!(Settings::parse(&settings.to_string()), settings);
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

    /// Returns the settings of the first node of a model of opset 17.
    fn settings(text: &str) -> Settings {
        let model = parse_model(&format!("<ir_version: 8, opset_import: [\"\": 17]> {text}")).unwrap();
        let inferred = infer(&model, &Limits::default());
        let facts = inferred.node_facts(inferred.nodes().next().unwrap()).unwrap();
        let spec = Specs::embedded().find(facts.node.domain(), facts.node.op_type(), 17).unwrap();
        Settings::from_node(spec, &facts)
    }

    fn traits(text: &str) -> String {
        settings(text).traits().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ranks_of_other_inputs_and_values_are_traits() {
        let layer = "g (float[2, 3, 4] x, float[4] s, float[3, 4] b) => (float[2, 3, 4] y) { y = LayerNormalization (x, s, b) }";
        assert_eq!(traits(layer), "rank(B)=2 rank(Scale)=1");
        assert_eq!(settings(layer).without_traits().to_string(), "+B rank=3");
        let quantized = "g (uint8[2] x, float s) => (float[2] y) <uint8 z = {5}> { y = DequantizeLinear (x, s, z) }";
        assert_eq!(traits(quantized), "rank(x_scale)=0 rank(x_zero_point)=0 value(x_zero_point)=nonzero");
        assert!(!traits(&quantized.replace("{5}", "{0}")).contains("value"));
        let given = "g (uint8[2] x, float s, uint8 z) => (float[2] y) { y = DequantizeLinear (x, s, z) }";
        assert!(traits(given).ends_with("value(x_zero_point)=unknown"));
        let trilu = "g (float[2, 2] x) => (float[2, 2] y) <int64 k = {-4294967296}> { y = Trilu (x, k) }";
        assert_eq!(traits(trilu), "rank(k)=0 value(k)=extreme");
        assert_eq!(traits("g (float[0, 2] x) => (float[0, 2] y) { y = Abs (x) }"), "empty(X)");
    }

    #[test]
    fn the_form_of_an_equation_is_a_trait() {
        let einsum = |equation: &str| {
            format!("g (float[2, 2] x) => (float[a, b] y) {{ y = Einsum <equation = \"{equation}\"> (x, x) }}")
        };
        assert_eq!(traits(&einsum("ij,kj->ik")), "equation(terms)=2 rank(Inputs)=2");
        assert_eq!(
            traits(&einsum("aB, Bc")),
            "equation(capitals) equation(implicit) equation(spaces) equation(terms)=2 rank(Inputs)=2"
        );
        assert_eq!(
            traits(&einsum("ii,...j->...")),
            "equation(ellipsis) equation(repeats) equation(terms)=2 rank(Inputs)=2"
        );
    }

    #[test]
    fn bodies_of_loops_have_traits() {
        let scan = |outputs: &str| {
            format!(
                "g (float a, float b, float[3] x) => (float c, float d) {{ c, d = Scan <num_scan_inputs = 1, body = l (float p, float q, \
                 float s) => (float {outputs}, float r) {{ r = Add (p, s) }}> (a, b, x) }}"
            )
        };
        assert!(traits(&scan("q, float p")).starts_with("body(swaps)"));
        assert!(!traits(&scan("p, float q")).contains("body"));
        let looped = |condition: &str| {
            format!(
                "g (int64 n, float a) => (float b) {{ b = Loop <body = l (int64 i, bool c, float p) => (bool d, float q) \
                 {{ q = Add (p, p) d = {condition} }}> (n, , a) }}"
            )
        };
        assert!(traits(&looped("Less (p, q)")).contains("body(condition)"));
        assert!(!traits(&looped("Identity (c)")).contains("body"));
    }

    #[test]
    fn a_trait_beyond_a_node_is_one_that_it_does_not_have() {
        let beyond = |case: &str, node: &str, coarse: bool| {
            Settings::parse(case).traits_beyond(&Settings::parse(node), coarse).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(beyond("rank(B)=3", "rank(B)=1", false), ["rank(B)=3"]);
        assert!(beyond("rank(B)=3", "", false).is_empty(), "an unknown rank");
        assert!(beyond("rank(B)=3", "rank(B)=2", true).is_empty());
        assert_eq!(beyond("rank(B)=1", "rank(B)=0", true), ["rank(B)=1"]);
        assert_eq!(beyond("value(z)=nonzero body(swaps)", "value(z)=unknown", true), ["body(swaps)"]);
    }
}
