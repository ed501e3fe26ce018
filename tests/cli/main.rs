//! The command line as its users meet it: what it prints, what it refuses, and how it exits.

mod answers;
mod bad_models;
mod broken_models;
mod check;
mod convert;
mod documents;
mod errors;
mod expectations;
mod files;
mod filters;
mod findings;
mod folders;
mod foreign;
mod help;
mod models;
mod operators;
mod probe;
mod program;
mod reports;
mod results;
mod shards;
mod site;
mod snapshot;
mod streams;
mod texts;
mod variants;
