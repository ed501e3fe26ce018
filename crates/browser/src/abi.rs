//! What a page calls: it reserves room for a request, writes it there, asks for the answer, and reads it where the answer says.

#![expect(
    unsafe_code,
    reason = "names that are called from outside, and one that is; no memory is touched but by safe code"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use onnx_conformance_reference::deadline::Deadline;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// The page's clock, in milliseconds.
    safe fn now() -> f64;
}

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// How long an answer may take, in milliseconds. The page ends the worker some time later in any case.
const TIMEOUT: f64 = 20_000.0;

/// Makes room for a request of so many bytes, and says where it is.
#[unsafe(no_mangle)]
extern "C" fn reserve(length: usize) -> *mut u8 {
    let mut request = locked(&REQUEST);
    request.clear();
    request.resize(length, 0);
    request.as_mut_ptr()
}

/// Answers the request, and says where the answer is.
#[unsafe(no_mangle)]
extern "C" fn respond() -> *const u8 {
    let request = std::mem::take(&mut *locked(&REQUEST));
    let end = now() + TIMEOUT;
    let made = crate::answer(&request, &Deadline::new(move || now() > end));
    let mut answer = locked(&ANSWER);
    *answer = made;
    answer.as_ptr()
}

/// How long the answer is.
#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    locked(&ANSWER).len()
}

fn locked(buffer: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}
