//! Threads of a command, and the stack of its main work.

use std::num::NonZeroUsize;
use std::thread::{Builder, available_parallelism};

use anyhow::anyhow;
use rayon::ThreadPoolBuilder;

use crate::cli::usage::Usage;

/// Environment variable with the number of threads, which rayon also reads.
const THREADS: &str = "RAYON_NUM_THREADS";

/// Maximum number of threads.
const MAX_THREADS: usize = 1_024;

/// Stack size of the main work in bytes. The system's default may be much smaller.
const STACK: usize = 8 << 20;

/// Starts the threads of a command that works in parallel. Otherwise they would start on first use, and the program would abort
/// if they cannot.
pub(crate) fn open() -> anyhow::Result<()> {
    let count = threads(std::env::var(THREADS).ok().as_deref())?;
    ThreadPoolBuilder::new().num_threads(count).build_global().map_err(|error| {
        anyhow!(
            "{count} threads cannot be started: {error}; raise the limit of processes (`ulimit -u`), or lower {THREADS}"
        )
    })
}

/// Starts no threads: parallel work runs on the calling thread.
pub(crate) fn use_current_thread() -> anyhow::Result<()> {
    Ok(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?)
}

/// Returns the number of threads for a value of the variable, by default the number of processors.
fn threads(value: Option<&str>) -> Result<usize, Usage> {
    let processors = || available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    let Some(text) = value.filter(|value| !value.is_empty()) else { return Ok(processors()) };
    match text.parse() {
        Ok(0) => Ok(processors()),
        Ok(count) if count <= MAX_THREADS => Ok(count),
        _ => Err(Usage(format!("{THREADS}={text}: expected a whole number from 0 to {MAX_THREADS}"))),
    }
}

/// Runs the main work on a thread with its own stack size, or on the current thread if no thread can be started.
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
        for value in ["99999999", "-1", "many"] {
            let error = threads(Some(value)).unwrap_err().to_string();
            assert_eq!(error, format!("RAYON_NUM_THREADS={value}: expected a whole number from 0 to 1024"));
        }
    }
}
