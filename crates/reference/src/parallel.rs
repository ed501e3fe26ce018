//! Loops on several threads. Results do not depend on the number of threads.
//!
//! With the feature `parallel`, they run in the thread pool of `rayon`. Without it, loops inside a kernel run on the
//! calling thread, and [`map_items`], for long pieces of work, starts threads of its own.

use std::convert::Infallible;

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// Returns the number of threads among which a kernel may divide its work.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    return 1;
}

/// Calls `work` with the number and the elements of each block of `size` elements; the last one may be shorter. The
/// first error ends the loop.
pub(crate) fn try_for_each_block<T: Send, E: Send>(
    values: &mut [T],
    size: usize,
    work: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    // An empty block has no elements to work on.
    let size = size.max(1);
    #[cfg(feature = "parallel")]
    return values.par_chunks_mut(size).enumerate().try_for_each(|(index, block)| work(index, block));
    #[cfg(not(feature = "parallel"))]
    return values.chunks_mut(size).enumerate().try_for_each(|(index, block)| work(index, block));
}

/// Calls `work` with the elements of each block of `size` elements; the last one may be shorter.
pub(crate) fn for_each_block<T: Send>(values: &mut [T], size: usize, work: impl Fn(&mut [T]) + Sync) {
    let work = |_, block: &mut [T]| {
        work(block);
        Ok(())
    };
    // The error has no value.
    let Ok(()) = try_for_each_block::<T, Infallible>(values, size, work);
}

/// Returns the results of `work` for the numbers from 0 to `count - 1`, in order, or an error.
pub(crate) fn try_map<R: Send, E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    #[cfg(feature = "parallel")]
    return (0..count).into_par_iter().map(&work).collect();
    #[cfg(not(feature = "parallel"))]
    return (0..count).map(work).collect();
}

/// Returns the results of `work` for each value, in order.
pub(crate) fn map<T: Sync, R: Send>(values: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    #[cfg(feature = "parallel")]
    return values.par_iter().map(&work).collect();
    #[cfg(not(feature = "parallel"))]
    return values.iter().map(work).collect();
}

/// Returns the results of `work` for each item, in order. The items are long pieces of work, such as the cases of an
/// operator.
///
/// `threads` limits the threads of this call, and of the kernels that `work` runs. By default there is one for each
/// processor, or as many as the thread pool of `rayon` has.
#[cfg(feature = "parallel")]
pub fn map_items<T: Sync, R: Send>(threads: Option<usize>, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let pool = threads.and_then(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok());
    match pool {
        Some(pool) => pool.install(|| map(items, &work)),
        None => map(items, work),
    }
}

/// Returns the results of `work` for each item, in order. The items are long pieces of work, such as the cases of an
/// operator.
///
/// `threads` limits the threads of this call. By default there is one for each processor.
#[cfg(not(feature = "parallel"))]
pub fn map_items<T: Sync, R: Send>(threads: Option<usize>, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    use std::num::NonZeroUsize;
    use std::panic::resume_unwind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{Builder, available_parallelism, scope};

    let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, NonZeroUsize::get)).min(items.len());
    let next = AtomicUsize::new(0);
    let run = || {
        let mut results = Vec::new();
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(index)
        {
            results.push((index, work(item)));
        }
        results
    };
    let mut results = scope(|scope| {
        // The calling thread works too, so the results are complete if no thread can be started.
        let started: Vec<_> = (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, run).ok()).collect();
        let mut results = run();
        for thread in started {
            results.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_numbers() {
        let mut values = [0; 10];
        let fill = |index, block: &mut [usize]| {
            block.fill(index);
            Ok::<_, ()>(())
        };
        assert_eq!(try_for_each_block(&mut values, 4, fill), Ok(()));
        assert_eq!(values, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
        assert_eq!(try_for_each_block(&mut values[..0], 0, fill), Ok(()));
    }

    #[test]
    fn an_error_ends_a_loop() {
        let fail = |index| if index == 5 { Err(index) } else { Ok(index) };
        assert_eq!(try_map(5, fail), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(try_map(9, fail), Err(5));
        assert_eq!(try_for_each_block(&mut [0; 9], 1, |index, _| fail(index).map(drop)), Err(5));
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1_000).collect();
        let expected: Vec<usize> = items.iter().map(|item| item * 2).collect();
        for threads in [None, Some(1), Some(3), Some(2_000)] {
            assert_eq!(map_items(threads, &items, |item| item * 2), expected, "{threads:?}");
        }
        assert_eq!(map(&items, |item| item * 2), expected);
        assert_eq!(map_items(None, &items[..0], |item| *item), items[..0]);
    }
}
