//! Changes of a conversion, indexed by the positions of the original nodes.

use std::collections::BTreeMap;

/// Changes of the nodes of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patch {
    /// The nodes of the main graph.
    pub(crate) graph: NodesPatch,
    /// The nodes of functions, by the position of the function.
    pub(crate) functions: BTreeMap<usize, NodesPatch>,
}

/// Changes of the nodes of a graph or function, by position; unchanged nodes have no entry.
pub(crate) type NodesPatch = BTreeMap<usize, NodePatch>;

/// Changes of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodePatch {
    /// The number of new nodes before it.
    pub(crate) before: usize,
    /// The number of new nodes after it.
    pub(crate) after: usize,
    /// True if the node itself changed, apart from its subgraphs.
    pub(crate) is_edited: bool,
    /// Changes of its subgraphs, by the position of the attribute and of the graph in it.
    pub(crate) graphs: BTreeMap<(usize, usize), NodesPatch>,
}

impl NodePatch {
    /// True if the node is unchanged.
    pub(crate) fn is_empty(&self) -> bool {
        self.before == 0 && self.after == 0 && !self.is_edited && self.graphs.is_empty()
    }
}
