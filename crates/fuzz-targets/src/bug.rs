//! Bugs that the fuzz targets detect.

use onnx_conformance_reference::kernels::framework::error::KernelError;

/// Bug in the program, shown by an input.
#[derive(Debug, thiserror::Error)]
pub enum Bug {
    /// A kernel reports an internal error.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No temporary folder can be created.
    #[error("cannot create a temporary folder: {0}")]
    Folder(#[from] std::io::Error),
    /// The inferred facts about a value are not true of the value.
    #[error("'{name}' of {operator} {contradiction}")]
    Inference {
        /// The name of the value.
        name: String,
        /// The operator that computes it.
        operator: String,
        /// The contradiction.
        contradiction: String,
    },
    /// The check reports an error in a node, but the model runs.
    #[error("the model runs despite this error: {0}")]
    FalseError(String),
    /// A valid model is invalid after a conversion.
    #[error("a valid model is invalid after its conversion to {target}: {error}")]
    InvalidConversion {
        /// The requested opsets.
        target: String,
        /// The first error of the converted model.
        error: String,
    },
    /// A converted model does not load or run, or its outputs differ.
    #[error("after the conversion to {target}, {difference}")]
    DifferentConversion {
        /// The requested opsets.
        target: String,
        /// The difference.
        difference: Difference,
    },
    /// An expectation file is written in a form that cannot be read.
    #[error("an expectation file is written in a form that cannot be read: {error}\n{text}")]
    Expectations {
        /// The error of reading it.
        error: String,
        /// The written file.
        text: String,
    },
    /// Results cannot be written, or not be read again.
    #[error("results that were read cannot be written and read again: {0}")]
    Results(String),
    /// Fewer or more results are read than were written.
    #[error("{written} results were written, but {read} are read")]
    ResultCount {
        /// The number of written results.
        written: usize,
        /// The number of results that are read.
        read: usize,
    },
}

/// Difference between a model and its conversion.
#[derive(Debug, thiserror::Error)]
pub enum Difference {
    /// Only the original model loads.
    #[error("the model no longer loads")]
    Load,
    /// Only the original model runs.
    #[error("the model no longer runs: {0}")]
    Run(String),
    /// An output differs.
    #[error("output {position} differs: {message}")]
    Output {
        /// The position of the output.
        position: usize,
        /// The difference.
        message: String,
    },
}
