//! Embeds every record of cases by operator, and the data of models that keep it outside themselves; nothing is parsed here.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let home = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let mut records = Vec::new();
    for domain in fs::read_dir(home.join("records"))? {
        let domain = domain?;
        // Beside the folders of domains stand the records of conversions, of wrapped cases and of cases of no operator.
        if domain.file_type()?.is_dir() {
            for file in fs::read_dir(domain.path())? {
                records.push(file?.path());
            }
        }
    }
    write_records(&home.join("records"), &records)?;
    write_wrapped(&home.join("records/wrapped.txt"))?;
    write_others(&home.join("records/others.txt"))?;
    write_profile(&home.join("profiles/pr.txt"))?;
    write_external(&home.join("ir/external"))
}

/// Embeds the records as one compressed text, with a table of where each operator's ends: they are lists of much the same words.
fn write_records(root: &Path, files: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut named = Vec::new();
    for file in files {
        let name = file.strip_prefix(root)?.with_extension("");
        named.push((name.to_str().ok_or("a name is not UTF-8")?.replace('\\', "/"), file));
    }
    // By the text of the name, by which it is looked up: paths themselves order ai.onnx/Abs before ai.onnx.ml.
    named.sort();
    let (mut text, mut rows) = (String::new(), String::new());
    for (name, file) in named {
        text.push_str(&fs::read_to_string(file)?);
        rows = format!("{rows}    ({name:?}, {}),\n", text.len());
    }
    fs::write(out.join("records.z"), compressed(&text)?)?;
    fs::write(out.join("records.rs"), format!("&[\n{rows}]\n"))?;
    Ok(())
}

/// Embeds the record of wrapped cases, compressed. Before it is written for the first time, it is empty.
fn write_wrapped(path: &Path) -> Result<(), Box<dyn Error>> {
    let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("wrapped.z"), compressed(&text)?)?;
    Ok(())
}

/// Embeds the digests of the cases of no operator. Before they are written for the first time, there are none.
fn write_others(path: &Path) -> Result<(), Box<dyn Error>> {
    let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("others.txt"), text)?;
    Ok(())
}

/// Embeds the list of the cases of a profile, compressed.
fn write_profile(path: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("pr.z"), compressed(&fs::read_to_string(path)?)?)?;
    Ok(())
}

fn compressed(text: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// Writes a table of the files of external data.
fn write_external(root: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let mut rows = String::new();
    for name in ["below/more.bin", "weights.bin"] {
        let path = root.join(name);
        let path = path.to_str().ok_or("the path of the project is not UTF-8")?;
        rows = format!("{rows}    ({name:?}, include_bytes!({path:?})),\n");
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("external.rs"), format!("&[\n{rows}]\n"))?;
    Ok(())
}
