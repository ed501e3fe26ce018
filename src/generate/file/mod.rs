//! What people write: op.yaml, the recipes, and the values, expressions and rules in them.

pub(crate) mod accuracy;
pub(crate) mod alternatives;
pub(crate) mod check;
pub(crate) mod expression;
pub(crate) mod fill;
pub(crate) mod literal;
pub(crate) mod op_file;
pub(crate) mod ordered;
pub(crate) mod output;
pub(crate) mod recipe;
pub(crate) mod value_file;

pub use accuracy::{AccuracyFile, ResolvedAccuracy};
pub use op_file::OperatorFile;
pub use recipe::{RecipeError, RecipesFile};
