//! `cargo xtask site`: the site of `onnx-conformance report` with the program that its pages run in a browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use onnx_conformance::cli::{browser_module, report};
use onnx_conformance_report::site::Extra;

use crate::workspace;

/// Rust target of browsers.
const TARGET: &str = "wasm32-unknown-unknown";

/// Options of the task.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    report: report::Arguments,
}

/// Writes the site.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let module = match arguments.report.named_module()? {
        Some(named) => Some(named),
        None => module()?,
    };
    report::write(&arguments.report, Extra { module, ..Extra::default() })
}

/// Builds the program for browsers and reads it; see [`build_module`].
pub(crate) fn module() -> Result<Option<Vec<u8>>> {
    build_module()?.map(|path| browser_module::read(&path)).transpose()
}

/// Builds the program for browsers and returns its path. Returns `None` and prints a note if the target's standard library is not
/// installed.
pub(crate) fn build_module() -> Result<Option<PathBuf>> {
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
    Ok(Some(workspace::target().join(TARGET).join("browser").join(browser_module::FILE)))
}
