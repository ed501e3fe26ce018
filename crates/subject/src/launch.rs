//! Starting an adapter: from a command line, or from a folder with `adapter.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance_reference::spec::yaml::{self, YamlError};
use serde::Deserialize;

use crate::declaration::is_name;
use crate::files::read_text;
use crate::{Adapters, Question};

/// File that makes a folder an adapter.
const FILE: &str = "adapter.yaml";

/// A program, its arguments and its working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program: a path, or a name on the system's search path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Additions to its environment.
    pub environment: BTreeMap<String, String>,
    /// Its working directory. The default is that of the harness.
    pub folder: Option<PathBuf>,
    /// Help for a program that cannot be started.
    pub help: String,
    /// The `adapter.yaml` with these settings; `None` for a command line.
    pub file: Option<PathBuf>,
}

/// The contents of `adapter.yaml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdapterFile {
    /// The program and its arguments, run in the adapter's folder. `{python}` is the Python of the virtual environment
    /// `target/adapters/<name>`, or the one that the program was installed with if there is none. `{target}` is that
    /// folder.
    pub command: Vec<String>,
    /// The Python packages that the adapter needs, in the form of arguments of `pip`. A message names them if the
    /// adapter does not start.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Additions to the environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The arguments that select a part of the runtime, such as an execution provider. `{provider}` is the name after
    /// the colon in `--runtime NAME:PROVIDER`. Without this key the adapter has no providers.
    #[serde(default)]
    pub provider: Vec<String>,
    /// Options of the runtime, such as the level of its optimizer, each with its arguments. `{value}` is the value in
    /// `--runtime NAME:OPTION=VALUE`.
    #[serde(default)]
    pub options: BTreeMap<String, Vec<String>>,
    /// The question that a tool answers about models. A runtime, which runs them, has none.
    #[serde(default)]
    pub asks: Option<Question>,
    /// True if a case that the newest measured version passes counts as confirmed by this runtime.
    #[serde(default)]
    pub confirms: bool,
    /// The cases that this project's CI runs on the runtime.
    #[serde(default)]
    pub ci: CiCases,
    /// Patterns of cases that CI omits if it runs a part, because their outcome varies from run to run.
    #[serde(default)]
    pub ci_omits: Vec<String>,
    /// Python code that runs a model on the runtime without the suite, for reports of failures.
    pub python: Option<PythonCall>,
}

/// The cases that this project's CI runs on a runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CiCases {
    /// None.
    #[default]
    None,
    /// A part of the measured cases; for an adapter in Rust, the tests of its crate.
    Part,
    /// Every case.
    Whole,
}

/// Python code that runs a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PythonCall {
    /// The statement that imports the runtime.
    pub import: String,
    /// Statements that set `outputs`, a list, from the file name `path` and the dictionary `inputs`. Those of a tool set `result`,
    /// a model, or raise an error, from the model `model`; `{mode}` stands for the mode of the tool, and `{opset}` for the opset to
    /// convert to.
    pub run: String,
}

impl AdapterFile {
    /// Parses an `adapter.yaml`. An error names `path`, the line and the known keys.
    pub fn parse(path: &str, text: &str) -> Result<AdapterFile, Box<YamlError>> {
        yaml::read(path, text)
    }
}

/// A runtime that cannot be started from its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The file of an adapter cannot be read.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// The file of an adapter has the wrong content.
    #[error(transparent)]
    Yaml(#[from] Box<YamlError>),
    /// The command does not name a program.
    #[error("{0} does not name a program")]
    Empty(String),
    /// A provider is requested, but the adapter has none.
    #[error("{path}: this adapter has no providers, so '{provider}' cannot be selected; remove `:{provider}`")]
    NoProviders {
        /// The file of the adapter.
        path: PathBuf,
        /// The requested provider.
        provider: String,
    },
    /// An option is set that the adapter does not have.
    #[error("{path}: this adapter has no option '{option}'; it has {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    NoOption {
        /// The file of the adapter.
        path: PathBuf,
        /// The option.
        option: String,
        /// The options of the adapter.
        known: Vec<String>,
    },
    /// An adapter that nobody has installed is requested by name.
    #[error(
        "'{name}' is only an adapter of the current folder, whose programs are not started by name; use its path, \
         `{path}`, if you trust it"
    )]
    ByPath {
        /// The name.
        name: String,
        /// The folder of the adapter.
        path: String,
    },
    /// The folder is not an adapter.
    #[error("{0}: this folder has no adapter.yaml; name the folder of an adapter, or a command line")]
    NoAdapter(PathBuf),
    /// A quote is not closed.
    #[error("the command line `{0}` has an unclosed quote")]
    Quote(String),
}

impl Launch {
    /// Finds a runtime: an adapter by its name or by the path of its folder, with an optional provider, or else a
    /// command line.
    pub fn find(runtime: &str, adapters: &Adapters) -> Result<Launch, LaunchError> {
        if let Some((folder, selection)) = folder_and_selection(runtime) {
            return Launch::adapter(selection, &folder, &adapters.python);
        }
        let (name, selection) = Launch::name_and_selection(runtime);
        let has_name = is_name(name) && selection.is_none_or(is_selection);
        if has_name && let Some(folder) = adapters.find(name, FILE) {
            return Launch::adapter(selection, &folder, &adapters.python);
        }
        if has_name && let Some(folder) = adapters.find_by_path(name, FILE) {
            let provider = selection.map(|selection| format!(":{selection}")).unwrap_or_default();
            let path = format!("{}{provider}", Path::new(".").join(folder).display());
            return Err(LaunchError::ByPath { name: name.to_owned(), path });
        }
        let help = if has_name {
            format!("no adapter has that name either ({})", names(adapters))
        } else {
            "--runtime takes the name of an adapter or a command line".to_owned()
        };
        let words = words(runtime)?;
        let folder = words.iter().find_map(|word| adapter_folder(word));
        let environment = match folder {
            Some(folder) => {
                let (file, folder) = read(&folder.join(FILE))?;
                Installation::for_adapter(&folder, &adapters.python).environment(&file)
            }
            None => BTreeMap::new(),
        };
        let mut words = words.into_iter();
        let program = words.next().ok_or_else(|| LaunchError::Empty(format!("`{runtime}`")))?;
        Ok(Launch { program: program.into(), arguments: words.collect(), environment, folder: None, help, file: None })
    }

    /// Splits `onnxruntime:cuda,level=basic` into the name, and the provider with the options.
    pub fn name_and_selection(runtime: &str) -> (&str, Option<&str>) {
        runtime.split_once(':').map_or((runtime, None), |(name, selection)| (name, Some(selection)))
    }

    fn adapter(selection: Option<&str>, folder: &Path, installed: &Path) -> Result<Launch, LaunchError> {
        let path = folder.join(FILE);
        if !path.is_file() {
            return Err(LaunchError::NoAdapter(folder.to_owned()));
        }
        let (file, folder) = read(&path)?;
        let chosen = selected(&file, &path, selection.unwrap_or_default())?;
        let installation = Installation::for_adapter(&folder, installed);
        let mut words = file.command.iter().map(|word| installation.fill(word)).chain(chosen);
        let program = words.next().ok_or_else(|| LaunchError::Empty(format!("{}: `command`", path.display())))?;
        // A path is relative to the adapter's folder; a bare name is on the system's search path.
        let is_path = program.contains(['/', std::path::MAIN_SEPARATOR]);
        Ok(Launch {
            program: if is_path { folder.join(program) } else { program.into() },
            arguments: words.collect(),
            environment: installation.environment(&file),
            help: help(&folder, &installation.python, &file.packages),
            folder: Some(folder),
            file: Some(path),
        })
    }
}

/// The installation of an adapter: the folder and the Python that its file refers to.
struct Installation {
    target: PathBuf,
    python: PathBuf,
}

impl Installation {
    /// Returns the installation of the adapter in a folder; the name of the folder is the name of the adapter.
    fn for_adapter(folder: &Path, installed: &Path) -> Installation {
        let root = folder.parent().and_then(Path::parent).unwrap_or(folder);
        let target = root.join("target").join("adapters").join(folder.file_name().unwrap_or_default());
        let own = if cfg!(windows) { target.join("Scripts/python.exe") } else { target.join("bin/python") };
        let python = if own.is_file() { own } else { installed.to_owned() };
        Installation { target, python }
    }

    /// Replaces `{python}` and `{target}` in a word of the file by their paths.
    fn fill(&self, word: &str) -> String {
        word.replace("{python}", &self.python.to_string_lossy()).replace("{target}", &self.target.to_string_lossy())
    }

    /// Returns the additions to the environment.
    fn environment(&self, file: &AdapterFile) -> BTreeMap<String, String> {
        file.env.iter().map(|(key, value)| (key.clone(), self.fill(value))).collect()
    }
}

/// Reads the file of an adapter, and returns it with its folder as an absolute path.
fn read(path: &Path) -> Result<(AdapterFile, PathBuf), LaunchError> {
    let io = |error| LaunchError::Io { path: path.to_owned(), error };
    let file = yaml::read(&path.display().to_string(), &read_text(path).map_err(io)?)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((file, folder.canonicalize().map_err(io)?))
}

/// Returns the folder of the adapter that contains the file named by a word of a command line.
fn adapter_folder(word: &str) -> Option<PathBuf> {
    let word = Path::new(word);
    let folder = word.is_file().then(|| word.parent()).flatten()?;
    folder.join(FILE).is_file().then(|| folder.to_owned())
}

/// Returns true if a text can name a provider and set options: `cuda`, `level=basic`, `cuda,level=basic`.
fn is_selection(text: &str) -> bool {
    text.split(',')
        .all(|part| part.split_once('=').map_or(is_name(part), |(key, value)| is_name(key) && is_name(value)))
}

/// Returns the arguments of a provider and of options.
fn selected(file: &AdapterFile, path: &Path, selection: &str) -> Result<Vec<String>, LaunchError> {
    let mut arguments = Vec::new();
    for part in selection.split(',').filter(|part| !part.is_empty()) {
        let (words, placeholder, value) = match part.split_once('=') {
            Some((option, value)) => {
                let unknown = || LaunchError::NoOption {
                    path: path.to_owned(),
                    option: option.to_owned(),
                    known: file.options.keys().cloned().collect(),
                };
                (file.options.get(option).ok_or_else(unknown)?, "{value}", value)
            }
            None if file.provider.is_empty() => {
                return Err(LaunchError::NoProviders { path: path.to_owned(), provider: part.to_owned() });
            }
            None => (&file.provider, "{provider}", part),
        };
        arguments.extend(words.iter().map(|word| word.replace(placeholder, value)));
    }
    Ok(arguments)
}

/// Splits a runtime that is named by a path into folder and selection: `./adapters/onnxruntime:cuda`. A path contains a
/// separator.
fn folder_and_selection(runtime: &str) -> Option<(PathBuf, Option<&str>)> {
    let is_folder = |text: &str| text.contains(['/', std::path::MAIN_SEPARATOR]) && Path::new(text).is_dir();
    if is_folder(runtime) {
        return Some((runtime.into(), None));
    }
    let (folder, selection) = runtime.rsplit_once(':').filter(|(_, selection)| is_selection(selection))?;
    is_folder(folder).then(|| (folder.into(), Some(selection)))
}

/// Returns instructions for setting up an adapter.
fn help(folder: &Path, python: &Path, packages: &[String]) -> String {
    let readme = folder.join("README.md");
    if packages.is_empty() {
        return format!("see {} for how to set it up", readme.display());
    }
    let (python, packages) = (python.display(), packages.join(" "));
    format!("`{python} -m pip install {packages}` installs what it needs; see {}", readme.display())
}

/// Packages of the extra `adapters` of the Python package, which adapters in Python share.
const SHARED_PACKAGES: [&str; 3] = ["onnx", "numpy", "ml_dtypes"];

/// Returns the end of a message of an adapter that is a command line: instructions if a shared package is missing, or nothing.
pub(crate) fn help_without_package(message: &str) -> &'static str {
    if SHARED_PACKAGES.iter().any(|package| message.contains(&format!("No module named '{package}'"))) {
        "; `pip install 'onnx-conformance[adapters]'` installs what adapters in Python share"
    } else {
        ""
    }
}

/// Lists the existing adapters for a message.
fn names(adapters: &Adapters) -> String {
    let found = adapters.folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let found = found.filter_map(Result::ok).filter(|entry| entry.path().join(FILE).is_file());
    let names: BTreeSet<String> = found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if names.is_empty() {
        let folders: Vec<String> = adapters.folders.iter().map(|folder| folder.display().to_string()).collect();
        return format!("no adapters in {}; set ONNX_CONFORMANCE_ADAPTERS to another folder", folders.join(", "));
    }
    format!("known adapters: {}", names.into_iter().collect::<Vec<_>>().join(", "))
}

/// Splits a command line into words at spaces outside quotes.
fn words(line: &str) -> Result<Vec<String>, LaunchError> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if quote.is_some() { Err(LaunchError::Quote(line.to_owned())) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_folder(folder: impl Into<PathBuf>) -> Adapters {
        Adapters { folders: vec![folder.into()], by_path: None, python: "python3".into() }
    }

    #[test]
    fn a_command_line_has_words_and_quotes() {
        assert_eq!(words(r#"  a 'b c' "d 'e'"f  g\h "" "#).unwrap(), ["a", "b c", "d 'e'f", r"g\h", ""]);
        assert!(matches!(words("a 'b"), Err(LaunchError::Quote(_))));
        assert!(matches!(Launch::find("  ", &in_folder("none")), Err(LaunchError::Empty(_))));
    }

    #[test]
    fn a_missing_shared_package_is_named_with_its_installation() {
        let help = help_without_package("the process ended [stderr: ModuleNotFoundError: No module named 'onnx']");
        assert!(help.contains("pip install 'onnx-conformance[adapters]'"), "{help}");
        assert_eq!(help_without_package("No module named 'onnx_conformance_adapter'"), "");
    }

    #[test]
    fn an_adapter_is_found_by_its_name() {
        let root = tempfile::TempDir::new().unwrap();
        let folder = root.path().join("adapters/mine");
        fs::create_dir_all(&folder).unwrap();
        let find = |text: &str| {
            fs::write(folder.join(FILE), text).unwrap();
            Launch::find("mine", &in_folder(root.path().join("adapters")))
        };
        let text = "command: ['{python}', adapter.py]\nenv: {A: '{target}/b'}\npackages: [mine, numpy]\n";
        let without = find(text).unwrap();
        assert_eq!(without.program, Path::new("python3"));
        assert!(without.help.starts_with("`python3 -m pip install mine numpy` installs"), "{}", without.help);
        let target = root.path().join("target/adapters/mine");
        for name in ["bin/python", "Scripts/python.exe"] {
            fs::create_dir_all(target.join(name).parent().unwrap()).unwrap();
            fs::write(target.join(name), "").unwrap();
        }
        let launch = find(text).unwrap();
        let root = root.path().canonicalize().unwrap();
        let target = root.join("target/adapters/mine");
        assert!(launch.program.starts_with(&target), "{launch:?}");
        assert_eq!(launch.arguments, ["adapter.py"]);
        assert_eq!(launch.environment["A"], format!("{}/b", target.display()));
        assert_eq!(launch.folder, Some(root.join("adapters/mine")));
        assert_eq!(find("command: [./run]").unwrap().program, root.join("adapters/mine/./run"));
        assert_eq!(find("command: [node]").unwrap().program, Path::new("node"));
        assert!(matches!(find("command: []"), Err(LaunchError::Empty(_))));
        assert!(matches!(find("comand: [a]"), Err(LaunchError::Yaml(_))));
    }

    #[test]
    fn a_command_line_has_the_environment_of_its_adapter() {
        let root = tempfile::TempDir::new().unwrap();
        let (folder, plain) = (root.path().join("adapters/mine"), root.path().join("plain"));
        for folder in [&folder, &plain] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("adapter.py"), "").unwrap();
        }
        fs::write(folder.join(FILE), "command: ['{python}', adapter.py]\nenv: {A: '1', B: '{target}/b'}\n").unwrap();
        let adapters = in_folder(root.path().join("adapters"));
        let find = |script: &Path| Launch::find(&format!("python3 -u '{}' --x", script.display()), &adapters);
        let named = Launch::find("mine", &adapters).unwrap();
        let launch = find(&folder.join("adapter.py")).unwrap();
        assert_eq!((launch.environment.len(), &launch.environment), (2, &named.environment));
        assert_eq!((launch.program.as_path(), launch.folder), (Path::new("python3"), None));
        assert!(find(&plain.join("adapter.py")).unwrap().environment.is_empty());
        assert!(find(&folder.join("none.py")).unwrap().environment.is_empty());
        fs::write(folder.join(FILE), "comand: [a]\n").unwrap();
        assert!(matches!(find(&folder.join("adapter.py")), Err(LaunchError::Yaml(_))));
    }

    #[test]
    fn a_provider_is_passed_to_an_adapter_with_providers() {
        let root = tempfile::TempDir::new().unwrap();
        let folder = root.path().join("adapters/mine");
        fs::create_dir_all(&folder).unwrap();
        let find = |runtime: &str, text: &str| {
            fs::write(folder.join(FILE), text).unwrap();
            Launch::find(runtime, &in_folder(root.path().join("adapters")))
        };
        let text = "command: [node, a.js]\nprovider: [--on, '{provider}']\n";
        assert_eq!(find("mine:cuda", text).unwrap().arguments, ["a.js", "--on", "cuda"]);
        assert_eq!(find("mine", text).unwrap().arguments, ["a.js"]);
        let error = find("mine:cuda", "command: [node]").unwrap_err().to_string();
        assert!(error.ends_with("'cuda' cannot be selected; remove `:cuda`"), "{error}");
        assert_eq!(find("other:cuda", text).unwrap().program, Path::new("other:cuda"));
    }

    #[test]
    fn options_are_passed_to_an_adapter_that_has_them() {
        let root = tempfile::TempDir::new().unwrap();
        let folder = root.path().join("adapters/mine");
        fs::create_dir_all(&folder).unwrap();
        let text = "command: [a]\nprovider: [--on, '{provider}']\noptions: {level: ['--level={value}']}\n";
        fs::write(folder.join(FILE), text).unwrap();
        let find = |runtime: &str| Launch::find(runtime, &in_folder(root.path().join("adapters")));
        assert_eq!(find("mine:level=basic").unwrap().arguments, ["--level=basic"]);
        assert_eq!(find("mine:cuda,level=basic").unwrap().arguments, ["--on", "cuda", "--level=basic"]);
        let error = find("mine:levl=basic").unwrap_err().to_string();
        assert!(error.ends_with("this adapter has no option 'levl'; it has level"), "{error}");
    }

    #[test]
    fn an_adapter_is_found_by_the_path_of_its_folder() {
        let root = tempfile::TempDir::new().unwrap();
        let folder = root.path().join("adapters/mine");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.display().to_string();
        let nowhere = in_folder(root.path().join("none"));
        let error = Launch::find(&path, &nowhere).unwrap_err().to_string();
        assert!(error.contains("this folder has no adapter.yaml"), "{error}");
        fs::write(folder.join(FILE), "command: [node, a.js]\nprovider: [--on, '{provider}']\n").unwrap();
        let launch = Launch::find(&path, &nowhere).unwrap();
        assert_eq!((launch.program.as_path(), launch.file), (Path::new("node"), Some(folder.join(FILE))));
        assert_eq!(Launch::find(&format!("{path}/"), &nowhere).unwrap().arguments, ["a.js"]);
        assert_eq!(Launch::find(&format!("{path}:cuda"), &nowhere).unwrap().arguments, ["a.js", "--on", "cuda"]);
    }

    #[test]
    fn an_adapter_started_by_path_is_not_started_by_name() {
        let root = tempfile::TempDir::new().unwrap();
        let folder = root.path().join("adapters/mine");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(FILE), "command: [node]\n").unwrap();
        let adapters = Adapters { by_path: Some(root.path().join("adapters")), ..in_folder(root.path().join("none")) };
        let error = Launch::find("mine", &adapters).unwrap_err().to_string();
        assert!(error.contains(&format!("use its path, `{}`", folder.display())), "{error}");
        // A name of dots only leads to a parent folder and is not a valid name.
        fs::write(root.path().join(FILE), "command: [node]\n").unwrap();
        assert_eq!(Launch::find("..", &in_folder(root.path().join("adapters"))).unwrap().program, Path::new(".."));
    }
}
