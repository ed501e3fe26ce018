//! Calls the program.

use std::ffi::OsStr;
use std::io::{Seek as _, Write as _};
use std::process::Command;

/// Result of a call.
#[derive(Debug)]
pub(crate) struct Called {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// Creates a command for the program in the project's folder.
pub(crate) fn command<T: AsRef<OsStr>>(arguments: &[T]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onnx-conformance"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("ONNX_CONFORMANCE_TESTDATA");
    command
}

/// Calls the program in the project's folder.
pub(crate) fn call<T: AsRef<OsStr>>(arguments: &[T]) -> Called {
    finish(command(arguments))
}

/// Calls the program with bytes on standard input.
pub(crate) fn call_with_input<T: AsRef<OsStr>>(arguments: &[T], input: impl AsRef<[u8]>) -> Called {
    let file = tempfile::tempfile().unwrap();
    (&file).write_all(input.as_ref()).unwrap();
    (&file).rewind().unwrap();
    let mut command = command(arguments);
    command.stdin(file);
    finish(command)
}

/// Runs a command until it ends.
pub(crate) fn finish(mut command: Command) -> Called {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let called =
        Called { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) };
    assert!(!called.err.contains("panicked") && !called.out.contains("panicked"), "{called:?}");
    called
}

impl Called {
    /// Expects success or findings, which depend on the measurements.
    pub(crate) fn expect_verdict(self, text: &str) -> Called {
        let code = self.code;
        assert!(code == 0 || code == 1, "exit code {code}\n{}", self.err);
        self.expect(code, text)
    }

    /// Expects an exit code and a text in the output.
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
