//! Embeds the text of every record of cases under `records/`, as a table sorted by operator; nothing is parsed here.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("records");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for domain in fs::read_dir(&root)? {
        for file in fs::read_dir(domain?.path())? {
            files.push(file?.path());
        }
    }
    let mut rows = Vec::new();
    for file in &files {
        let operator = file.with_extension("");
        let operator = operator.strip_prefix(&root)?.to_str().ok_or("a name is not UTF-8")?.replace('\\', "/");
        let path = file.to_str().ok_or("the path of records/ is not UTF-8")?;
        rows.push(format!("    ({operator:?}, include_str!({path:?})),\n"));
    }
    // By the text of the operator, by which it is looked up: paths themselves order ai.onnx/Abs before ai.onnx.ml.
    rows.sort();
    let table = format!("&[\n{}]\n", rows.concat());
    fs::write(Path::new(&env::var("OUT_DIR")?).join("records.rs"), table)?;
    Ok(())
}
