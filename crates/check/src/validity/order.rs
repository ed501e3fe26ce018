//! Order of nodes: misplaced nodes and cycles.

use crate::infer::{BodyId, Definition, NodeId};
use crate::rules::RuleId;
use crate::validity::context::Context;
use crate::validity::uses::Uses;

/// Maximum number of nodes of a cycle in a message.
const SHOWN: usize = 8;

/// Checks a graph with a node that reads the output of a later one: either the nodes can be sorted, or they form a
/// cycle.
pub(super) fn check(context: &mut Context<'_, '_>, body: BodyId, uses: &Uses) {
    let needs = needs(context, body, uses);
    match cycle(&needs) {
        Some(cycle) => {
            let name = |&index: &usize| context.bodies().node_place(NodeId { body, index }).to_string();
            let mut names: Vec<String> = cycle.iter().take(SHOWN).map(name).collect();
            names.extend((cycle.len() > SHOWN).then(|| format!("{} more", cycle.len() - SHOWN)));
            names.extend(cycle.first().map(name));
            let message = format!("nodes form a cycle: {}", names.join(" needs "));
            let node = NodeId { body, index: cycle.first().copied().unwrap_or(0) };
            context.node(node, RuleId::ValueCycle, message, None);
        }
        None => {
            for (index, needs) in needs.iter().enumerate() {
                let Some(later) = needs.iter().find(|needed| **needed > index) else { continue };
                let producer = context.bodies().node_place(NodeId { body, index: *later });
                let message = format!("the node reads an output of {producer}, which is listed after it");
                let edit = "sort the nodes topologically".to_owned();
                context.node(NodeId { body, index }, RuleId::ValueUnsorted, message, Some(edit));
            }
        }
    }
}

/// Lists for each node of a graph the nodes in it whose outputs the node or one of its subgraphs reads.
fn needs(context: &Context<'_, '_>, body: BodyId, uses: &Uses) -> Vec<Vec<usize>> {
    let bodies = context.bodies();
    let names = &bodies.body(body).names;
    let producer = |value: crate::infer::ValueId| match bodies.values.get(value.0) {
        Some(site) if site.body == body => match site.definition {
            Definition::Node(index, _) => Some(index),
            _ => None,
        },
        _ => None,
    };
    let nodes = bodies.body(body).nodes().iter().enumerate();
    let needs = nodes.map(|(index, node)| {
        let captured = uses.captured.get(&NodeId { body, index });
        let own = node.input.iter().filter_map(|name| names.get(name.as_str()).copied());
        let mut needs: Vec<usize> = own.chain(captured.into_iter().flatten().copied()).filter_map(producer).collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    });
    needs.collect()
}

/// Finds a cycle, if there is one; each node needs the next.
fn cycle(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut open: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (reader, needed) in needs.iter().enumerate() {
        for producer in needed {
            readers.get_mut(*producer)?.push(reader);
        }
    }
    let mut settled: Vec<usize> = (0..needs.len()).filter(|index| open.get(*index) == Some(&0)).collect();
    while let Some(index) = settled.pop() {
        for reader in readers.get(index)? {
            let left = open.get_mut(*reader)?;
            *left -= 1;
            if *left == 0 {
                settled.push(*reader);
            }
        }
    }
    // From any remaining node, its needs lead into a cycle.
    let is_open = |index: &usize| open.get(*index).is_some_and(|left| *left > 0);
    let mut next = (0..needs.len()).find(is_open)?;
    let mut positions: Vec<Option<usize>> = vec![None; needs.len()];
    let mut path = Vec::new();
    loop {
        if let Some(start) = positions.get(next).copied().flatten() {
            return path.get(start..).map(<[usize]>::to_vec);
        }
        *positions.get_mut(next)? = Some(path.len());
        path.push(next);
        next = needs.get(next)?.iter().copied().find(is_open)?;
    }
}
