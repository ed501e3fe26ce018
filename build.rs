//! Embeds records of cases under `records/` by operator, measurements with their digests, findings files by name, and external
//! data of models, as sorted tables. Nothing is parsed here.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use lzma_rust2::{LzmaOptions, LzmaWriter};

fn main() -> Result<(), Box<dyn Error>> {
    let project = env::var("CARGO_MANIFEST_DIR")?;
    let mut records = Vec::new();
    for domain in fs::read_dir(Path::new(&project).join("records"))? {
        let domain = domain?;
        // The record of conversions is next to the domain folders.
        if domain.file_type()?.is_dir() {
            for file in fs::read_dir(domain.path())? {
                records.push(file?.path());
            }
        }
    }
    write_records(&Path::new(&project).join("records"), &records)?;
    write_measurements(&Path::new(&project).join("expectations"))?;
    let findings = Path::new(&project).join("findings");
    let files = fs::read_dir(&findings)?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    write_table(&findings, &files, Path::to_owned, "findings.rs")?;
    let external = Path::new(&project).join("testdata/ir/external");
    let files = [external.join("weights.bin"), external.join("below").join("more.bin")];
    write_table_of(&external, &files, Path::to_owned, "external.rs", "include_bytes")
}

/// Embeds the records as one compressed text, with a table of the end offset of each operator. The texts are much alike.
fn write_records(root: &Path, files: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut named = Vec::new();
    for file in files {
        let name = file.strip_prefix(root)?.with_extension("");
        named.push((name.to_str().ok_or("a name is not UTF-8")?.replace('\\', "/"), file));
    }
    // Sorted by name, since lookups use the name. Paths would sort ai.onnx/Abs before ai.onnx.ml.
    named.sort();
    let (mut text, mut rows) = (String::new(), String::new());
    for (name, file) in named {
        text.push_str(&fs::read_to_string(file)?);
        rows = format!("{rows}    ({name:?}, {}),\n", text.len());
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    fs::write(out.join("records.z"), encoder.finish()?)?;
    fs::write(out.join("records.rs"), format!("&[\n{rows}]\n"))?;
    Ok(())
}

/// Embeds the measurements and their digests. The files of a runtime are one compressed text, with a table of end offsets, since
/// its versions are much alike.
fn write_measurements(root: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut runtimes = Vec::new();
    for runtime in fs::read_dir(root)? {
        let runtime = runtime?;
        // The folder with the expectations of ONNX's older releases is not a measurement.
        if runtime.file_type()?.is_dir() && runtime.file_name() != "releases" {
            runtimes.push(runtime.path());
        }
    }
    runtimes.sort();
    let mut rows = Vec::new();
    for runtime in runtimes {
        let mut files =
            fs::read_dir(&runtime)?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
        // Files of the same kind are adjacent.
        files.sort_by_key(|path| (path.extension().map(ToOwned::to_owned), path.clone()));
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for path in &files {
            text.extend(fs::read(path)?);
            ends.push(format!("({:?}, {})", own_name(path)?, text.len()));
        }
        let name = own_name(&runtime)?;
        let packed = out.join(format!("{name}.lzma"));
        let mut encoder = LzmaWriter::new_use_header(Vec::new(), &LzmaOptions::with_preset(3), None)?;
        encoder.write_all(&text)?;
        fs::write(&packed, encoder.finish()?)?;
        let packed = packed.to_str().ok_or("the path of the build is not UTF-8")?;
        rows.push(format!("    ({name:?}, &[{}], include_bytes!({packed:?})),\n", ends.join(", ")));
    }
    fs::write(out.join("measurements.rs"), format!("&[\n{}]\n", rows.concat()))?;
    Ok(())
}

fn own_name(path: &Path) -> Result<&str, &'static str> {
    path.file_name().and_then(|name| name.to_str()).ok_or("a name is not UTF-8")
}

fn write_table(
    root: &Path,
    files: &[PathBuf],
    name: impl Fn(&Path) -> PathBuf,
    table: &str,
) -> Result<(), Box<dyn Error>> {
    write_table_of(root, files, name, table, "include_str")
}

/// Writes a table whose rows include the files with this macro.
fn write_table_of(
    root: &Path,
    files: &[PathBuf],
    name: impl Fn(&Path) -> PathBuf,
    table: &str,
    include: &str,
) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let mut rows = Vec::new();
    for file in files {
        let name = name(file);
        let name = name.strip_prefix(root)?.to_str().ok_or("a name is not UTF-8")?.replace('\\', "/");
        let path = file.to_str().ok_or("the path of the project is not UTF-8")?;
        rows.push(format!("    ({name:?}, {include}!({path:?})),\n"));
    }
    // Sorted by name, since lookups use the name. Paths would sort ai.onnx/Abs before ai.onnx.ml.
    rows.sort();
    let text = format!("&[\n{}]\n", rows.concat());
    fs::write(Path::new(&env::var("OUT_DIR")?).join(table), text)?;
    Ok(())
}
