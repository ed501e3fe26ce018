//! Cases about the format itself, from `specs/ir/*.yaml`: names and scopes, initializers, functions, encodings of
//! tensors.

mod build;
mod file;
mod tensor;

pub use build::{IrFile, embedded_ir, ir_cases, ir_ids, read_ir};
