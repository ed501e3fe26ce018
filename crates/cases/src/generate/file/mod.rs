//! Files that people write: op.yaml, the recipes, and the values, expressions and rules in them.

pub(crate) mod accuracy;
pub(crate) mod alternatives;
pub(crate) mod anchors;
pub(crate) mod check;
pub(crate) mod example;
pub(crate) mod expression;
pub(crate) mod fill;
pub(crate) mod literal;
pub(crate) mod op_file;
pub(crate) mod ordered;
pub(crate) mod output;
pub(crate) mod recipe;
pub(crate) mod since;
pub(crate) mod type_list;
pub(crate) mod value_file;
pub(crate) mod words;
pub(crate) mod written_out;
pub(crate) mod yaml_text;

pub use accuracy::{AccuracyError, AccuracyFile, ResolvedAccuracy};
pub use expression::ExpressionError;
pub use op_file::{CaseFile, Computation, ConstraintFile, OperatorFile, RefusalFile, RuleOf};
pub use recipe::{RecipeError, RecipesFile};
pub use since::Since;
pub use type_list::{TypeList, TypesFile};
pub use words::Words;
