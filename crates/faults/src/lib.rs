//! Wrong kernels of every kind, and whether the suite notices them.
//!
//! A fault changes what one operator computes, as runtimes go wrong: a formula of another function, an attribute or input
//! that is ignored, the rules of another version, a type that passes through a narrower one, an element beyond a block, a
//! sum in half precision. Most faults are made from the specs, one for each attribute, input, type and version. A fault is
//! noticed if a required case gives other values, shapes or types than it must.

mod call;
mod change;
mod fault;
mod formula;
mod linear;
mod list;
mod measure;

pub use change::Change;
pub use fault::{Class, Fault};
pub use list::all;
pub use measure::{Verdict, measure};
