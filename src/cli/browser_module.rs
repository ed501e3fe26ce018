//! The program for browsers, which `report` writes into the site.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use onnx_conformance_cases::case::read_file;
use onnx_conformance_subject::installed_folders;

/// Name of the file, as Cargo writes it and a package installs it.
pub const FILE: &str = "onnx_conformance_browser.wasm";

/// Maximum size in bytes. A third of it is downloaded, since it is compressed.
const MAX_BYTES: u64 = 13_000_000;

/// First bytes of WebAssembly, with its version.
const HEAD: [u8; 8] = *b"\0asm\x01\0\0\0";

/// Note about a site that is written without the program.
pub(crate) const MISSING: &str = "the pages cannot compute in a browser, since this installation has no \
     onnx_conformance_browser.wasm; a package of pip has it, and `report --module FILE` adds one of the same version";

/// Reads the program from a file.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let module = read_file(path, MAX_BYTES).with_context(|| path.display().to_string())?;
    if !module.starts_with(&HEAD) {
        bail!("{}: is not WebAssembly; name the {FILE} of this version, or install the package again", path.display());
    }
    Ok(module)
}

/// Reads the program that is installed with this one, if there is one.
pub(crate) fn installed() -> anyhow::Result<Option<Vec<u8>>> {
    find(&installed_folders()).map(|path| read(&path)).transpose()
}

fn find(folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(FILE)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_program_is_found_in_the_first_folder_that_has_it() {
        let root = tempfile::tempdir().unwrap();
        let folders = ["bin", "share"].map(|name| root.path().join(name));
        assert_eq!(find(&folders), None);
        for folder in folders.iter().rev() {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(FILE), HEAD).unwrap();
            assert_eq!(find(&folders), Some(folder.join(FILE)));
        }
    }

    #[test]
    fn a_file_that_is_not_webassembly_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(FILE);
        let said = || format!("{:#}", read(&path).unwrap_err());
        assert!(said().contains(FILE), "{}", said());
        for text in ["", "\0asm", "\0asm\x02\0\0\0 of a later version"] {
            fs::write(&path, text).unwrap();
            assert!(
                said().ends_with("install the package again") && said().contains("is not WebAssembly"),
                "{}",
                said()
            );
        }
        fs::File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(said().contains("is larger than the limit of 13000000 bytes"), "{}", said());
        fs::write(&path, HEAD).unwrap();
        assert_eq!(read(&path).unwrap(), HEAD);
    }

    #[test]
    fn the_note_names_the_file() {
        assert!(MISSING.contains(FILE));
    }
}
