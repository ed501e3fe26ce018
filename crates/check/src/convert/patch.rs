//! What a conversion changed, by the positions of the nodes before it.

use std::collections::BTreeMap;

/// What became of the nodes of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patch {
    /// The nodes of the main graph.
    pub(crate) graph: NodesPatch,
    /// The nodes of functions, by the position of the function.
    pub(crate) functions: BTreeMap<usize, NodesPatch>,
}

/// What became of the nodes of a graph or function, by position; a node without an entry is as it was.
pub(crate) type NodesPatch = BTreeMap<usize, NodePatch>;

/// What became of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodePatch {
    /// How many new nodes stand before it.
    pub(crate) before: usize,
    /// How many new nodes stand after it.
    pub(crate) after: usize,
    /// Whether the node itself is another, besides its subgraphs.
    pub(crate) is_edited: bool,
    /// What became of its subgraphs, by the position of the attribute and of the graph in it.
    pub(crate) graphs: BTreeMap<(usize, usize), NodesPatch>,
}

impl NodePatch {
    /// Whether the node is as it was.
    pub(crate) fn is_empty(&self) -> bool {
        self.before == 0 && self.after == 0 && !self.is_edited && self.graphs.is_empty()
    }
}
