//! Names: every value that is read is defined earlier, exactly once, and every node is used.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use onnx_conformance_reference::proto::{TensorProto, Text};

use crate::infer::{Body, BodyId, Definition, NodeId, ValueId};
use crate::rules::RuleId;
use crate::validity::context::Context;
use crate::validity::gradients;
use crate::validity::order;
use crate::validity::uses::Uses;

/// Resolution of a name at a node.
enum Resolution {
    /// A value that is available.
    Value(ValueId),
    /// A value that the node itself or a later node defines.
    Later(ValueId),
    /// No value of this name is visible.
    Undefined,
}

/// Checks the names of all graphs and functions.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let mut uses = Uses::new(context.bodies().values.len());
    for body in context.bodies().ids() {
        if context.is_over() {
            return;
        }
        check_inputs(context, body);
        check_node_names(context, body);
        check_nodes(context, body, &mut uses);
        check_outputs(context, body, &mut uses);
    }
    let mut unsorted: Vec<BodyId> = uses.unsorted.iter().copied().collect();
    unsorted.sort_unstable();
    for body in unsorted {
        order::check(context, body, &uses);
    }
    check_dead(context, &uses);
}

fn check_inputs(context: &mut Context<'_, '_>, id: BodyId) {
    let body = context.bodies().body(id);
    let mut seen = HashSet::new();
    for name in body.inputs() {
        if name.is_empty() {
            context.body(id, RuleId::GraphInputName, "an input has no name");
        } else if !seen.insert(name) {
            context.body(id, RuleId::GraphInputName, format!("duplicate input '{name}'"));
        }
    }
    let mut initializers = HashSet::new();
    if let Some(graph) = body.graph() {
        let sparse = graph.sparse_initializer.iter().map(|sparse| sparse.values.as_ref().map_or("", |v| v.name()));
        for name in graph.initializer.iter().map(TensorProto::name).chain(sparse) {
            if name.is_empty() {
                context.body(id, RuleId::TensorName, "an initializer has no name");
            } else if !initializers.insert(name) {
                context.body(id, RuleId::TensorName, format!("duplicate initializer '{name}'"));
            }
        }
    }
    let Some((parent, entered)) = body.parent else { return };
    check_constant_inputs(context, id);
    let mut names: Vec<&str> = seen.union(&initializers).copied().collect();
    names.sort_unstable();
    for name in names {
        if let Resolution::Value(_) = resolve(context, parent, Some(entered.node), name) {
            let message =
                format!("'{name}' is an input or initializer of the subgraph, and also a value of an enclosing graph");
            context.body(id, RuleId::ValueShadowed, message);
        }
    }
}

/// Checks that no input of a subgraph is an initializer. Before IR version 4, inputs after those that the node passes
/// may be initializers.
fn check_constant_inputs(context: &mut Context<'_, '_>, id: BodyId) {
    let bodies = context.bodies();
    let body = bodies.body(id);
    let Some(graph) = body.graph() else { return };
    let initializers: HashSet<&str> = graph.initializer.iter().map(TensorProto::name).collect();
    let inputs = body.inputs().into_iter().take(bodies.passed_inputs(id));
    for name in inputs.filter(|name| initializers.contains(name)) {
        let message = format!("'{name}' is an input of the subgraph, and also an initializer");
        context.body(id, RuleId::SubgraphInitializer, message);
    }
}

/// Checks that the names of a graph's nodes are distinct; nodes may have none. A function is not a graph.
fn check_node_names(context: &mut Context<'_, '_>, id: BodyId) {
    let body = context.bodies().body(id);
    if body.graph().is_none() {
        return;
    }
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (node, index) in body.nodes().iter().zip(0..) {
        if node.name().is_empty() {
            continue;
        }
        let first = *first.entry(node.name()).or_insert(index);
        if first != index {
            let message = format!("node {first} has the same name");
            let edit = Some("rename the node".to_owned());
            context.node(NodeId { body: id, index }, RuleId::NodeName, message, edit);
        }
    }
}

/// Resolves a name at a node of a body, or at its end.
fn resolve(context: &Context<'_, '_>, id: BodyId, node: Option<usize>, name: &str) -> Resolution {
    let (mut id, mut node) = (id, node);
    loop {
        let body = context.bodies().body(id);
        if let Some(value) = body.names.get(name).copied() {
            let site = context.bodies().values.get(value.0).map(|site| site.definition);
            return match (site, node) {
                (Some(Definition::Node(made, _)), Some(node)) if made >= node => Resolution::Later(value),
                _ => Resolution::Value(value),
            };
        }
        let Some((parent, entered)) = body.parent else { return Resolution::Undefined };
        (id, node) = (parent, Some(entered.node));
    }
}

fn check_nodes(context: &mut Context<'_, '_>, id: BodyId, uses: &mut Uses) {
    let body = context.bodies().body(id);
    let mut assigned = given_names(body).count();
    let mut values = context.bodies().outputs(id);
    for (node, index) in body.nodes().iter().zip(0..) {
        let place = NodeId { body: id, index };
        for name in node.input.iter().filter(|name| !name.is_empty()) {
            match resolve(context, id, Some(index), name) {
                Resolution::Value(value) => record_use(context, place, value, uses),
                Resolution::Later(value) => {
                    record_use(context, place, value, uses);
                    if let Some(site) = context.bodies().values.get(value.0) {
                        uses.unsorted.insert(site.body);
                    }
                }
                Resolution::Undefined => {
                    let message = format!("'{name}' is read, but never defined");
                    let edit =
                        similar(context, id, (index, assigned), name).map(|other| format!("did you mean '{other}'?"));
                    context.node(place, RuleId::ValueUndefined, message, edit);
                }
            }
        }
        for name in gradients::named_values(node) {
            if let Resolution::Value(value) | Resolution::Later(value) = resolve(context, id, Some(index), name) {
                record_use(context, place, value, uses);
            }
        }
        for (name, at) in node.output.iter().zip(0..).filter(|(name, _)| !name.is_empty()) {
            let enclosing = body.parent.map(|(parent, entered)| resolve(context, parent, Some(entered.node), name));
            let is_first = values.find(context.bodies(), index, at).is_some();
            assigned += usize::from(is_first);
            if !is_first {
                let message = format!("'{name}' is already assigned; a name may be assigned only once");
                context.node(place, RuleId::ValueTwice, message, Some("rename the output".to_owned()));
            } else if let Some(Resolution::Value(_)) = enclosing {
                let message =
                    format!("'{name}' is already assigned in an enclosing graph; a name may be assigned only once");
                context.node(place, RuleId::ValueTwice, message, Some("rename the output".to_owned()));
            }
        }
    }
}

/// Records that a node, or a subgraph of a node, reads a value.
fn record_use(context: &Context<'_, '_>, reader: NodeId, value: ValueId, uses: &mut Uses) {
    uses.read(value);
    let Some(site) = context.bodies().values.get(value.0) else { return };
    let mut body = reader.body;
    while body != site.body {
        let Some((parent, entered)) = context.bodies().body(body).parent else { return };
        if parent == site.body {
            uses.captured.entry(NodeId { body: parent, index: entered.node }).or_default().push(value);
        }
        body = parent;
    }
}

/// Returns the names of a body's inputs and initializers.
fn given_names<'m>(body: &Body<'m>) -> impl Iterator<Item = &'m str> {
    let graph = body.graph();
    let tensors = graph.into_iter().flat_map(|graph| graph.initializer.iter().map(TensorProto::name));
    let sparse = graph.into_iter().flat_map(|graph| &graph.sparse_initializer);
    let sparse = sparse.filter_map(|sparse| Some(sparse.values.as_ref()?.name()));
    body.inputs().into_iter().chain(tensors).chain(sparse)
}

/// Finds a name that differs only in case or in characters other than letters and digits, among those that are assigned before a
/// node. `assigned` counts them.
fn similar<'m>(context: &Context<'_, 'm>, id: BodyId, (node, assigned): (usize, usize), name: &str) -> Option<&'m str> {
    /// Maximum number of names to search for a similar one.
    const MAX_NAMES: usize = 4096;
    let plain =
        |name: &str| name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let wanted = plain(name);
    if assigned > MAX_NAMES {
        return None;
    }
    let body = context.bodies().body(id);
    let of_nodes = body.nodes().iter().take(node).flat_map(|node| &node.output).map(Text::as_str);
    let names = of_nodes.take(MAX_NAMES).chain(given_names(body));
    names.filter(|other| !other.is_empty() && plain(other) == wanted).min()
}

fn check_outputs(context: &mut Context<'_, '_>, id: BodyId, uses: &mut Uses) {
    let body = context.bodies().body(id);
    let mut seen = HashSet::new();
    for name in body.outputs() {
        if !seen.insert(name) && body.parent.is_none() && !name.is_empty() {
            context.body(id, RuleId::GraphOutputTwice, format!("duplicate output '{name}'"));
        }
        let found = if name.is_empty() { Resolution::Undefined } else { resolve(context, id, None, name) };
        match found {
            Resolution::Value(value) | Resolution::Later(value) => {
                uses.read(value);
                let is_own = context.bodies().values.get(value.0).is_some_and(|site| site.body == id);
                if let (Some((parent, entered)), false) = (body.parent, is_own) {
                    record_use(context, NodeId { body: parent, index: entered.node }, value, uses);
                    uses.captured.entry(NodeId { body: parent, index: entered.node }).or_default().push(value);
                }
            }
            Resolution::Undefined if name.is_empty() => {
                context.body(id, RuleId::GraphOutputMissing, "an output has no name");
            }
            Resolution::Undefined => {
                context.body(id, RuleId::GraphOutputMissing, format!("no node computes output '{name}'"));
            }
        }
    }
}

/// Reports nodes whose outputs are never used.
fn check_dead(context: &mut Context<'_, '_>, uses: &Uses) {
    for id in context.bodies().ids() {
        let (bodies, body) = (context.bodies(), context.bodies().body(id));
        let mut values = bodies.outputs(id);
        for (node, index) in body.nodes().iter().zip(0..) {
            let mut is_used = false;
            for (name, at) in node.output.iter().zip(0..) {
                let value = values.find(bodies, index, at).or_else(|| body.names.get(name.as_str()).copied());
                is_used |= value.is_some_and(|value| uses.is_read(value));
            }
            if !is_used {
                let edit = Some("remove the node".to_owned());
                context.node(NodeId { body: id, index }, RuleId::NodeDead, "no output of the node is used", edit);
            }
        }
    }
}
