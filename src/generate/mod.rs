//! From the specs and op.yaml to cases, with their expected outputs.

#[cfg(test)]
mod audit;
mod file;
mod make;
mod plan;
mod random;
#[cfg(test)]
mod tests;

pub use file::{AccuracyFile, OperatorFile, RecipeError, RecipesFile, ResolvedAccuracy};
pub use make::{IrFile, embedded_ir, ir_cases, ir_ids, read_ir};
pub use plan::{GenerateError, OperatorCatalog, cases, ids};
pub use random::Random;
