//! Digests of adapters: a measurement names the adapter that it was made through.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use hmac_sha256::Hash;
use onnx_conformance_subject::AdapterFile;
use walkdir::WalkDir;

use crate::workspace;

/// Stands for the adapter of a measurement that names none.
const UNKNOWN: &str = "unknown";

/// Returns the digest of a runtime's adapter: 16 hexadecimal digits of the SHA-256 of its command, environment and code. Adapters
/// in Python share a package, which counts, too. `manifest` is the folder of the crate of an adapter in Rust.
pub(crate) fn of(runtime: &str, manifest: Option<&str>) -> Result<String> {
    let root = workspace::root();
    let folder = root.join("adapters").join(runtime);
    let path = folder.join("adapter.yaml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let file = AdapterFile::parse(&path.display().to_string(), &text)?;
    let mut code = code(&folder)?;
    match manifest {
        Some(manifest) => code.extend(self::code(&root.join(manifest).join("src"))?),
        None => code.extend(self::code(&root.join("adapters/python"))?),
    }
    let mut hash = Hash::new();
    let mut add = |bytes: &[u8]| {
        // With the lengths, so that no text can pass for two.
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    file.command.iter().for_each(|word| add(word.as_bytes()));
    for (key, value) in &file.env {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    for path in code {
        add(path.strip_prefix(root)?.to_string_lossy().replace('\\', "/").as_bytes());
        add(&fs::read(&path).with_context(|| path.display().to_string())?);
    }
    let [a, b, c, d, e, f, g, h, ..] = hash.finalize();
    Ok(format!("{:016x}", u64::from_be_bytes([a, b, c, d, e, f, g, h])))
}

/// Returns the adapters of a measurement, the current one last. `kept` are those of the kept outcomes, `None` if none is kept.
pub(crate) fn joined(kept: Option<Vec<String>>, current: String) -> Vec<String> {
    let mut adapters = match kept {
        Some(kept) if kept.is_empty() => vec![UNKNOWN.to_owned()],
        kept => kept.unwrap_or_default(),
    };
    adapters.retain(|digest| *digest != current);
    adapters.push(current);
    adapters
}

/// Returns the files in Python and Rust in a folder, sorted by path.
fn code(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let path = entry?.into_path();
        if path.extension().is_some_and(|end| end == "py" || end == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_harness::expectations::{Expectations, with_adapter};

    use super::*;
    use crate::adapters::VersionsFile;

    #[test]
    fn adapters_differ_and_have_a_digest_each() {
        let runtimes = ["onnxruntime", "onnx-reference", "openvino", "rten", "tract"];
        let digests = runtimes.map(|name| {
            let versions = VersionsFile::read(name).unwrap();
            of(name, versions.manifest.as_deref()).unwrap()
        });
        for (index, digest) in digests.iter().enumerate() {
            assert!(digest.len() == 16 && !digests[..index].contains(digest), "{digests:?}");
        }
    }

    #[test]
    fn a_measurement_names_every_adapter_of_its_outcomes_once() {
        let joined = |kept: Option<&[&str]>| {
            joined(kept.map(|kept| kept.iter().map(|&digest| digest.to_owned()).collect()), "c".to_owned())
        };
        assert_eq!(joined(None), ["c"]);
        assert_eq!(joined(Some(&[])), [UNKNOWN, "c"]);
        assert_eq!(joined(Some(&["a", "b"])), ["a", "b", "c"]);
        assert_eq!(joined(Some(&["c"])), ["c"]);
        let text = with_adapter("runtime: a\nversion: 1.2\nexact: true\nexpect: []\n", &joined(Some(&["a"])));
        assert_eq!(Expectations::parse("a.yaml", &text).unwrap().adapter, ["a", "c"]);
        assert_eq!(with_adapter(&text, &joined(None)).matches("adapter: [c]").count(), 1);
    }
}
