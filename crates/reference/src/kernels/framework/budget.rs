//! Resources of a run: elements, bytes, nesting depth, loop iterations, time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use num_complex::Complex;

use crate::deadline::Deadline;
use crate::dtype::ElementType;
use crate::kernels::framework::error::KernelError;
use crate::proto::measure::DEFAULT_BYTES;
use crate::spec::OpSpec;
use crate::tensor::reservation::Reservation;
use crate::tensor::shape::element_count;
use crate::tensor::{Tensor, TensorBuilder};
use crate::types::ValueType;

/// Units of work between two checks of the clock.
const WORK_BETWEEN_CHECKS: u64 = 1 << 16;

/// Elements read or collected between two checks of the clock.
const BLOCK: usize = 1 << 16;

/// Bytes per tensor, in addition to its elements: its shape, its counters and its list entry.
const BYTES_OF_A_TENSOR: usize = 128;

/// Bytes per string in a tensor, in addition to its text: one pointer, twice while the tensor is built.
const BYTES_OF_A_STRING: usize = 2 * size_of::<Arc<str>>();

/// Callback after each node, with its operator version and the types bound to its type parameters.
pub type Observer = Arc<dyn Fn(&OpSpec, &[(String, ValueType)]) + Send + Sync>;

/// Limits of one run of a model. The defaults suit every model of the vendored corpus.
#[derive(Clone)]
pub struct ExecutionLimits {
    /// Elements of one tensor.
    pub elements: usize,
    /// Bytes in use at one time: inputs, initializers, tensors, strings, and the working memory of kernels.
    pub bytes: usize,
    /// Nesting depth of subgraphs and function calls.
    pub depth: usize,
    /// Iterations of one loop.
    pub trips: u64,
    /// Deadline of the whole run.
    pub deadline: Deadline,
    /// Seed for the random operators that have no seed of their own.
    pub seed: u64,
    /// Called after each node.
    pub observer: Option<Observer>,
}

impl Default for ExecutionLimits {
    fn default() -> ExecutionLimits {
        ExecutionLimits {
            elements: 1 << 30,
            bytes: DEFAULT_BYTES,
            depth: 64,
            trips: 1 << 24,
            deadline: Deadline::never(),
            seed: 0,
            observer: None,
        }
    }
}

impl fmt::Debug for ExecutionLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutionLimits")
            .field("elements", &self.elements)
            .field("bytes", &self.bytes)
            .field("depth", &self.depth)
            .field("trips", &self.trips)
            .finish_non_exhaustive()
    }
}

/// Limits of a run, and how much of them is used.
///
/// Memory that a kernel allocates, also to read into, is counted until its budget is dropped. Each kernel has its own
/// budget, and takes a [`Budget::nested`] one for each block of a loop.
#[derive(Debug)]
pub struct Budget {
    run: Arc<Run>,
    /// Bytes that are released with this budget.
    held: AtomicUsize,
}

/// State shared by all budgets of a run.
#[derive(Debug)]
struct Run {
    limits: ExecutionLimits,
    bytes: Arc<AtomicUsize>,
    work: AtomicU64,
    seeds: AtomicU64,
    /// True once the deadline was seen to have passed. From then on every count of work fails, however small.
    over: AtomicBool,
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.run.bytes.fetch_sub(*self.held.get_mut(), Ordering::Relaxed);
    }
}

impl Budget {
    /// Returns an unused budget.
    pub fn new(limits: ExecutionLimits) -> Budget {
        let (bytes, over) = (Arc::default(), AtomicBool::new(false));
        let run = Run { limits, bytes, work: AtomicU64::new(0), seeds: AtomicU64::new(0), over };
        Budget { run: Arc::new(run), held: AtomicUsize::new(0) }
    }

    /// Returns a budget of the same run. Its bytes are released when it is dropped.
    #[must_use]
    pub fn nested(&self) -> Budget {
        Budget { run: Arc::clone(&self.run), held: AtomicUsize::new(0) }
    }

    /// Returns the limits.
    pub fn limits(&self) -> &ExecutionLimits {
        &self.run.limits
    }

    /// Returns the deadline of the whole run.
    pub fn deadline(&self) -> &Deadline {
        &self.run.limits.deadline
    }

    /// Returns a seed for a node without one: [`ExecutionLimits::seed`] plus an odd multiple of the number of such
    /// nodes that already ran, modulo 2^64.
    pub fn fresh_seed(&self) -> u64 {
        let before = self.run.seeds.fetch_add(1, Ordering::Relaxed);
        self.limits().seed.wrapping_add(before.wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    /// Allocates a tensor. Its bytes count until the last copy is dropped.
    pub fn allocate(&self, element: ElementType, shape: &[usize]) -> Result<TensorBuilder, KernelError> {
        let count = element_count(shape)?;
        self.check_elements(count)?;
        let size = if element == ElementType::String { BYTES_OF_A_STRING } else { element.size() };
        let bytes = count.checked_mul(size).and_then(|bytes| bytes.checked_add(BYTES_OF_A_TENSOR));
        let reservation = self.reserve(bytes)?;
        self.count_work(count)?;
        Ok(TensorBuilder::new(element, shape.to_vec(), reservation, self.deadline().clone())?)
    }

    /// Allocates a vector of `count` default elements for a kernel's own use.
    pub fn scratch<T: Clone + Default>(&self, count: usize) -> Result<Vec<T>, KernelError> {
        self.check_elements(count)?;
        self.count(count, size_of::<T>())?;
        self.count_work(count)?;
        // bounded: by the limits, which were just checked.
        Ok(vec![T::default(); count])
    }

    /// Collects an iterator, for a kernel's own use.
    pub fn collect<T>(&self, values: impl IntoIterator<Item = T>) -> Result<Vec<T>, KernelError> {
        let values = values.into_iter();
        let expected = values.size_hint().0;
        self.check_elements(expected)?;
        self.count(expected, size_of::<T>())?;
        // bounded: by the limits, which were just checked.
        let mut collected = Vec::with_capacity(expected);
        for value in values {
            let count = collected.len();
            if count == collected.capacity() {
                let more = count.max(16);
                self.check_elements(count)?;
                self.count(more, size_of::<T>())?;
                collected.reserve_exact(more);
            }
            collected.push(value);
            if count % BLOCK == BLOCK - 1 {
                self.count_work(BLOCK)?;
            }
        }
        Ok(collected)
    }

    /// Reads every element with [`Tensor::floats`].
    pub fn read_floats(&self, tensor: &Tensor) -> Result<Vec<f64>, KernelError> {
        self.read(tensor, Tensor::floats)
    }

    /// Reads every element with [`Tensor::integers`].
    pub fn read_integers(&self, tensor: &Tensor) -> Result<Vec<i128>, KernelError> {
        self.read(tensor, Tensor::integers)
    }

    /// Reads every element with [`Tensor::complexes`].
    pub fn read_complexes(&self, tensor: &Tensor) -> Result<Vec<Complex<f64>>, KernelError> {
        self.read(tensor, Tensor::complexes)
    }

    /// Reads every element with [`Tensor::bools`].
    pub fn read_bools(&self, tensor: &Tensor) -> Result<Vec<bool>, KernelError> {
        self.read(tensor, Tensor::bools)
    }

    /// Reads every element with [`Tensor::indices`].
    pub fn read_indices(&self, tensor: &Tensor) -> Result<Vec<i64>, KernelError> {
        self.read(tensor, Tensor::indices)
    }

    /// Reads every element with `read`, such as [`Tensor::floats`].
    pub fn read<T>(&self, tensor: &Tensor, read: fn(&Tensor) -> Vec<T>) -> Result<Vec<T>, KernelError> {
        let count = tensor.len();
        self.count(count, size_of::<T>())?;
        self.count_work(count)?;
        if count <= BLOCK {
            return Ok(read(tensor));
        }
        // bounded: by the limits, which were just checked.
        let mut values = Vec::with_capacity(count);
        for from in (0..count).step_by(BLOCK) {
            self.check_time()?;
            values.extend(read(&tensor.part(from..from + BLOCK)));
        }
        Ok(values)
    }

    /// Counts `count` elements of `size` bytes that a kernel allocates for itself.
    pub fn count(&self, count: usize, size: usize) -> Result<(), KernelError> {
        let reservation = self.reserve(count.checked_mul(size))?;
        self.held.fetch_add(reservation.detach(), Ordering::Relaxed);
        Ok(())
    }

    fn reserve(&self, bytes: Option<usize>) -> Result<Reservation, KernelError> {
        let max = self.limits().bytes;
        bytes
            .and_then(|bytes| Reservation::new(bytes, &self.run.bytes, max))
            .ok_or_else(|| KernelError::Limit(format!("the tensors of this run are over the limit of {max} bytes")))
    }

    /// Returns the number of steps of nested loops over these sizes, within the limit of elements. An empty size counts
    /// as one, so that the product of any of the sizes fits as well.
    pub fn check_loop(&self, sizes: &[usize]) -> Result<usize, KernelError> {
        let max = self.limits().elements;
        let steps = sizes.iter().try_fold(1usize, |steps, &size| steps.checked_mul(size.max(1)));
        steps
            .filter(|&steps| steps <= max)
            .ok_or_else(|| KernelError::Limit(format!("a loop over {sizes:?} is over the limit of {max} steps")))
    }

    fn check_elements(&self, count: usize) -> Result<(), KernelError> {
        let max = self.limits().elements;
        if count > max {
            return Err(KernelError::Limit(format!("a tensor of {count} elements is over the limit of {max}")));
        }
        Ok(())
    }

    /// Counts work, in elements visited, and stops the run after its deadline.
    pub fn count_work(&self, amount: usize) -> Result<(), KernelError> {
        let amount = amount as u64 + 1;
        let before = self.run.work.fetch_add(amount, Ordering::Relaxed);
        if before / WORK_BETWEEN_CHECKS == before.saturating_add(amount) / WORK_BETWEEN_CHECKS {
            return if self.run.over.load(Ordering::Relaxed) { Err(KernelError::Deadline) } else { Ok(()) };
        }
        self.check_time()
    }

    /// Stops the run after its deadline.
    pub fn check_time(&self) -> Result<(), KernelError> {
        if !self.deadline().is_over() {
            return Ok(());
        }
        self.run.over.store(true, Ordering::Relaxed);
        Err(KernelError::Deadline)
    }

    /// Iterates over the values, but ends early after the deadline. The executor checks the clock after every kernel.
    pub fn timed<T>(&self, values: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        values
            .zip(0usize..)
            .map_while(|(value, index)| (index % BLOCK != BLOCK - 1 || !self.deadline().is_over()).then_some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_over_the_limits_are_refused() {
        let budget =
            Budget::new(ExecutionLimits { elements: 8, bytes: 16 + BYTES_OF_A_TENSOR, ..ExecutionLimits::default() });
        assert!(matches!(budget.allocate(ElementType::Uint8, &[9]), Err(KernelError::Limit(_))));
        let kept = budget.allocate(ElementType::Float, &[3]).unwrap();
        assert!(matches!(budget.allocate(ElementType::Float, &[2]), Err(KernelError::Limit(_))));
        drop(kept);
        assert!(budget.allocate(ElementType::Float, &[2]).is_ok());
        assert!(matches!(budget.allocate(ElementType::Float, &[usize::MAX, 3]), Err(KernelError::Tensor(_))));
    }

    #[test]
    fn an_empty_axis_does_not_hide_a_large_one() {
        let budget = Budget::new(ExecutionLimits { elements: 8, ..ExecutionLimits::default() });
        assert_eq!(budget.check_loop(&[2, 0, 4]).ok(), Some(8));
        assert!(budget.check_loop(&[9, 0]).is_err());
        assert!(budget.check_loop(&[usize::MAX, 0, usize::MAX]).is_err());
    }

    #[test]
    fn work_ends_at_the_deadline() {
        let budget = Budget::new(ExecutionLimits { deadline: Deadline::new(|| true), ..ExecutionLimits::default() });
        assert!(budget.count_work(1).is_ok());
        assert!(matches!(budget.count_work(1 << 16), Err(KernelError::Deadline)));
        assert!(matches!(budget.count_work(1), Err(KernelError::Deadline)));
    }

    #[test]
    fn what_a_kernel_computes_in_is_counted_until_its_budget_goes() {
        let budget = Budget::new(ExecutionLimits { bytes: 100, ..ExecutionLimits::default() });
        let tensor = Tensor::of_integers(ElementType::Int8, &[4], &[1, 2, 3, 4]).unwrap();
        {
            let call = budget.nested();
            assert_eq!(call.read_integers(&tensor).unwrap(), [1, 2, 3, 4]);
            assert!(matches!(budget.scratch::<u64>(5), Err(KernelError::Limit(_))));
            assert_eq!(call.collect(0..9u32).unwrap().len(), 9);
            assert!(matches!(call.read_floats(&tensor), Err(KernelError::Limit(_))));
        }
        assert_eq!(budget.scratch::<u64>(12).unwrap().len(), 12);
    }

    #[test]
    fn an_endless_iterator_is_collected_up_to_the_limits() {
        let collect = |limits| Budget::new(limits).collect(std::iter::from_fn(|| Some(0u8))).err();
        let limits = || ExecutionLimits { elements: 1 << 20, bytes: 1 << 20, ..ExecutionLimits::default() };
        assert!(matches!(collect(limits()), Some(KernelError::Limit(_))));
        assert!(matches!(collect(ExecutionLimits { bytes: 1 << 30, ..limits() }), Some(KernelError::Limit(_))));
        let late = ExecutionLimits { deadline: Deadline::new(|| true), ..limits() };
        assert!(matches!(collect(late), Some(KernelError::Deadline)));
        let budget = Budget::new(ExecutionLimits { deadline: Deadline::new(|| true), ..ExecutionLimits::default() });
        assert_eq!(budget.timed(0..1_000_000).count(), BLOCK - 1);
    }
}
