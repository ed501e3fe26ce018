//! The cases of the suite: models, inputs, and what is expected of them.
//!
//! Cases come from the specs of every operator version ([`generate`]), from the backend tests of ONNX's releases, from folders of a
//! user ([`suite`]), and from code ([`hostile`]). A case is a [`Case`](case::Case); [`compare`] judges a value by the rule that a case
//! gives for it.
//!
//! ```
//! use onnx_conformance_cases::suite::{Filter, Generated, Suite};
//!
//! let suite = Suite::project(None, Generated::embedded())?;
//! let ids = suite.ids(&Filter::new(&["ai.onnx/Sum-8/broadcast/**"])?)?;
//! assert!(ids.iter().all(|id| id.starts_with("ai.onnx/Sum-8/broadcast/")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod case;
pub mod compare;
pub mod generate;
pub mod hostile;
pub mod suite;
