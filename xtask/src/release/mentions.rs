//! Places that name a release, which a person has to read.

use anyhow::Result;

use super::section::Section;
use crate::tidy::files::{self, File, has_extension};
use crate::workspace;

/// Lists the lines of documents and of code that name a release.
pub(super) fn section(release: &str) -> Result<Section> {
    let files = files::read(workspace::root())?;
    let minor = release.rsplit_once('.').map_or(release, |(minor, _)| minor);
    let lines = files.iter().filter(|file| is_read(file)).filter_map(|file| {
        let named = lines(&file.text, release, minor);
        (!named.is_empty()).then(|| format!("{}: {}", file.path, named.join(", ")))
    });
    let advice = "Correct those that are about the newest release, and the counts beside them.";
    Ok(Section::new("documents and examples that name the release before", advice, lines.collect()))
}

/// Returns true for a file that people write and read.
fn is_read(file: &File) -> bool {
    let is_text = ["md", "rs", "py"].iter().any(|extension| has_extension(&file.path, extension));
    is_text && !file.is_generated() && !file.path.starts_with("specs/") && !file.path.starts_with("testdata/")
}

/// Returns the numbers of the lines that name a release, or ONNX with its first two numbers.
fn lines(text: &str, release: &str, minor: &str) -> Vec<String> {
    let minor = format!("ONNX {minor} ");
    let named = |line: &str| line.contains(release) || line.contains(&minor);
    text.lines().enumerate().filter(|(_, line)| named(line)).map(|(at, _)| (at + 1).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_the_release() {
        assert_eq!(lines("ONNX 9.1.0\nONNX 9.1 has\nONNX 9.10 has\nonnx==9.1.0\n", "9.1.0", "9.1"), ["1", "2", "4"]);
    }
}
