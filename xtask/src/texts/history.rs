//! `specs/texts/history.txt`: the changes of texts in every release of ONNX, under fixed version numbers. `undo` leads
//! from the texts of the newest release back to those of each older one, so older texts need no files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use onnx_conformance_cases::suite::release_key;
use onnx_conformance_reference::spec::{Releases, yaml};

use super::changes::{Change, compare, undo};
use super::package;
use super::standard::{self, Texts, committed, version};
use crate::{vendor, workspace};

/// Path of the file below specs/.
const PATH: &str = "texts/history.txt";

/// Command that writes the file.
const COMMAND: &str = "cargo xtask import-specs --history";

/// Changes of a release.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReleaseChanges {
    /// The release.
    pub(crate) release: String,
    /// The release before it.
    pub(crate) after: String,
    /// The changes of the operator versions that both have.
    pub(crate) changes: Vec<Change>,
}

/// Writes the file from the packages of all releases, or with `check` compares it.
pub(crate) fn run(check: bool) -> Result<()> {
    let history = history()?;
    let count = history.iter().map(|it| it.changes.len()).sum::<usize>();
    if check {
        let is_equal = fs::read_to_string(path()).is_ok_and(|committed| committed == file(&history));
        ensure!(is_equal, "specs/{PATH} differs from the packages of ONNX's releases; run `{COMMAND}`");
    } else {
        write(&history)?;
    }
    anstream::println!("{count} changes of texts in {} releases are in specs/{PATH}", history.len());
    Ok(())
}

/// Adds the changes of a release to the file: from the committed texts before its import to those after it. Changes of an earlier
/// build of the same release are replaced.
pub(crate) fn add(before: &Texts, after: &Texts, release: &str) -> Result<()> {
    write(&with_release(read()?, before.clone(), after.clone(), release)?)
}

/// Returns the changes of a release, given the committed texts and those of its package.
pub(crate) fn changes(committed: &Texts, after: &Texts, release: &str) -> Result<Vec<Change>> {
    let history = with_release(read()?, committed.clone(), after.clone(), release)?;
    Ok(history.into_iter().next_back().map(|last| last.changes).unwrap_or_default())
}

fn with_release(
    mut history: Vec<ReleaseChanges>,
    mut before: Texts,
    mut after: Texts,
    release: &str,
) -> Result<Vec<ReleaseChanges>> {
    for texts in [&mut before, &mut after] {
        texts.retain(|place, _| version(place).is_some());
    }
    if let Some(same) = history.pop_if(|last| last.release == release) {
        undo(&mut before, &same.changes)?;
    }
    let last = history.last().map(|last| last.release.clone());
    let last = last.with_context(|| format!("specs/{PATH} has no release before {release}; run `{COMMAND}`"))?;
    let [old, new] = [&before, &after].map(|texts| texts.keys().filter_map(|it| version(it)).collect::<BTreeSet<_>>());
    let removed: Vec<&str> = old.difference(&new).copied().collect();
    ensure!(
        removed.is_empty(),
        "ONNX {release} no longer has {}, whose changes specs/{PATH} lists; run `{COMMAND}`, which reads all packages again",
        removed.join(", ")
    );
    history.push(ReleaseChanges { release: release.to_owned(), after: last, changes: compare(&before, &after) });
    check(&history, after)?;
    Ok(history)
}

fn path() -> PathBuf {
    workspace::root().join("specs").join(PATH)
}

fn write(history: &[ReleaseChanges]) -> Result<()> {
    fs::write(path(), file(history)).with_context(|| format!("cannot write specs/{PATH}"))
}

/// Reads the packages of all releases, and compares each with those before it.
fn history() -> Result<Vec<ReleaseChanges>> {
    let packages = vendor::packages()?;
    let releases = fs::read_to_string(workspace::root().join("specs/releases.yaml"))?;
    let releases = yaml::read::<Releases>("specs/releases.yaml", &releases)?.releases;
    let is_known = |release: &str| releases.iter().any(|known| key(&known.onnx) == key(release));
    if let Some(unknown) = packages.iter().find(|package| !is_known(&package.release)) {
        bail!(
            "xtask/src/vendor/packages.yaml pins a package of ONNX {}, which is not in specs/releases.yaml: import the release with \
             `cargo xtask import-specs` first, or if it is a development build, compare it with `cargo xtask import-specs --wheel FILE`",
            unknown.release
        );
    }
    let newest = releases.last().map_or("", |release| &release.onnx);
    if packages.last().is_none_or(|package| package.release != newest) {
        bail!("no package of ONNX {newest} is pinned in xtask/src/vendor/packages.yaml; add its wheel and SHA-256");
    }
    let mut newest_texts = committed()?;
    newest_texts.retain(|place, _| version(place).is_some());
    let versions: BTreeSet<&str> = newest_texts.keys().filter_map(|place| version(place)).collect();
    let (mut known, mut history) = (Texts::new(), Vec::new());
    let mut after: Option<String> = None;
    for package in packages {
        let mut texts = package::of_wheel(&vendor::download(&package)?)?;
        texts.retain(|place, _| version(place).is_some_and(|it| versions.contains(it)));
        if let Some(after) = after.replace(package.release.clone()) {
            history.push(ReleaseChanges { changes: compare(&known, &texts), release: package.release, after });
        }
        // A version that a release lacks keeps its last text.
        let fresh: BTreeSet<&str> = texts.keys().filter_map(|place| version(place)).collect();
        known.retain(|place, _| version(place).is_none_or(|it| !fresh.contains(it)));
        known.extend(texts);
    }
    let path = standard::PATH;
    ensure!(known == newest_texts, "specs/{path} is not of ONNX {newest}; run `cargo xtask import-specs` first");
    check(&history, newest_texts)?;
    Ok(history)
}

/// Returns the numbers of a release without trailing zeros: specs/releases.yaml has 1.3 for 1.3.0.
fn key(release: &str) -> Vec<u32> {
    let mut numbers = release_key(release);
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    numbers
}

/// Fails unless the history leads from the texts of the newest release back to the oldest one.
fn check(history: &[ReleaseChanges], mut texts: Texts) -> Result<()> {
    history.iter().rev().try_for_each(|release| {
        undo(&mut texts, &release.changes)
            .with_context(|| format!("the history of ONNX {} does not fit its texts; run `{COMMAND}`", release.release))
    })
}

/// Formats the file, oldest release first, so that a new release adds lines at the end.
fn file(history: &[ReleaseChanges]) -> String {
    let mut file = format!(
        "Sentences that were removed (-) and added (+) under a fixed version number, by release. Written by `{COMMAND}`.\n\
         Copyright (c) ONNX Project Contributors. SPDX-License-Identifier: Apache-2.0\n\
         A line `@@` has the places, as in schemas.txt, and for each the number of the first sentence concerned in the newer text. Only\n\
         operator versions of the newest release are compared, each with the last release before that has it.\n"
    );
    for ReleaseChanges { release, after, changes } in history {
        // Writing to a string does not fail.
        let _ = writeln!(file, "== {release} after {after}");
        file.extend(changes.iter().map(Change::to_string));
    }
    file
}

/// Reads the committed file.
pub(crate) fn read() -> Result<Vec<ReleaseChanges>> {
    let text =
        fs::read_to_string(path()).with_context(|| format!("cannot read specs/{PATH}; `{COMMAND}` writes it"))?;
    parse(&text).with_context(|| format!("specs/{PATH} is not as `{COMMAND}` writes it"))
}

fn parse(text: &str) -> Result<Vec<ReleaseChanges>> {
    let mut history: Vec<ReleaseChanges> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = || format!("line {}: '{line}'", number + 1);
        if let Some(names) = line.strip_prefix("== ") {
            let (release, after) = names.split_once(" after ").with_context(place)?;
            let [release, after] = [release, after].map(str::to_owned);
            history.push(ReleaseChanges { release, after, changes: Vec::new() });
            continue;
        }
        // The head of the file is before the first release.
        let Some(ReleaseChanges { changes, .. }) = history.last_mut() else { continue };
        if let Some(places) = line.strip_prefix("@@ ") {
            let places = places.split(", ").map(numbered).collect::<Option<Vec<_>>>().with_context(place)?;
            changes.push(Change { places, removed: Vec::new(), added: Vec::new() });
            continue;
        }
        let change = changes.last_mut().with_context(place)?;
        match line.split_once(' ').with_context(place)? {
            ("-", sentence) => change.removed.push(sentence.to_owned()),
            ("+", sentence) => change.added.push(sentence.to_owned()),
            _ => bail!("{} is neither removed nor added", place()),
        }
    }
    Ok(history)
}

fn numbered(place: &str) -> Option<(String, usize)> {
    let (place, number) = place.rsplit_once(" #")?;
    Some((place.to_owned(), number.parse().ok().filter(|number| *number > 0)?))
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::spec::Specs;

    use super::*;

    fn texts(places: &[(&str, &str)]) -> Texts {
        places.iter().map(|(place, sentence)| ((*place).to_owned(), vec![(*sentence).to_owned()])).collect()
    }

    #[test]
    fn a_release_is_added_and_a_later_build_of_it_replaces_its_changes() {
        let first = ReleaseChanges { release: "9.0.0".to_owned(), after: "8.9.0".to_owned(), changes: Vec::new() };
        let old = texts(&[("ai.onnx/A-1", "a"), ("onnx.proto", "p")]);
        let build = texts(&[("ai.onnx/A-1", "b"), ("ai.onnx/A-9", "new"), ("onnx.proto", "q")]);
        let release = texts(&[("ai.onnx/A-1", "c"), ("ai.onnx/A-9", "new")]);
        let history = with_release(vec![first], old, build.clone(), "9.1.0").unwrap();
        let shown: String = history[1].changes.iter().map(Change::to_string).collect();
        assert_eq!(shown, "@@ ai.onnx/A-1 #1\n- a\n+ b\n");
        let history = with_release(history, build.clone(), release, "9.1.0").unwrap();
        let shown: String = history[1].changes.iter().map(Change::to_string).collect();
        assert_eq!((history.len(), shown.as_str()), (2, "@@ ai.onnx/A-1 #1\n- a\n+ c\n"));
        let error = with_release(history, build, texts(&[("ai.onnx/A-1", "c")]), "9.2.0").unwrap_err().to_string();
        assert!(error.contains("ONNX 9.2.0 no longer has ai.onnx/A-9"), "{error}");
    }

    #[test]
    fn the_file_is_read_as_it_is_written() {
        let history = read().unwrap();
        assert_eq!(parse(&file(&history)).unwrap(), history);
        assert!(history.iter().map(|release| release.changes.len()).sum::<usize>() > 100);
    }

    #[test]
    fn every_release_with_a_package_is_in_the_history() {
        let history = read().unwrap();
        let releases = Specs::embedded().releases().unwrap();
        let first = key(&history[0].after);
        let known: Vec<Vec<u32>> =
            releases.releases.iter().map(|it| key(&it.onnx)).filter(|release| *release > first).collect();
        let in_history: Vec<Vec<u32>> = history.iter().map(|it| key(&it.release)).collect();
        assert_eq!(in_history, known, "run `{COMMAND}`");
        assert!(history.windows(2).all(|pair| pair[0].release == pair[1].after));
    }

    /// If this fails after an import, the history lacks the changes of the new release.
    #[test]
    fn the_history_leads_from_the_texts_back_to_the_oldest_release() {
        check(&read().unwrap(), committed().unwrap()).unwrap();
    }

    #[test]
    fn another_line_is_refused_with_its_number() {
        for line in ["== 1.3.0", "@@ ai.onnx/A-1", "@@ ai.onnx/A-1 #0", "- a", "word", "* a"] {
            let error = parse(&format!("== 1.3.0 after 1.2.3\n{line}\n")).unwrap_err().to_string();
            assert!(error.contains("line 2"), "{line}: {error}");
        }
    }
}
