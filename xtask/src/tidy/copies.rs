//! Files that are copies of another, since a published package contains no files of others.

use crate::tidy::files::File;
use crate::tidy::finding::Finding;

/// Copies with their originals.
const COPIES: [(&str, &str); 1] = [("crates/testdata-old/build.rs", "crates/testdata/build.rs")];

/// Requires that each copy has the text of its original.
pub(crate) fn check_copies(files: &[File], findings: &mut Vec<Finding>) {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    for (copy, original) in COPIES {
        if text(copy).is_none() || text(copy) != text(original) {
            let rule = format!("the file is not a copy of {original}");
            findings.push(Finding::new(copy, 1, rule, format!("copy {original} to it")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_text_of_its_original() {
        let [(copy, original)] = COPIES;
        let count = |texts: &[(&str, &str)]| {
            let files: Vec<File> = texts.iter().map(|(path, text)| File::new(path, text)).collect();
            let mut findings = Vec::new();
            check_copies(&files, &mut findings);
            findings.len()
        };
        assert_eq!(count(&[(copy, "fn main() {}\n"), (original, "fn main() {}\n")]), 0);
        assert_eq!(count(&[(copy, "fn main() {}\n"), (original, "\n")]), 1);
        assert_eq!(count(&[(original, "\n")]), 1);
        assert_eq!(count(&[]), 1);
    }
}
