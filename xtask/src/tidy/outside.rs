//! Crates that reach nothing outside of the process.

use crate::tidy::files::File;
use crate::tidy::finding::Finding;
use crate::tidy::paths::behind;

/// Names of std that reach outside the process.
const OUTSIDE: [&str; 5] = ["env", "fs", "net", "process", "time"];

/// Requires that the reference and the check crate do no I/O, start no process, and read neither environment nor clock.
pub(crate) fn check_io(file: &File, findings: &mut Vec<Finding>) {
    let parts: Vec<&str> = file.path.split('/').collect();
    let ["crates", name @ ("reference" | "check"), "src", ..] = parts.as_slice() else { return };
    for (used, line) in behind(file.production(), "std::") {
        if OUTSIDE.contains(&used) {
            let rule = format!("the {name} crate uses std::{used}");
            findings.push(Finding::new(&file.path, line, rule, "let the harness pass bytes, a trait or a function"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_io(&File::new(path, text), &mut findings);
        findings.iter().map(|finding| format!("{}: {}", finding.line, finding.rule)).collect()
    }

    #[test]
    fn the_reference_crate_reaches_nothing_outside() {
        let code = "use std::{fs, fmt};\nfn now() { std::time::Instant::now(); }\n// std::env\n";
        let rule = "the reference crate uses std";
        assert_eq!(
            findings("crates/reference/src/value.rs", code),
            [format!("1: {rule}::fs"), format!("2: {rule}::time")]
        );
    }
}
