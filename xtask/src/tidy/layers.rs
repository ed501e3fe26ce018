//! Order of modules: each uses only earlier ones.

use crate::tidy::files::File;
use crate::tidy::finding::Finding;
use crate::tidy::paths::{behind, line_of};

/// A crate and its modules in reading order. Each uses only earlier ones.
struct Layers {
    folder: &'static str,
    heading: &'static str,
    modules: &'static [&'static str],
}

const LAYERS: [Layers; 3] = [
    Layers {
        folder: "crates/reference/src/",
        heading: "## The reference crate",
        modules: &["deadline", "dtype", "types", "tensor", "value", "proto", "spec", "model", "kernels", "executor"],
    },
    Layers {
        folder: "crates/check/src/",
        heading: "## The check crate",
        modules: &[
            "limits", "shorten", "bounded", "rules", "facts", "finding", "findings", "scan", "infer", "settings",
            "validity", "convert",
        ],
    },
    Layers {
        folder: "src/",
        heading: "## The harness",
        modules: &[
            "whole_file",
            "run_folder",
            "compare",
            "case",
            "generate",
            "hostile",
            "suite",
            "runtime",
            "run",
            "expectations",
            "measure",
            "evidence",
            "findings",
            "models",
            "report",
            "cli",
            "harness",
        ],
    },
];

/// Names of std that reach outside the process.
const OUTSIDE: [&str; 5] = ["env", "fs", "net", "process", "time"];

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Requires that a module uses only earlier ones.
pub(crate) fn check_order(file: &File, findings: &mut Vec<Finding>) {
    let Some((layers, path)) = LAYERS.iter().find_map(|layers| Some((layers, file.path.strip_prefix(layers.folder)?)))
    else {
        return;
    };
    let module = path.split(['/', '.']).next().unwrap_or(path);
    if file.is_test || file.is_generated() || ["lib", "main"].contains(&module) {
        return;
    }
    let place = |name: &str| layers.modules.iter().position(|module| *module == name);
    let Some(own) = place(module) else {
        let rule = format!("the module `{module}` has no place in the order of modules");
        let fix = format!("put it into {ARCHITECTURE} and into LAYERS in xtask/src/tidy/layers.rs");
        return findings.push(Finding::new(&file.path, 1, rule, fix));
    };
    for (used, line) in used_modules(path, file.production()).into_iter().filter(|(used, _)| !used.is_empty()) {
        if place(used).is_none_or(|used| used > own) {
            let rule = format!("`{module}` uses `{used}`, which does not stand above it in {ARCHITECTURE}");
            findings.push(Finding::new(&file.path, line, rule, "move what both need to the module above"));
        }
    }
}

/// Returns the root modules that code names, through `crate` or `super`.
fn used_modules<'a>(path: &str, code: &'a str) -> Vec<(&'a str, usize)> {
    let is_folder = path.ends_with("/mod.rs");
    let depth = path.split('/').count() - usize::from(is_folder);
    let climb = "super::".repeat(depth);
    [behind(code, "crate::"), behind(code, &climb)].concat()
}

/// Requires that the reference and the check crate do no I/O, start no process, and read neither environment nor clock.
pub(crate) fn check_io(file: &File, findings: &mut Vec<Finding>) {
    let parts: Vec<&str> = file.path.split('/').collect();
    let ["crates", name @ ("reference" | "check"), "src", ..] = parts.as_slice() else { return };
    for (used, line) in behind(file.production(), "std::") {
        if OUTSIDE.contains(&used) {
            let rule = format!("the {name} crate uses std::{used}");
            findings.push(Finding::new(&file.path, line, rule, "let the harness hand in bytes, a trait or a function"));
        }
    }
}

/// Requires that the tables of the document have the checked order.
pub(crate) fn check_architecture(files: &[File], findings: &mut Vec<Finding>) {
    let text = files.iter().find(|file| file.path == ARCHITECTURE).map_or("", |file| &file.text);
    for layers in &LAYERS {
        let (line, modules) = table(text, layers.heading);
        if modules != layers.modules {
            let rule = format!("the table lists {modules:?}, but {:?} is what is checked", layers.modules);
            let fix = "make the table and LAYERS in xtask/src/tidy/layers.rs the same";
            findings.push(Finding::new(ARCHITECTURE, line, rule, fix));
        }
    }
}

/// Returns the line of a heading, and the names in the first column of the first table below it.
fn table<'a>(text: &'a str, heading: &str) -> (usize, Vec<&'a str>) {
    let Some(start) = text.find(heading) else { return (1, Vec::new()) };
    let rows = text[start..].lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    (line_of(text, start), rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        let file = File::new(path, text);
        check_order(&file, &mut findings);
        check_io(&file, &mut findings);
        findings.iter().map(|finding| format!("{}: {}", finding.line, finding.rule)).collect()
    }

    #[test]
    fn a_module_may_use_what_stands_above_it() {
        assert!(findings("src/run/judge.rs", "use crate::{case::Case, compare};\nuse super::Outcome;\n").is_empty());
        assert!(findings("src/lib.rs", "pub use crate::cli::main;\n").is_empty());
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::executor::run;\n}\n";
        assert!(findings("crates/reference/src/tensor/sum.rs", tests).is_empty());
    }

    #[test]
    fn a_module_may_not_use_what_stands_below_it() {
        let below = "`case` uses `run`, which does not stand above it in ARCHITECTURE.md";
        assert_eq!(findings("src/case/mod.rs", "\nuse crate::run::judge;\n"), [format!("2: {below}")]);
        assert_eq!(findings("src/case/mod.rs", "use super::run::judge;\n"), [format!("1: {below}")]);
        assert_eq!(findings("src/case/folder.rs", "use super::super::run::judge;\n"), [format!("1: {below}")]);
        assert_eq!(findings("src/new.rs", ""), ["1: the module `new` has no place in the order of modules"]);
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
