//! `cargo xtask wheel`: builds the wheel and tests it as its users would, in a fresh environment and an empty folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail, ensure};
use walkdir::WalkDir;

use crate::adapters::VersionsFile;
use crate::{python, site, workspace};

/// The build tool for wheels.
const MATURIN: &str = "maturin==1.16.0";

/// Version of pytest to test the package and its helper with.
const PYTEST: &str = "pytest==9.2.0";

/// Plugin of pytest that runs a session in several processes.
const XDIST: &str = "pytest-xdist==3.8.0";

/// Arguments of Python that run tests. A warning fails its test.
const RUN_TESTS: [&str; 7] = ["-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"];

/// Checker of the package's type annotations.
const MYPY: &str = "mypy==2.4.1";

/// The package, whose sources are checked.
const PACKAGE: &str = "python/onnx_conformance";

/// Tests of the package's functions, and files that they need next to them.
const API_TESTS: [&str; 3] = ["python/tests", "docs/schema", "docs/python.md"];

/// Runtime to test the wheel with.
const RUNTIME: &str = "onnxruntime";

/// Document whose commands are run verbatim, and their heading.
const DOCUMENT: (&str, &str) = ("docs/ci.md", "## From nothing to a gate");

/// Cargo profile of the workspace's own builds.
const DEV: &str = "dev";

/// Script that replaces `cargo rustc` of one package by `cargo build` of the workspace. What follows `--` strips the program.
const WORKSPACE_CARGO: &str = r#"#!/bin/sh
[ "$1" = rustc ] || exec cargo "$@"
shift
is_option=yes
for argument do
    shift
    [ "$argument" != -- ] || is_option=
    [ -z "$is_option" ] || set -- "$@" "$argument"
done
exec cargo build "$@"
"#;

/// Test file of a backend author.
const TESTS: &str = r#"import pytest
from onnx_conformance.pytest import Cases, backend

cases = Cases(backend("onnxruntime.backend"), ["ai.onnx/Relu-14/known_values/T=float", "ai.onnx/Relu-14/known_values/T=double"])


@pytest.mark.parametrize("case", cases)
def test_conformance(case):
    cases.check(case)
"#;

/// Test of the description that an index shows: it has no link to a file of a checkout.
const DESCRIPTION: &str = r#"
import importlib.metadata, re
text = importlib.metadata.metadata("onnx-conformance").get_payload()
assert "pip install onnx-conformance" in text, text
assert not re.search(r"\]\((?!https://)", text), text
"#;

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Cargo profile to build the program with
    #[arg(long, default_value = DEV)]
    profile: String,
}

/// Builds and tests the wheel.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let module = site::build_module()?;
    let wheel = build(&arguments.profile, module.as_deref())?;
    let size = fs::metadata(&wheel)?.len();
    anstream::println!("{}: {:.1} MB", wheel.display(), f64::from(u32::try_from(size)?) / 1e6);
    let user = install(&wheel)?;
    try_out(&user, &wheel)?;
    try_site(&user, module.is_some())
}

/// Returns the interpreter of the environment with maturin, which is created if it is missing.
pub(crate) fn environment() -> Result<PathBuf> {
    python::environment("maturin", &[MATURIN])
}

/// Builds the wheel, the only file in its folder, with this program for browsers.
fn build(profile: &str, module: Option<&Path>) -> Result<PathBuf> {
    let out = workspace::target().join("wheels");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let python = environment()?;
    succeed(Command::new(&python).arg("python/stage.py").args(module).current_dir(workspace::root()))?;
    let maturin = programs(&python).join(if cfg!(windows) { "maturin.exe" } else { "maturin" });
    let mut build = Command::new(maturin);
    build.args(["build", "--locked", "--profile", profile, "--out"]).arg(&out).current_dir(workspace::root());
    if cfg!(unix) && profile == DEV {
        build.env("CARGO", workspace_cargo()?);
    }
    succeed(&mut build)?;
    let mut wheels = fs::read_dir(&out)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    wheels.retain(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheels.pop().with_context(|| format!("{} has no wheel", out.display()))
}

/// Writes a stand-in for cargo, which builds the program with the features of the workspace, as `cargo build` does. A
/// build of the package alone would have other features, and so compile most libraries again.
fn workspace_cargo() -> Result<PathBuf> {
    let path = workspace::target().join("cargo-of-the-workspace");
    fs::write(&path, WORKSPACE_CARGO).with_context(|| format!("cannot write {}", path.display()))?;
    succeed(Command::new("chmod").arg("+x").arg(&path))?;
    Ok(path)
}

/// Installs the wheel in an empty environment.
fn install(wheel: &Path) -> Result<User> {
    let home = workspace::target().join("wheel-test");
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    let (venv, folder) = (home.join("venv"), home.join("empty"));
    fs::create_dir_all(&folder)?;
    succeed(Command::new(if cfg!(windows) { "python" } else { "python3" }).args(["-m", "venv"]).arg(&venv))?;
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let user = User { programs: programs(&python), folder };
    user.pip(&[&wheel.display().to_string()])?;
    Ok(user)
}

/// Calls the installed program, and follows the documents.
fn try_out(user: &User, wheel: &Path) -> Result<()> {
    let program = "onnx-conformance";
    ensure!(user.call(program, &["--version"])?.contains("suite "), "--version names no suite");
    user.call("python", &["-c", DESCRIPTION])?;
    user.call(program, &["run", "ai.onnx/Relu-*/**", "ir/**"])?;
    let run = ["run", "--runtime", RUNTIME, "ai.onnx/Relu-*/**"];
    let missing = user.output(program, &run)?;
    let said = text_of(&missing);
    ensure!(
        !missing.status.success() && said.contains("pip install onnxruntime"),
        "without the runtime, the message is: {said}"
    );
    test_api(user, PYTEST)?;
    fs::write(user.folder.join("my_adapter.py"), "import onnx_conformance_adapter\n")?;
    for (command, arguments) in [
        ("python", ["-c", "import onnx_conformance.pytest as it; it.backend('some.module')", "", ""]),
        (program, ["run", "--smoke", "--runtime", "python my_adapter.py"]),
    ] {
        let said = text_of(&user.output(command, &arguments)?);
        ensure!(said.contains("pip install 'onnx-conformance[adapters]'"), "without onnx, {command} says: {said}");
    }
    let versions = VersionsFile::read(RUNTIME)?;
    let (_, pins) = versions.newest().context("adapters/onnxruntime/versions.yaml: lists no version")?;
    let pins: Vec<&str> = pins.iter().map(String::as_str).chain([PYTEST, XDIST]).collect();
    user.pip(&pins)?;
    user.call(program, &run)?;
    let module = |arguments: &[&str]| user.call("python", &[&["-m", "onnx_conformance"], arguments].concat());
    module(&run)?;
    module(&["export", "cases", "ai.onnx/Relu-14/known_values/T=float"])?;
    module(&["check", "cases"])?;
    fs::write(user.folder.join("test_conformance.py"), TESTS)?;
    let tests = user.call("python", &[&RUN_TESTS[..], &["test_conformance.py"]].concat())?;
    ensure!(tests.contains("2 passed"), "output of pytest: {tests}");
    // Again, with the models of the onnx package.
    test_api(user, MYPY)?;
    let package = workspace::root().join(PACKAGE).display().to_string();
    for code in ["api", &package] {
        // The package for adapters, which the backend imports, has no annotations.
        let silent = ["--follow-imports", "silent"];
        user.call("python", &[&["-m", "mypy", "--strict", "--no-incremental"][..], &silent, &[code]].concat())?;
    }
    follow(user)?;
    // The document installs the package by name, which pip finds installed. An index may have another one.
    let installed = user.call("python", &["-m", "pip", "freeze"])?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    ensure!(installed.contains(&*name), "the document replaced the wheel: {installed}");
    Ok(())
}

/// Writes the site. Its pages can compute in a browser exactly if the wheel has the program for browsers.
fn try_site(user: &User, has_module: bool) -> Result<()> {
    let said = user.call("onnx-conformance", &["report", "-o", "site"])?;
    let can_compute = user.folder.join("site/data/module/0.js").is_file();
    ensure!(
        can_compute == has_module,
        "program for browsers in the wheel: {has_module}, in the site: {can_compute}\n{said}"
    );
    ensure!(
        said.contains("report --module FILE") != has_module,
        "the note about the program for browsers is wrong: {said}"
    );
    Ok(())
}

/// Installs a package, and runs the tests of `check` and `convert`.
fn test_api(user: &User, package: &str) -> Result<()> {
    user.pip(&[package])?;
    let folder = user.folder.join("api");
    for from in API_TESTS {
        let from = workspace::root().join(from);
        let is_tests = from.ends_with("tests");
        for file in WalkDir::new(&from).sort_by_file_name() {
            let file = file?;
            let base = if is_tests { &from } else { from.parent().unwrap_or(&from) };
            let to = folder.join(file.path().strip_prefix(base)?);
            if file.file_type().is_dir() {
                fs::create_dir_all(&to)?;
            } else {
                fs::copy(file.path(), &to).with_context(|| to.display().to_string())?;
            }
        }
    }
    let tests = user.call("python", &[&RUN_TESTS[..], &["api"]].concat())?;
    ensure!(tests.contains(" passed"), "output of pytest: {tests}");
    Ok(())
}

/// Runs the commands of the document verbatim.
fn follow(user: &User) -> Result<()> {
    let (path, heading) = DOCUMENT;
    let text = fs::read_to_string(workspace::root().join(path)).with_context(|| path.to_owned())?;
    let section = text.split(&format!("{heading}\n")).nth(1).with_context(|| format!("{path}: has no `{heading}`"))?;
    let section = section.split("\n## ").next().unwrap_or(section);
    let commands: String =
        section.lines().filter_map(|line| line.strip_prefix("    ")).flat_map(|it| [it, "\n"]).collect();
    ensure!(!commands.is_empty(), "{path}: `{heading}` has no commands");
    let folder = user.folder.join("document");
    fs::create_dir_all(&folder)?;
    let mut shell = user.command("bash");
    shell.args(["-euo", "pipefail", "-c", &commands]).current_dir(folder);
    let output = shell.output().context("cannot start bash")?;
    ensure!(
        output.status.success(),
        "{path}: the commands of `{heading}` ended with {}\n{}",
        output.status,
        text_of(&output)
    );
    Ok(())
}

/// A user who has only the wheel.
struct User {
    programs: PathBuf,
    folder: PathBuf,
}

impl User {
    fn pip(&self, packages: &[&str]) -> Result<()> {
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        self.call("python", &[&pip[..], packages].concat()).map(drop)
    }

    fn call(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let output = self.output(program, arguments)?;
        let text = text_of(&output);
        if !output.status.success() {
            bail!("{program} {}: ended with {}\n{text}", arguments.join(" "), output.status);
        }
        Ok(text)
    }

    fn output(&self, program: &str, arguments: &[&str]) -> Result<Output> {
        let path = self.programs.join(program);
        self.command(path).args(arguments).output().with_context(|| format!("cannot start {program}"))
    }

    /// Creates a command in the empty folder, with the environment's programs first in the path.
    fn command(&self, program: impl Into<OsString>) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = [self.programs.clone()].into_iter().chain(std::env::split_paths(&path));
        let mut command = Command::new(program.into());
        command.current_dir(&self.folder).env("PATH", std::env::join_paths(paths).unwrap_or(path));
        command.env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        for name in ["ONNX_CONFORMANCE_ADAPTERS", "ONNX_CONFORMANCE_PYTHON", "ONNX_CONFORMANCE_TESTDATA", "PYTHONPATH"]
        {
            command.env_remove(name);
        }
        command
    }
}

/// Returns the folder of an environment's programs.
fn programs(python: &Path) -> PathBuf {
    python.parent().map(Path::to_owned).unwrap_or_default()
}

fn text_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
