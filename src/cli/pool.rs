//! The threads of a command, and the stack of its main work.

use std::num::NonZeroUsize;
use std::thread::{Builder, available_parallelism};

use anyhow::anyhow;
use rayon::ThreadPoolBuilder;

use crate::cli::usage::Usage;

/// The variable that sets the number of threads, as rayon reads it.
const THREADS: &str = "RAYON_NUM_THREADS";

/// The most threads.
const MAX_THREADS: usize = 1_024;

/// The stack of the main work in bytes: the system's may be much smaller.
const STACK: usize = 8 << 20;

/// Starts the threads of a command that works on many things at a time. Without it, they would start at the first use, and end the
/// program where they cannot.
pub(crate) fn open() -> anyhow::Result<()> {
    let count = threads(std::env::var(THREADS).ok().as_deref())?;
    ThreadPoolBuilder::new().num_threads(count).build_global().map_err(|error| {
        anyhow!(
            "{count} threads cannot be started: {error}; raise the limit of processes (`ulimit -u`), or lower {THREADS}"
        )
    })
}

/// Starts no thread: what works on many things at a time does so on the thread that called.
pub(crate) fn none() -> anyhow::Result<()> {
    Ok(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?)
}

/// The number of threads that a value of the variable stands for: the number of processors for none.
fn threads(value: Option<&str>) -> Result<usize, Usage> {
    let processors = || available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    let Some(text) = value.filter(|value| !value.is_empty()) else { return Ok(processors()) };
    match text.parse() {
        Ok(0) => Ok(processors()),
        Ok(count) if count <= MAX_THREADS => Ok(count),
        _ => Err(Usage(format!("{THREADS}={text}: a whole number from 0 to {MAX_THREADS}"))),
    }
}

/// Does the main work of the program on a thread with a stack of its own size, or where it stands if no thread can be started.
pub(crate) fn on_own_stack<T: Send>(work: impl Fn() -> T + Send + Sync) -> T {
    std::thread::scope(|scope| {
        match Builder::new().name("main".to_owned()).stack_size(STACK).spawn_scoped(scope, &work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => work(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_threads_has_a_bound() {
        assert_eq!(threads(Some("3")).unwrap(), 3);
        assert_eq!(
            (threads(Some("")).unwrap(), threads(Some("0")).unwrap()),
            (threads(None).unwrap(), threads(None).unwrap())
        );
        for wrong in ["99999999", "-1", "many"] {
            let error = threads(Some(wrong)).unwrap_err().to_string();
            assert_eq!(error, format!("RAYON_NUM_THREADS={wrong}: a whole number from 0 to 1024"));
        }
    }
}
