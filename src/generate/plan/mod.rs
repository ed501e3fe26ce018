//! Which cases there are: the operators' files, the versions and types that a case fits, its alternatives, what is refused.

pub(crate) mod catalog;
pub(crate) mod fit;
pub(crate) mod nodes;
pub(crate) mod refusals;
pub(crate) mod signature_refusals;
pub(crate) mod types;
pub(crate) mod version;

pub use catalog::{GenerateError, OperatorCatalog};
pub use version::{cases, ids};
