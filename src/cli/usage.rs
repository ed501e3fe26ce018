//! Command lines that cannot be carried out.

/// A command line whose parts do not go together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// A command line by which no case is chosen.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Nothing(pub(crate) String);
