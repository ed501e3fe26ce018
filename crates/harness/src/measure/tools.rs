//! The embedded measurements of tools, without their entries.

use std::io::Read as _;
use std::sync::OnceLock;

use lzma_rust2::LzmaReader;

use crate::expectations::{ExpectationError, Expectations, HeaderFault, version_key};
use crate::measure::digests::MeasuredDigests;

/// The part of each file before its entries, and its digests, as one compressed text.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tools.lzma"));

/// First line of each file in the text.
const SEPARATOR: &str = "---\n";

/// First line of the digests of a file.
const DIGESTS: &str = "+++\n";

/// The measurement of a version of a tool.
#[derive(Debug)]
struct MeasuredTool {
    file: Expectations,
    digests: Option<MeasuredDigests>,
}

/// Returns the measurements of tools, sorted by tool, then by version. They have no entries.
pub fn measured_tools() -> Result<&'static [Expectations], ExpectationError> {
    static FILES: OnceLock<Vec<Expectations>> = OnceLock::new();
    if let Some(files) = FILES.get() {
        return Ok(files);
    }
    let files: Vec<Expectations> = all()?.iter().map(|tool| tool.file.clone()).collect();
    Ok(FILES.get_or_init(|| files))
}

/// Returns the digests of the cases that were sent to a version of a tool; `None` if its measurement has none.
pub fn tool_digests(file: &Expectations) -> Result<Option<&'static MeasuredDigests>, ExpectationError> {
    let is_same = |tool: &&MeasuredTool| (&tool.file.runtime, &tool.file.version) == (&file.runtime, &file.version);
    Ok(all()?.iter().find(is_same).and_then(|tool| tool.digests.as_ref()))
}

fn all() -> Result<&'static [MeasuredTool], ExpectationError> {
    static ALL: OnceLock<Vec<MeasuredTool>> = OnceLock::new();
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
    let mut all: Vec<MeasuredTool> = files.map(|text| read(path, text)).collect::<Result<_, _>>()?;
    all.sort_by_key(|MeasuredTool { file, .. }| {
        (file.runtime.clone(), version_key(file.version.as_deref().unwrap_or_default()))
    });
    Ok(ALL.get_or_init(|| all))
}

fn read(path: &str, text: &str) -> Result<MeasuredTool, ExpectationError> {
    let (head, digests) = text.split_once(DIGESTS).map_or((text, None), |(head, digests)| (head, Some(digests)));
    Ok(MeasuredTool { file: Expectations::parse(path, head)?, digests: digests.map(MeasuredDigests::parse) })
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

    #[test]
    fn digests_follow_their_file() {
        let head = "runtime: a\nversion: \"1\"\nanswers:\n  check: {pass: 1}\n";
        assert_eq!(read("a", head).unwrap().digests, None);
        let with = read("a", &format!("{head}+++\nai.onnx/Abs-13 0123456789abcdef\n")).unwrap();
        assert_eq!(with.file, Expectations::parse("a", head).unwrap());
        assert_eq!(with.digests, Some(MeasuredDigests::parse("ai.onnx/Abs-13 0123456789abcdef\n")));
    }
}
