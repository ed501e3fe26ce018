//! Where adapters are found, and the Python that runs them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names a folder of adapters.
const FOLDER: &str = "ONNX_CONFORMANCE_ADAPTERS";

/// Names the Python that runs adapters which have no environment of their own.
const PYTHON: &str = "ONNX_CONFORMANCE_PYTHON";

/// The folder of adapters in the current folder.
const HERE: &str = "adapters";

/// The folders of adapters, in the order in which they are searched, and a Python for adapters without an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapters {
    /// The folders. A name stands for the first of them that has a folder of this name with `adapter.yaml` in it.
    pub folders: Vec<PathBuf>,
    /// A folder of adapters, each of which is started by its path alone, since nobody has installed them.
    pub by_path: Option<PathBuf>,
    /// A path, or a name that is looked for where the system looks.
    pub python: PathBuf,
}

impl Adapters {
    /// The adapters that somebody has installed: in the folder that `ONNX_CONFORMANCE_ADAPTERS` names; beside the program; and where a
    /// package manager that installs the program into `bin` puts them, `share/onnx-conformance/adapters`. Those in `adapters` of
    /// the current folder, which may be anybody's, are started by their paths alone.
    pub fn installed() -> Adapters {
        // A package manager may link to the program from elsewhere.
        let program = env::current_exe().and_then(|program| program.canonicalize()).unwrap_or_default();
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        Adapters::of(program.parent().unwrap_or(Path::new("")), set(FOLDER), set(PYTHON))
    }

    /// The installed adapters, and last those in `adapters` of the current folder, by their names.
    pub fn installed_and_here() -> Adapters {
        let mut adapters = Adapters::installed();
        adapters.folders.extend(adapters.by_path.take());
        adapters
    }

    fn of(programs: &Path, folder: Option<OsString>, python: Option<OsString>) -> Adapters {
        let beside = [programs.join("adapters"), programs.join("../share/onnx-conformance/adapters")];
        let folders = folder.map(PathBuf::from).into_iter().chain(beside).collect();
        let names = if cfg!(windows) { ["python.exe", "../python.exe"] } else { ["python3", "python"] };
        let mut near = names.iter().map(|name| programs.join(name));
        let python = python.map(PathBuf::from).or_else(|| near.find(|path| path.is_file()));
        let system = if cfg!(windows) { "python" } else { "python3" };
        Adapters { folders, by_path: Some(HERE.into()), python: python.unwrap_or_else(|| system.into()) }
    }

    /// The folder of the adapter of this name that has `file`.
    pub(crate) fn find(&self, name: &str, file: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|folder| folder.join(file).is_file())
    }

    /// The folder of the adapter of this name that has `file`, where its path must be named.
    pub(crate) fn find_by_path(&self, name: &str, file: &str) -> Option<PathBuf> {
        let folder = self.by_path.as_ref()?.join(name);
        folder.join(file).is_file().then_some(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn adapters_are_found_beside_the_program_and_where_it_is_installed() {
        let root = tempfile::TempDir::new().unwrap();
        let programs = root.path().join("bin");
        let shared = root.path().join("share/onnx-conformance/adapters/mine");
        fs::create_dir_all(&programs).unwrap();
        fs::create_dir_all(&shared).unwrap();
        fs::write(shared.join("adapter.yaml"), "").unwrap();
        let adapters = Adapters::of(&programs, Some("named".into()), None);
        assert_eq!((adapters.folders.len(), &adapters.folders[0]), (3, &PathBuf::from("named")));
        assert_eq!(adapters.by_path, Some(PathBuf::from("adapters")));
        let found = adapters.find("mine", "adapter.yaml").unwrap();
        assert_eq!(found.canonicalize().unwrap(), shared.canonicalize().unwrap());
        assert_eq!(adapters.find("other", "adapter.yaml"), None);
        let beside = programs.join("adapters/mine");
        fs::create_dir_all(&beside).unwrap();
        fs::write(beside.join("adapter.yaml"), "").unwrap();
        assert_eq!(adapters.find("mine", "adapter.yaml"), Some(beside));
    }

    #[test]
    fn the_current_folder_is_searched_last_if_at_all() {
        let installed = Adapters::installed();
        let all = Adapters::installed_and_here();
        assert!(!installed.folders.contains(&PathBuf::from(HERE)));
        assert_eq!(
            (all.folders.split_last(), all.by_path),
            (Some((&PathBuf::from(HERE), &installed.folders[..])), None)
        );
    }

    #[test]
    fn the_python_is_the_one_that_is_named_or_the_one_beside_the_program() {
        let root = tempfile::TempDir::new().unwrap();
        let python = |named: Option<&str>| Adapters::of(root.path(), None, named.map(OsString::from)).python;
        assert!(!python(None).is_absolute());
        let own = root.path().join(if cfg!(windows) { "python.exe" } else { "python3" });
        fs::write(&own, "").unwrap();
        assert_eq!(python(None), own);
        assert_eq!(python(Some("pypy3")), Path::new("pypy3"));
    }
}
