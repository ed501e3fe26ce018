//! Uses of values.

use foldhash::{HashMap, HashSet};

use crate::infer::{BodyId, NodeId, ValueId};

/// Uses of values in all graphs.
#[derive(Default)]
pub(super) struct Uses {
    /// All values that are read.
    pub(super) read: HashSet<ValueId>,
    /// The values of a graph that are read in subgraphs of one of its nodes.
    pub(super) captured: HashMap<NodeId, Vec<ValueId>>,
    /// The graphs in which a node reads the output of a later one.
    pub(super) unsorted: HashSet<BodyId>,
}
