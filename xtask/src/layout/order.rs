//! The order of keys in a file, a rule, a case and a refusal. Inputs and attributes keep theirs, which ids of cases follow.

use crate::layout::{Node, Scalar};

/// Keys of a file, in order. Others follow as they are written.
const HEAD: [&str; 19] = [
    "op",
    "summary",
    "note",
    "formula",
    "shape",
    "draws",
    "computes",
    "accuracy",
    "tied_sizes",
    "values",
    "neutral",
    "rename",
    "rename_types",
    "first",
    "given",
    "changes",
    "cases",
    "refuse",
    "constraints",
];

/// Keys of a rule and of a change of meaning, in order.
const RULE: [&str; 11] =
    ["says", "was", "change", "before", "about", "where", "silent", "text", "note", "cases", "refuse"];

/// Keys of a case, a refusal and a shared part of cases, in order.
const CASE: [&str; 33] = [
    "name",
    "note",
    "level",
    "text",
    "why",
    "edge",
    "since",
    "until",
    "use",
    "given",
    "size",
    "types",
    "only",
    "except",
    "where",
    "bind",
    "zip",
    "let",
    "under_test",
    "nodes",
    "control",
    "without",
    "captured",
    "inputs",
    "again",
    "set",
    "attributes",
    "ranks",
    "example",
    "request",
    "outputs",
    "accuracy",
    "zero_sign",
];

/// Sorts the keys of a file.
pub(super) fn in_order(document: Node) -> Node {
    sorted(document, &HEAD, |key, value| match key {
        "constraints" => for_each(value, rule),
        "changes" => for_each(value, |changes| for_each(changes, rule)),
        "given" | "cases" | "refuse" => for_each(value, case),
        _ => value,
    })
}

fn rule(node: Node) -> Node {
    sorted(node, &RULE, |key, value| if ["cases", "refuse"].contains(&key) { for_each(value, case) } else { value })
}

fn case(node: Node) -> Node {
    sorted(node, &CASE, |_, value| value)
}

/// Sorts the entries of a map after a change of each value. Other nodes stay.
fn sorted(node: Node, order: &[&str], change: impl Fn(&str, Node) -> Node) -> Node {
    let Node::Map(entries) = node else { return node };
    let changed = |(key, value): (Scalar, Node)| {
        let value = change(&key.text, value);
        (key, value)
    };
    let mut entries: Vec<(Scalar, Node)> = entries.into_iter().map(changed).collect();
    entries.sort_by_key(|(key, _)| order.iter().position(|name| *name == key.text).unwrap_or(order.len()));
    Node::Map(entries)
}

/// Changes each item of a list, or each value of a map.
fn for_each(node: Node, change: impl Fn(Node) -> Node) -> Node {
    match node {
        Node::List(items) => Node::List(items.into_iter().map(change).collect()),
        Node::Map(entries) => Node::Map(entries.into_iter().map(|(key, value)| (key, change(value))).collect()),
        Node::Scalar(_) => node,
    }
}
