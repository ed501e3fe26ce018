//! Embeds the text of every YAML file under `specs/`, as a table sorted by path; nothing is parsed here.

#[path = "src/spec/case_file.rs"]
pub mod case_file;
#[path = "src/spec/entry.rs"]
mod entry;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use case_file::CaseFileKind;

fn main() -> Result<(), Box<dyn Error>> {
    // A published package contains `specs`. In a checkout it is a link, and where links are not supported, the original is used.
    let package = env::var("CARGO_MANIFEST_DIR")?;
    let package = Path::new(&package);
    let own = package.join("specs");
    let root = if own.is_dir() { own } else { package.join("../../specs") }.canonicalize()?;
    let mut files = Vec::new();
    walk(&root, &mut files)?;
    let mut rows = Vec::new();
    let is_browser = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32");
    for file in &files {
        let relative = file.strip_prefix(&root)?.to_str().ok_or("a path under specs/ is not UTF-8")?.replace('\\', "/");
        let absolute = file.to_str().ok_or("the path of specs/ is not UTF-8")?;
        // The browser build makes no cases. To stay small it has the facts from op.yaml and nothing else.
        match case_file::case_file(&relative).filter(|_| is_browser) {
            Some((_, CaseFileKind::Part)) => {}
            Some((_, CaseFileKind::Main)) => {
                let facts = entry::entries(&fs::read_to_string(file)?, &entry::READ);
                rows.push(format!("    ({relative:?}, {:?}),\n", facts.trim_start()));
            }
            None => rows.push(format!("    ({relative:?}, include_str!({absolute:?})),\n")),
        }
    }
    // Sorts by the text of the path, which is the lookup key: `Path` would order ai.onnx/Abs before ai.onnx.ml.
    rows.sort();
    let table = format!("&[\n{}]\n", rows.concat());
    fs::write(Path::new(&env::var("OUT_DIR")?).join("specs.rs"), table)?;
    Ok(())
}

/// Collects the YAML files below `folder`. Cargo watches each folder, too, because a new file changes only its folder.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            println!("cargo::rerun-if-changed={}", path.display());
            files.push(path);
        }
    }
    Ok(())
}
