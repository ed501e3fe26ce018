//! How a run is ended before its last case.

use std::sync::{Arc, OnceLock};

/// A flag that ends a run: no case begins after it is set, and what is running is cut off. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    reason: Arc<OnceLock<StopReason>>,
}

/// Why a run ends before its last case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Somebody asked for it, as by Ctrl-C.
    Interrupted,
    /// The runtime cannot go on, and why.
    Failed(String),
}

impl Stop {
    /// Sets the flag. The first reason stands; whether this one was it, is returned.
    pub fn set(&self, reason: StopReason) -> bool {
        self.reason.set(reason).is_ok()
    }

    /// Whether the run ends.
    pub fn is_set(&self) -> bool {
        self.reason.get().is_some()
    }

    /// Why the run ends, if it does.
    pub fn reason(&self) -> Option<&StopReason> {
        self.reason.get()
    }
}
