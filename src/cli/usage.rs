//! Errors of invalid command lines, and of files of the wrong kind.

use onnx_conformance_cases::case::Variant;

/// Incompatible arguments.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// A file without a model.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotAModel(pub(crate) String);

/// Arguments that select no case.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Nothing(pub(crate) String);

/// Rejected value of an option.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ValueError {
    /// Not a whole number in a range.
    #[error("expected a whole number from {least} to {most}")]
    Number {
        /// The smallest number.
        least: usize,
        /// The largest number.
        most: usize,
    },
    /// Not a positive duration.
    #[error("expected a positive number of seconds")]
    Seconds,
    /// Not the name of a variant.
    #[error("expected one of {}", Variant::ALL.map(Variant::name).join(", "))]
    Variant,
    /// Not a part of a run.
    #[error("expected K/N with K from 1 to N, such as 2/8, or auto")]
    Shard,
    /// Not a list of failing tests with its format. This names the formats.
    #[error("expected FORMAT:FILE with one of the formats {0}")]
    Denylist(String),
    /// Not a report format with a file.
    #[error("expected junit=FILE, markdown=FILE or badge=FILE")]
    Report,
}
