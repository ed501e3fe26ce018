//! `cargo xtask unchanged`: finds the cases that are the same in two exports of the suite, so that older measurements still apply
//! to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use onnx_conformance_cases::case::CaseId;
use onnx_conformance_cases::suite::recorded_digests;
use onnx_conformance_harness::measure::UnchangedLine;
use onnx_conformance_reference::spec::OperatorVersion;
use serde_json::Value;

use crate::workspace;

const HEAD: &str = "# Written by `cargo xtask unchanged`: operator version, the digests of its cases before and after, and the cases that are new or \
                    other\n# after; do not edit.\n";

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder `records` of the checkout that the old suite was exported from
    #[arg(value_name = "RECORDS")]
    records: PathBuf,

    /// Old output of `onnx-conformance export` for the changed operator versions
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// New output of `onnx-conformance export` for them
    #[arg(value_name = "AFTER")]
    after: PathBuf,
}

/// The parts of a case that decide its outcome.
type Essence = String;

/// Writes `records/unchanged.txt`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (old, new) = (essences(&arguments.before)?, essences(&arguments.after)?);
    let before = digests(&arguments.records)?;
    let mut lines = Vec::new();
    for (version, after) in recorded_digests() {
        let Some(before) = before.get(&version.qualified()).filter(|before| *before != after) else { continue };
        let (Some(old), Some(new)) = (old.get(&version), new.get(&version)) else { continue };
        let changed = patterns(old, new);
        // Cases that changed in an earlier step also count as changed since then.
        for known in UnchangedLine::embedded().filter(|line| line.version == version && line.after == *before) {
            let changed: BTreeSet<String> = known.changed.iter().chain(&changed).cloned().collect();
            lines.push(line(&version, &known.before, after, changed.into_iter().collect()));
        }
        lines.push(line(&version, before, after, changed));
    }
    let unchanged =
        |line: &UnchangedLine| recorded_digests().any(|(version, now)| version == line.version && now == line.after);
    lines.extend(UnchangedLine::embedded().filter(unchanged));
    let mut text = HEAD.to_owned();
    let lines: BTreeSet<String> = lines.iter().map(UnchangedLine::to_text).collect();
    for line in &lines {
        text.extend([line, "\n"]);
    }
    let path = workspace::root().join("records/unchanged.txt");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    anstream::println!("{} lines in {}", lines.len(), path.display());
    Ok(())
}

fn line(version: &OperatorVersion, before: &str, after: &str, changed: Vec<String>) -> UnchangedLine {
    UnchangedLine { version: version.clone(), before: before.to_owned(), after: after.to_owned(), changed }
}

/// Returns the digest of each operator version in a folder of records, by name.
fn digests(records: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for domain in fs::read_dir(records).with_context(|| records.display().to_string())? {
        let domain = domain?;
        if !domain.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(domain.path())? {
            let path = file?.path();
            let operator =
                format!("{}/{}", domain.file_name().display(), path.file_stem().unwrap_or_default().display());
            for line in fs::read_to_string(&path)?.lines().skip(2).take_while(|line| !line.is_empty()) {
                if let [since, _, digest] = line.split(' ').collect::<Vec<_>>()[..] {
                    found.insert(format!("{operator}-{since}"), digest.to_owned());
                }
            }
        }
    }
    Ok(found)
}

/// Returns the cases of an export by operator version, with the part of their ids after the version.
fn essences(export: &Path) -> Result<BTreeMap<OperatorVersion, BTreeMap<String, Essence>>> {
    let path = export.join("manifest.jsonl");
    let file = File::open(&path).with_context(|| path.display().to_string())?;
    let mut found: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for line in BufReader::new(file).lines().skip(1) {
        let entry: Value = serde_json::from_str(&line?).with_context(|| path.display().to_string())?;
        let id = entry["id"].as_str().unwrap_or_default();
        if let Some(version) = CaseId::parse(id).version() {
            let rest = id.strip_prefix(&format!("{}/", version.qualified())).unwrap_or(id).to_owned();
            found.entry(version).or_default().insert(rest, essence(&entry));
        }
    }
    Ok(found)
}

/// Returns the relevant parts: files, rules of judgement, and whether the case is judged at all, because open cases are never
/// listed. The sentence of a rule and the evidence are irrelevant.
fn essence(entry: &Value) -> Essence {
    let control = entry.get("refuse").map(|refusal| essence(&refusal["control"]));
    format!("{} {} {} {} {control:?}", entry["sha256"], entry["data"], entry["judged"], entry["level"] == "open")
}

/// Returns patterns for the new or changed cases: a group if all of it is, else the case.
fn patterns(old: &BTreeMap<String, Essence>, new: &BTreeMap<String, Essence>) -> Vec<String> {
    let is_same = |rest: &String| old.get(rest) == new.get(rest);
    let (same, changed): (BTreeSet<&String>, BTreeSet<&String>) = new.keys().partition(|rest| is_same(rest));
    let group_of_changed = |rest: &str| {
        let groups = rest.match_indices('/').map(|(end, _)| &rest[..=end]);
        groups
            .into_iter()
            .find(|group| !same.iter().any(|other| other.starts_with(group)))
            .map(|group| format!("{group}**"))
    };
    let found = changed.into_iter().map(|rest| group_of_changed(rest).unwrap_or_else(|| rest.clone()));
    found.collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_changed_as_a_whole_is_one_pattern() {
        let cases = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(rest, essence)| ((*rest).to_owned(), (*essence).to_owned())).collect()
        };
        let old = cases(&[("a/x/T=1", "1"), ("a/x/T=2", "1"), ("b/T=1", "1"), ("gone/T=1", "1")]);
        let new = cases(&[
            ("a/x/T=1", "1"),
            ("a/x/T=2", "2"),
            ("a/y/T=1", "1"),
            ("a/y/T=2", "1"),
            ("b/T=1", "2"),
            ("c", "1"),
        ]);
        assert_eq!(patterns(&old, &new), ["a/x/T=2", "a/y/**", "b/**", "c"]);
    }
}
