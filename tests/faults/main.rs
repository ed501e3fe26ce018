//! Behaviour of the harness with faulty adapters. None may hang it, lose existing results, or be counted as a skip or a pass. The
//! adapter is this same program, called with `adapter` and the name of its fault. The tests use Linux's view of processes.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
