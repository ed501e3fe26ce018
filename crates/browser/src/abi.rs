//! Interface for the page: it reserves space for a request, writes the request, calls `respond`, and reads the answer at the
//! returned address.

#![expect(unsafe_code, reason = "exported names and one imported name; only safe code accesses memory")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use onnx_conformance_reference::deadline::Deadline;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// The page's clock, in milliseconds.
    safe fn now() -> f64;
}

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Maximum time for an answer in milliseconds. The page ends the worker some time later in any case.
const TIMEOUT: f64 = 20_000.0;

/// Reserves space for a request of `length` bytes and returns its address.
#[unsafe(no_mangle)]
extern "C" fn reserve(length: usize) -> *mut u8 {
    let mut request = locked(&REQUEST);
    request.clear();
    request.resize(length, 0);
    request.as_mut_ptr()
}

/// Answers the request and returns the address of the answer.
#[unsafe(no_mangle)]
extern "C" fn respond() -> *const u8 {
    let request = std::mem::take(&mut *locked(&REQUEST));
    let end = now() + TIMEOUT;
    let answered = crate::answer(&request, &Deadline::new(move || now() > end));
    let mut answer = locked(&ANSWER);
    *answer = answered;
    answer.as_ptr()
}

/// The length of the answer in bytes.
#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    locked(&ANSWER).len()
}

fn locked(buffer: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}
