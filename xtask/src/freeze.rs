//! `cargo xtask freeze`: writes the list of cases of the suite's version, which later versions are compared with.

use std::fs;
use std::io::Write as _;

use anyhow::{Context as _, Result, bail};
use lzma_rust2::{LzmaOptions, LzmaWriter};
use onnx_conformance_cases::suite::{SUITE_VERSION, Suite};
use onnx_conformance_harness::promises::{Changes, FrozenList, Kind, Renames};

use crate::workspace;

/// Writes `profiles/<version>.lzma`. A list that exists is never replaced by another.
pub(crate) fn main() -> Result<()> {
    let list = FrozenList::new(&Suite::open(&workspace::root().join("testdata"))?)?;
    if FrozenList::versions().any(|version| version == SUITE_VERSION) {
        let changes = Changes::between(&FrozenList::embedded(SUITE_VERSION)?, &list, Renames::embedded());
        let counts = Kind::ALL.into_iter().filter(|kind| changes.count(*kind) > 0);
        let first = |kind| changes.cases.get(&kind).and_then(|ids| ids.first()).map_or("", String::as_str);
        let counts: Vec<String> =
            counts.map(|kind| format!("{} {kind}, such as {}", changes.count(kind), first(kind))).collect();
        if !counts.is_empty() {
            bail!(
                "profiles/{SUITE_VERSION}.lzma is frozen, but cases differ: {}. Raise SUITE_VERSION in \
                 crates/cases/src/suite/version.rs, or undo the changes",
                counts.join("; ")
            );
        }
        anstream::println!("suite {SUITE_VERSION} is frozen, and no case differs");
        return Ok(());
    }
    let path = workspace::root().join(format!("profiles/{SUITE_VERSION}.lzma"));
    let mut encoder = LzmaWriter::new_use_header(Vec::new(), &LzmaOptions::with_preset(9), None)?;
    encoder.write_all(list.to_text().as_bytes())?;
    fs::write(&path, encoder.finish()?).with_context(|| format!("cannot write {}", path.display()))?;
    anstream::println!("wrote {}: {} cases", path.display(), list.cases.len());
    Ok(())
}
