//! No circular dependencies between files: shared code belongs in a third file.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::files::File;
use crate::tidy::finding::Finding;
use crate::tidy::paths::{is_word, whole};

/// Source folders of the checked crates.
const CRATES: [&str; 11] = [
    "src",
    "crates/reference/src",
    "crates/check/src",
    "crates/subject/src",
    "crates/cases/src",
    "crates/harness/src",
    "crates/report/src",
    "crates/faults/src",
    "crates/fuzz-targets/src",
    "crates/browser/src",
    "xtask/src",
];

/// Allowed circles, each with the path prefixes of its files and the reason.
const KNOWN: &[(&[&str], &str)] = &[
    (&["crates/reference/src/model/text/"], "a grammar: an attribute holds a graph, whose nodes hold attributes"),
    (
        &["crates/reference/src/proto/node.rs", "crates/reference/src/proto/onnx.rs"],
        "messages: a node, which is written by hand, holds attributes, whose graphs hold nodes",
    ),
];

/// The files of a crate and their dependencies.
struct Graph<'a> {
    root: &'static str,
    files: BTreeMap<&'a str, &'a File>,
}

/// Files used by each file.
type Edges<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Reports circles that are not allowed, and allowed ones that no longer exist.
pub(crate) fn check(files: &[File], findings: &mut Vec<Finding>) {
    let found: Vec<Vec<&str>> = CRATES.iter().flat_map(|root| circles(&Graph::new(root, files).edges())).collect();
    for circle in &found {
        if !KNOWN.iter().any(|(known, _)| is_of(circle, known)) {
            let rule = format!("a circle of files: {}", circle.join(", "));
            let fix = "move what they share to a file that uses neither, or list the circle with its reason in KNOWN in \
                       xtask/src/tidy/circles.rs";
            findings.push(Finding::new(circle[0], 1, rule, fix));
        }
    }
    for (known, _) in KNOWN.iter().filter(|(known, _)| !found.iter().any(|circle| is_of(circle, known))) {
        let rule = format!("there is no such circle of files: {}", known.join(", "));
        findings.push(Finding::new("xtask/src/tidy/circles.rs", 1, rule, "remove it from KNOWN, or correct its files"));
    }
}

/// Returns true if all files of a circle are below the given ones.
fn is_of(circle: &[&str], known: &[&str]) -> bool {
    circle.iter().all(|file| known.iter().any(|known| file.starts_with(known)))
}

impl<'a> Graph<'a> {
    fn new(root: &'static str, files: &'a [File]) -> Graph<'a> {
        let is_here = |file: &&File| file.path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        let files = files.iter().filter(|file| file.is_rust() && !file.is_test).filter(is_here);
        Graph { root, files: files.map(|file| (file.path.as_str(), file)).collect() }
    }

    /// Returns the files that each file uses, other than those that declare it or its parent modules.
    fn edges(&self) -> Edges<'a> {
        let used = |file: &'a File| {
            let own = self.module(&file.path);
            let mut used: BTreeSet<&'a str> = BTreeSet::new();
            for (path, _) in whole(file.production(), "crate::") {
                used.extend(self.resolve(&path));
            }
            for depth in 1..=own.len() {
                for (path, _) in whole(file.production(), &"super::".repeat(depth)) {
                    let path: Vec<&str> = own[..own.len() - depth].iter().copied().chain(path).collect();
                    used.extend(self.resolve(&path));
                }
            }
            used.retain(|path| *path != file.path && !declares(path, &file.path));
            used
        };
        self.files.iter().map(|(path, file)| (*path, used(file))).collect()
    }

    /// Returns the module path of a file, from the crate's root.
    fn module(&self, path: &'a str) -> Vec<&'a str> {
        let inside = path[self.root.len() + 1..].trim_end_matches(".rs");
        let inside = inside.strip_suffix("/mod").unwrap_or(inside);
        if ["lib", "main", "mod"].contains(&inside) { Vec::new() } else { inside.split('/').collect() }
    }

    /// Returns the file that defines a path: the innermost module's file, or the file that the module re-exports it from.
    fn resolve(&self, path: &[&str]) -> Option<&'a str> {
        let mut path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        for _ in 0..path.len() + 8 {
            let (depth, file) = (0..=path.len()).rev().find_map(|depth| Some((depth, self.file(&path[..depth])?)))?;
            let exported = path.get(depth).and_then(|name| exported(file, name));
            let Some(exported) = exported else { return Some(&file.path) };
            path.splice(depth..=depth, exported);
        }
        None
    }

    /// Returns the file of a module.
    fn file(&self, module: &[String]) -> Option<&'a File> {
        let folder = [&[self.root.to_owned()], module].concat().join("/");
        let candidates = match module {
            [] => [format!("{folder}/lib.rs"), format!("{folder}/main.rs")],
            _ => [format!("{folder}.rs"), format!("{folder}/mod.rs")],
        };
        candidates.iter().find_map(|path| self.files.get(path.as_str()).copied())
    }
}

/// Returns true if a file declares parent modules of another, as `a/mod.rs` and `lib.rs` do for `a/b.rs`.
fn declares(path: &str, other: &str) -> bool {
    let folder = path.strip_suffix("mod.rs").or(path.strip_suffix("lib.rs")).or(path.strip_suffix("main.rs"));
    folder.is_some_and(|folder| other.starts_with(folder))
}

/// Returns the path under which a module re-exports a name, relative to the module.
fn exported(file: &File, name: &str) -> Option<Vec<String>> {
    let code = file.production();
    ["pub use ", "pub(crate) use ", "pub(super) use "].iter().find_map(|prefix| {
        let paths = whole(code, prefix).into_iter().map(|(path, _)| path);
        let mut paths = paths.filter(|path| path.last() == Some(&name) && path.len() > 1);
        let path = paths.find(|path| !["crate", "super"].contains(&path[0]))?;
        let path = path.into_iter().filter(|part| *part != "self" && part.chars().all(is_word));
        Some(path.map(str::to_owned).collect())
    })
}

/// Returns the groups of files that reach each other (strongly connected components).
fn circles<'a>(edges: &Edges<'a>) -> Vec<Vec<&'a str>> {
    let reached = |from: &'a str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(file) = next.pop() {
            next.extend(edges.get(file).into_iter().flatten().filter(|used| seen.insert(**used)));
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|file| (*file, reached(file))).collect();
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|seen| seen.contains(to));
    let on_circle = reached.keys().filter(|file| reaches(file, file));
    let groups: BTreeSet<Vec<&str>> = on_circle
        .map(|file| edges.keys().copied().filter(|other| reaches(file, other) && reaches(other, file)).collect())
        .collect();
    groups.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files: Vec<File> = files.iter().map(|(path, text)| File::new(path, text)).collect();
        let circles = circles(&Graph::new("src", &files).edges());
        circles.into_iter().map(|circle| circle.into_iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let both = ["src/a/b.rs", "src/c.rs"];
        let direct = [("src/a/b.rs", "use crate::c::D;\n"), ("src/c.rs", "fn f() { crate::a::b::g(); }\n")];
        assert_eq!(found(&direct), [both]);
        let exported = [
            ("src/a/mod.rs", "mod b;\npub use b::{E, F};\n"),
            ("src/a/b.rs", "use crate::c::D;\n"),
            ("src/c.rs", "use crate::a::F;\n"),
        ];
        assert_eq!(found(&exported), [both]);
        let siblings = [("src/a/b.rs", "use super::c::D;\n"), ("src/a/c.rs", "use super::b::D;\n")];
        assert_eq!(found(&siblings), [["src/a/b.rs", "src/a/c.rs"]]);
    }

    #[test]
    fn a_file_and_what_declares_it_are_no_circle() {
        let files = [
            ("src/lib.rs", "pub mod a;\npub use crate::a::b::C;\n"),
            ("src/a/mod.rs", "pub mod b;\nuse crate::a::b::TABLE;\n"),
            ("src/a/b.rs", "use crate::a::d;\nuse crate::C;\n"),
            ("src/c.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::b::C;\n}\n"),
        ];
        assert_eq!(found(&files), Vec::<Vec<String>>::new());
    }
}
