//! Texts of operator versions by sentence, and their history over ONNX's releases.

mod body;
pub(crate) mod changes;
pub(crate) mod errata;
pub(crate) mod history;
pub(crate) mod package;
pub(crate) mod rules;
mod sentence;
pub(crate) mod standard;
