//! Adds the failing tests of the release before, which becomes an older one, to the expectations of older releases.

use std::fs;

use anyhow::{Context as _, Result};
use onnx_conformance_cases::suite::Releases;
use onnx_conformance_harness::expectations::Expectations;
use onnx_conformance_harness::measure::MeasuredDigests;

use super::moves::{Moved, end_of_pattern};
use crate::{vendor, workspace};

/// Folder of the expectations of older releases, one file a runtime.
pub(super) const FOLDER: &str = "expectations/releases";

/// Adds the failing tests of a release to each file, from the measurement of the version that the file is about.
/// `digest` is that of the tests, which the measurement must name. Returns the remaining tasks.
pub(super) fn add_all(release: &str, digest: Option<&str>) -> Result<Vec<String>> {
    let mut left = Vec::new();
    let others = tests_with_other_files(&*Releases::from_folder(&vendor::home())?, release)?;
    for entry in walkdir::WalkDir::new(workspace::root().join(FOLDER)).min_depth(1).sort_by_file_name() {
        let path = entry?.into_path();
        let shown = path.strip_prefix(workspace::root()).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        if is_about(&text, release) {
            continue;
        }
        let Expectations { runtime, version, .. } = Expectations::parse(&shown, &text)?;
        let version = version.with_context(|| format!("{shown}: has no `version`; add that of the runtime"))?;
        let measured = format!("expectations/{runtime}/{version}.yaml");
        let of_measurement = workspace::root().join(&measured);
        let digests = fs::read_to_string(MeasuredDigests::path(&of_measurement)).unwrap_or_default();
        let is_current =
            digest.is_some_and(|digest| digests.lines().any(|line| line == format!("onnx-{release} {digest}")));
        if !is_current {
            left.push(format!("{shown}: {measured} does not know the tests of {release} as they are; run them"));
            continue;
        }
        let measurement = fs::read_to_string(&of_measurement).with_context(|| format!("cannot read {measured}"))?;
        let added = with_failures(&text, &measurement, release);
        left.extend(added.left.iter().map(|(line, reason)| format!("{measured}:{line}: {reason}; add it to {shown}")));
        left.extend(others.iter().map(|other| format!("{shown}: {other}; run them")));
        fs::write(&path, added.text).with_context(|| format!("cannot write {shown}"))?;
        anstream::println!("{shown}: {} tests of {release} that fail on {runtime} {version} added", added.count);
    }
    Ok(left)
}

/// Lists the other patch releases of a release that store tests with other files than it.
fn tests_with_other_files(releases: &Releases, release: &str) -> Result<Vec<String>> {
    let minor = |release: &str| release.rsplit_once('.').map(|(minor, _)| minor.to_owned());
    let of = releases.all().iter().position(|known| known.release == release);
    let of = of.with_context(|| format!("testdata/onnx has no release {release}"))?;
    let mut lines = Vec::new();
    for (number, other) in releases.all().iter().enumerate() {
        if number == of || minor(&other.release) != minor(release) {
            continue;
        }
        let mut names = Vec::new();
        for test in releases.index(number)?.tests.keys() {
            let origins = [releases.test(number, test)?, releases.test(of, test)?];
            let [own, in_release] = origins.map(|test| test.map(|test| test.origin));
            names.extend((own != in_release).then_some(test));
        }
        if let Some(first) = names.first() {
            lines.push(format!(
                "{} tests of {}, such as {first}, are not those of {release}",
                names.len(),
                other.release
            ));
        }
    }
    Ok(lines)
}

/// An entry about tests of releases: `  - {cases: "onnx-1.{21.*,22.*}/node/test_abs", outcome: error}`.
struct OlderEntry<'a> {
    /// Globs of the releases after the first number: `21.*`.
    releases: Vec<&'a str>,
    /// Pattern over the tests of a release: `node/test_abs`.
    tests: &'a str,
    /// The other keys.
    rest: &'a str,
}

impl<'a> OlderEntry<'a> {
    /// Parses the line of an entry about releases with the same first number, such as 1.
    fn parse(line: &'a str, major: &str) -> Option<OlderEntry<'a>> {
        let pattern = line.strip_prefix("  - {cases: \"onnx-")?.strip_prefix(major)?.strip_prefix('.')?;
        let (pattern, rest) = pattern.split_once('"')?;
        let (releases, tests) = pattern.split_once('/')?;
        let releases = releases.strip_prefix('{').and_then(|list| list.strip_suffix('}')).unwrap_or(releases);
        Some(OlderEntry { releases: releases.split(',').collect(), tests, rest })
    }

    fn to_line(&self, major: &str) -> String {
        let OlderEntry { releases, tests, rest } = self;
        let releases = if let [one] = releases[..] { one.to_owned() } else { format!("{{{}}}", releases.join(",")) };
        format!("  - {{cases: \"onnx-{major}.{releases}/{tests}\"{rest}")
    }
}

/// Adds the entries of a measurement about tests of a release to the expectations of older releases: to the entry of the same test
/// and outcome if there is one. The other patch releases have the same tests.
fn with_failures(text: &str, measurement: &str, release: &str) -> Moved {
    let numbers: Vec<&str> = release.splitn(3, '.').collect();
    let (major, minor) = (numbers.first().copied().unwrap_or_default(), numbers.get(1).copied().unwrap_or_default());
    let (glob, prefix) = (format!("{minor}.*"), format!("onnx-{release}/"));
    let mut lines: Vec<String> = text.lines().map(|line| with_last(line, release)).collect();
    let mut added = Moved::default();
    for (at, line) in measurement.lines().enumerate() {
        let Some((before, after)) = line.split_once(&prefix) else { continue };
        let (tests, rest) = after.split_at(end_of_pattern(before, after));
        let is_plain = ["  - {cases: ", "  - {cases: \"", "  - {cases: '"].contains(&before) && rest.ends_with('}');
        if !is_plain || rest.contains(&prefix) {
            added.left.push((at + 1, "is not an entry of one line with one pattern".to_owned()));
            continue;
        }
        let new = OlderEntry { releases: vec![&glob], tests, rest: rest.trim_start_matches(['"', '\'']) };
        let entries = || lines.iter().map(|line| OlderEntry::parse(line, major)).enumerate();
        let is_about_it = |known: &OlderEntry<'_>| (known.tests, known.rest) == (new.tests, new.rest);
        let known = entries().find_map(|(place, entry)| Some((place, entry.filter(is_about_it)?)));
        let (place, line) = match known {
            Some((_, known)) if known.releases.contains(&glob.as_str()) => continue,
            Some((place, mut known)) => {
                known.releases.push(&glob);
                (place, known.to_line(major))
            }
            None => {
                let is_later = |entry: Option<OlderEntry<'_>>| entry.is_some_and(|entry| entry.tests > new.tests);
                let place = entries().find_map(|(place, entry)| is_later(entry).then_some(place));
                let place = place.unwrap_or(lines.len());
                lines.insert(place, String::new());
                (place, new.to_line(major))
            }
        };
        lines[place] = line;
        added.count += 1;
    }
    added.text = lines.iter().flat_map(|line| [line, "\n"]).collect();
    added
}

/// Returns true if the title of a file has a release as the last one: the task is repeated.
fn is_about(text: &str, release: &str) -> bool {
    text.lines().next().is_some_and(|title| title.contains(&format!(" to {release} ")))
}

/// Returns a line of a file. The title, `# The tests of ONNX 1.2.2 to 1.22.0 that ...`, gets the release as the last one.
fn with_last(line: &str, release: &str) -> String {
    let title = line.strip_prefix("# The tests of ONNX ").and_then(|rest| rest.split_once(" to "));
    match title.and_then(|(first, rest)| Some((first, rest.split_once(' ')?.1))) {
        Some((first, rest)) => format!("# The tests of ONNX {first} to {release} {rest}"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLDER: &str = "# The tests of ONNX 9.0.0 to 9.2.0 that fail.\nruntime: r\nexpect:\n\
        \x20 - {cases: \"onnx-9.{1.*,2.*}/node/test_a\", outcome: error}\n\
        \x20 - {cases: \"onnx-9.0.*/node/test_c\", outcome: error}\n\
        \x20 - {cases: \"onnx-9.2.*/node/test_c\", outcome: mismatch}\n\
        \x20 - {cases: \"onnx-9.1.*/simple/test_e\", outcome: error}\n";

    #[test]
    fn failing_tests_of_the_release_before_are_added_once() {
        let measurement = "runtime: r\nexpect:\n\
            \x20 - {cases: \"ai.onnx/Abs-13/x/**\", outcome: error}\n\
            \x20 - {cases: onnx-9.3.1/node/test_a, outcome: error}\n\
            \x20 - {cases: 'onnx-9.3.1/node/test_b', outcome: crash, when: {os: linux}}\n\
            \x20 - {cases: onnx-9.3.1/node/test_c, outcome: mismatch}\n\
            \x20 - {cases: onnx-9.3.1/simple/test_f, outcome: error}\n\
            \x20 - {cases: [onnx-9.3.1/node/test_x, onnx-9.3.1/node/test_y], outcome: error}\n";
        let added = with_failures(OLDER, measurement, "9.3.1");
        let expected = "# The tests of ONNX 9.0.0 to 9.3.1 that fail.\nruntime: r\nexpect:\n\
            \x20 - {cases: \"onnx-9.{1.*,2.*,3.*}/node/test_a\", outcome: error}\n\
            \x20 - {cases: \"onnx-9.3.*/node/test_b\", outcome: crash, when: {os: linux}}\n\
            \x20 - {cases: \"onnx-9.0.*/node/test_c\", outcome: error}\n\
            \x20 - {cases: \"onnx-9.{2.*,3.*}/node/test_c\", outcome: mismatch}\n\
            \x20 - {cases: \"onnx-9.1.*/simple/test_e\", outcome: error}\n\
            \x20 - {cases: \"onnx-9.3.*/simple/test_f\", outcome: error}\n";
        assert_eq!((added.text.as_str(), added.count), (expected, 4));
        assert_eq!(added.left, [(8, "is not an entry of one line with one pattern".to_owned())]);
        let again = with_failures(&added.text, measurement, "9.3.1");
        assert_eq!((again.text.as_str(), again.count), (expected, 0));
        assert!(is_about(expected, "9.3.1") && !is_about(OLDER, "9.3.1"));
    }

    #[test]
    fn committed_files_take_the_failures_of_the_newest_release() {
        let releases = Releases::embedded().unwrap();
        let newest = releases.all().last().unwrap().release.clone();
        assert_eq!(tests_with_other_files(&releases, &newest).unwrap(), Vec::<String>::new());
        for path in fs::read_dir(workspace::root().join(FOLDER)).unwrap() {
            let text = fs::read_to_string(path.unwrap().path()).unwrap();
            let file = Expectations::parse("older.yaml", &text).unwrap();
            let runtime = &file.runtime;
            let measured = format!("expectations/{runtime}/{}.yaml", file.version.unwrap());
            let measurement = fs::read_to_string(workspace::root().join(measured)).unwrap();
            let failing = measurement.matches(&format!("onnx-{newest}/")).count();
            let added = with_failures(&text, &measurement, &newest);
            assert_eq!((added.count, added.left.len()), (failing, 0), "{runtime}");
            let parsed = Expectations::parse("older.yaml", &added.text).unwrap();
            let is_new = |line: &&str| !text.lines().any(|old| old == *line);
            assert_eq!(added.text.lines().filter(is_new).count(), failing + 1, "{runtime}: entries and title");
            assert!(parsed.expect.len() >= file.expect.len());
        }
    }
}
