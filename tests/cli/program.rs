//! Calling the program.

use std::ffi::OsStr;
use std::process::Command;

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Called {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// Calls the program in the project's folder.
pub(crate) fn call<T: AsRef<OsStr>>(arguments: &[T]) -> Called {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onnx-conformance"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("ONNX_CONFORMANCE_TESTDATA");
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let called =
        Called { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) };
    assert!(!called.err.contains("panicked") && !called.out.contains("panicked"), "{called:?}");
    called
}

impl Called {
    /// Holds the call against its exit code and a text that it must print.
    pub(crate) fn expect(self, code: i32, text: &str) -> Called {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        assert!(
            self.out.contains(text) || self.err.contains(text),
            "no '{text}' in stdout:\n{}\nstderr:\n{}",
            self.out,
            self.err
        );
        self
    }
}
