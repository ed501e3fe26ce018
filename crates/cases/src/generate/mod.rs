//! Generation of cases, with their expected outputs, from the specs and op.yaml.

mod file;
mod make;
mod plan;
#[cfg(test)]
mod tests;

pub use file::{
    AccuracyError, AccuracyFile, CaseFile, Computation, ConstraintFile, ExpressionError, OperatorFile, RecipeError,
    RecipesFile, RefusalFile, ResolvedAccuracy, RuleOf, Since, TypeList, TypesFile, Words,
};
pub use make::{
    Family, FormFile, PatternFile, PlannedGraph, Rewritten, Topic, TopicFile, cases, embedded_topics, planned_graphs,
    read_topic, rewrites, rounded, topic_cases, topic_ids,
};
pub use plan::{GenerateError, OperatorCatalog, ids};
