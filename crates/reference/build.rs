//! Embeds the text of every YAML file under `specs/`, as a table sorted by path; nothing is parsed here. With the feature
//! `next`, the files of `specs/next` are laid over the others.

#[path = "src/spec/case_file.rs"]
pub mod case_file;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    // A published package contains `specs`. In a checkout it is a link, and where links are not supported, the original is used.
    let package = env::var("CARGO_MANIFEST_DIR")?;
    let package = Path::new(&package);
    let own = package.join("specs");
    let root = if own.is_dir() { own } else { package.join("../../specs") }.canonicalize()?;
    let next = root.join(NEXT);
    // By the text of the path, which is the lookup key: `Path` would order ai.onnx/Abs before ai.onnx.ml.
    let mut files = files_below(&root, &next)?;
    let mut of_next = Vec::new();
    if env::var_os("CARGO_FEATURE_NEXT").is_some() && next.is_dir() {
        for (path, file) in files_below(&next, Path::new(""))? {
            // What is a list in both folders keeps both. `Specs::releases` and `Texts::read` join them.
            let path = if path.contains('/') { path } else { format!("{NEXT}/{path}") };
            let is_version = path.split('/').count() == 3 && case_file::case_file(&path).is_none();
            if is_version && files.contains_key(&path) {
                return Err(format!("specs/{NEXT}/{path}: specs/{path} is the same version; remove one").into());
            }
            of_next.push(path.clone());
            files.insert(path, file);
        }
    }
    let mut rows = Vec::new();
    let is_browser = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32");
    for (path, file) in &files {
        let absolute = file.to_str().ok_or("the path of specs/ is not UTF-8")?;
        if !(is_browser && is_unused_in_browsers(path)) {
            rows.push(format!("    ({path:?}, include_str!({absolute:?})),\n"));
        }
    }
    of_next.sort();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("specs.rs"), format!("&[\n{}]\n", rows.concat()))?;
    fs::write(out.join("next.rs"), format!("&{of_next:?}\n"))?;
    for (name, generated) in [("schemas.txt", "sentences.rs"), ("documents.txt", "documents.rs")] {
        let text = root.join("texts").join(name);
        println!("cargo::rerun-if-changed={}", text.display());
        fs::write(out.join(generated), format!("include_str!({:?})\n", text.to_str().ok_or("not UTF-8")?))?;
    }
    Ok(())
}

/// Returns true for a file that the browser build leaves out to stay small. It makes the cases of operators, and no others.
fn is_unused_in_browsers(path: &str) -> bool {
    path.starts_with("graphs/") || path.starts_with("documents/") || path.ends_with("/text.yaml")
}

/// Folder below `specs/` of what a development build of ONNX has beyond the newest release.
const NEXT: &str = "next";

/// Returns the YAML files below a folder, except those below `without`, by their paths relative to it.
fn files_below(root: &Path, without: &Path) -> Result<BTreeMap<String, PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    walk(root, without, &mut files)?;
    let mut by_path = BTreeMap::new();
    for file in files {
        let relative = file.strip_prefix(root)?.to_str().ok_or("a path under specs/ is not UTF-8")?.replace('\\', "/");
        by_path.insert(relative, file);
    }
    Ok(by_path)
}

/// Collects the YAML files below `folder`. Cargo watches each folder, too, because a new file changes only its folder.
fn walk(folder: &Path, without: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path == without {
            continue;
        }
        if path.is_dir() {
            walk(&path, without, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            println!("cargo::rerun-if-changed={}", path.display());
            files.push(path);
        }
    }
    Ok(())
}
