//! A version of a runtime or tool that is ready to be measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context as _, Result, ensure};
use onnx_conformance_subject::{AdapterFile, Builtin, Question};

use crate::adapters::VersionsFile;
use crate::{foreign, python, workspace};

/// Options of every measurement.
#[derive(clap::Args)]
pub(crate) struct RunOptions {
    /// Stop a case after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) timeout: u64,

    /// Stop a process that takes more memory than this
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    pub(crate) memory: u64,

    /// Run only the cases that are new or have changed since the version was measured, and keep the outcomes of the others. A tool is
    /// asked about every case of an operator version or a pattern of graphs in which one has changed
    #[arg(long)]
    pub(crate) stale: bool,

    /// Ask a tool about this part of the suite, such as 1/8. With --stale it is that of the earlier measurement
    #[arg(long, value_name = "K/N", default_value = "1/1")]
    pub(crate) shard: String,

    /// Start afresh, even if an earlier measurement was interrupted
    #[arg(long)]
    pub(crate) afresh: bool,
}

/// The cases that are measured at a level of the optimizer.
pub(crate) const GRAPHS: &str = "graph/**";

/// The option with the level of a runtime's optimizer.
pub(crate) const LEVEL: &str = "level";

/// A version of a runtime.
pub(crate) struct Release<'a> {
    /// The adapter of the runtime.
    pub(crate) adapter: &'a str,
    pub(crate) version: &'a str,
    /// An option and its value: the level of the optimizer, if it is not the last one, or the mode of a tool.
    pub(crate) option: Option<(&'a str, &'a str)>,
    /// The file that lists the version.
    pub(crate) versions: &'a VersionsFile,
}

impl Release<'_> {
    /// Returns the name of the runtime in its measurement.
    pub(crate) fn name(&self) -> String {
        self.option.map_or_else(|| self.adapter.to_owned(), |(_, value)| format!("{}-{value}", self.adapter))
    }

    /// Returns the name and the version of the measurement.
    pub(crate) fn key(&self) -> String {
        format!("{}@{}", self.name(), self.version)
    }

    /// Returns the adapter and the version, which are installed for every level.
    pub(crate) fn installed(&self) -> String {
        format!("{}@{}", self.adapter, self.version)
    }

    /// Returns the patterns of the cases of a first measurement.
    pub(crate) fn scope(&self) -> Vec<String> {
        if self.option.is_some_and(|(name, _)| name == LEVEL) {
            vec![GRAPHS.to_owned()]
        } else {
            self.versions.scope.clone()
        }
    }
}

/// A version of a runtime that is ready to run.
pub(crate) struct Launched {
    program: PathBuf,
    pub(crate) command: String,
    environment: BTreeMap<String, String>,
    pub(crate) name: String,
    /// The name and version of the measurement.
    pub(crate) key: String,
    /// The question that a tool answers.
    pub(crate) asks: Option<Question>,
}

impl Launched {
    /// This project's own tools.
    pub(crate) fn builtin(program: &Path) -> Launched {
        let (command, name) = (Builtin::NAME.to_owned(), Builtin::NAME.to_owned());
        let (environment, key) = (BTreeMap::new(), name.clone());
        Launched { program: program.to_owned(), command, environment, name, key, asks: None }
    }

    /// Installs or builds a version of a runtime.
    pub(crate) fn new(program: &Path, release: &Release<'_>) -> Result<Launched> {
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
    pub(crate) fn tool(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).envs(&self.environment).current_dir(workspace::root());
        command
    }

    /// Writes an expectation file without entries, so that the run does not read an earlier measurement.
    pub(crate) fn nothing(&self) -> Result<String> {
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

pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot start {command:?}"))
}

/// Returns true if the results are from the current suite.
pub(crate) fn is_of_this_suite(results: &Path) -> Result<bool> {
    let text = fs::read_to_string(results)?;
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap_or_default()).unwrap_or_default();
    let suite = onnx_conformance_cases::suite::Suite::open(&workspace::root().join("testdata"))?;
    Ok(header.get("digest").and_then(serde_json::Value::as_str) == Some(suite.digest()?.as_str()))
}
