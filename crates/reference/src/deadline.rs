//! Deadline of a piece of work, a function supplied by the harness.

use std::fmt;
use std::sync::Arc;

/// Deadline of a piece of work. The caller owns the clock behind it.
#[derive(Clone, Default)]
pub struct Deadline(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Deadline {
    /// Returns a deadline from a function that is true once the time is over. It is called often, from any thread.
    pub fn new(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Deadline {
        Deadline(Some(Arc::new(is_over)))
    }

    /// Returns a deadline that never passes.
    pub fn never() -> Deadline {
        Deadline(None)
    }

    /// True if the time is over.
    pub fn is_over(&self) -> bool {
        self.0.as_ref().is_some_and(|is_over| is_over())
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Deadline::new(..)" } else { "Deadline::never()" })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn copies_share_the_deadline() {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&flag);
        let deadline = Deadline::new(move || seen.load(Ordering::Relaxed));
        let copy = deadline.clone();
        assert!(!copy.is_over() && !Deadline::never().is_over());
        flag.store(true, Ordering::Relaxed);
        assert!(deadline.is_over() && copy.is_over());
    }
}
