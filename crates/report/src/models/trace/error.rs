//! Reasons why a model cannot be traced.

/// Reason why a model cannot be traced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The bytes are not a model.
    #[error("not a model: {0}")]
    NotAModel(String),
    /// The model has no nodes.
    #[error("the model has no nodes, so there is nothing to trace")]
    NoNodes,
    /// The built-in executor does not load the model, whatever the inputs are.
    #[error("the built-in executor does not load the model, so there are no values to compare with: {0}")]
    NotLoaded(String),
    /// The reference does not run the whole model on the inputs.
    #[error("{name} does not run the model, so there are no values to compare with: {message}")]
    Reference {
        /// The reference.
        name: String,
        /// Its message.
        message: String,
    },
    /// The model, or a part of it, cannot be converted to the opsets of the reference.
    #[error("it cannot be converted to {label}: {why}")]
    NotConverted {
        /// The opsets.
        label: String,
        /// The places that cannot be converted.
        why: String,
    },
    /// The reference runs the whole model, but not a part of it.
    #[error("{name} runs the whole model, but not its nodes {from} to {to}: {message}")]
    Part {
        /// The reference.
        name: String,
        /// The first node.
        from: usize,
        /// The last node.
        to: usize,
        /// Its message.
        message: String,
    },
    /// The type of a value between two nodes is unknown.
    #[error("the type of '{0}' is unknown, so no part of the model can begin or end there")]
    UnknownType(String),
    /// A node omits an output that another one reads.
    #[error("no node computes '{0}', which a part of the model reads")]
    NoValue(String),
    /// The time limit is exceeded.
    #[error("the search did not finish in time")]
    Late,
    /// The memory limit is exceeded.
    #[error("{0}")]
    Memory(String),
}
