//! Search for a pattern in a model, by backtracking over its nodes.

use std::collections::BTreeSet;

use crate::infer::{BodyId, NodeId, ValueId};
use crate::pattern::compare::{facts_agree, nodes_agree};
use crate::pattern::index::ModelIndex;
use crate::pattern::shape::{Pattern, PatternNode};
use crate::pattern::strictness::Strictness;

/// Maximum number of nodes that a search tries.
const MAX_TRIED: usize = 100_000;

/// Nodes of a model that form a pattern, in the order of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The nodes.
    pub nodes: Vec<NodeId>,
}

/// Search of one pattern.
struct Search<'a> {
    index: &'a ModelIndex<'a>,
    pattern: &'a Pattern,
    strictness: Strictness,
    body: BodyId,
    /// Node of the model for each of the pattern.
    nodes: Vec<Option<NodeId>>,
    /// Value of the model for each of the pattern.
    values: Vec<Option<ValueId>>,
    /// Assigned values of the pattern, in order.
    trail: Vec<usize>,
    tried: usize,
}

impl Pattern {
    /// Finds the places of a pattern in a model, at most one for each node that may be the pattern's rarest node.
    pub fn find(&self, index: &ModelIndex<'_>, strictness: Strictness) -> Vec<Match> {
        let candidates = |node: &PatternNode| index.nodes_of(&node.spec.version);
        let rarest = self.nodes.iter().enumerate().min_by_key(|(_, node)| candidates(node).len());
        let Some((first, node)) = rarest else { return Vec::new() };
        let mut search = Search {
            index,
            pattern: self,
            strictness,
            body: BodyId::MAIN,
            nodes: vec![None; self.nodes.len()],
            values: vec![None; self.values.len()],
            trail: Vec::new(),
            tried: 0,
        };
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for &candidate in candidates(node) {
            search.body = candidate.body;
            if index.scope(candidate.body) != self.scope || search.tried >= MAX_TRIED {
                continue;
            }
            if search.extend_with(first, candidate) {
                let nodes: Vec<NodeId> = search.nodes.iter().flatten().copied().collect();
                if seen.insert(nodes.iter().copied().collect::<BTreeSet<_>>()) {
                    found.push(Match { nodes });
                }
            }
            search.clear();
        }
        found
    }
}

impl Search<'_> {
    fn clear(&mut self) {
        self.nodes.fill(None);
        self.values.fill(None);
        self.trail.clear();
    }

    /// Assigns a node of the model to a node of the pattern, and then nodes to all others. Without success, nothing is
    /// assigned.
    fn extend_with(&mut self, at: usize, candidate: NodeId) -> bool {
        self.tried += 1;
        let before = self.trail.len();
        if self.tried < MAX_TRIED && self.assign(at, candidate).is_some() && self.extend() {
            return true;
        }
        if let Some(node) = self.nodes.get_mut(at) {
            *node = None;
        }
        while self.trail.len() > before {
            if let Some(value) = self.trail.pop().and_then(|value| self.values.get_mut(value)) {
                *value = None;
            }
        }
        false
    }

    /// Assigns nodes to all nodes of the pattern that have none.
    fn extend(&mut self) -> bool {
        let Some((at, candidates)) = self.next_node() else { return self.nodes.iter().all(Option::is_some) };
        candidates.into_iter().any(|candidate| self.extend_with(at, candidate))
    }

    /// Returns a node of the pattern that is connected with an assigned one, and its candidates: the node that computes a value,
    /// or else the readers of the value with the fewest readers.
    fn next_node(&self) -> Option<(usize, Vec<NodeId>)> {
        let value = |value: &Option<usize>| self.values.get((*value)?).copied().flatten();
        let mut best: Option<(usize, Vec<NodeId>)> = None;
        let open = self.pattern.nodes.iter().zip(&self.nodes).enumerate().filter(|(_, (_, node))| node.is_none());
        for (at, (node, _)) in open {
            let computed = node.outputs.iter().find_map(value);
            if let Some(producer) = computed.map(|output| self.index.producer(output)) {
                return Some((at, producer.map(|(node, _)| node).into_iter().collect()));
            }
            for (position, input) in node.inputs.iter().enumerate() {
                let Some(input) = value(input) else { continue };
                let readers = self.index.readers(input);
                if best.as_ref().is_some_and(|(_, known)| known.len() <= readers.len()) {
                    continue;
                }
                let readers = readers.iter().filter(|(_, read)| *read == position).map(|(node, _)| *node);
                best = Some((at, readers.collect()));
            }
        }
        best
    }

    /// Assigns a node and its values. Returns `None` if they differ from those of the pattern.
    fn assign(&mut self, at: usize, candidate: NodeId) -> Option<()> {
        let (index, pattern) = (self.index, self.pattern);
        let (bodies, pattern) = (&index.inferred.bodies, pattern.nodes.get(at)?);
        let node = bodies.node(candidate).filter(|_| candidate.body == self.body)?;
        let spec = bodies.spec(candidate.body, node)?;
        if spec.version != pattern.spec.version
            || self.nodes.contains(&Some(candidate))
            || !nodes_agree(pattern, node, self.strictness)
        {
            return None;
        }
        *self.nodes.get_mut(at)? = Some(candidate);
        let formal = pattern.inputs.iter().chain(&pattern.outputs);
        let inputs = (0..pattern.inputs.len()).map(|position| node.input.get(position));
        let outputs = (0..pattern.outputs.len()).map(|position| node.output.get(position));
        for (value, name) in formal.zip(inputs.chain(outputs)) {
            if let Some(value) = value {
                self.bind(*value, bodies.lookup(candidate.body, name?)?)?;
            }
        }
        Some(())
    }

    /// Assigns a value. Returns `None` if it differs from the pattern's, or is used in another way.
    fn bind(&mut self, at: usize, value: ValueId) -> Option<()> {
        match self.values.get(at)? {
            Some(known) => return (*known == value).then_some(()),
            None if self.values.contains(&Some(value)) => return None,
            None => {}
        }
        let pattern = self.pattern.values.get(at)?;
        let is_outer = self.index.body_of(value) != Some(self.body);
        let fact = self.index.inferred.fact(value)?;
        if is_outer != pattern.is_outer || !facts_agree(pattern, fact, self.index.source(value), self.strictness) {
            return None;
        }
        // A value between the nodes has no other readers, since optimizers keep a value that is needed elsewhere.
        let readers = self.index.readers(value).len();
        let is_used_alike = match (pattern.is_inner && pattern.readers > 0, pattern.is_output) {
            (false, _) => true,
            (true, true) => self.index.is_output(value) && readers >= pattern.readers,
            (true, false) => !self.index.is_output(value) && readers == pattern.readers,
        };
        if !is_used_alike {
            return None;
        }
        *self.values.get_mut(at)? = Some(value);
        self.trail.push(at);
        Some(())
    }
}
