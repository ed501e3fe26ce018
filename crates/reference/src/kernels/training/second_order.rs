//! Gradient of a Gradient: the nodes that compute first derivatives, so that these can be differentiated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Attribute, Graph, Node};

/// Operators whose derivatives are sums and products.
const OPERATORS: [&str; 6] = ["Add", "Identity", "Mul", "Neg", "Sub", "Sum"];

/// Returns for each node of a graph the nodes that compute the same outputs, if it is a Gradient of sums and products of the given
/// values, which have one shape. The list of another node is empty.
pub(super) fn expansions(graph: &Graph, given: &[&str]) -> Vec<Vec<Node>> {
    let is_given = |node: &Node| node.inputs.iter().all(|input| given.contains(&input.as_str()));
    let nodes = graph.nodes.iter().enumerate();
    nodes.map(|(at, node)| if is_given(node) { expanded(graph, at).unwrap_or_default() } else { Vec::new() }).collect()
}

/// Returns the nodes of a graph with their expansions in their places.
pub(super) fn listed<'g>(graph: &'g Graph, expansions: &'g [Vec<Node>]) -> Vec<&'g Node> {
    let mut nodes = Vec::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        match expansions.get(at) {
            Some(expansion) if !expansion.is_empty() => nodes.extend(expansion.iter()),
            _ => nodes.push(node),
        }
    }
    nodes
}

/// Returns the nodes that compute the outputs of the Gradient at a position. `None` for other nodes.
fn expanded(graph: &Graph, at: usize) -> Option<Vec<Node>> {
    let node = graph.nodes.get(at).filter(|node| node.op_type == "Gradient")?;
    let (xs, zs) = (strings(node, "xs"), strings(node, "zs"));
    let Some(Attribute::String(y)) = node.attributes.get("y") else { return None };
    let names: Vec<&str> = xs.iter().chain(zs).map(|name| &**name).collect();
    if names.len() != node.inputs.len() {
        return None;
    }
    let between = between(graph, y, &names)?;
    let inputs = names.iter().map(|name| (*name).to_owned()).zip(node.inputs.iter().cloned());
    let mut expansion = Expansion { prefix: format!("gradient {at}"), names: inputs.collect(), nodes: Vec::new() };
    for inner in &between {
        expansion.forward(inner)?;
    }
    let mut slopes = expansion.backward(y, &between)?;
    for ((name, input), output) in xs.iter().zip(&node.inputs).zip(&node.outputs) {
        if output.is_empty() {
            continue;
        }
        let zero = expansion.add("Sub", vec![input.clone(), input.clone()]);
        let mut parts = slopes.remove(&**name).unwrap_or_default();
        parts.push(zero);
        expansion.push("Sum", parts, output.clone());
    }
    Some(expansion.nodes)
}

fn strings<'g>(node: &'g Node, name: &str) -> &'g [Arc<str>] {
    match node.attributes.get(name) {
        Some(Attribute::Strings(values)) => values,
        _ => &[],
    }
}

/// Returns the nodes that compute a value from others, in order. `None` if they need another value.
fn between<'g>(graph: &'g Graph, y: &'g str, given: &[&str]) -> Option<Vec<&'g Node>> {
    let mut needed: BTreeSet<&'g str> = BTreeSet::from([y]);
    let mut nodes = Vec::new();
    for node in graph.nodes.iter().rev() {
        let computes = |name: &String| needed.contains(name.as_str()) && !given.contains(&name.as_str());
        if node.outputs.iter().any(computes) {
            for name in &node.outputs {
                needed.remove(name.as_str());
            }
            needed.extend(node.inputs.iter().map(String::as_str));
            nodes.push(node);
        }
    }
    nodes.reverse();
    needed.iter().all(|name| given.contains(name)).then_some(nodes)
}

/// Nodes that compute a value and its derivatives.
struct Expansion {
    /// The start of the names of new values.
    prefix: String,
    /// The names of values here by their names in the graph.
    names: BTreeMap<String, String>,
    nodes: Vec<Node>,
}

impl Expansion {
    /// Adds a node, and returns the name of its output.
    fn add(&mut self, op_type: &str, inputs: Vec<String>) -> String {
        let output = format!("{} value {}", self.prefix, self.nodes.len());
        self.push(op_type, inputs, output.clone());
        output
    }

    fn push(&mut self, op_type: &str, inputs: Vec<String>, output: String) {
        self.nodes.push(Node {
            name: String::new(),
            op_type: op_type.to_owned(),
            domain: String::new(),
            overload: String::new(),
            inputs,
            outputs: vec![output],
            attributes: BTreeMap::new(),
        });
    }

    /// Adds a node of the graph. `None` if it has other derivatives than sums and products.
    fn forward(&mut self, node: &Node) -> Option<()> {
        let is_known = OPERATORS.contains(&node.op_type.as_str()) && node.domain.is_empty();
        let output = node.outputs.first().filter(|_| is_known && node.attributes.is_empty())?;
        let inputs = node.inputs.iter().map(|name| self.names.get(name).cloned()).collect::<Option<Vec<String>>>()?;
        let value = self.add(&node.op_type, inputs);
        self.names.insert(output.clone(), value);
        Some(())
    }

    /// Adds the nodes that compute the derivatives of `y`. Returns the terms of the derivative by each given value.
    fn backward(&mut self, y: &str, between: &[&Node]) -> Option<BTreeMap<String, Vec<String>>> {
        let value = self.names.get(y)?.clone();
        // The derivative by itself is 1, the exponential of 0, in the shape of the value.
        let zero = self.add("Sub", vec![value.clone(), value]);
        let one = self.add("Exp", vec![zero]);
        let mut slopes = BTreeMap::from([(y.to_owned(), vec![one])]);
        for node in between.iter().rev() {
            let Some(terms) = node.outputs.first().and_then(|output| slopes.remove(output)) else { continue };
            let slope = self.add("Sum", terms);
            let factors: Vec<String> = node.inputs.iter().filter_map(|name| self.names.get(name).cloned()).collect();
            for (position, name) in node.inputs.iter().enumerate() {
                let term = match (node.op_type.as_str(), position) {
                    ("Neg", _) | ("Sub", 1) => self.add("Neg", vec![slope.clone()]),
                    ("Mul", _) => {
                        let factor = factors.get(usize::from(position == 0))?.clone();
                        self.add("Mul", vec![slope.clone(), factor])
                    }
                    _ => slope.clone(),
                };
                slopes.entry(name.clone()).or_default().push(term);
            }
        }
        Some(slopes)
    }
}
