//! Early end of a run.

use std::sync::{Arc, OnceLock};

/// A flag that ends a run: no new case starts, and running cases are cut off. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    reason: Arc<OnceLock<StopReason>>,
}

/// Reason for the early end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// A user interrupted it, as by Ctrl-C.
    Interrupted,
    /// The runtime cannot continue, with the reason.
    Failed(String),
}

impl Stop {
    /// Sets the flag. Only the first reason is kept; returns true if it is this one.
    pub fn set(&self, reason: StopReason) -> bool {
        self.reason.set(reason).is_ok()
    }

    /// Returns true if the run is to end.
    pub fn is_set(&self) -> bool {
        self.reason.get().is_some()
    }

    /// Returns the reason why the run ends, if it does.
    pub fn reason(&self) -> Option<&StopReason> {
        self.reason.get()
    }
}
