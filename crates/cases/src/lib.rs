//! The cases of the suite: models, inputs and expected outputs.
//!
//! Sources of cases are the specs of every operator version ([`generate`]), the backend tests of ONNX's releases and
//! folders of a user ([`suite`]), and code ([`hostile`]). Each is a [`Case`](case::Case). [`compare`] judges an output
//! by the rule of the case.
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
