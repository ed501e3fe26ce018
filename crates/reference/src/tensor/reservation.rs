//! Accounting of the bytes that a run has in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tensor::error::TensorError;

/// Bytes counted as in use until dropped.
#[derive(Debug)]
pub struct Reservation {
    bytes: usize,
    in_use: Arc<AtomicUsize>,
    limit: usize,
}

impl Reservation {
    /// Counts `bytes` in `in_use` until dropped; `None` if the sum would exceed `limit`.
    pub fn new(bytes: usize, in_use: &Arc<AtomicUsize>, limit: usize) -> Option<Reservation> {
        let add = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= limit);
        in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok()?;
        Some(Reservation { bytes, in_use: Arc::clone(in_use), limit })
    }

    /// Counts more bytes, or fails if they exceed the limit.
    pub fn grow(&mut self, bytes: usize) -> Result<(), TensorError> {
        let more = Reservation::new(bytes, &self.in_use, self.limit).ok_or(TensorError::Bytes(self.limit))?;
        self.bytes += more.detach();
        Ok(())
    }

    /// Returns the number of bytes and leaves them counted; the caller has to subtract them.
    pub fn detach(mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.in_use.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
