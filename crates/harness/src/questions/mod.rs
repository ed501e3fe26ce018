//! Questions about the model of a case, each in a separate file: its judgement, and the answer of this project if there is one.

mod answer;
mod builtin;
mod check;
mod completeness;
mod convert;
mod float16;
mod half;
mod handling;
mod infer;
mod judge;
mod metadata;
mod optimize;
mod rewrite;
#[cfg(test)]
mod test_tools;

use onnx_conformance_subject::Question;

pub use builtin::BuiltinTools;
pub use completeness::Completeness;
use handling::Handling;
pub(crate) use judge::judge;
pub use metadata::{Metadata, MetadataCounts};

/// The file of each question. The build fails if a question has none.
const HANDLED: &[(Question, Handling)] = &[
    (Question::Optimize, optimize::HANDLING),
    (Question::Infer, infer::HANDLING),
    (Question::Check, check::HANDLING),
    (Question::Convert, convert::HANDLING),
    (Question::Float16, float16::HANDLING),
];
