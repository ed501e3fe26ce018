//! Validity: checks of a model against all rules.

mod attributes;
mod branches;
mod context;
mod declarations;
mod devices;
mod external;
mod functions;
mod gradients;
mod imports;
mod ir;
mod metadata;
mod names;
mod order;
mod quantization;
mod report;
mod tensors;
mod training;
mod uses;

#[cfg(test)]
mod tests;

pub use ir::{IrFacts, IrNeed};
pub(crate) use ir::{facts as ir_facts, value_of_type};
pub use report::{ModelFacts, Report, check, check_model};
