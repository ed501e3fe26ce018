//! `cargo xtask fmt-specs`: writes the files of cases below `specs/` in their layout.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use onnx_conformance_reference::spec::case_file;
use walkdir::WalkDir;

use crate::workspace::NEXT;
use crate::{layout, workspace};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fail if a file is not in the layout, and write none
    #[arg(long)]
    check: bool,
}

/// Lays out all files of cases.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let specs = workspace::root().join("specs");
    for path in [files(&specs)?, files(&specs.join(NEXT))?].concat() {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let formatted = format(&text).with_context(|| path.display().to_string())?;
        if formatted == text {
            continue;
        }
        ensure!(!arguments.check, "{}: not in the layout; run `cargo xtask fmt-specs`", path.display());
        fs::write(&path, formatted).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Lists the files of cases below a folder of specs. There are none if the folder is missing.
fn files(specs: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if !specs.is_dir() {
        return Ok(files);
    }
    for entry in WalkDir::new(specs).sort_by_file_name() {
        let entry = entry?;
        let relative = entry.path().strip_prefix(specs)?.to_string_lossy().replace('\\', "/");
        if case_file(&relative).is_some() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// Lays out a file, and proves that the result has the same keys and values.
pub(crate) fn format(text: &str) -> Result<String> {
    let formatted = layout::print(layout::parse(text)?);
    let [before, after]: [serde_yaml::Value; 2] = [serde_yaml::from_str(text)?, serde_yaml::from_str(&formatted)?];
    ensure!(before == after, "the layout would change a value; this is a fault of `cargo xtask fmt-specs`");
    Ok(formatted)
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn scalars_keep_their_spelling() {
        let text = "op: A\nx: [3.4e38, 0x10, .inf, \"1\", 'it''s', \"a\\nb\", -0.0, 1_000]\n";
        let expected = "op: A\nx: [3.4e38, 0x10, .inf, \"1\", \"it's\", \"a\\nb\", -0.0, 1_000]\n";
        assert_eq!(format(text).unwrap(), expected);
        assert_eq!(format(expected).unwrap(), expected);
    }

    #[test]
    fn a_part_that_fits_is_a_line_and_a_case_begins_one() {
        let text = "cases:\n- name: a\n  inputs:\n    x:\n      shape: [2]\nop: A\n";
        assert_eq!(format(text).unwrap(), "op: A\ncases:\n  - {name: a, inputs: {x: {shape: [2]}}}\n");
    }

    #[test]
    fn long_texts_fold_and_long_arrays_wrap() {
        let text = format!("op: A\nnote: {}\nx: [{}1]\n", "word ".repeat(40).trim(), "12345, ".repeat(40));
        let formatted = format(&text).unwrap();
        assert!(formatted.lines().all(|line| line.len() <= 120), "{formatted}");
        assert_eq!(formatted.lines().count(), 7, "{formatted}");
        assert_eq!(format(&formatted).unwrap(), formatted);
    }

    #[test]
    fn what_a_program_would_lose_is_refused_with_its_place() {
        for (text, place) in [
            ("op: A\n# why\nx: 1\n", "line 2, column 1: a comment; put it in `note:`"),
            ("op: A # why\n", "line 1, column 7: a comment; put it in `note:`"),
            ("op: &a A\n", "line 1, column 5: anchors, aliases and tags are not allowed; write the value again"),
            ("op: [\n", "line 2"),
        ] {
            let error = format!("{:#}", format(text).unwrap_err());
            assert!(error.contains(place), "{text}: {error}");
        }
        assert_eq!(format("op: \"a # b\"\n").unwrap(), "op: \"a # b\"\n");
    }
}
