//! Features of libraries: each is built once, for `cargo xtask` and for `cargo test`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::tidy::finding::Finding;

/// The file that asks for features which only other parts of the workspace need.
const PLACE: &str = "xtask/Cargo.toml";

/// Sets of features of each library: one, or another one where build scripts use it with other features.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Requires that tests of the workspace use each library with the features that the tasks use it with. Otherwise cargo builds the
/// library twice, and everything that depends on it.
pub(crate) fn check_features(root: &Path, findings: &mut Vec<Finding>) -> Result<()> {
    let of_tasks = features(&tree(root, &["-p", "xtask", "-e", "normal,build"])?);
    let of_tests = features(&tree(root, &["-e", "normal,build,dev"])?);
    findings.extend(built_twice(&of_tasks, &of_tests));
    Ok(())
}

fn built_twice(of_tasks: &Features, of_tests: &Features) -> Vec<Finding> {
    let of_both = of_tasks.iter().filter_map(|(library, tasks)| Some((library, tasks, of_tests.get(library)?)));
    let different = of_both.filter_map(|(library, tasks, tests)| Some((library, tests.difference(tasks).next()?)));
    let finding = |(library, features): (&String, &String)| {
        let rule = format!("`cargo test` builds {library} again, with the features '{features}'");
        Finding::new(PLACE, 1, rule, "ask for these features there, too")
    };
    different.map(finding).collect()
}

/// Returns cargo's list of dependencies, with their features.
fn tree(root: &Path, arguments: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let list = ["tree", "--locked", "--offline", "--quiet", "--prefix", "none", "--format", "{p}|{f}"];
    let mut command = Command::new(cargo);
    let output = command.args(list).args(arguments).current_dir(root).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "`cargo tree`: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Reads the lines `name version|features`. After the version there may be a path, or the mark of a repeated line.
fn features(tree: &str) -> Features {
    let mut features = Features::new();
    for (package, rest) in tree.lines().filter_map(|line| line.split_once('|')) {
        let library = package.split(' ').take(2).collect::<Vec<_>>().join(" ");
        features.entry(library).or_default().insert(rest.trim_end_matches(" (*)").to_owned());
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_with_more_features_in_tests_is_found() {
        let of_tasks = features("a v1.0.0|default\nb v2.0.0 (/b)|\nb v2.0.0 (/b)|std (*)\n");
        assert_eq!(built_twice(&of_tasks, &features("a v1.0.0|default (*)\nb v2.0.0 (/b)|std\nc v1.0.0|x\n")), []);
        let findings = built_twice(&of_tasks, &features("a v1.0.0|default,std\nb v2.0.0 (/b)|\n"));
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            ["xtask/Cargo.toml:1: `cargo test` builds a v1.0.0 again, with the features 'default,std'; ask for these \
                 features there, too"]
        );
    }
}
