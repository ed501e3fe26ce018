//! The command that runs one test of a test binary again.

use std::path::{Path, PathBuf};

use crate::shell::word;

/// Number of characters that Cargo appends to the name of a test binary.
const HASH: usize = 16;

/// Returns the command that runs a test of this binary again.
pub(super) fn rerun_command(test: &str) -> String {
    let target = std::env::current_exe().ok().and_then(|path| target_of(&path));
    let target = target.map_or_else(String::new, |target| format!(" {target}"));
    format!("cargo test{target} -- --exact {}", word(test))
}

/// Returns the folder for the files of failing cases: in the target folder of this binary, or else in that of the current folder.
pub(super) fn failures_folder() -> PathBuf {
    let target = std::env::current_exe().ok().and_then(|path| target_folder(&path).map(Path::to_owned));
    target.unwrap_or_else(|| PathBuf::from("target")).join("failures")
}

/// Returns the target folder of a test binary: `target` for `target/debug/deps/conformance-0123456789abcdef`.
fn target_folder(path: &Path) -> Option<&Path> {
    target_of(path)?;
    path.ancestors().nth(3)
}

/// Returns the option of Cargo for a test binary, so that it does not start the others: `--test conformance` for
/// `target/debug/deps/conformance-0123456789abcdef`.
fn target_of(path: &Path) -> Option<String> {
    let (name, hash) = path.file_stem()?.to_str()?.rsplit_once('-')?;
    let option = match path.parent()?.file_name()?.to_str()? {
        "deps" => "--test",
        "examples" => "--example",
        _ => return None,
    };
    let is_hash = hash.len() == HASH && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    // The file has `_` for each `-` in the name of the target. Cargo accepts a glob.
    is_hash.then(|| format!("{option} {}", word(&name.replace('_', "?"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_that_of_the_file() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(target_of(Path::new(path)).as_deref(), expected, "{path}");
        };
        check("/a/target/debug/deps/conformance-0123456789abcdef", Some("--test conformance"));
        check("/a/target/debug/deps/conformance-0123456789abcdef.exe", Some("--test conformance"));
        check("/a/target/debug/deps/on_gpu-0123456789abcdef", Some("--test 'on?gpu'"));
        check("/a/target/debug/examples/rust-0123456789abcdef", Some("--example rust"));
        check("/a/target/debug/deps/conformance", None);
        check("/a/conformance-0123456789abcdef", None);
    }

    #[test]
    fn the_target_folder_is_above_the_profile() {
        let binary = Path::new("/a/target/debug/deps/conformance-0123456789abcdef");
        assert_eq!(target_folder(binary), Some(Path::new("/a/target")));
        assert_eq!(target_folder(Path::new("/a/conformance-0123456789abcdef")), None);
    }
}
