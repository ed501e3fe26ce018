//! Signals that end the program: a run ends in an orderly way, everything else immediately. No temporary file is left
//! behind.

use std::io;
use std::sync::{Mutex, PoisonError};

use onnx_conformance_subject::Stop;

use crate::note::note;

/// Stop flags of the runs, set by the first signal.
static STOPS: Mutex<Vec<Stop>> = Mutex::new(Vec::new());

/// True once this process handles signals.
static HANDLERS_SET: Mutex<bool> = Mutex::new(false);

/// Returns a flag that Ctrl-C sets. The second time, the program ends at once.
pub fn stopped_by_interrupt() -> Stop {
    stop().unwrap_or_else(|error| {
        note(&format!("signals such as Ctrl-C will end the program at once: {error}"));
        Stop::default()
    })
}

/// Returns a flag that the first signal sets. The second signal ends the program at once.
fn stop() -> io::Result<Stop> {
    set_signal_handlers()?;
    let stop = Stop::default();
    STOPS.lock().unwrap_or_else(PoisonError::into_inner).push(stop.clone());
    Ok(stop)
}

/// Installs handlers for the signals that end a program.
pub fn set_signal_handlers() -> io::Result<()> {
    let mut is_set = HANDLERS_SET.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_set {
        start()?;
        *is_set = true;
    }
    Ok(())
}

/// Sets the stop flags of the runs. If there are none, or they are set already, ends the program with `end`.
#[cfg(any(unix, windows))]
fn interrupted(end: impl Fn()) {
    use crate::exit;
    use crate::whole_file::remove_unfinished;
    use onnx_conformance_cases::suite::remove_temporary;
    use onnx_conformance_subject::StopReason;

    let stops = STOPS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // A run that has given up has its flag set already.
    let changed: Vec<bool> = stops.iter().map(|stop| stop.set(StopReason::Interrupted)).collect();
    if changed.contains(&true) {
        return;
    }
    // Held until the process ends.
    let _nothing_begins = remove_unfinished();
    remove_temporary();
    if stops.is_empty() {
        end();
    }
    std::process::exit(i32::from(exit::INTERRUPTED));
}

#[cfg(unix)]
fn start() -> io::Result<()> {
    use std::sync::atomic::AtomicBool;
    use std::sync::{Arc, mpsc};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // Exceeding the file size limit becomes an error of the writer, which knows the files to remove.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let (sender, receiver) = mpsc::channel();
    // The thread starts before the signals are redirected. If it cannot start, they keep their default action.
    let signals = move || {
        let mut signals = match Signals::new([SIGINT, SIGTERM]) {
            Ok(signals) => signals,
            Err(error) => return drop(sender.send(Err(error))),
        };
        let hangup = if is_ignored(SIGHUP) { Ok(()) } else { signals.add_signal(SIGHUP) };
        drop(sender.send(hangup));
        for signal in signals.forever() {
            // The parent process should see that the signal ended the program.
            interrupted(|| drop(emulate_default_handler(signal)));
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(signals)?;
    receiver.recv().map_err(io::Error::other)?
}

/// Returns true if the program was started with a signal ignored, for example by `nohup`. Always false without /proc.
#[cfg(unix)]
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

#[cfg(windows)]
fn start() -> io::Result<()> {
    ctrlc::set_handler(|| interrupted(|| {})).map_err(io::Error::other)
}

#[cfg(not(any(unix, windows)))]
fn start() -> io::Result<()> {
    Ok(())
}
