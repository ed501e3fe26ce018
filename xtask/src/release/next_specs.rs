//! `specs/next`: operator versions of the next release of ONNX, which the feature `next` embeds. Their tests, and the move to
//! `specs` when the release is imported.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use onnx_conformance_reference::spec::{OpSpec, OperatorVersion, TextFacts, Texts, case_file, yaml};
use walkdir::WalkDir;

use super::section::Section;
use crate::import_specs::Dump;
use crate::workspace::{self, NEXT};

const TEXTS: &str = "texts.yaml";

/// Runs the tests of these operator versions, and clippy, in a build with the feature. `cargo test` does not have it.
pub(crate) fn test() -> Result<()> {
    let versions = versions()?;
    let Some(first) = versions.first() else {
        anstream::println!("specs/{NEXT} has no operator version; nothing to test");
        return Ok(());
    };
    anstream::println!("{} operator versions, from {}", versions.len(), first.qualified());
    let warnings = ["--", "-D", "warnings"];
    cargo(&["clippy", "--workspace", "--all-targets", "--features", "onnx-conformance/next"], &warnings)?;
    cargo(&["test", "--package", "onnx-conformance-reference", "--features", "next", "--lib"], &[])?;
    cargo(&["test", "--package", "onnx-conformance-cases", "--features", "next", "--lib"], &[])?;
    let names: Vec<String> = versions.iter().map(OperatorVersion::qualified).collect();
    let names: Vec<&str> = std::iter::once("--").chain(names.iter().map(String::as_str)).collect();
    cargo(&["test", "--features", "next", "--test", "conformance"], &names)?;
    for operator in operators(&versions) {
        let mut test = Command::new("cargo");
        test.args(["test", "--features", "next", "--test", "suite"]).env("SUITE_ONLY", operator);
        run(&mut test)?;
    }
    Ok(())
}

fn cargo(arguments: &[&str], more: &[&str]) -> Result<()> {
    run(Command::new("cargo").args(arguments).args(more))
}

fn run(command: &mut Command) -> Result<()> {
    let status =
        command.current_dir(workspace::root()).status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// Returns the operator versions, by name.
pub(super) fn versions() -> Result<Vec<OperatorVersion>> {
    let version = |path: &String| {
        let (operator, file) = path.rsplit_once('/')?;
        let (domain, name) = operator.split_once('/')?;
        Some(OperatorVersion::new(domain, name, file.strip_suffix(".yaml")?.parse().ok()?))
    };
    Ok(paths()?.iter().filter_map(version).collect())
}

fn operators(versions: &[OperatorVersion]) -> BTreeSet<String> {
    versions.iter().map(|version| format!("{}/{}", version.domain, version.name)).collect()
}

/// Operator versions of the folder, as it has them.
pub(super) struct Prepared {
    specs: Vec<OpSpec>,
    texts: Texts,
}

impl Prepared {
    pub(super) fn read() -> Result<Prepared> {
        let read = |path: &str| -> Result<String> {
            let path = root().join(NEXT).join(path);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let mut prepared = Prepared { specs: Vec::new(), texts: Texts::default() };
        for version in versions()? {
            let path = format!("{}/{}/{}.yaml", version.domain, version.name, version.since);
            prepared.specs.push(yaml::read(&format!("specs/{NEXT}/{path}"), &read(&path)?)?);
        }
        if !prepared.specs.is_empty() {
            prepared.texts = yaml::read(&format!("specs/{NEXT}/{TEXTS}"), &read(TEXTS)?)?;
        }
        Ok(prepared)
    }

    /// Compares an operator version of a package, and the facts about its text, with the folder. `None` if the folder does
    /// not have it.
    pub(super) fn state(&self, schema: &OpSpec, text: Option<&TextFacts>) -> Option<String> {
        let prepared = self.specs.iter().find(|spec| spec.version == schema.version)?;
        let has_text = self.texts.get(&schema.version) == text;
        Some(match (prepared == schema, has_text) {
            (true, true) => format!("in specs/{NEXT}"),
            (false, _) => format!("in specs/{NEXT} with another signature; correct it, op.yaml and the kernel"),
            (true, false) => {
                format!("in specs/{NEXT} with another text; judge its changes, then correct specs/{NEXT}/{TEXTS}")
            }
        })
    }
}

/// Returns the files below the folder by their paths relative to it, sorted; none if the folder is missing.
fn paths() -> Result<Vec<String>> {
    let folder = workspace::root().join("specs").join(NEXT);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in WalkDir::new(&folder).sort_by_file_name() {
        let entry = entry?;
        if entry.file_type().is_file() {
            paths.push(entry.path().strip_prefix(&folder)?.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(paths)
}

/// Moves the cases of the operators that a package has all versions of to `specs`, where the package's version files
/// are written. If all are there, also removes the folder, and the attributes that make their kernels depend on the
/// feature.
pub(super) fn take(dump: &Dump) -> Result<Section> {
    let (versions, paths) = (versions()?, paths()?);
    let is_missing = |version: &&OperatorVersion| !dump.schemas.iter().any(|schema| schema.version == **version);
    let missing: Vec<OperatorVersion> = versions.iter().filter(is_missing).cloned().collect();
    let stay = operators(&missing);
    let mut lines = Vec::new();
    for operator in operators(&versions).difference(&stay) {
        for path in paths.iter().filter(|path| path.starts_with(&format!("{operator}/"))) {
            let (from, to) = (root().join(NEXT).join(path), root().join(path));
            if case_file(path).is_some() {
                move_file(&from, &to)?;
                anstream::println!("moved specs/{NEXT}/{path} to specs/{path}");
            } else {
                fs::remove_file(&from).with_context(|| from.display().to_string())?;
            }
        }
    }
    lines.extend(missing.iter().map(|version| format!("{}: the package does not have it", version.qualified())));
    if stay.is_empty() && root().join(NEXT).is_dir() {
        fs::remove_dir_all(root().join(NEXT)).with_context(|| format!("cannot remove specs/{NEXT}"))?;
        for path in remove_gates()? {
            anstream::println!("wrote {path}, whose kernels are in every program now");
        }
    }
    let advice = format!("They stay in specs/{NEXT}. Remove the gates `{GATE}` of the others, and their texts there.");
    Ok(Section::new("operator versions of a later release", &advice, lines))
}

/// Attribute of code that only a program with the feature has.
const GATE: &str = "#[cfg(feature = \"next\")]";

/// Removes the attribute from all kernels. Returns the paths of the files.
fn remove_gates() -> Result<Vec<String>> {
    let mut changed = Vec::new();
    for entry in WalkDir::new(workspace::root().join("crates/reference/src/kernels")).sort_by_file_name() {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(entry.path())?;
            let without = without_gates(&text);
            if without != text {
                fs::write(entry.path(), without).with_context(|| entry.path().display().to_string())?;
                changed.push(entry.path().strip_prefix(workspace::root())?.display().to_string());
            }
        }
    }
    Ok(changed)
}

fn without_gates(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| line.trim() != GATE).collect()
}

fn root() -> PathBuf {
    workspace::root().join("specs")
}

fn move_file(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::rename(from, to).with_context(|| format!("cannot move {} to {}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::spec::Specs;

    use super::*;

    #[test]
    fn a_version_of_the_next_release_is_in_no_release() {
        let versions = versions().unwrap();
        let known = versions.iter().filter(|version| Specs::embedded().get(version).is_ok());
        assert_eq!(known.collect::<Vec<_>>(), Vec::<&OperatorVersion>::new(), "move its cases to specs");
        assert!(
            versions
                .iter()
                .all(|version| paths().unwrap().contains(&format!("{}/{}/op.yaml", version.domain, version.name)))
        );
    }

    #[test]
    fn a_changed_text_or_signature_of_a_version_is_noticed() {
        let abs = Specs::embedded().get(&OperatorVersion::new("", "Abs", 13)).unwrap().clone();
        let text = TextFacts { lines: 2, digest: "00000000".to_owned() };
        let texts = Texts { texts: [("ai.onnx/Abs-13".to_owned(), text.clone())].into() };
        let prepared = Prepared { specs: vec![abs.clone()], texts };
        assert_eq!(prepared.state(&abs, Some(&text)).unwrap(), "in specs/next");
        assert!(prepared.state(&abs, None).unwrap().starts_with("in specs/next with another text; "));
        let other = OpSpec { deprecated: true, ..abs.clone() };
        assert!(prepared.state(&other, Some(&text)).unwrap().starts_with("in specs/next with another signature; "));
        assert_eq!(Prepared { specs: Vec::new(), texts: Texts::default() }.state(&abs, Some(&text)), None);
    }

    #[test]
    fn a_gate_is_a_line() {
        let text = format!("{GATE}\nmod a;\nconst B: &[u8] = &[\n    {GATE}\n    1,\n];\n");
        assert_eq!(without_gates(&text), "mod a;\nconst B: &[u8] = &[\n    1,\n];\n");
    }
}
