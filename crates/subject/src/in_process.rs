//! A runtime in this process. A panic is an outcome; any other fatal error ends the run.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;

use crate::{Declaration, Ended, Host, Operators, Ran, Request, Runtime};

/// A runtime that is called in this process. Panics count as crashes. Anything else that kills or hangs it also stops
/// the run.
#[derive(Debug)]
pub struct InProcess<R>(pub R);

impl<R: Runtime> Host for InProcess<R> {
    fn declaration(&self) -> Declaration {
        self.0.declaration()
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        catch_panics(|| Ended::Answered(self.0.run(request).checked(request))).unwrap_or_else(|ended| ended).into()
    }

    fn optimize(&self, model: &Bytes) -> Option<Result<Operators, String>> {
        let asked = self.0.declaration().reports_rewrites();
        asked.then(|| catch_panics(|| self.0.optimize(model)).unwrap_or_else(|ended| Err(ended.message().to_owned())))
    }

    fn jobs(&self) -> Option<usize> {
        self.0.jobs()
    }
}

/// Runs a function and turns a panic into a crash.
pub fn catch_panics<T>(run: impl FnOnce() -> T) -> Result<T, Ended> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| Ended::Crash(format!("panicked: {}", panic_message(&*panic))))
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "no message".to_owned())
}
