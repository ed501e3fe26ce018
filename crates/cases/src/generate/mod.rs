//! Generation of cases, with their expected outputs, from the specs and op.yaml.

mod file;
mod make;
mod plan;
mod random;
#[cfg(test)]
mod tests;

pub use file::{
    AccuracyError, AccuracyFile, CaseFile, Computation, ConstraintFile, ExpressionError, OperatorFile, RecipeError,
    RecipesFile, RefusalFile, ResolvedAccuracy, RuleOf, Since, TypeList, TypesFile, Words,
};
pub use make::{
    FormFile, GraphFile, IrFile, PatternFile, Rewritten, cases, embedded_graphs, embedded_ir, graph_cases, graph_ids,
    ir_cases, ir_ids, read_graphs, read_ir, rewrites, rounded,
};
pub use plan::{GenerateError, OperatorCatalog, ids};
pub use random::Random;
