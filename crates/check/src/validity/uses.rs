//! Uses of values.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use crate::infer::{BodyId, NodeId, ValueId};

/// Uses of values in all graphs.
pub(super) struct Uses {
    /// True for the values that are read, by number.
    read: Vec<bool>,
    /// The values of a graph that are read in subgraphs of one of its nodes.
    pub(super) captured: HashMap<NodeId, Vec<ValueId>>,
    /// The graphs with a node that reads the output of a later one.
    pub(super) unsorted: HashSet<BodyId>,
}

impl Uses {
    /// Creates a list of no uses of a number of values.
    pub(super) fn new(values: usize) -> Uses {
        // bounded: by the values of the model.
        Uses { read: vec![false; values], captured: HashMap::new(), unsorted: HashSet::new() }
    }

    /// Records that a value is read.
    pub(super) fn read(&mut self, value: ValueId) {
        if let Some(read) = self.read.get_mut(value.0) {
            *read = true;
        }
    }

    pub(super) fn is_read(&self, value: ValueId) -> bool {
        self.read.get(value.0).copied().unwrap_or(false)
    }
}
