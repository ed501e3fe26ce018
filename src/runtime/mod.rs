//! What is tested: anything that takes a model and inputs, and gives outputs or a reason.

mod builtin;
mod protocol;

pub use builtin::Builtin;
pub use protocol::{Declaration, Phase, Request, Response, Runtime};
