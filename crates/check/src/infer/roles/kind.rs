//! Role of a dimension of a node.

/// Role of a dimension of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::infer) enum Role {
    /// If the node is valid with any size there, it is valid with 1.
    Free,
    /// Sizes there must be equal to the others of this group. If the node is valid with any, it is valid with 1.
    Linked(usize),
    /// Anything else.
    Other,
}
