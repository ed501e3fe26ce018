//! Build script of the crates of runtimes: sets `RUNTIME_VERSION` to the runtime's version in `Cargo.lock`.

use std::{env, fs};

/// Each adapter crate, and its runtime's crate.
const RUNTIMES: [(&str, &str); 3] =
    [("tract-runtime", "tract-onnx"), ("rten-runtime", "rten"), ("candle-runtime", "candle-onnx")];

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    match version() {
        Ok(version) => println!("cargo::rustc-env=RUNTIME_VERSION={version}"),
        Err(error) => println!("cargo::error={error}"),
    }
}

fn version() -> Result<String, String> {
    let package = env::var("CARGO_PKG_NAME").map_err(|error| error.to_string())?;
    let (_, runtime) =
        RUNTIMES.iter().find(|(name, _)| *name == package).ok_or("this crate has no runtime in version.rs")?;
    let lock = fs::read_to_string("Cargo.lock").map_err(|error| format!("Cargo.lock: {error}"))?;
    let (_, entry) = lock
        .split_once(&format!("\nname = \"{runtime}\"\nversion = \""))
        .ok_or_else(|| format!("Cargo.lock has no package {runtime}"))?;
    entry.split('"').next().map(str::to_owned).ok_or_else(|| "Cargo.lock has an entry without a version".to_owned())
}
