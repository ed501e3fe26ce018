//! Which values are read, and by whom.

use std::collections::{HashMap, HashSet};

use crate::infer::{BodyId, NodeId, ValueId};

/// Who reads what, over all graphs.
#[derive(Default)]
pub(super) struct Uses {
    /// The values that anything reads.
    pub(super) read: HashSet<ValueId>,
    /// The values of a graph that subgraphs of one of its nodes read.
    pub(super) captured: HashMap<NodeId, Vec<ValueId>>,
    /// The graphs in which a node reads what a later one makes.
    pub(super) unsorted: HashSet<BodyId>,
}
