//! Embeds every measurement with the digests and the shares of bounds beside it, every file of findings, and every adapter.yaml and versions.yaml by
//! name; nothing is parsed here.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use lzma_rust2::{LzmaOptions, LzmaWriter};

fn main() -> Result<(), Box<dyn Error>> {
    let home = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    write_measurements(&home.join("expectations"))?;
    write_findings(&home.join("findings"), "findings.rs")?;
    write_findings(&home.join("findings/tools"), "tool_faults.rs")?;
    write_tools(&home.join("expectations/tools"))?;
    write_frozen_lists(&home.join("profiles"))?;
    write_adapters(&home.join("adapters"))
}

/// Writes a table of the `adapter.yaml` and the `versions.yaml` of each runtime, sorted by name.
fn write_adapters(root: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let mut rows = Vec::new();
    for folder in fs::read_dir(root)? {
        let folder = folder?.path();
        let file = folder.join("adapter.yaml");
        if file.is_file() {
            let versions = folder.join("versions.yaml");
            let texts = file.to_str().zip(versions.to_str());
            let (file, versions) = texts.ok_or("the path of the project is not UTF-8")?;
            rows.push(format!("    ({:?}, include_str!({file:?}), include_str!({versions:?})),\n", own_name(&folder)?));
        }
    }
    rows.sort();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("adapters.rs"), format!("&[\n{}]\n", rows.concat()))?;
    Ok(())
}

/// Embeds the measurements and the files beside them. The files of a runtime are one compressed text, since those of its versions are much
/// the same. A table has the end of each file.
fn write_measurements(root: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut runtimes = Vec::new();
    for runtime in fs::read_dir(root)? {
        let runtime = runtime?;
        // The folders of what is expected of ONNX's older releases, and of tools, are none.
        let is_other = ["releases", "tools"].iter().any(|name| runtime.file_name() == *name);
        if runtime.file_type()?.is_dir() && !is_other {
            runtimes.push(runtime.path());
        }
    }
    runtimes.sort();
    let mut rows = Vec::new();
    for runtime in runtimes {
        let mut files =
            fs::read_dir(&runtime)?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
        // Files of one kind beside each other.
        files.sort_by_key(|path| (path.extension().map(ToOwned::to_owned), path.clone()));
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for path in &files {
            text.extend(fs::read(path)?);
            ends.push(format!("({:?}, {})", own_name(path)?, text.len()));
        }
        let name = own_name(&runtime)?;
        let packed = out.join(format!("{name}.lzma"));
        fs::write(&packed, compressed(&text)?)?;
        let packed = packed.to_str().ok_or("the path of the build is not UTF-8")?;
        rows.push(format!("    ({name:?}, &[{}], include_bytes!({packed:?})),\n", ends.join(", ")));
    }
    fs::write(out.join("measurements.rs"), format!("&[\n{}]\n", rows.concat()))?;
    Ok(())
}

fn own_name(path: &Path) -> Result<&str, &'static str> {
    path.file_name().and_then(|name| name.to_str()).ok_or("a name is not UTF-8")
}

/// Writes a table of the frozen lists of suite versions, oldest first.
fn write_frozen_lists(root: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let mut rows = Vec::new();
    for file in fs::read_dir(root)? {
        let path = file?.path();
        if let Some(version) = own_name(&path)?.strip_suffix(".lzma") {
            let number = |part: &str| part.parse::<u32>().unwrap_or_default();
            let order: Vec<u32> = version.split('.').map(number).collect();
            let text = path.to_str().ok_or("the path of the project is not UTF-8")?;
            rows.push((order, format!("    ({version:?}, include_bytes!({text:?})),\n")));
        }
    }
    rows.sort();
    let rows: String = rows.into_iter().map(|(_, row)| row).collect();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("frozen_lists.rs"), format!("&[\n{rows}]\n"))?;
    Ok(())
}

/// Writes a table of the files of findings, sorted by name.
fn write_findings(root: &Path, table: &str) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let mut rows = Vec::new();
    for file in fs::read_dir(root)? {
        let path = file?.path();
        // The folder of the faults of tools is none.
        if path.is_dir() {
            continue;
        }
        let text = path.to_str().ok_or("the path of the project is not UTF-8")?;
        rows.push(format!("    ({:?}, include_str!({text:?})),\n", own_name(&path)?));
    }
    rows.sort();
    fs::write(Path::new(&env::var("OUT_DIR")?).join(table), format!("&[\n{}]\n", rows.concat()))?;
    Ok(())
}

/// Embeds what the measurements of tools say before their entries, and their digests, as one compressed text. A gate and xtask read the
/// entries, and they have the files.
fn write_tools(root: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for tool in fs::read_dir(root)? {
        for file in fs::read_dir(tool?.path())? {
            files.push(file?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    files.sort();
    let mut text = String::new();
    for file in files {
        let whole = fs::read_to_string(&file)?;
        let head = whole.split_once("\nexpect:").map_or(whole.as_str(), |(head, _)| head);
        text.extend(["---\n", head, "\n"]);
        let digests = file.with_extension("digests");
        if digests.exists() {
            text.extend(["+++\n", &fs::read_to_string(digests)?]);
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("tools.lzma"), compressed(text.as_bytes())?)?;
    Ok(())
}

/// Compresses a text. Only a published program is worth the time for a small result.
fn compressed(text: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let preset = if env::var("PROFILE")? == "release" { 6 } else { 0 };
    let mut encoder = LzmaWriter::new_use_header(Vec::new(), &LzmaOptions::with_preset(preset), None)?;
    encoder.write_all(text)?;
    Ok(encoder.finish()?)
}
