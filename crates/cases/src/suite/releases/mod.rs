//! The backend tests of every ONNX release, packed: an index for each release, and each file's content once.

mod index;
mod pack;
mod store;

pub use index::{Index as ReleaseIndex, Test, release_key};
pub(crate) use pack::hexadecimal;
pub use pack::{Pack, PackError, PackedObject, sha256, short, write_pack};
pub use store::{FullTest, Release, Releases, Tolerance};
