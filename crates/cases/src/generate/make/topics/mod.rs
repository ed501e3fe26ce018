//! Cases of topics: graphs that optimizers rewrite with their near misses, and models that show the rules of the format.

mod case;
mod context;
mod draft;
mod encoded;
mod file;
mod form;
mod model;
mod refused;
mod rewrite;
mod tensor;
#[cfg(test)]
mod tests;
mod topic;

pub use case::topic_cases;
pub use file::{FormFile, PatternFile, TopicFile};
pub use rewrite::{Rewritten, rewrites, rounded};
pub use topic::{Family, PlannedGraph, Topic, embedded_topics, planned_graphs, read_topic, topic_ids};
