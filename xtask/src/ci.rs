//! `cargo xtask ci`: everything that CI does, a step at a time, with the time of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use onnx_conformance_harness::findings::Findings;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_harness::run::ProcessorFeature;

use crate::{adapters, foreign, workspace};

/// The version of cargo-deny.
const DENY: &str = "0.20.2";

/// The version of mdBook.
const MDBOOK: &str = "0.5.4";

/// The packages that are published, in the order in which they need each other.
const PACKAGES: [&str; 9] = [
    "onnx-conformance-reference",
    "onnx-conformance-check",
    "onnx-conformance-subject",
    "onnx-conformance-testdata",
    "onnx-conformance-testdata-old",
    "onnx-conformance-cases",
    "onnx-conformance-harness",
    "onnx-conformance-report",
    "onnx-conformance",
];

/// Their version, which is that of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a registry takes.
const MOST_PACKED: u64 = 10_000_000;

/// The crates outside of the workspace that make the suite their tests, and how often they are tested: what a runtime does to its
/// process must not change the outcome. The crate of candle is none of them: its build needs `protoc`.
const RUNTIME_CRATES: [(&str, usize); 2] = [("hostile-runtime", 2), ("tract-runtime", 1)];

/// The adapters that are held to every case.
pub(crate) const ADAPTERS: [&str; 2] = ["onnxruntime", "onnx-reference"];

/// The adapters that are held to a tenth of the cases that they were measured on.
const SHARDED: [&str; 1] = ["openvino"];

/// The options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave out what takes long or needs more than a Rust toolchain: the crates of runtimes, cargo-deny, faults, fuzzing, the
    /// comparison with the Python package, and the adapters
    #[arg(long)]
    fast: bool,

    /// Begin with the step of this name, as after one that failed
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
}

/// A step of CI.
struct Step {
    name: &'static str,
    is_fast: bool,
    run: fn() -> Result<()>,
}

const STEPS: [Step; 17] = [
    Step { name: "cargo fmt", is_fast: true, run: || cargo(&["fmt", "--all", "--check"]) },
    Step { name: "cargo clippy", is_fast: true, run: clippy },
    Step { name: "cargo test", is_fast: true, run: || cargo(&["test"]) },
    Step { name: "cargo doc", is_fast: true, run: doc },
    Step { name: "the packages", is_fast: false, run: packages },
    Step { name: "cargo test of the crates of runtimes on the packages", is_fast: false, run: runtime_crates },
    Step { name: "cargo xtask tidy", is_fast: true, run: || cargo(&["xtask", "tidy"]) },
    Step { name: "cargo deny", is_fast: false, run: deny },
    Step { name: "cargo xtask faults", is_fast: false, run: || cargo(&["xtask", "faults"]) },
    Step { name: "cargo xtask fuzz", is_fast: false, run: || cargo(&["xtask", "fuzz", "--seconds", "10"]) },
    Step {
        name: "the specs against the Python package",
        is_fast: false,
        run: || cargo(&["xtask", "import-specs", "--check"]),
    },
    Step { name: "the wheel", is_fast: false, run: || cargo(&["xtask", "wheel"]) },
    Step { name: "the book", is_fast: false, run: book },
    Step { name: "the site in Chromium", is_fast: false, run: site },
    Step { name: "the adapters", is_fast: false, run: whole_suite },
    Step { name: "a tenth of the suite and the samples of findings on more adapters", is_fast: false, run: shards },
    Step { name: "the tests of older releases on the adapters", is_fast: false, run: older_releases },
];

/// Runs the steps in order and stops at the first that fails.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let first = arguments.from.as_ref().map_or(Ok(0), |name| {
        let names = STEPS.map(|step| step.name).join(", ");
        STEPS
            .iter()
            .position(|step| step.name == name)
            .with_context(|| format!("no step is called '{name}', only {names}"))
    })?;
    let mut times: Vec<(&str, Duration)> = Vec::new();
    for step in STEPS.iter().skip(first).filter(|step| step.is_fast || !arguments.fast) {
        anstream::println!("\n== {}", step.name);
        let started = Instant::now();
        (step.run)().with_context(|| format!("{} failed after {}", step.name, seconds(started.elapsed())))?;
        times.push((step.name, started.elapsed()));
    }
    anstream::println!();
    for (name, time) in &times {
        anstream::println!("{:>9}  {name}", seconds(*time));
    }
    anstream::println!("{:>9}  in all", seconds(times.iter().map(|(_, time)| *time).sum()));
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn clippy() -> Result<()> {
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// The pages of the published crates, without a warning.
fn doc() -> Result<()> {
    let packages = PACKAGES.iter().flat_map(|package| ["-p", package]);
    run(Command::new("cargo").args(["doc", "--no-deps", "--quiet"]).args(packages).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Packs what is published and checks the program of the packages, in which nothing of the project beside them is within reach.
fn packages() -> Result<()> {
    let packages = PACKAGES.iter().flat_map(|package| ["-p", package]);
    let pack = ["package", "--locked", "--quiet", "--allow-dirty", "--no-verify"];
    run(Command::new("cargo").args(pack).args(packages))?;
    let unpacked = unpacked();
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked)?;
    }
    fs::create_dir_all(&unpacked)?;
    for package in PACKAGES {
        let path = workspace::target().join(format!("package/{package}-{VERSION}.crate"));
        let size = fs::metadata(&path).with_context(|| path.display().to_string())?.len();
        anstream::println!("{package}: {size} bytes");
        ensure!(size < MOST_PACKED, "{}: a registry takes packages of {MOST_PACKED} bytes", path.display());
        run(Command::new("tar").arg("-xzf").arg(&path).current_dir(&unpacked))?;
    }
    let home = unpacked.join(format!("onnx-conformance-{VERSION}"));
    let check = ["check", "--quiet", "--bin", "onnx-conformance"];
    run(on_packages(&check).env("CARGO_TARGET_DIR", workspace::target()).current_dir(home))
}

/// Where the packages are unpacked.
fn unpacked() -> PathBuf {
    workspace::target().join("packages")
}

/// cargo with the unpacked packages in the place of those of crates.io.
fn on_packages(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments);
    for package in PACKAGES {
        let folder = unpacked().join(format!("{package}-{VERSION}"));
        command.arg("--config").arg(format!("patch.crates-io.{package}.path={:?}", folder.display().to_string()));
    }
    command
}

/// Tests the crates of runtimes as their authors do, away from the project and on the packages that the step before unpacked.
fn runtime_crates() -> Result<()> {
    let target = workspace::target().join("crates");
    for (name, times) in RUNTIME_CRATES {
        let home = workspace::root().join("tests/crates").join(name);
        run(Command::new("cargo").args(["fmt", "--check"]).current_dir(&home))?;
        let around = workspace::target().join("foreign").join(name);
        if around.exists() {
            fs::remove_dir_all(&around)?;
        }
        let manifest = foreign::copy(&home, &around, &format!("version = \"={VERSION}\""))?;
        let copy = manifest.parent().unwrap_or(&around);
        for _ in 0..times {
            run(on_packages(&["test", "--locked"]).env("CARGO_TARGET_DIR", &target).current_dir(copy))?;
        }
    }
    Ok(())
}

/// The book, which mdBook refuses where its list of chapters and the folder differ; tidy follows the links.
fn book() -> Result<()> {
    let mdbook = tool("mdbook", MDBOOK, &["--no-default-features"])?;
    run(Command::new(mdbook).args(["build", "--dest-dir"]).arg(workspace::target().join("book")))
}

/// A program from crates.io, built once and kept below the target folder.
fn tool(name: &str, version: &str, options: &[&str]) -> Result<PathBuf> {
    let tools = workspace::target().join("tools");
    let program = tools.join("bin").join(name);
    let found = Command::new(&program).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    if String::from_utf8_lossy(&found).trim().trim_start_matches(name).trim().trim_start_matches('v') != version {
        let install = ["install", name, "--version", version, "--locked", "--debug", "--quiet", "--root"];
        run(Command::new("cargo").args(install).arg(&tools).args(options))?;
    }
    Ok(program)
}

/// cargo-deny: bans, licenses and sources, and advisories where their database can be fetched.
fn deny() -> Result<()> {
    let deny = tool("cargo-deny", DENY, &[])?;
    run(Command::new(&deny).args(["--workspace", "check", "bans", "licenses", "sources"]))?;
    // The database is a git repository, which is fetched from elsewhere than the registry.
    if run(Command::new(&deny).args(["--workspace", "fetch", "db"])).is_err() {
        anstream::eprintln!(
            "NOT RUN: the database of advisories cannot be fetched; no dependency was looked up in it. Run `cargo deny check advisories` \
             where github.com can be reached"
        );
        return Ok(());
    }
    run(Command::new(&deny).args(["--workspace", "check", "--disable-fetch", "advisories"]))
}

/// The adapter of this repository by its path: a name would mean one that is installed.
fn own(name: &str) -> String {
    format!("./adapters/{name}")
}

/// The whole suite on the adapters.
fn whole_suite() -> Result<()> {
    for name in ADAPTERS {
        adapters::setup(name)?;
        cargo(&["run", "--quiet", "--", "smoke", "--runtime", &own(name)])?;
        // Two refusals hang onnx.reference for as long as they may.
        cargo(&["run", "--quiet", "--", "run", "--runtime", &own(name), "--timeout", "30"])?;
    }
    Ok(())
}

/// A part of the suite, always the same, on adapters that are measured and not held to every case.
///
/// What `OpenVINO` computes in half precision depends on the processor. Its measurement names none, and without AVX-512 many of its
/// failures pass, so that it says nothing there.
fn shards() -> Result<()> {
    if !ProcessorFeature::here().iter().any(|feature| feature.name() == "avx512f") {
        anstream::println!("not run: without AVX-512, as here, {SHARDED:?} do otherwise than in their measurements");
        return Ok(());
    }
    for name in SHARDED {
        adapters::setup(name)?;
        cargo(&["run", "--quiet", "--", "run", "--runtime", &own(name), "--shard", "1/10"])?;
        samples(name)?;
    }
    Ok(())
}

/// The sample of each finding of a runtime that its newest measured version shows; one that no longer fails fails the gate. The
/// adapters that are held to every case run theirs with the whole suite.
fn samples(name: &str) -> Result<()> {
    let newest = Measurements::embedded().newest(name)?.context("the runtime is not measured")?;
    let mut ids = String::new();
    for finding in Findings::embedded()?.all().filter(|finding| finding.runtime == name) {
        if finding.measured_in()?.fails.last() == Some(&newest.version()) {
            ids.extend([&finding.sample, "\n"]);
        }
    }
    let list = workspace::root().join(format!("target/samples-of-{name}.txt"));
    fs::write(&list, ids).with_context(|| format!("cannot write {}", list.display()))?;
    cargo(&["run", "--quiet", "--", "run", "--runtime", &own(name), "--from", &list.to_string_lossy()])
}

/// The tests of older releases on the adapters, whose environments the step before made. The tests of 1.23.0 and 1.23.1 are
/// those of 1.23.2.
fn older_releases() -> Result<()> {
    for name in ADAPTERS {
        let expectations = format!("expectations/releases/{name}.yaml");
        let filters = ["onnx-*/**", "!onnx-1.23.*/**"];
        let runtime = own(name);
        let run = ["run", "--quiet", "--", "run", "--runtime", &runtime, "--expectations", &expectations];
        cargo(&[&run[..], &filters].concat())?;
    }
    Ok(())
}

/// The site of `onnx-conformance report` in Chromium. What is missing is installed; where it cannot be, the step says that it did not
/// run.
pub(crate) fn site() -> Result<()> {
    let home = workspace::root().join("site-tests");
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let wanted = [("npm", &["npm"][..]), ("chromium", &browsers[..])];
    for (package, _) in wanted.into_iter().filter(|(_, programs)| !programs.iter().any(|it| is_there(it))) {
        // The lists of packages may be old, or not there.
        let apt = |arguments: &[&str]| Command::new("apt-get").args(arguments).status().is_ok_and(|it| it.success());
        let install = ["install", "--yes", "--quiet", package];
        if !(apt(&install) || apt(&["update", "--quiet"]) && apt(&install)) {
            anstream::eprintln!(
                "NOT RUN: {package} is missing and cannot be installed by apt-get; the site was not tried in a browser"
            );
            return Ok(());
        }
    }
    if run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&home)).is_err() {
        anstream::eprintln!(
            "NOT RUN: npm cannot install the packages of site-tests; the site was not tried in a browser"
        );
        return Ok(());
    }
    cargo(&["build", "--quiet"])?;
    run(Command::new("npm").arg("test").env("CARGO_TARGET_DIR", workspace::target()).current_dir(&home))
}

fn cargo(arguments: &[&str]) -> Result<()> {
    run(Command::new("cargo").args(arguments))
}

/// Runs a command in the workspace's root folder unless it has a folder of its own; fails if it does.
fn run(command: &mut Command) -> Result<()> {
    if command.get_current_dir().is_none() {
        command.current_dir::<&Path>(workspace::root());
    }
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
