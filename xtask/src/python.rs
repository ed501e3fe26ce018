//! Python interpreters, and environments for tasks that need the onnx package, created under target/ and kept.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::workspace;

/// Returns the interpreter of an environment with exactly these pinned packages and their dependencies.
pub(crate) fn environment(name: &str, requirements: &[&str]) -> Result<PathBuf> {
    let folder = workspace::target().join("python").join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = folder.join("requirements.txt");
    let wanted = requirements.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) && python.exists() {
        return Ok(python);
    }
    let base = if cfg!(windows) { "python" } else { "python3" };
    succeed(Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    if !requirements.is_empty() {
        succeed(Command::new(&python).args(pip).args(requirements))?;
    }
    // Written last, so that an interrupted installation is repeated.
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(python)
}

/// Returns the `CPython` interpreter of a version such as 3.6: `python3.6` of the search path, or else one that pyenv installed.
pub(crate) fn cpython(version: &str) -> Option<PathBuf> {
    let name = format!("python{version}");
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from).into_iter();
    let installed = pyenv.filter_map(|root| fs::read_dir(root.join("versions")).ok()).flatten().flatten();
    let of_version = installed.filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("{version}.")));
    let mut found: Vec<PathBuf> = of_version.map(|entry| entry.path().join("bin").join(&name)).collect();
    found.sort();
    std::iter::once(PathBuf::from(&name)).chain(found).find(|python| {
        // The shims of pyenv are found for every version, but fail for those that are not selected.
        let mut command = Command::new(python);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// Runs a script given as text and returns what it prints.
pub(crate) fn run(python: &Path, script: &str, arguments: &[&Path]) -> Result<Vec<u8>> {
    let mut child = Command::new(python)
        .arg("-")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", python.display()))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(script.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("the script for {} failed with {}", python.display(), output.status);
    }
    Ok(output.stdout)
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}; Python 3 with venv is needed"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} failed with {status}") }
}
