//! Contents of cases: filled values, models, expected outputs.

mod cases;
mod check;
mod draft;
mod error;
mod expected;
mod fill;
mod large;
mod model;
mod topics;

pub use cases::cases;
pub use topics::{
    Family, FormFile, PatternFile, PlannedGraph, Rewritten, Topic, TopicFile, embedded_topics, planned_graphs,
    read_topic, rewrites, rounded, topic_cases, topic_ids,
};
