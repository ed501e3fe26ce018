//! Definitions of the operator versions: signatures, lookup by opset, validation and typed differences.

pub mod diff;
pub mod embedded;
pub mod yaml;

mod attribute;
mod case_file;
mod changes;
mod describe;
mod entry;
mod facts;
mod names;
mod nesting;
mod operator;
mod releases;
mod sentences;
mod specs;
mod texts;
mod type_list;
mod unique;
mod validate;
mod version;

#[cfg(test)]
mod tests;

pub use attribute::{AttributeSpec, AttributeType, DefaultValue, UnknownAttributeType};
pub use case_file::{CaseFileKind, case_file};
pub use changes::{AttributeValue, Changes, ElementName, MeaningChange, OneOf, SilentChange};
pub use facts::{AllowedValues, Draws, DrawsIf, Neutral, NeutralInputs, VersionFacts};
pub use operator::{FormalParameter, FormalType, FunctionKind, OpSpec, Presence};
pub use releases::{Release, Releases};
pub use sentences::{Section, Sentence};
pub use specs::{LookupError, SpecError, Specs};
pub use texts::{TextFacts, Texts};
pub use type_list::type_list;
pub use validate::{Argument, Bindings, NodeSignature, Side, SignatureError, validate, violations};
pub use version::{DEFAULT_DOMAIN, OperatorVersion, OperatorVersionError, canonical_domain, model_domain};
