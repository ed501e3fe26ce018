//! `cargo xtask new-release` and `cargo xtask next`: a version of ONNX, imported or compared.

mod candidate;
mod expectations;
mod falls;
mod mentions;
mod moves;
pub(crate) mod new_release;
pub(crate) mod next;
pub(crate) mod next_specs;
mod older;
mod pip;
mod section;
mod suite_version;
mod tests_of;
mod wanted;
