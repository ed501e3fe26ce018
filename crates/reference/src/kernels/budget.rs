//! What a run may use: elements, bytes, nesting, loop trips, time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::dtype::ElementType;
use crate::kernels::error::KernelError;
use crate::spec::OpSpec;
use crate::tensor::Buffer;
use crate::tensor::shape::element_count;
use crate::tensor::write::Reservation;
use crate::types::ValueType;

/// The units of work between two looks at the clock.
const WORK_BETWEEN_CHECKS: u64 = 1 << 20;

/// Is told of every node that ran: its operator version and what its type parameters stood for.
pub type Observer = Arc<dyn Fn(&OpSpec, &[(String, ValueType)]) + Send + Sync>;

/// What one run of a model may use. The defaults suit every model of the vendored corpus.
#[derive(Clone)]
pub struct Limits {
    /// The elements of one tensor.
    pub elements: usize,
    /// The bytes of all tensors that live at one time.
    pub bytes: usize,
    /// How deep subgraphs and function calls may nest.
    pub depth: usize,
    /// The trips of one loop.
    pub trips: u64,
    /// Says whether the time is over.
    pub expired: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Feeds the random operators that have no seed of their own.
    pub seed: u64,
    /// Is told of every node that ran.
    pub observer: Option<Observer>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { elements: 1 << 30, bytes: 4 << 30, depth: 64, trips: 1 << 24, expired: None, seed: 0, observer: None }
    }
}

impl fmt::Debug for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits")
            .field("elements", &self.elements)
            .field("bytes", &self.bytes)
            .field("depth", &self.depth)
            .field("trips", &self.trips)
            .finish_non_exhaustive()
    }
}

/// The limits of a run and what it has used so far.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    bytes: Arc<AtomicUsize>,
    work: AtomicU64,
    seeds: AtomicU64,
}

impl Budget {
    /// A budget of which nothing is used.
    pub fn new(limits: Limits) -> Budget {
        Budget { limits, bytes: Arc::new(AtomicUsize::new(0)), work: AtomicU64::new(0), seeds: AtomicU64::new(0) }
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A seed for a node that has none: [`Limits::seed`] plus an odd multiple, in 64 bits, of the number of such nodes
    /// that ran before in this run.
    pub fn fresh_seed(&self) -> u64 {
        let before = self.seeds.fetch_add(1, Ordering::Relaxed);
        self.limits.seed.wrapping_add(before.wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    /// Room for a tensor, counted until its last copy is dropped.
    pub fn allocate(&self, element: ElementType, shape: &[usize]) -> Result<Buffer, KernelError> {
        let count = element_count(shape)?;
        self.check_elements(count)?;
        let size = element.size().max(size_of::<usize>() * usize::from(element == ElementType::String) * 2);
        let reservation = self.reserve(count, size)?;
        self.work(count)?;
        Ok(Buffer::new(element, shape.to_vec(), Some(reservation))?)
    }

    /// A vector of `count` default elements for a kernel's own use, within the limit of elements.
    pub fn scratch<T: Clone + Default>(&self, count: usize) -> Result<Vec<T>, KernelError> {
        self.check_elements(count)?;
        drop(self.reserve(count, size_of::<T>())?);
        self.work(count)?;
        // bounded: by the limits, which have just been asked.
        Ok(vec![T::default(); count])
    }

    /// The number of steps of nested loops over these sizes, within the limit of elements. An empty size counts as one,
    /// so that a product of any of the sizes fits as well.
    pub fn steps(&self, sizes: &[usize]) -> Result<usize, KernelError> {
        let most = self.limits.elements;
        let steps = sizes.iter().try_fold(1usize, |steps, &size| steps.checked_mul(size.max(1)));
        steps
            .filter(|&steps| steps <= most)
            .ok_or_else(|| KernelError::Limit(format!("a loop over {sizes:?} is over the limit of {most} steps")))
    }

    fn check_elements(&self, count: usize) -> Result<(), KernelError> {
        let most = self.limits.elements;
        if count > most {
            return Err(KernelError::Limit(format!("a tensor of {count} elements is over the limit of {most}")));
        }
        Ok(())
    }

    fn reserve(&self, count: usize, size: usize) -> Result<Reservation, KernelError> {
        let most = self.limits.bytes;
        count
            .checked_mul(size)
            .and_then(|bytes| Reservation::new(bytes, &self.bytes, most))
            .ok_or_else(|| KernelError::Limit(format!("the tensors of this run are over the limit of {most} bytes")))
    }

    /// Counts work, in elements visited, and stops the run when its time is over.
    pub fn work(&self, amount: usize) -> Result<(), KernelError> {
        let amount = amount as u64 + 1;
        let before = self.work.fetch_add(amount, Ordering::Relaxed);
        if before / WORK_BETWEEN_CHECKS == before.saturating_add(amount) / WORK_BETWEEN_CHECKS {
            return Ok(());
        }
        self.check_time()
    }

    /// Stops the run when its time is over.
    pub fn check_time(&self) -> Result<(), KernelError> {
        match &self.limits.expired {
            Some(expired) if expired() => Err(KernelError::Deadline),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_limits_is_refused() {
        let budget = Budget::new(Limits { elements: 8, bytes: 16, ..Limits::default() });
        assert!(matches!(budget.allocate(ElementType::Uint8, &[9]), Err(KernelError::Limit(_))));
        let kept = budget.allocate(ElementType::Float, &[3]).unwrap();
        assert!(matches!(budget.allocate(ElementType::Float, &[2]), Err(KernelError::Limit(_))));
        drop(kept);
        assert!(budget.allocate(ElementType::Float, &[2]).is_ok());
        assert!(matches!(budget.allocate(ElementType::Float, &[usize::MAX, 3]), Err(KernelError::Tensor(_))));
    }

    #[test]
    fn an_empty_size_hides_no_large_one() {
        let budget = Budget::new(Limits { elements: 8, ..Limits::default() });
        assert_eq!(budget.steps(&[2, 0, 4]).ok(), Some(8));
        assert!(budget.steps(&[9, 0]).is_err());
        assert!(budget.steps(&[usize::MAX, 0, usize::MAX]).is_err());
    }

    #[test]
    fn work_ends_when_the_time_is_over() {
        let budget = Budget::new(Limits { expired: Some(Arc::new(|| true)), ..Limits::default() });
        assert!(budget.work(1).is_ok());
        assert!(matches!(budget.work(1 << 20), Err(KernelError::Deadline)));
    }
}
