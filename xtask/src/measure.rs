//! `cargo xtask measure`: measures a version of a runtime, as `expectations/<runtime>/<version>.yaml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context as _, Result, ensure};
use onnx_conformance_harness::expectations::{Expectations, WholeRun, tool_measurement, with_adapter};
use onnx_conformance_harness::questions::BuiltinTools;
use onnx_conformance_harness::run::read_results;
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_subject::{AdapterFile, Builtin, Question, Variant};

use crate::adapters::VersionsFile;
use crate::{adapter_digest, foreign, python, workspace};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Runtimes, each with a version from adapters/<runtime>/versions.yaml, or without for all its versions: onnxruntime@1.20.1,
    /// tract. At a level of the optimizer, graphs are measured: onnxruntime:level=basic@1.32.0. A tool is asked its question about
    /// every case: onnxslim, onnx-checker:mode=full@1.23.2
    #[arg(required = true, value_name = "RUNTIME[:OPTION=VALUE][@VERSION]")]
    runtimes: Vec<String>,

    /// Stop a case after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,

    /// Stop a process that takes more memory than this
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    memory: u64,

    /// Run only the cases that are new or have changed since the version was measured, and keep the outcomes of the others
    #[arg(long)]
    stale: bool,

    /// Ask a tool about this part of the suite, such as 1/8
    #[arg(long, value_name = "K/N", default_value = "1/1")]
    shard: String,

    /// Start afresh, even if an earlier measurement was interrupted
    #[arg(long)]
    afresh: bool,
}

/// The cases that are measured at a level of the optimizer.
const GRAPHS: &str = "graph/**";

/// The option with the level of a runtime's optimizer.
const LEVEL: &str = "level";

/// A version of a runtime.
struct Release<'a> {
    /// The adapter of the runtime.
    adapter: &'a str,
    version: &'a str,
    /// An option and its value: the level of the optimizer, if it is not the last one, or the mode of a tool.
    option: Option<(&'a str, &'a str)>,
    /// The file that lists the version.
    versions: &'a VersionsFile,
}

impl Release<'_> {
    /// Returns the name of the runtime in its measurement.
    fn name(&self) -> String {
        self.option.map_or_else(|| self.adapter.to_owned(), |(_, value)| format!("{}-{value}", self.adapter))
    }

    /// Returns the name and the version of the measurement.
    fn key(&self) -> String {
        format!("{}@{}", self.name(), self.version)
    }

    /// Returns the adapter and the version, which are installed for every level.
    fn installed(&self) -> String {
        format!("{}@{}", self.adapter, self.version)
    }

    /// Returns the patterns of the cases of a first measurement.
    fn scope(&self) -> Vec<String> {
        if self.option.is_some_and(|(name, _)| name == LEVEL) {
            vec![GRAPHS.to_owned()]
        } else {
            self.versions.scope.clone()
        }
    }
}

/// Splits the name of a runtime or tool from its option: `onnxruntime:level=basic`, `onnx-checker:mode=full`.
fn split_option(runtime: &str) -> Result<(&str, Option<(&str, &str)>)> {
    let Some((adapter, option)) = runtime.split_once(':') else { return Ok((runtime, None)) };
    let option = option.split_once('=').with_context(|| {
        format!("'{runtime}': only options are measured, such as a level of the optimizer: {adapter}:level=basic")
    })?;
    Ok((adapter, Some(option)))
}

/// Measures each version, and continues after a failure.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let program = program()?;
    let mut failed = Vec::new();
    for runtime in &arguments.runtimes {
        let (name, version) =
            runtime.split_once('@').map_or((runtime.as_str(), None), |(name, version)| (name, Some(version)));
        if name == Builtin::NAME {
            measure_builtin(arguments, &program)?;
            continue;
        }
        let (adapter, option) = split_option(name)?;
        let versions = VersionsFile::read(adapter)?;
        if let Some((LEVEL, level)) = option {
            versions.check_level(adapter, level)?;
        }
        for version in versions.chosen(adapter, version)? {
            let release = Release { adapter, version, option, versions: &versions };
            let key = release.key();
            anstream::println!("== {key}");
            if let Err(error) = measure(arguments, &program, &release) {
                anstream::eprintln!("error: {key}: {error:#}");
                failed.push(key);
            }
        }
    }
    ensure!(failed.is_empty(), "not measured: {}", failed.join(", "));
    Ok(())
}

/// Returns a copy of the program, built once from the current sources. The program embeds the measurements, so each written file
/// would cause a rebuild.
fn program() -> Result<PathBuf> {
    let folder = workspace::target().join("measure");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut build = Command::new("cargo");
    let ended = status(build.args(["build", "--quiet"]).current_dir(workspace::root()))?;
    ensure!(ended.success(), "the program does not build: {ended}");
    let name = format!("onnx-conformance{}", std::env::consts::EXE_SUFFIX);
    let (built, copy) = (workspace::target().join("debug").join(&name), folder.join(&name));
    // A running executable cannot be overwritten, only replaced.
    let new = copy.with_extension("new");
    fs::copy(&built, &new).with_context(|| format!("cannot copy {} to {}", built.display(), new.display()))?;
    fs::rename(&new, &copy).with_context(|| format!("cannot move {} to {}", new.display(), copy.display()))?;
    Ok(copy)
}

/// Runs the suite on a version, resuming an interrupted run, and writes the file.
fn measure(arguments: &Arguments, program: &Path, release: &Release<'_>) -> Result<()> {
    let Release { adapter, version, versions, .. } = *release;
    let runtime = Launched::new(program, release)?;
    if let Some(question) = runtime.asks {
        return measure_tool(arguments, &runtime, release, question);
    }
    let measured = workspace::root().join("expectations").join(release.name()).join(format!("{version}.yaml"));
    let before = if measured.exists() { Some(read(&measured)?) } else { None };
    // A measurement of a part of the suite is repeated on the same part.
    let scope = before.as_ref().map_or_else(|| release.scope(), |before| before.scope.clone());
    let adapter = adapter_digest::of(adapter, versions.manifest.as_deref())?;
    let kept = before.filter(|_| arguments.stale).map(|before| before.adapter);
    let adapters = adapter_digest::joined(kept, adapter);
    if let [.., earlier, _] = adapters.as_slice() {
        anstream::println!("the outcomes of unchanged cases were measured through another adapter: {earlier}");
    }
    let results = workspace::target().join("measure").join(format!("{}.jsonl", release.key()));
    if results.exists() && (arguments.afresh || !is_of_this_suite(&results)?) {
        anstream::println!("{}: the old results are discarded, and all cases are run again", results.display());
        fs::remove_file(&results)?;
    }
    let (timeout, memory) = (arguments.timeout.to_string(), arguments.memory.to_string());
    let mut run = runtime.tool(&[
        "run",
        "--show",
        "1",
        "--strict",
        "--rewrites",
        "--restarts",
        "20000",
        "--timeout",
        &timeout,
        "--memory",
        &memory,
    ]);
    if results.exists() {
        run.arg("--keep-failures").arg("--resume");
    } else {
        run.args(arguments.stale.then_some("--stale")).arg("--results");
    }
    run.arg(&results);
    run.args(["--runtime", &runtime.command]).args(["--expectations", &runtime.nothing()?]).args(&scope);
    let ended = status(&mut run)?;
    // Failing cases are the content of a measurement, not an error.
    ensure!(matches!(ended.code(), Some(0..=2)), "the run ended with {ended}; repeat the command to resume it");
    let mut init = runtime.tool(&["init", "--exact", "--strict", "--update", "--from"]);
    init.arg(&results).args(scope.iter().flat_map(|pattern| ["--scope", pattern]));
    let ended = status(&mut init)?;
    ensure!(ended.success(), "the file was not written: {ended}");
    ensure!(
        measured.exists(),
        "{} was not written: the adapter reports another version of the runtime",
        measured.display()
    );
    let text = fs::read_to_string(&measured).with_context(|| measured.display().to_string())?;
    fs::write(&measured, with_adapter(&text, &adapters)).with_context(|| measured.display().to_string())
}

/// Measures the answers of this project's own tools, as `expectations/tools/builtin/<version>.yaml`.
fn measure_builtin(arguments: &Arguments, program: &Path) -> Result<()> {
    let (command, name) = (Builtin::NAME.to_owned(), Builtin::NAME.to_owned());
    let (environment, key) = (BTreeMap::new(), name.clone());
    let tools = Launched { program: program.to_owned(), command, environment, name, key, asks: None };
    let variants = Variant::ALL.into_iter().filter(|variant| {
        let question = variant.question();
        question != Question::Run && BuiltinTools::answers(question)
    });
    let measured = ask(arguments, &tools, &[], variants)?;
    write_tool(&workspace::root().join("expectations/tools"), &measured)
}

/// Asks a tool its question, and writes the file.
fn measure_tool(arguments: &Arguments, tool: &Launched, release: &Release<'_>, question: Question) -> Result<()> {
    let mut measured = ask(arguments, tool, &release.scope(), Variant::asking(question))?;
    ensure!(
        measured.runtime == release.name() && measured.version.as_deref() == Some(release.version),
        "{}: the adapter reports {} {}",
        release.key(),
        measured.runtime,
        measured.version.as_deref().unwrap_or_default()
    );
    measured.adapter = vec![adapter_digest::of(release.adapter, None)?];
    write_tool(&workspace::root().join("expectations/tools"), &measured)
}

/// Writes the measurement of a tool below a folder.
fn write_tool(folder: &Path, measured: &Expectations) -> Result<()> {
    let folder = folder.join(&measured.runtime);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(format!("{}.yaml", measured.version.as_deref().unwrap_or_default()));
    write_whole(&path, measured.to_yaml().as_bytes()).with_context(|| path.display().to_string())
}

/// Asks a tool about the cases of the suite in some variants, which are its questions.
fn ask(
    arguments: &Arguments,
    tool: &Launched,
    scope: &[String],
    variants: impl Iterator<Item = Variant>,
) -> Result<Expectations> {
    let folder = workspace::target().join("measure");
    let (mut header, mut all) = (None, Vec::new());
    let (begun, mut is_whole) = (cpu_seconds(), true);
    for variant in variants {
        let results = folder.join(format!("{}-{variant}.jsonl", tool.key));
        let (timeout, memory) = (arguments.timeout.to_string(), arguments.memory.to_string());
        let mut run = tool.tool(&["run", "--show", "1", "--strict", "--restarts", "20000"]);
        run.args(["--variant", variant.name(), "--timeout", &timeout, "--memory", &memory]);
        run.args(["--shard", &arguments.shard]);
        let is_begun = results.exists() && !arguments.afresh && is_of_this_suite(&results)?;
        run.args(if is_begun { ["--keep-failures", "--resume"].as_slice() } else { &["--results"] }).arg(&results);
        is_whole &= !is_begun;
        if !is_begun && results.exists() {
            fs::remove_file(&results)?;
        }
        run.args(["--runtime", &tool.command, "--expectations", &tool.nothing()?]).args(scope);
        let ended = status(&mut run)?;
        ensure!(matches!(ended.code(), Some(0..=2)), "the run ended with {ended}; repeat the command to resume it");
        let file = fs::File::open(&results).with_context(|| results.display().to_string())?;
        let read = read_results(&mut std::io::BufReader::new(file))?;
        ensure!(read.is_complete(), "{}: {} cases have no result", results.display(), read.missing());
        header.get_or_insert(read.header);
        all.extend(read.results);
    }
    let header = header.context("no variant asks the question")?;
    let mut measured = tool_measurement(&header, &WholeRun::new(all, Variant::Runtime));
    let spent = begun.zip(cpu_seconds()).map(|(begun, ended)| ended - begun);
    measured.cpu_seconds = spent.filter(|_| is_whole);
    Ok(measured)
}

/// Returns the processor time of the processes that this one has waited for, and of those that they waited for, in seconds; `None`
/// where /proc does not tell it.
fn cpu_seconds() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain spaces. The times follow it in hundredths of a second.
    let (_, fields) = text.rsplit_once(')')?;
    let hundredths = |at: usize| fields.split_whitespace().nth(at)?.parse::<u64>().ok();
    Some((hundredths(13)? + hundredths(14)?) / 100)
}

/// Reads a measurement.
fn read(measured: &Path) -> Result<Expectations> {
    let text = fs::read_to_string(measured).with_context(|| measured.display().to_string())?;
    Ok(Expectations::parse(&measured.display().to_string(), &text)?)
}

/// Returns true if the results are from the current suite.
fn is_of_this_suite(results: &Path) -> Result<bool> {
    let text = fs::read_to_string(results)?;
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap_or_default()).unwrap_or_default();
    let suite = onnx_conformance_cases::suite::Suite::open(&workspace::root().join("testdata"))?;
    Ok(header.get("digest").and_then(serde_json::Value::as_str) == Some(suite.digest()?.as_str()))
}

/// A version of a runtime that is ready to run.
struct Launched {
    program: PathBuf,
    command: String,
    environment: BTreeMap<String, String>,
    name: String,
    /// The name and version of the measurement.
    key: String,
    /// The question that a tool answers.
    asks: Option<Question>,
}

impl Launched {
    fn new(program: &Path, release: &Release<'_>) -> Result<Launched> {
        let Release { adapter, version, versions, option } = *release;
        let folder = workspace::root().join("adapters").join(adapter);
        let path = folder.join("adapter.yaml");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let file: AdapterFile = serde_yaml::from_str(&text).with_context(|| path.display().to_string())?;
        let pins = versions.requirements(version);
        let (python, target) = if pins.is_empty() {
            (PathBuf::new(), build_adapter(release)?)
        } else {
            let pins: Vec<&str> = pins.iter().map(String::as_str).collect();
            let python = python::environment(&release.installed(), &pins)?;
            (python.clone(), python.parent().and_then(Path::parent).unwrap_or(&python).to_owned())
        };
        let filled = |word: &String| {
            word.replace("{python}", &python.to_string_lossy()).replace("{target}", &target.to_string_lossy())
        };
        // Words of the command that are files in the adapter's folder become absolute paths.
        let word = |word: &String| {
            let filled = filled(word);
            let own = folder.join(&filled);
            format!("'{}'", if own.is_file() { own.display().to_string() } else { filled })
        };
        let (option, value) = option.unwrap_or_default();
        let words = file.options.get(option).map(Vec::as_slice).unwrap_or_default();
        ensure!(option.is_empty() || !words.is_empty(), "adapters/{adapter}/adapter.yaml: no option {option}");
        let option = words.iter().map(|word| word.replace("{value}", value));
        let command = file.command.iter().cloned().chain(option).map(|it| word(&it)).collect::<Vec<_>>().join(" ");
        let environment = file.env.iter().map(|(key, value)| (key.clone(), filled(value))).collect();
        Ok(Launched {
            program: program.to_owned(),
            command,
            environment,
            name: release.name(),
            key: release.key(),
            asks: file.asks,
        })
    }

    /// Creates a command for the program with these arguments, in the workspace's root folder and the adapter's environment.
    fn tool(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).envs(&self.environment).current_dir(workspace::root());
        command
    }

    /// Writes an expectation file without entries, so that the run does not read an earlier measurement.
    fn nothing(&self) -> Result<String> {
        let path = workspace::target().join("measure").join(format!("{}.nothing.yaml", self.name));
        fs::write(&path, format!("runtime: {}\nexpect: []\n", self.name))?;
        Ok(path.display().to_string())
    }
}

/// Builds the crate of a runtime's adapter with a version of the runtime, in a copy. Returns the target folder.
fn build_adapter(release: &Release<'_>) -> Result<PathBuf> {
    let Release { version, versions, .. } = *release;
    let (root, package) = (workspace::root(), versions.package.as_str());
    let folder =
        versions.manifest.as_ref().context("versions.yaml lists neither requirements nor the crate of the adapter")?;
    let home = root.join(folder);
    let around = workspace::target().join("measure").join(release.key());
    let manifest = foreign::copy(&home, &around, |name| {
        format!("path = {:?}", root.join("crates").join(name).display().to_string())
    })?;
    let target = workspace::target().join("measure/target");
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        status(command.args(arguments).arg("--manifest-path").arg(&manifest).env("CARGO_TARGET_DIR", &target))
    };
    let pinned = cargo(&["update", "--quiet", package, "--precise", version])?;
    ensure!(pinned.success(), "{package} {version} does not satisfy {}", manifest.display());
    ensure!(cargo(&["build", "--quiet"])?.success(), "the adapter does not build with {package} {version}");
    Ok(target)
}

fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot start {command:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_a_measurement_of_its_own() {
        let versions = VersionsFile::read("onnxruntime").unwrap();
        let release = |option| Release { adapter: "onnxruntime", version: "1.2", option, versions: &versions };
        assert_eq!(release(Some((LEVEL, "basic"))).key(), "onnxruntime-basic@1.2");
        assert_eq!(release(Some((LEVEL, "basic"))).installed(), "onnxruntime@1.2");
        assert_eq!(release(Some((LEVEL, "basic"))).scope(), [GRAPHS]);
        assert_eq!((release(None).key(), release(None).scope()), ("onnxruntime@1.2".to_owned(), Vec::new()));
        assert_eq!(split_option("onnxruntime:level=basic").unwrap(), ("onnxruntime", Some((LEVEL, "basic"))));
        assert_eq!(split_option("tract").unwrap(), ("tract", None));
        assert!(split_option("onnxruntime:cuda").unwrap_err().to_string().contains("onnxruntime:level=basic"));
        let refused = |level| versions.check_level("onnxruntime", level).unwrap_err().to_string();
        assert!(refused("all").ends_with("`onnxruntime` without a level is at this one"), "{}", refused("all"));
        assert!(refused("none").contains("no level none, only disabled, basic"), "{}", refused("none"));
    }
}
