//! Computations of the site's pages in the browser: checks and conversions of a dropped model file, and runs of a text model with
//! any version of an operator.
//!
//! A request and its answer are a JSON text followed by the bytes of a file ([`answer`]). `abi` is the interface for the page.
//! The module reads only what the page passes, and sends nothing anywhere.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[cfg(target_arch = "wasm32")]
mod abi;
mod answer;
mod check;
mod error;
mod play;

pub use answer::answer;
