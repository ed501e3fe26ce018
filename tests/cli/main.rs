//! The command line as its users meet it: what it prints, what it refuses, and how it exits.

mod broken_models;
mod expectations;
mod folders;
mod foreign;
mod help;
mod models;
mod program;
mod reports;
mod results;
mod shards;
mod variants;
