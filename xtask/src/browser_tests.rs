//! Tests of the site in a browser.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::workspace::{self, run};

/// Tests the site that `report` of a program writes in Chromium. Installs missing programs. If that fails, the step prints that it
/// did not run.
pub(crate) fn site(program: &Path) -> Result<()> {
    let home = workspace::root().join("site-tests");
    if let Some(package) = install_browser() {
        anstream::eprintln!(
            "NOT RUN: {package} is missing and apt-get cannot install it; the site was not tested in a browser"
        );
        return Ok(());
    }
    if run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&home)).is_err() {
        anstream::eprintln!(
            "NOT RUN: npm cannot install the packages of site-tests; the site was not tested in a browser"
        );
        return Ok(());
    }
    let mut tests = Command::new("npm");
    tests.arg("test").env("CARGO_TARGET_DIR", workspace::target()).env("ONNX_CONFORMANCE", program);
    let output = tests.current_dir(&home).stderr(Stdio::inherit()).output().context("cannot start npm")?;
    let report = String::from_utf8_lossy(&output.stdout);
    anstream::println!("{report}");
    ensure!(output.status.success(), "the tests of the site: {}", failed_tests(&report).join("; "));
    Ok(())
}

/// Returns the names of the failed tests of a TAP report with the text of their errors, since the other lane's output follows.
fn failed_tests(report: &str) -> Vec<String> {
    let mut failed: Vec<String> = Vec::new();
    let mut lines = report.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some((_, name)) = line.strip_prefix("not ok ").and_then(|rest| rest.split_once(" - ")) {
            let error = lines.by_ref().take_while(|line| *line != "...").skip_while(|line| !line.starts_with("error:"));
            let error: Vec<&str> = error.take_while(|line| !line.starts_with("code:")).collect();
            failed.push(format!("{name}: {}", error.join(" ")));
        }
    }
    failed
}

/// Installs npm and Chromium unless they exist. Returns the package that cannot be installed.
pub(crate) fn install_browser() -> Option<&'static str> {
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let wanted = [("npm", &["npm"][..]), ("chromium", &browsers[..])];
    let missing = wanted.into_iter().filter(|(_, programs)| !programs.iter().any(|it| is_there(it)));
    // The package lists may be old or missing.
    let apt = |arguments: &[&str]| {
        Command::new("apt-get").args(arguments).stdout(Stdio::null()).status().is_ok_and(|it| it.success())
    };
    missing.map(|(package, _)| package).find(|package| {
        let install = ["install", "--yes", "--quiet", package];
        !(apt(&install) || apt(&["update", "--quiet"]) && apt(&install))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_of_the_site_are_named_with_their_errors() {
        let report = "ok 1 - a\n  ---\n  duration_ms: 1\n  ...\nnot ok 2 - b - c\n  ---\n  duration_ms: 2\n  error: |-\n    2 of 3\n  code: 'ERR'\n  ...\n";
        assert_eq!(failed_tests(report), ["b - c: error: |- 2 of 3"]);
        assert!(failed_tests("ok 1 - a\n").is_empty());
    }
}
