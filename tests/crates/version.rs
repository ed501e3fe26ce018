//! Build script of the crates of runtimes: sets `RUNTIME_VERSION` to the version in `Cargo.lock` of the crate that `Cargo.toml`
//! names as `runtime` in `[package.metadata]`.

use std::fs;

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rerun-if-changed=Cargo.toml");
    match version() {
        Ok(version) => println!("cargo::rustc-env=RUNTIME_VERSION={version}"),
        Err(error) => println!("cargo::error={error}"),
    }
}

fn version() -> Result<String, String> {
    let manifest = fs::read_to_string("Cargo.toml").map_err(|error| format!("Cargo.toml: {error}"))?;
    let (_, runtime) = manifest
        .split_once("\n[package.metadata]\nruntime = \"")
        .ok_or("Cargo.toml does not name the runtime's crate; add [package.metadata] with `runtime = \"...\"`")?;
    let runtime = runtime.split('"').next().unwrap_or_default();
    let lock = fs::read_to_string("Cargo.lock").map_err(|error| format!("Cargo.lock: {error}"))?;
    let (_, entry) = lock
        .split_once(&format!("\nname = \"{runtime}\"\nversion = \""))
        .ok_or_else(|| format!("Cargo.lock has no package {runtime}"))?;
    entry.split('"').next().map(str::to_owned).ok_or_else(|| "Cargo.lock has an entry without a version".to_owned())
}
