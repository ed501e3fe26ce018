//! Embeds the files of this crate's releases by their paths below `testdata/onnx`, as a sorted table. A text is compressed,
//! because its lines are similar, and has the suffix `.z`: `1.10.0/index.txt.z`.
//!
//! A package contains its build script, so that `crates/testdata` and `crates/testdata-old` have copies of this text.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Package of the releases before ONNX 1.10. The other package has the later ones, and the lists that describe all releases.
const OLD: &str = "onnx-conformance-testdata-old";

/// Returns true for a release before ONNX 1.10; `None` for another name than that of a release.
fn is_old(release: &str) -> Option<bool> {
    let minor: u32 = release.split('.').nth(1)?.parse().ok()?;
    Some(minor < 10)
}

fn main() -> Result<(), Box<dyn Error>> {
    // A published package contains the folder. In a checkout it is a link, and where links are not supported, the original is
    // used.
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let own = package.join("data");
    let root = if own.is_dir() { own } else { package.join("../../testdata/onnx") }.canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let has_old = env::var("CARGO_PKG_NAME")? == OLD;
    let (mut rows, mut releases) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(&root)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("a name is not UTF-8")?.to_owned();
        if path.is_dir() && is_old(&name) == Some(has_old) {
            let number: Vec<u32> = name.split('.').map(str::parse).collect::<Result<_, _>>()?;
            releases.push((number, name));
            for file in fs::read_dir(&path)? {
                rows.push(row(&root, &file?.path())?);
            }
        } else if !has_old && path.extension().is_some_and(|extension| extension == "yaml") {
            rows.push(row(&root, &path)?);
        }
    }
    let (_, newest) = releases.into_iter().max().ok_or("there is no release")?;
    println!("cargo::rustc-env=NEWEST_RELEASE={newest}");
    // Sorts by the text of the name, which is the lookup key.
    rows.sort();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("files.rs"), format!("&[\n{}]\n", rows.concat()))?;
    Ok(())
}

fn row(root: &Path, file: &Path) -> Result<String, Box<dyn Error>> {
    let name = file.strip_prefix(root)?.to_str().ok_or("a name is not UTF-8")?.replace('\\', "/");
    let path = file.to_str().ok_or("the path of the project is not UTF-8")?;
    if file.extension().is_none_or(|extension| extension != "txt") {
        return Ok(format!("    ({name:?}, include_bytes!({path:?})),\n"));
    }
    let packed = Path::new(&env::var("OUT_DIR")?).join(format!("{}.z", name.replace('/', "-")));
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&fs::read(file)?)?;
    fs::write(&packed, encoder.finish()?)?;
    let packed = packed.to_str().ok_or("the path of the build is not UTF-8")?;
    Ok(format!("    (\"{name}.z\", include_bytes!({packed:?})),\n"))
}
