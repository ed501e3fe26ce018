//! Hostile models, as an attacker would send them to a server. A runtime may refuse them or run them, but it must
//! answer.

mod allocation;
mod attack;
mod attributes;
mod cycles;
mod depth;
mod draft;
mod encoding;
mod external;
mod graph;
mod names;
mod numbers;
mod sizes;
mod wire;

pub use attack::{Topic, WriteFiles, fingerprint, topics};
pub use draft::{Attack, DraftError};
