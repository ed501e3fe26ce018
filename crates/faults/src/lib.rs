//! Mutation testing of the suite: faulty kernels of every class, and whether the suite detects them.
//!
//! A fault changes the result of one operator in a way typical of runtimes: the formula of another function, an ignored attribute
//! or input, the rules of another version, conversion through a narrower type, a wrong element after a block, a sum in half
//! precision. Most faults are derived from the specs, one for each attribute, input, type and version. A fault is detected if a
//! required case reports wrong values, shapes or types.

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
