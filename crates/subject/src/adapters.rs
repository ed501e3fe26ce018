//! Search path for adapters, and the Python that runs them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Environment variable with a folder of adapters.
const FOLDER: &str = "ONNX_CONFORMANCE_ADAPTERS";

/// Environment variable with the Python for adapters that have no environment of their own.
const PYTHON: &str = "ONNX_CONFORMANCE_PYTHON";

/// Folder of adapters: in the current folder, and with the files that are installed with the program.
const HERE: &str = "adapters";

/// Folder of a package's files, from the folder `bin` in which it installs the program.
const SHARED: &str = "../share/onnx-conformance";

/// Returns the folders of files that are installed with the program, in search order: its own folder, and
/// `share/onnx-conformance` if a package manager installs the program in `bin`.
pub fn installed_folders() -> [PathBuf; 2] {
    folders_of(&programs())
}

/// Returns the folder of the program. A package manager may link to the program from elsewhere.
fn programs() -> PathBuf {
    let program = env::current_exe().and_then(|program| program.canonicalize()).unwrap_or_default();
    program.parent().unwrap_or(Path::new("")).to_owned()
}

fn folders_of(programs: &Path) -> [PathBuf; 2] {
    [programs.to_owned(), programs.join(SHARED)]
}

/// The folders of adapters, in search order, and a Python for adapters without an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapters {
    /// The folders. A name refers to the first folder that contains `<name>/adapter.yaml`.
    pub folders: Vec<PathBuf>,
    /// A folder of adapters that are started only by path, since nobody has installed them.
    pub by_path: Option<PathBuf>,
    /// A path, or a name on the system's search path.
    pub python: PathBuf,
}

impl Adapters {
    /// Returns the installed adapters: in the folder of `ONNX_CONFORMANCE_ADAPTERS`; next to the program; and in
    /// `share/onnx-conformance/adapters`, if a package manager installs the program in `bin`. Adapters in `adapters` of
    /// the current folder are not trusted, and are started only by path.
    pub fn installed() -> Adapters {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        Adapters::from_settings(&programs(), set(FOLDER), set(PYTHON))
    }

    /// Returns the installed adapters, followed by those in `adapters` of the current folder.
    pub fn installed_and_here() -> Adapters {
        let mut adapters = Adapters::installed();
        adapters.folders.extend(adapters.by_path.take());
        adapters
    }

    fn from_settings(programs: &Path, folder: Option<OsString>, python: Option<OsString>) -> Adapters {
        let near_program = folders_of(programs).map(|folder| folder.join(HERE));
        let folders = folder.map(PathBuf::from).into_iter().chain(near_program).collect();
        let names = if cfg!(windows) { ["python.exe", "../python.exe"] } else { ["python3", "python"] };
        let mut candidates = names.iter().map(|name| programs.join(name));
        let python = python.map(PathBuf::from).or_else(|| candidates.find(|path| path.is_file()));
        let system = if cfg!(windows) { "python" } else { "python3" };
        Adapters { folders, by_path: Some(HERE.into()), python: python.unwrap_or_else(|| system.into()) }
    }

    /// Returns the folder of the adapter of this name, if it contains `file`.
    pub(crate) fn find(&self, name: &str, file: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|folder| folder.join(file).is_file())
    }

    /// Returns the folder of the adapter of this name, if it contains `file` and may only be started by path.
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
    fn adapters_are_found_next_to_the_program_and_in_its_installation() {
        let root = tempfile::TempDir::new().unwrap();
        let programs = root.path().join("bin");
        let shared = root.path().join("share/onnx-conformance/adapters/mine");
        fs::create_dir_all(&programs).unwrap();
        fs::create_dir_all(&shared).unwrap();
        fs::write(shared.join("adapter.yaml"), "").unwrap();
        let adapters = Adapters::from_settings(&programs, Some("named".into()), None);
        assert_eq!((adapters.folders.len(), &adapters.folders[0]), (3, &PathBuf::from("named")));
        assert_eq!(adapters.by_path, Some(PathBuf::from("adapters")));
        let found = adapters.find("mine", "adapter.yaml").unwrap();
        assert_eq!(found.canonicalize().unwrap(), shared.canonicalize().unwrap());
        assert_eq!(adapters.find("other", "adapter.yaml"), None);
        let near_program = programs.join("adapters/mine");
        fs::create_dir_all(&near_program).unwrap();
        fs::write(near_program.join("adapter.yaml"), "").unwrap();
        assert_eq!(adapters.find("mine", "adapter.yaml"), Some(near_program));
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
    fn the_python_is_the_given_one_or_the_one_next_to_the_program() {
        let root = tempfile::TempDir::new().unwrap();
        let python = |named: Option<&str>| Adapters::from_settings(root.path(), None, named.map(OsString::from)).python;
        assert!(!python(None).is_absolute());
        let own = root.path().join(if cfg!(windows) { "python.exe" } else { "python3" });
        fs::write(&own, "").unwrap();
        assert_eq!(python(None), own);
        assert_eq!(python(Some("pypy3")), Path::new("pypy3"));
    }
}
