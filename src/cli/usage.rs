//! Errors of invalid command lines.

/// Incompatible arguments.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Arguments that select no case.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Nothing(pub(crate) String);
