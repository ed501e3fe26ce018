//! `cargo xtask ci`: runs all CI steps in two concurrent lanes, and prints the time of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_harness::findings::Findings;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_harness::run::{ProcessorFeature, feature_list};
use onnx_conformance_harness::runtimes::Runtimes;
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_report::tool_overview::tool_overviews;
use onnx_conformance_subject::{CiCases, Variant};

use crate::adapters::VersionsFile;
use crate::workspace::run;
use crate::{adapters, browser_tests, foreign, import_specs, wheel, workspace};

/// Version of cargo-deny.
const DENY: &str = "0.20.2";

/// Version of mdBook.
const MDBOOK: &str = "0.5.4";

/// The published packages, in dependency order.
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

/// Number of packages up to the harness, which a runtime's tests depend on.
const OF_HARNESS: usize = 7;

/// Version of the packages, which is the workspace's.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Maximum package size of a registry.
const MAX_PACKED: u64 = 10_000_000;

/// The crates outside of the workspace that every commit tests, and how often: side effects of a runtime on its process must not change
/// the outcome. The crates of adapters with `ci: part` are tested with `--whole` and by one commit of sixteen.
const EVERY_COMMIT: [(&str, usize); 2] = [("tests/crates/hostile-runtime", 2), ("examples/compiled_runtime", 1)];

/// Part of the measured cases of a sampled runtime that the nightly workflow runs.
const SAMPLE: &str = "1/20";

/// Number of parts of the suite. A commit runs one part on the adapters.
const PARTS: u64 = 64;

/// One commit of so many runs the steps that compile a program only to check little.
const SOMETIMES: u64 = 16;

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only cargo fmt, clippy, cargo test, cargo doc and tidy: skip slow steps and those that need more than a Rust toolchain
    #[arg(long)]
    fast: bool,

    /// Run all cases on the adapters, the book and cargo-deny, as every night, and not the part that the commit selects
    #[arg(long)]
    whole: bool,

    /// Start with this step, for example after it failed
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
}

/// A step of CI.
struct Step {
    name: &'static str,
    lane: Lane,
    run: fn(&Arguments) -> Result<()>,
}

/// Steps that run in order. The two lanes run concurrently, and should take the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    /// Compilation and tests of the workspace.
    Workspace,
    /// The program, packages and site as users get them, which mostly wait for processes. Then the steps that need no
    /// build.
    Users,
}

/// Time of each step of a lane.
type Times = Vec<(&'static str, Duration)>;

const STEPS: [Step; 18] = [
    Step { name: "cargo fmt", lane: Lane::Workspace, run: |_| cargo(&["fmt", "--all", "--check"]) },
    Step { name: "cargo clippy", lane: Lane::Workspace, run: |_| clippy() },
    Step { name: "cargo test", lane: Lane::Workspace, run: |_| cargo(&["test"]) },
    Step { name: "cargo xtask tidy", lane: Lane::Workspace, run: |_| this(&["tidy"]) },
    // After the tests, whose program it replaces by its own.
    Step { name: "the wheel", lane: Lane::Workspace, run: |arguments| slow(arguments, || this(&["wheel"])) },
    Step {
        name: "the environments of Python and the browser",
        lane: Lane::Users,
        run: |arguments| slow(arguments, environments),
    },
    Step {
        name: "the specs against the Python package",
        lane: Lane::Users,
        run: |arguments| slow(arguments, || this(&["import-specs", "--check"])),
    },
    Step {
        name: "the adapters, and the site in Chromium beside them",
        lane: Lane::Users,
        run: |arguments| slow(arguments, || adapters_and_site(arguments)),
    },
    Step {
        name: "the tests of older releases on the adapters",
        lane: Lane::Users,
        run: |arguments| slow(arguments, || older_releases(arguments)),
    },
    Step { name: "the tools on a few cases", lane: Lane::Users, run: |arguments| slow(arguments, tools) },
    Step { name: "the book", lane: Lane::Users, run: |arguments| some_commits(arguments, build_book) },
    Step { name: "cargo deny", lane: Lane::Users, run: |arguments| some_commits(arguments, deny) },
    Step { name: "the packages", lane: Lane::Users, run: |arguments| slow(arguments, packages) },
    Step {
        name: "cargo test of the crates of runtimes on the packages",
        lane: Lane::Users,
        run: |arguments| slow(arguments, || runtime_crates(arguments)),
    },
    Step { name: "cargo doc", lane: Lane::Users, run: |_| doc() },
    Step {
        name: "cargo xtask coverage",
        lane: Lane::Users,
        run: |arguments| slow(arguments, || this(&["coverage", "--check", "--recount"])),
    },
    Step { name: "cargo xtask faults", lane: Lane::Users, run: |arguments| slow(arguments, || this(&["faults"])) },
    Step {
        name: "cargo xtask fuzz",
        lane: Lane::Users,
        run: |arguments| slow(arguments, || this(&["fuzz", "--seconds", "10"])),
    },
];

/// Runs both lanes, each up to its first failure.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let first = arguments.from.as_ref().map_or(Ok(0), |name| {
        let names = STEPS.map(|step| step.name).join(", ");
        STEPS
            .iter()
            .position(|step| step.name == name)
            .with_context(|| format!("no step is called '{name}', only {names}"))
    })?;
    let (workspace, users): (Vec<&Step>, Vec<&Step>) =
        STEPS.iter().skip(first).partition(|step| step.lane == Lane::Workspace);
    let started = Instant::now();
    copy_this()?;
    if !arguments.fast {
        *preparation() = Some(std::thread::spawn(prepare));
        copy_program()?;
    }
    let (workspace, users) = std::thread::scope(|scope| {
        let users = scope.spawn(|| run_lane(&users, arguments));
        let workspace = run_lane(&workspace, arguments);
        (workspace, users.join().unwrap_or_else(|_| Err(anyhow!("a step panicked"))))
    });
    anstream::println!();
    for (name, time) in workspace.iter().chain(&users).flatten() {
        anstream::println!("{:>9}  {name}", seconds(*time));
    }
    anstream::println!("{:>9}  in all", seconds(started.elapsed()));
    workspace.and(users).map(drop)
}

/// Runs the steps of a lane. Prints an error at once, since the other lane may end much later.
fn run_lane(steps: &[&Step], arguments: &Arguments) -> Result<Times> {
    let mut times = Vec::new();
    for step in steps {
        anstream::println!("\n== {}", step.name);
        let started = Instant::now();
        let result = (step.run)(arguments);
        let time = started.elapsed();
        if let Err(error) = result {
            let error = error.context(format!("{} failed after {}", step.name, seconds(time)));
            anstream::eprintln!("\n== error: {error:#}");
            return Err(error);
        }
        anstream::println!("\n== {}: done after {}", step.name, seconds(time));
        times.push((step.name, time));
    }
    Ok(times)
}

/// Runs a step that `--fast` skips.
fn slow(arguments: &Arguments, step: impl Fn() -> Result<()>) -> Result<()> {
    if arguments.fast { Ok(()) } else { step() }
}

/// Runs a task of this program, which waits for no build.
fn this(task: &[&str]) -> Result<()> {
    run(Command::new(copies().join(THIS)).args(task))
}

/// Name of this program.
const THIS: &str = "xtask";

/// Name of the program that the workspace makes.
const PROGRAM: &str = "onnx-conformance";

/// Folder of the copies of both.
fn copies() -> PathBuf {
    workspace::target().join("ci")
}

/// Copies this program, since a build of one lane may replace it while the other lane runs it.
fn copy_this() -> Result<()> {
    copy(&std::env::current_exe()?, THIS)
}

/// Builds the workspace's program and copies it, for the same reason.
fn copy_program() -> Result<()> {
    cargo(&["build", "--quiet"])?;
    copy(&workspace::target().join("debug").join(PROGRAM), PROGRAM)
}

fn copy(built: &Path, name: &str) -> Result<()> {
    fs::create_dir_all(copies())?;
    fs::copy(built, copies().join(name)).with_context(|| format!("cannot copy {}", built.display())).map(drop)
}

/// Installation that runs while the first steps compile.
static PREPARATION: Mutex<Option<JoinHandle<Result<()>>>> = Mutex::new(None);

fn preparation() -> MutexGuard<'static, Option<JoinHandle<Result<()>>>> {
    PREPARATION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates the Python environments of all steps, and installs the browser.
fn prepare() -> Result<()> {
    import_specs::environment()?;
    wheel::environment()?;
    whole()?.iter().try_for_each(|name| adapters::setup(name))?;
    Runtimes::embedded()?.tools_in_ci().try_for_each(|(name, _)| adapters::setup(name))?;
    browser_tests::install_browser();
    Ok(())
}

/// Waits for the installation, and fails if it did.
fn environments() -> Result<()> {
    let started = preparation().take();
    started.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|_| Err(anyhow!("the installation panicked"))))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn clippy() -> Result<()> {
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Builds the documentation of the published crates, with warnings as errors.
fn doc() -> Result<()> {
    let packages = PACKAGES.iter().flat_map(|package| ["-p", package]);
    run(Command::new("cargo").args(["doc", "--no-deps", "--quiet"]).args(packages).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Packs the published packages, and checks the program built from them, out of reach of the project's other files.
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
        ensure!(size < MAX_PACKED, "{}: a registry accepts packages of at most {MAX_PACKED} bytes", path.display());
        // With the time of now: cargo takes a file as unchanged by its time, which is the same in all packages.
        run(Command::new("tar").arg("-xzmf").arg(&path).current_dir(&unpacked))?;
    }
    let home = unpacked.join(format!("onnx-conformance-{VERSION}"));
    let check = ["check", "--quiet", "--bin", "onnx-conformance"];
    run(on_packages(&PACKAGES, &check).env("CARGO_TARGET_DIR", workspace::target()).current_dir(home))
}

/// Returns the folder of the unpacked packages.
fn unpacked() -> PathBuf {
    workspace::target().join("packages")
}

/// Creates a cargo command that uses the unpacked packages instead of those of crates.io.
fn on_packages(packages: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments);
    for package in packages {
        let folder = unpacked().join(format!("{package}-{VERSION}"));
        command.arg("--config").arg(format!("patch.crates-io.{package}.path={:?}", folder.display().to_string()));
    }
    command
}

/// Tests the crates of runtimes as their authors do: outside of the project, with the packages that the previous step unpacked.
fn runtime_crates(arguments: &Arguments) -> Result<()> {
    let is_all = is_sometimes(arguments)?;
    let target = workspace::target().join("crates");
    let mut crates = EVERY_COMMIT.map(|(folder, times)| (folder.to_owned(), times)).to_vec();
    for (name, _) in Runtimes::embedded()?.all().filter(|(_, file)| is_all && file.ci == CiCases::Part) {
        crates.extend(VersionsFile::read(name)?.manifest.map(|folder| (folder, 1)));
    }
    for (folder, times) in crates {
        let home = workspace::root().join(&folder);
        let name = home.file_name().context("the folder of a crate has no name")?;
        run(Command::new("cargo").args(["fmt", "--check"]).current_dir(&home))?;
        let around = workspace::target().join("foreign").join(name);
        if around.exists() {
            fs::remove_dir_all(&around)?;
        }
        let manifest = foreign::copy(&home, &around, |_| format!("version = \"={VERSION}\""))?;
        let copy = manifest.parent().unwrap_or(&around);
        for _ in 0..times {
            run(on_packages(&PACKAGES[..OF_HARNESS], &["test", "--locked"])
                .env("CARGO_TARGET_DIR", &target)
                .current_dir(copy))?;
        }
    }
    Ok(())
}

/// Runs a step with `--whole` and at one commit of sixteen: it compiles a program from crates.io, which takes longer than its check.
/// Between, tidy compares the chapters of the book with the folder and follows their links.
fn some_commits(arguments: &Arguments, step: fn() -> Result<()>) -> Result<()> {
    if arguments.fast {
        return Ok(());
    }
    if is_sometimes(arguments)? {
        return step();
    }
    anstream::println!("NOT RUN at this commit, but at one of {SOMETIMES} and with --whole");
    Ok(())
}

/// Builds the book. mdBook fails if the list of chapters and the folder differ. Links are checked by tidy.
fn build_book() -> Result<()> {
    let mdbook = tool("mdbook", MDBOOK, &["--no-default-features"])?;
    run(Command::new(mdbook).args(["build", "--dest-dir"]).arg(workspace::target().join("book")))
}

/// Returns a program from crates.io, built once and kept below the target folder.
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

/// Runs cargo-deny: bans, licenses and sources, and advisories if their database can be fetched.
fn deny() -> Result<()> {
    let deny = tool("cargo-deny", DENY, &[])?;
    run(Command::new(&deny).args(["--workspace", "check", "bans", "licenses", "sources"]))?;
    // The database is a git repository, which is not served by the registry.
    if run(Command::new(&deny).args(["--workspace", "fetch", "db"])).is_err() {
        anstream::eprintln!(
            "NOT RUN: the database of advisories cannot be fetched, so no dependency was checked. Run `cargo deny check \
             advisories` on a machine that can reach github.com"
        );
        return Ok(());
    }
    run(Command::new(&deny).args(["--workspace", "check", "--disable-fetch", "advisories"]))
}

/// Returns the path of this repository's adapter. A plain name would select an installed one.
fn own(name: &str) -> String {
    format!("./adapters/{name}")
}

/// Runs the adapters and, concurrently, the tests of the site, which wait for a browser most of the time.
fn adapters_and_site(arguments: &Arguments) -> Result<()> {
    std::thread::scope(|scope| {
        let site = scope.spawn(|| browser_tests::site(&copies().join(PROGRAM)));
        on_adapters(arguments)?;
        site.join().unwrap_or_else(|_| Err(anyhow!("the tests of the site panicked")))
    })
}

/// Runs the cases of this commit, and the samples of findings, on the adapters.
///
/// Half-precision results of `OpenVINO` depend on the processor. It runs only where the processor has the features of the one that
/// it was measured on.
fn on_adapters(arguments: &Arguments) -> Result<()> {
    let part = part(arguments)?;
    for name in &whole()? {
        run(Command::new(copies().join(PROGRAM)).args(["run", "--smoke", "--runtime", &own(name)]))?;
        // Two refusals hang onnx.reference until the timeout, and its largest model takes half of the timeout while a
        // browser runs.
        run_cases(name, &[&["--timeout", "60"], words(part.as_ref()).as_slice()].concat())?;
        if part.is_some() {
            samples(name, &Filter::default())?;
        }
    }
    let here = ProcessorFeature::here();
    for (name, file) in Runtimes::embedded()?.all().filter(|(_, file)| file.ci == CiCases::Part) {
        if VersionsFile::read(name)?.manifest.is_some() {
            continue;
        }
        let newest = Measurements::embedded().newest(name)?.context("the runtime is not measured")?;
        if newest.processor() != Some(&here) {
            anstream::println!(
                "NOT RUN: {name} was measured on a processor with other features than {}",
                feature_list(&here)
            );
            continue;
        }
        adapters::setup(name)?;
        let scope = newest.scope().iter().map(String::as_str);
        let omitted: Vec<String> = file.ci_omits.iter().map(|pattern| format!("!{pattern}")).collect();
        let omitted: Vec<&str> = omitted.iter().map(String::as_str).collect();
        let shard = part.as_deref().unwrap_or(SAMPLE);
        run_cases(
            name,
            &["--shard", shard].into_iter().chain(scope).chain(omitted.iter().copied()).collect::<Vec<_>>(),
        )?;
        samples(name, &Filter::new(&omitted)?)?;
    }
    Ok(())
}

/// The parts of the suite that are sent to tools.
const ASKED: [&str; 6] = [
    "ai.onnx/Identity-14",
    "ai.onnx/If-13",
    "ai.onnx/Pad-18",
    "ai.onnx/QuantizeLinear-19",
    "ai.onnx/Reshape-14",
    "ai.onnx/Squeeze-13",
];

/// Sends a few parts of the suite to tools, and compares the answers with their newest measurements. A part that has
/// changed since is omitted.
fn tools() -> Result<()> {
    let measured = tool_overviews()?;
    for (name, question) in Runtimes::embedded()?.tools_in_ci() {
        let newest = measured.iter().rfind(|of| of.tool == name).context("the tool is not measured")?;
        let (stale, asked): (Vec<&str>, Vec<&str>) =
            ASKED.into_iter().partition(|part| newest.stale.iter().any(|stale| stale == part));
        if !stale.is_empty() {
            let stale = stale.join(", ");
            anstream::println!("NOT RUN: {name} was measured before the cases of {stale} changed");
        }
        for variant in Variant::asking(question).filter(|_| !asked.is_empty()) {
            run_cases(name, &[&["--variant", variant.name()], asked.as_slice()].concat())?;
        }
    }
    Ok(())
}

/// Returns the adapters that are tested on every case.
fn whole() -> Result<Vec<String>> {
    let runtimes = Runtimes::embedded()?;
    Ok(runtimes.all().filter(|(_, file)| file.ci == CiCases::Whole).map(|(name, _)| name.to_owned()).collect())
}

/// Returns the part of the suite that this commit runs on the adapters; `None` for all of it.
fn part(arguments: &Arguments) -> Result<Option<String>> {
    if arguments.whole {
        return Ok(None);
    }
    let part = format!("{}/{PARTS}", commit_number()? % PARTS + 1);
    anstream::println!("part {part} of the suite; --whole runs all of it");
    Ok(Some(part))
}

/// Returns `true` at the commits that also run what the others omit.
fn is_sometimes(arguments: &Arguments) -> Result<bool> {
    Ok(arguments.whole || commit_number()? % SOMETIMES == 0)
}

/// Returns a number that differs from commit to commit.
fn commit_number() -> Result<u64> {
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(workspace::root()).output()?;
    let head = String::from_utf8_lossy(&head.stdout);
    Ok(head.get(..8).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0))
}

/// Returns the options that select a part of the suite.
fn words(part: Option<&String>) -> Vec<&str> {
    part.into_iter().flat_map(|part| ["--shard", part.as_str()]).collect()
}

/// Runs cases on an adapter of this repository.
fn run_cases(name: &str, options: &[&str]) -> Result<()> {
    run(Command::new(copies().join(PROGRAM)).args(["run", "--runtime", &own(name)]).args(options))
}

/// Runs the samples of a runtime's findings that its newest measured version shows and a filter selects. The gate fails
/// if one no longer fails. Adapters that are tested on every case run theirs with the whole suite.
fn samples(name: &str, filter: &Filter) -> Result<()> {
    let newest = Measurements::embedded().newest(name)?.context("the runtime is not measured")?;
    let mut ids = String::new();
    for finding in Findings::embedded()?.all().filter(|finding| finding.runtime == name) {
        if filter.matches(&finding.sample) && finding.measured_in()?.fails.last() == Some(&newest.version()) {
            ids.extend([&finding.sample, "\n"]);
        }
    }
    let list = workspace::root().join(format!("target/samples-of-{name}.txt"));
    fs::write(&list, ids).with_context(|| format!("cannot write {}", list.display()))?;
    run_cases(name, &["--timeout", "60", "--from", &list.to_string_lossy()])
}

/// Runs the tests of older releases on the adapters, in the environments of the previous step. Patch releases of the newest
/// one have the same tests.
fn older_releases(arguments: &Arguments) -> Result<()> {
    let part = part(arguments)?;
    let newest = Specs::embedded().newest_release();
    let (minor, _) = newest.rsplit_once('.').with_context(|| format!("the release {newest} has no patch number"))?;
    let newest = format!("!onnx-{minor}.*/**");
    for name in &whole()? {
        let expectations = format!("expectations/releases/{name}.yaml");
        let options = ["--expectations", &expectations, "onnx-*/**", &newest];
        // The largest models of onnx.reference take half of the usual limit while the other lane runs.
        run_cases(name, &[&["--timeout", "180"], &options[..], &words(part.as_ref())].concat())?;
    }
    Ok(())
}

/// Builds the program, and tests its site.
pub(crate) fn site_tests() -> Result<()> {
    copy_program()?;
    browser_tests::site(&copies().join(PROGRAM))
}

fn cargo(arguments: &[&str]) -> Result<()> {
    run(Command::new("cargo").args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_about_which_tools_are_asked_have_cases() {
        for part in ASKED {
            let version = part.parse().unwrap();
            assert!(!onnx_conformance_cases::suite::recorded_cases(&version).is_empty(), "{part}");
        }
    }

    #[test]
    fn the_release_publishes_all_packages_in_order() {
        let workflow = include_str!("../../.github/workflows/release.yml");
        let (_, list) = workflow.split_once("for crate in").unwrap();
        let (list, _) = list.split_once("; do").unwrap();
        let published: Vec<&str> = list.split_whitespace().filter(|word| *word != "\\").collect();
        assert_eq!(published, PACKAGES);
    }
}
