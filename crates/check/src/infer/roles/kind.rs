//! Role of a dimension of a node.

/// Role of a dimension of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::infer) enum Role {
    /// Any size: if the node is valid with some size there, it is valid with 1.
    Free,
    /// Size shared by all dimensions of this group. If the node is valid with some size there, it is valid with 1.
    Linked(usize),
    /// Anything else.
    Other,
}
