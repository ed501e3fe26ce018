//! From the specs and op.yaml to cases, with their expected outputs.

mod accuracy;
mod again;
#[cfg(test)]
mod audit;
mod check;
mod choice;
mod expected;
mod expression;
mod file;
mod fill;
mod instance;
mod ir;
mod large;
mod literal;
mod model;
mod nodes;
mod operator;
mod operators;
mod ordered;
mod output;
mod random;
mod recipe;
mod refuse;
mod signature;
#[cfg(test)]
mod tests;
mod types;
mod value;
mod version;
mod violation;

pub use accuracy::{AccuracyFile, ResolvedAccuracy};
pub use file::{Since, TypeList, TypesFile, Words};
pub use ir::{IrFile, embedded_ir, ir_cases, ir_ids, read_ir};
pub use operator::OperatorFile;
pub use operators::{GenerateError, OperatorCatalog};
pub use random::Random;
pub use recipe::{RecipeError, RecipesFile};
pub use version::{cases, ids};
