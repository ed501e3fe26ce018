//! Planning of cases: the operators' files, the versions and types that a case fits, its alternatives, and refusals.

pub(crate) mod catalog;
pub(crate) mod changes;
pub(crate) mod concrete;
pub(crate) mod error;
pub(crate) mod fit;
pub(crate) mod graph_text;
pub(crate) mod node_plan;
pub(crate) mod nodes;
pub(crate) mod refusal_fit;
pub(crate) mod refusals;
pub(crate) mod settings;
pub(crate) mod signature_refusals;
pub(crate) mod types;
pub(crate) mod value_plan;
pub(crate) mod version;
pub(crate) mod version_plan;
pub(crate) mod violation;

pub use catalog::{GenerateError, OperatorCatalog};
pub use version_plan::ids;
