//! `cargo xtask tidy`: the project's own rules that no compiler checks.

mod bounds;
mod builds;
mod check;
mod circles;
mod code;
mod copies;
mod documents;
pub(crate) mod files;
mod finding;
mod links;
mod masked;
mod operators;
mod outside;
mod paths;

pub(crate) use check::run;
