//! Generation of cases, with their expected outputs, from the specs and op.yaml.

mod file;
mod make;
mod plan;
mod random;
#[cfg(test)]
mod tests;

pub use file::{
    AccuracyError, AccuracyFile, Computation, ExpressionError, OperatorFile, RecipeError, RecipesFile,
    ResolvedAccuracy, Since, TrapFile, TypeList, TypesFile, Words,
};
pub use make::{IrFile, cases, embedded_ir, ir_cases, ir_ids, read_ir};
pub use plan::{GenerateError, OperatorCatalog, ids};
pub use random::Random;
