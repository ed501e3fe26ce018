//! Extracts the tests of a package as files in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use onnx_conformance_cases::suite::{Tolerance, sha256};
use serde::Deserialize;
use walkdir::WalkDir;

use super::{PACKAGES, Package, Taken};
use crate::{python, workspace};

/// Environment for reproducible results. numpy and the C library choose code by processor, which changes the last bits. With
/// these settings, every x86-64 machine runs the same code.
const SAME_BITS: [(&str, &str); 7] = [
    ("NPY_DISABLE_CPU_FEATURES", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"),
    ("OPENBLAS_CORETYPE", "Prescott"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable"),
    ("PYTHONHASHSEED", "0"),
    // Folders in the working directory must not shadow packages.
    ("PYTHONSAFEPATH", "1"),
    // numpy warnings are expected in cases about overflow and infinities.
    ("PYTHONWARNINGS", "ignore"),
];

/// Output of the scripts.
#[derive(Deserialize)]
struct Made {
    cases: Vec<MadeCase>,
    licence: String,
}

#[derive(Deserialize)]
struct MadeCase {
    case: String,
    rtol: f64,
    atol: f64,
}

/// Fills a folder below the target folder with the tests of a release.
pub(super) fn take(package: &Package) -> Result<Taken> {
    let folder = workspace::target().join("vendor").join(&package.release);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let made = if package.run.is_empty() {
        let wheel = download(package)?;
        let interpreter = python::environment("vendor", &[])?;
        run(&interpreter, include_str!("files.py"), &[&wheel, &folder])?
    } else {
        // Verified, too, though pip may install the wheel of another interpreter.
        download(package)?;
        let onnx = package.requirement();
        let requirements: Vec<&str> =
            std::iter::once(onnx.as_str()).chain(package.run.iter().map(String::as_str)).collect();
        let interpreter = python::environment(&format!("vendor-{}", package.release), &requirements)?;
        run(&interpreter, include_str!("collect.py"), &[&folder, Path::new(&package.name)])?
    };
    let tolerance = |MadeCase { case, rtol, atol }| (case, Tolerance { rtol, atol });
    let taken = Taken { folder, cases: made.cases.into_iter().map(tolerance).collect(), licence: made.licence };
    check_models(&taken)?;
    Ok(taken)
}

/// Fails unless each test has its model, and each model belongs to a test.
fn check_models(taken: &Taken) -> Result<()> {
    let models = WalkDir::new(&taken.folder).min_depth(3).max_depth(3).into_iter();
    let found = models.flatten().filter(|entry| entry.file_name() == "model.onnx").count();
    ensure!(found == taken.cases.len(), "{found} models were found for {} tests", taken.cases.len());
    Ok(())
}

/// Returns the wheel, which pip downloads from the index unless it is there, verified by its digest.
pub(crate) fn download(package: &Package) -> Result<PathBuf> {
    let folder = workspace::target().join("vendor").join("wheels");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let wheel = folder.join(&package.file);
    if wheel.is_file() {
        verify(package, &wheel)?;
        return Ok(wheel);
    }
    let interpreter = python::environment("vendor", &[])?;
    let requirement = folder.join(format!("{}.txt", package.release));
    fs::write(&requirement, format!("{} --hash=sha256:{}\n", package.requirement(), package.sha256))?;
    let tags: Vec<&str> = package.file.trim_end_matches(".whl").split('-').collect();
    let &[_, _, python, _, platforms] = tags.as_slice() else {
        anyhow::bail!("{} is not named like a wheel", package.file)
    };
    let mut command = Command::new(interpreter);
    command.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    command.args(["--only-binary", ":all:", "--implementation", "cp", "--require-hashes"]);
    command.args(["--python-version", python.trim_start_matches("cp")]);
    for platform in platforms.split('.') {
        command.args(["--platform", platform]);
    }
    let status = command.arg("-d").arg(&folder).arg("-r").arg(&requirement).status().context("cannot start pip")?;
    ensure!(
        status.success() && wheel.is_file(),
        "pip did not download {} with the SHA-256 {} of {PACKAGES}: without a network, put the file into {}; if it found \
         another SHA-256, the index has another file than the one that was pinned",
        package.file,
        package.sha256,
        folder.display()
    );
    verify(package, &wheel)?;
    Ok(wheel)
}

/// Fails unless a wheel is the pinned one.
fn verify(package: &Package, wheel: &Path) -> Result<()> {
    let bytes = fs::read(wheel).with_context(|| format!("cannot read {}", wheel.display()))?;
    let actual = sha256(&bytes);
    ensure!(
        actual == package.sha256,
        "{} has the SHA-256 {actual}, but {PACKAGES} pins {} for ONNX {}; remove the file to download it again",
        wheel.display(),
        package.sha256,
        package.release
    );
    Ok(())
}

fn run(interpreter: &Path, script: &str, arguments: &[&Path]) -> Result<Made> {
    let output = Command::new(interpreter)
        .args(["-c", script])
        .args(arguments)
        .env_remove("PYTHONPATH")
        .envs(SAME_BITS)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", interpreter.display()))?;
    ensure!(output.status.success(), "the script of xtask/src/vendor failed: {}", output.status);
    serde_json::from_slice(&output.stdout)
        .context("the output of the script of xtask/src/vendor is not the expected JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_with_another_digest_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let wheel = home.path().join("w.whl");
        fs::write(&wheel, "abc").unwrap();
        let package = Package::new("9.1.0", "onnx", "9.1.0", "w.whl", &sha256(b"abc"));
        verify(&package, &wheel).unwrap();
        let error = verify(&Package { sha256: "00".to_owned(), ..package }, &wheel).unwrap_err().to_string();
        for part in ["w.whl has the SHA-256 ba7816bf", "pins 00 for ONNX 9.1.0", "remove the file"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
