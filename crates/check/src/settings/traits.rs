//! Traits of a node: further properties of a node that explain why a runtime fails on one case and not on another.

use std::collections::BTreeSet;

use onnx_conformance_reference::proto::{AttributeProto, GraphProto, NodeProto};
use onnx_conformance_reference::spec::{FormalType, OpSpec};
use onnx_conformance_reference::types::ValueType;

use crate::facts::{NodeFacts, ValueFact};

/// The largest distinguished rank.
const MAX_DISTINCT_RANK: usize = 5;

/// Traits of a node, as words with parentheses.
pub(super) fn of_node(spec: &OpSpec, facts: &NodeFacts<'_>) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let first = facts.inputs.iter().position(|fact| fact.as_ref().is_some_and(is_tensor));
    for (position, fact) in facts.inputs.iter().enumerate() {
        let (Some(fact), Some(formal)) = (fact, spec.input_at(position)) else { continue };
        let name = &formal.name;
        if first != Some(position) && is_tensor(fact) {
            words.extend(fact.rank().map(|rank| format!("rank({name})={}", rank_text(rank))));
        }
        if fact.sizes().is_some_and(|sizes| sizes.contains(&0)) {
            words.insert(format!("empty({name})"));
        }
        let has_fixed_type = match &formal.kind {
            FormalType::Literal(_) => true,
            FormalType::Parameter(parameter) => spec.types.get(parameter).is_none_or(|allowed| allowed.len() == 1),
        };
        words.extend(value_word(name, fact, has_fixed_type));
    }
    for attribute in &facts.node.attribute {
        match (attribute.name(), &attribute.g) {
            ("equation", _) => words.extend(equation(&String::from_utf8_lossy(attribute.s()))),
            ("body", Some(body)) => words.extend(loop_body(facts.node, body)),
            _ => {}
        }
    }
    words
}

/// Returns true if a node with these settings has or may have a trait. An unknown rank or value may be any.
pub(super) fn may_have(settings: &BTreeSet<String>, word: &str, coarse: bool) -> bool {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let mut own = settings.iter().filter_map(|other| other.split_once('=')).filter(|(it, _)| *it == name).peekable();
    if name.starts_with("rank(") {
        let is_alike = |rank: &str| rank == value || coarse && rank != "0" && value != "0";
        return own.peek().is_none() || own.any(|(_, rank)| is_alike(rank));
    }
    settings.contains(word) || own.any(|(_, value)| value == "unknown")
}

/// Returns true if a value is or may be a tensor.
pub(super) fn is_tensor(fact: &ValueFact) -> bool {
    fact.value_type.as_ref().is_none_or(|kind| matches!(kind, ValueType::Tensor(_)))
}

/// Formats a rank; ranks from a maximum on are not distinguished.
pub(super) fn rank_text(rank: usize) -> String {
    if rank >= MAX_DISTINCT_RANK { format!("{MAX_DISTINCT_RANK}+") } else { rank.to_string() }
}

/// Describes the value of an input, as far as runtimes are known to depend on it.
fn value_word(name: &str, fact: &ValueFact, has_fixed_type: bool) -> Option<String> {
    let integers = fact.integers();
    if name.ends_with("zero_point") {
        let value = match integers {
            Some(integers) if integers.iter().all(|&value| value == 0) => return None,
            Some(_) => "nonzero",
            None => "unknown",
        };
        return Some(format!("value({name})={value}"));
    }
    let is_extreme = has_fixed_type && integers?.iter().any(|&value| i32::try_from(value).is_err());
    is_extreme.then(|| format!("value({name})=extreme"))
}

/// Describes the form of an Einsum equation: `aB,Bc` has capitals, two terms and no arrow.
fn equation(text: &str) -> BTreeSet<String> {
    let terms = text.split("->").next().unwrap_or(text);
    let repeats = |term: &str| {
        let letters: Vec<char> = term.chars().filter(|letter| letter.is_alphabetic()).collect();
        letters.iter().collect::<BTreeSet<_>>().len() < letters.len()
    };
    let forms = [
        ("capitals", text.chars().any(char::is_uppercase)),
        ("ellipsis", text.contains("...")),
        ("implicit", !text.contains("->")),
        ("repeats", terms.split(',').any(repeats)),
        ("spaces", text.contains(' ')),
    ];
    let words = forms.into_iter().filter(|(_, has)| *has).map(|(form, _)| format!("equation({form})"));
    words.chain([format!("equation(terms)={}", terms.split(',').count())]).collect()
}

/// Describes the body of Loop or Scan.
fn loop_body(node: &NodeProto, body: &GraphProto) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    // The inputs of a Loop body begin with the trip number and the condition, its outputs with the condition.
    let (before_inputs, before_outputs) = if node.op_type() == "Loop" { (2, 1) } else { (0, 0) };
    let scanned = node.attribute.iter().find(|given| given.name() == "num_scan_inputs").map_or(0, AttributeProto::i);
    let inputs = body.input.len().saturating_sub(before_inputs);
    let states = inputs.saturating_sub(usize::try_from(scanned).unwrap_or(usize::MAX));
    let state_of =
        |name: &str| body.input.iter().skip(before_inputs).take(states).position(|input| input.name() == name);
    let outputs = body.output.iter().skip(before_outputs).take(states).enumerate();
    if outputs.filter_map(|(at, output)| Some((at, state_of(output.name())?))).any(|(at, state)| at != state) {
        words.insert("body(swaps)".to_owned());
    }
    let condition = body.output.first().filter(|_| node.op_type() == "Loop");
    if condition.is_some_and(|condition| is_computed(body, condition.name())) {
        words.insert("body(condition)".to_owned());
    }
    words
}

/// Returns true if a value of a body depends on anything but constants and its own previous value.
fn is_computed(body: &GraphProto, name: &str) -> bool {
    let mut name = name;
    // A value is copied at most once per node.
    for _ in 0..=body.node.len() {
        let Some(node) = body.node.iter().find(|node| node.output.iter().any(|output| output == name)) else {
            return false;
        };
        match (node.op_type(), node.input.first()) {
            ("Constant", _) => return false,
            ("Identity" | "Cast", Some(input)) => name = input,
            _ => return true,
        }
    }
    true
}
