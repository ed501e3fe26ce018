//! Case folders that a command writes as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use onnx_conformance_report::models::CaseFiles;
use onnx_conformance_subject::unique::create_unique;

use crate::cli::usage::Usage;

/// Fails if the folder exists and is not empty.
pub(crate) fn check_new(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => bail!(Usage(format!("{shown}: {error}; choose another folder"))),
    };
    if !is_empty {
        bail!(Usage(format!("{shown} exists and is not empty; choose another folder")));
    }
    Ok(())
}

/// Writes the files to a new folder, which appears when it is complete. `home` has the linked files.
pub(crate) fn write_folder(folder: &Path, files: &CaseFiles, home: &Path) -> anyhow::Result<()> {
    check_new(folder)?;
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let context = || format!("{}: nothing was written", folder.display());
    fs::create_dir_all(parent).with_context(context)?;
    let (path, ()) = create_unique(parent, ".trace-", |path| fs::create_dir(path)).with_context(context)?;
    let unfinished = Unfinished(path);
    for (name, bytes) in &files.files {
        let path = unfinished.0.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(context)?;
        }
        fs::write(&path, bytes).with_context(context)?;
    }
    for name in &files.linked {
        let path = unfinished.0.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(context)?;
        }
        let source = home.join(name);
        let linked = fs::hard_link(&source, &path).or_else(|_| fs::copy(&source, &path).map(drop));
        linked.with_context(|| format!("{}: external data {name}", folder.display()))?;
    }
    if folder.exists() {
        fs::remove_dir(folder).with_context(context)?;
    }
    fs::rename(&unfinished.0, folder).with_context(context)
}

/// A folder that is not in place yet. It is removed unless it was renamed.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After the renaming there is nothing to remove. If it cannot be removed, there is no remedy.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_appears_when_it_is_complete() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("w.bin"), b"weights").unwrap();
        let out = home.path().join("a/case");
        let files = vec![("model.onnx".to_owned(), vec![1]), ("test_data_set_0/input_0.pb".to_owned(), vec![2])];
        let linked = CaseFiles { files: files.clone(), linked: vec!["w.bin".to_owned()] };
        write_folder(&out, &linked, home.path()).unwrap();
        assert_eq!(names(&out), ["model.onnx", "test_data_set_0", "w.bin"]);
        assert_eq!(
            (names(&home.path().join("a")), fs::read(out.join("w.bin")).unwrap()),
            (vec!["case".to_owned()], b"weights".to_vec())
        );
        assert!(check_new(&out).unwrap_err().to_string().contains("is not empty"));

        let missing = CaseFiles { files, linked: vec!["none.bin".to_owned()] };
        let error = write_folder(&home.path().join("b"), &missing, home.path()).unwrap_err().to_string();
        assert!(error.contains("none.bin"), "{error}");
        assert_eq!(names(home.path()), ["a", "w.bin"]);
    }
}
