//! The embedded measurements of tools, without their entries.

use std::io::Read as _;
use std::sync::OnceLock;

use lzma_rust2::LzmaReader;

use crate::expectations::{ExpectationError, Expectations, HeaderFault, version_key};

/// The part of each file before its entries, as one compressed text.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tools.lzma"));

/// First line of each file in the text.
const SEPARATOR: &str = "---\n";

/// Returns the measurements of tools, sorted by tool, then by version. They have no entries.
pub fn measured_tools() -> Result<&'static [Expectations], ExpectationError> {
    static ALL: OnceLock<Vec<Expectations>> = OnceLock::new();
    if let Some(all) = ALL.get() {
        return Ok(all);
    }
    let path = "expectations/tools";
    let unreadable = |_| ExpectationError::Header {
        path: path.to_owned(),
        fault: HeaderFault::Measurement("is not completely embedded; rebuild the program"),
    };
    let mut text = String::new();
    let mut reader = LzmaReader::new_mem_limit(PACKED, u32::MAX, None).map_err(unreadable)?;
    reader.read_to_string(&mut text).map_err(unreadable)?;
    let files = text.split(SEPARATOR).filter(|text| !text.is_empty());
    let mut all: Vec<Expectations> = files.map(|text| Expectations::parse(path, text)).collect::<Result<_, _>>()?;
    all.sort_by_key(|file| (file.runtime.clone(), version_key(file.version.as_deref().unwrap_or_default())));
    Ok(ALL.get_or_init(|| all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measurement_of_a_tool_answers_a_question() {
        let all = measured_tools().unwrap();
        assert!(all.iter().any(|file| file.runtime == "builtin"), "{:?}", all.len());
        for file in all {
            assert!(file.answers.as_ref().is_some_and(|answers| !answers.is_empty()), "{}", file.runtime);
        }
    }
}
