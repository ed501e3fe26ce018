//! `cargo xtask site`: the site of `onnx-conformance report` with the program that its pages run in a browser.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use onnx_conformance::cli::report;
use onnx_conformance_report::site::Extra;

use crate::workspace;

/// Rust target of browsers.
const TARGET: &str = "wasm32-unknown-unknown";

/// Maximum size of the program in bytes. A third of it is downloaded, since it is compressed.
const MAX_BYTES: usize = 12_000_000;

/// Options of the task.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    report: report::Arguments,
}

/// Writes the site.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    report::write(&arguments.report, Extra { module: module()?, ..Extra::default() })
}

/// Builds the program for browsers. Returns `None` and prints a note if the target's standard library is not installed.
pub(crate) fn module() -> Result<Option<Vec<u8>>> {
    let asked = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let library = asked.context("cannot start rustc")?.stdout;
    if !Path::new(String::from_utf8_lossy(&library).trim()).is_dir() {
        anstream::eprintln!("note: the pages cannot compute in the browser; that needs `rustup target add {TARGET}`");
        return Ok(None);
    }
    let build =
        ["build", "--quiet", "--profile", "browser", "--target", TARGET, "--package", "onnx-conformance-browser"];
    let status =
        Command::new("cargo").args(build).current_dir(workspace::root()).status().context("cannot start cargo")?;
    ensure!(status.success(), "the program for the browser cannot be built: cargo ended with {status}");
    let path = workspace::target().join(TARGET).join("browser/onnx_conformance_browser.wasm");
    let module = fs::read(&path).with_context(|| path.display().to_string())?;
    ensure!(module.len() <= MAX_BYTES, "{}: {} bytes, over the limit of {MAX_BYTES}", path.display(), module.len());
    Ok(Some(module))
}
