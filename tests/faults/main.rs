//! What the harness makes of an adapter that does wrong: none may hang it, lose results that are there, or pass for a
//! skip or a pass. The adapter is this same program, called with `adapter` and the name of its fault. The tests look at
//! processes as Linux shows them.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
