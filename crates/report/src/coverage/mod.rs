//! Coverage: which versions, types, attributes, inputs, values and refusals the cases exercise.

mod conversions;
mod exclusions;
mod graphs;
mod group;
mod item;
mod node;
mod reach;
mod record;
mod record_run;
mod sizes;
mod survey;
mod text;
mod text_documents;
mod text_files;
mod text_matrix;
mod text_problems;
mod threads;
mod totals;
mod value;
mod version_items;

pub use conversions::Conversions;
pub use exclusions::Exclusions;
pub use graphs::{GraphCoverage, GraphPattern};
pub use item::{CoverageItem, CoverageKind};
pub use node::is_default;
pub use record::CoverageRecord;
pub use record_run::{CoverageRecordError, coverage_record};
pub use survey::CoverageCollector;
pub use text::{Contradiction, NotNormative, OperatorText, Signature, StatedSentence, TextError, TextState};
pub use text_documents::sentences_of_check;
pub use text_files::tests_of_sentence;
pub use text_matrix::{MatrixResults, csv, html};
pub use threads::{Thread, ThreadsError};
pub use totals::{Count, Coverage};
