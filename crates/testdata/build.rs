//! Embeds the files of this crate's releases by their paths below `testdata/onnx`, as a sorted table. A text is compressed,
//! because its lines are similar, and has the suffix `.z`: `1.10.0/index.txt.z`.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// True for releases since ONNX 1.10; `onnx-conformance-testdata-old` has the earlier ones.
fn is_part(release: &str) -> bool {
    let minor = release.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= 10)
}

/// True if this crate contains the lists that describe the releases.
const HAS_LISTS: bool = true;

fn main() -> Result<(), Box<dyn Error>> {
    // A published package contains the folder. In a checkout it is a link, and where links are not supported, the original is
    // used.
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let own = package.join("data");
    let root = if own.is_dir() { own } else { package.join("../../testdata/onnx") }.canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let (mut rows, mut releases) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(&root)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("a name is not UTF-8")?.to_owned();
        if path.is_dir() && is_part(&name) {
            let number: Vec<u32> = name.split('.').map(str::parse).collect::<Result<_, _>>()?;
            releases.push((number, name));
            for file in fs::read_dir(&path)? {
                rows.push(row(&root, &file?.path())?);
            }
        } else if HAS_LISTS && path.extension().is_some_and(|extension| extension == "yaml") {
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
