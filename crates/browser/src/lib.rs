//! What the pages of the site compute in a browser: checks and conversions of a model that a reader drops, and runs of a model in
//! text with any version of an operator.
//!
//! A request and its answer are a text of JSON and, behind it, the bytes of a file ([`answer`]). `abi` is how a page calls it. Nothing
//! is read but what the page gives, and nothing leaves it.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[cfg(target_arch = "wasm32")]
mod abi;
mod answer;
mod check;
mod play;

pub use answer::answer;
