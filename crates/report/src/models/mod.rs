//! Users' models: their files, and the results of checking them.

mod closeness;
mod comparison;
mod drawn_graph;
mod examine;
mod files;
mod fit;
mod generated_inputs;
mod half_precision;
mod input_hints;
mod known_graphs;
mod mentions;
mod probe;
mod proof;
mod proved_conversion;
mod questions;
mod report;
mod runtimes;
mod saved;
mod single_node;
mod summary;
mod trace;
mod work;

pub use comparison::is_degenerate;
pub use drawn_graph::DrawnModel;
pub use examine::{NamedModel, examine, examine_source};
pub use files::{FilesError, ModelFile, ModelFolder, is_stdin, model_files, model_name};
pub use generated_inputs::{InputFault, InputGenerationError, InputPlan, resized_ways};
pub use half_precision::{HalfAnswer, HalfPrecisionError, HalfQuestion, HalfReference, NodeError, half_precision};
pub(crate) use known_graphs::KnownGraph;
pub use known_graphs::{FailingInputs, GraphReport};
pub use probe::RuntimeProbe;
pub use proof::{
    Expectation, LoadModel, OverLimit, Proof, RunFailure, RunLoaded, TrialInputs, Trials, broken_rule, generated_trial,
    proof_accuracy,
};
pub use proved_conversion::{
    ConversionError, ConversionOptions, ProvedConversion, convert_bytes, convert_file, load_on_builtin,
};
pub use questions::CheckQuestions;
pub use report::{Answer, ModelReport, Status, TargetReport};
pub use runtimes::{KindReport, RuntimeReport, RuntimeVerdict};
pub use saved::{SavedNode, Saving};
pub use summary::{ModelSummary, OperatorSummary, OpsetHistogram, opset_histogram};
pub use trace::{
    BoundAtZero, CaseFiles, Fault, OtherOpsets, Reference, Trace, TraceError, TraceOutcome, TraceQuestion, TraceReport,
    Traced, TriedModel, TriedResult, bound_at_zero, trace_model,
};
