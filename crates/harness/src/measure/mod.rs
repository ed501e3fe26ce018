//! Measurements: outcomes of every case given to a version of a runtime, read from its expectation file.

mod accuracy;
mod answer;
mod at_opset;
mod at_version;
mod conformance;
mod digests;
mod earlier_answers;
mod entries;
mod history;
mod levels;
mod listed_cases;
mod measurement;
mod measurements;
mod node_kind;
mod overview;
mod severity;
mod similar;
mod tools;
mod unchanged;

pub use accuracy::{AccuracyError, BoundUse, MeasuredAccuracy};
pub use answer::{NodeAnswer, NodeVerdict};
pub use at_version::MeasuredVersion;
pub use conformance::{Conformance, OperatorConformance, is_required};
pub use digests::{MeasuredDigests, digest_name};
pub use earlier_answers::{AskedParts, EarlierAnswers};
pub use history::{History, VersionOutcomes};
pub use levels::{LevelFailures, Levels};
pub use listed_cases::ListedCases;
pub use measurement::{Measured, Measurement, distance_text};
pub use measurements::Measurements;
pub use node_kind::NodeKind;
pub use overview::{CasesOfOperator, Overview, cases_in_float};
pub use severity::Severity;
pub use tools::{measured_tools, tool_digests};
pub use unchanged::{UNCHANGED, UnchangedLine, updated_lines};
