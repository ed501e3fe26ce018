//! Backend tests of every vendored ONNX release on the built-in executor, and their known defects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onnx_conformance::reference::proto::{Message, ModelProto};
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::case::{Case, Level};
use onnx_conformance_cases::suite::{
    CaseGroup, Defect, Defects, Exporter, Filter, FullTest, Generated, Releases, Source, Suite, SuiteError,
    VendoredCases, release_key, sha256,
};
use onnx_conformance_harness::run::{Event, Outcome, Runner, judge, plan, run};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_subject::{Builtin, Host, Stop};

/// Time limit per case.
const TIMEOUT: Duration = Duration::from_mins(2);

fn suite() -> Suite {
    Suite::with(&Releases::embedded().unwrap(), Generated::embedded(), None).unwrap()
}

fn defects() -> Defects {
    Defects::parse(&Releases::embedded().unwrap().defects().unwrap()).unwrap()
}

/// Every judged test of all releases from 1.2.2 on passes. Each distinct test is run once.
#[test]
fn every_judged_test_of_every_release_passes() {
    // The real networks are the same nine in every release. tests/conformance.rs runs them, because they take most of its time.
    let (suite, filter) = (suite(), Filter::new(&["onnx-*/**", "!onnx-*/light/**"]).unwrap());
    let plan = plan(&suite, &filter, Variant::Runtime).unwrap();
    let judged = Mutex::new(BTreeSet::new());
    let (mut counts, mut failures): (BTreeMap<String, usize>, _) = (BTreeMap::new(), Vec::new());
    let inspect = |case: &Case, _: &_| {
        judged.lock().unwrap().insert(case.model.as_ptr() as usize);
    };
    Runner::new(&plan, &Builtin::new(TIMEOUT), &Stop::default()).inspected_by(&inspect).run(|event| match event {
        Event::Finished(result) => {
            let (release, _) = result.id.split_once('/').unwrap();
            *counts.entry(release.to_owned()).or_default() += 1;
            if result.outcome != Outcome::Pass && result.level != Level::Open {
                failures.push(format!("{} {}: {}", result.outcome, result.id, result.message));
            }
        }
        Event::Broken(error) => failures.push(error.to_string()),
    });
    failures.sort();
    assert!(failures.is_empty(), "{} do not pass:\n{}", failures.len(), failures.join("\n"));
    let releases = Releases::embedded().unwrap();
    for release in releases.all() {
        let expected: usize = release.cases.iter().filter(|(group, _)| *group != "light").map(|(_, count)| count).sum();
        assert_eq!(counts.get(&format!("onnx-{}", release.release)), Some(&expected), "{}", release.release);
    }
    let total: usize = counts.values().sum();
    let distinct = judged.into_inner().unwrap().len();
    assert!(total > 30_000 && distinct < 7_000, "{distinct} models of {total} tests");
}

/// A defect is real. The test is in every release of its range, and in that form in no other. It does not pass as stored, unless
/// that is one of several results, and it is judged by the outputs that another release stores for the same graph and inputs.
#[test]
fn every_defect_is_one() {
    let releases = Releases::embedded().unwrap();
    let none = Arc::new(Defects::default());
    let (defects, host) = (defects(), Builtin::new(TIMEOUT));
    let (mut wrong, mut excused) = (Vec::new(), BTreeSet::new());
    for defect in defects.iter() {
        let numbers: Vec<usize> = releases
            .all()
            .iter()
            .enumerate()
            .filter(|(_, release)| defect.has(&release.release))
            .map(|(at, _)| at)
            .collect();
        let mut origins = BTreeSet::new();
        for &number in &numbers {
            match releases.test(number, &defect.test).unwrap() {
                Some(FullTest { origin, .. }) => _ = origins.insert(origin),
                None => wrong.push(format!("{}: is not in {}", defect.test, releases.all()[number].release)),
            }
            let stored = VendoredCases::new(&releases, number, &none);
            // Unreadable tests do not pass either.
            let Ok(case) = load(&stored, &releases, number, &defect.test) else { continue };
            let result = judge(&case, &host, &host.declaration());
            if (result.outcome == Outcome::Pass) != defect.is_one_of_several() {
                wrong.push(format!("{}: {} as it is stored", case.id, result.outcome));
            }
        }
        let others = (0..releases.all().len()).filter(|number| !numbers.contains(number));
        for other in others.filter(|other| defects.find(&releases.all()[*other].release, &defect.test).is_none()) {
            if releases.test(other, &defect.test).unwrap().is_some_and(|test| origins.contains(&test.origin)) {
                wrong.push(format!("{}: is the same in {}", defect.test, releases.all()[other].release));
            }
        }
        match &defect.outputs_of {
            Some(later) => wrong.extend(unlike(&releases, defect, &numbers, later)),
            None if defect.is_open() => _ = excused.insert(defect.test.clone()),
            None => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(excused.len() <= 60, "{} tests are excused", excused.len());
}

fn load(cases: &VendoredCases, releases: &Releases, number: usize, test: &str) -> Result<Case, SuiteError> {
    let name = format!("onnx-{}/{test}", releases.all()[number].release);
    cases.load(&CaseGroup { name }, &|_| true).map(|mut cases| cases.pop().unwrap())
}

/// Returns why the outputs of a later release are not for the same graph and inputs.
fn unlike(releases: &Releases, defect: &Defect, numbers: &[usize], later: &str) -> Vec<String> {
    let mended = releases.read_test(releases.find(later).unwrap(), &defect.test).unwrap().unwrap();
    let mut found = Vec::new();
    for &number in numbers {
        let stored = releases.read_test(number, &defect.test).unwrap().unwrap();
        let release = &releases.all()[number].release;
        if release_key(later) <= release_key(release) {
            found.push(format!("{}: {later} does not come after {release}", defect.test));
        }
        let graph = |model: &bytes::Bytes| ModelProto::decode(model.clone()).unwrap().graph;
        if graph(&stored["model.onnx"]) != graph(&mended["model.onnx"]) {
            found.push(format!("{}: the graph of {release} is another than that of {later}", defect.test));
        }
        let names = |files: &BTreeMap<String, bytes::Bytes>| files.keys().cloned().collect::<BTreeSet<_>>();
        let inputs = stored.iter().filter(|(name, _)| name.contains("/input_"));
        if names(&stored) != names(&mended) || inputs.clone().any(|(name, bytes)| mended[name] != *bytes) {
            found.push(format!("{}: the inputs of {release} are others than those of {later}", defect.test));
        }
    }
    found
}

/// `docs/releases.md` lists exactly the tests that are judged differently.
#[test]
fn every_defect_is_argued() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/releases.md");
    let text = std::fs::read_to_string(path).unwrap();
    let argued: BTreeSet<&str> = text
        .split('`')
        .filter(|name| {
            name.starts_with("test_") && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
        .collect();
    let defects = defects();
    let listed: BTreeSet<&str> = defects.iter().filter_map(|defect| defect.test.rsplit('/').next()).collect();
    assert_eq!(argued, listed);
}

/// An exported release equals its original files: releases.yaml has the digest of their checksums.
#[test]
fn what_is_exported_are_the_releases_own_files() {
    let (releases, suite) = (Releases::embedded().unwrap(), suite());
    for name in ["1.2.2", "1.14.1", Specs::embedded().newest_release()] {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("suite");
        let mut exporter = Exporter::new(&folder, "digest").unwrap();
        for (source, unit, _) in suite.choose(&Filter::new(&[format!("onnx-{name}")]).unwrap()).unwrap() {
            for case in source.load(&unit, &|_| true).unwrap() {
                exporter.add(&case, &source.files(&case.id).unwrap()).unwrap();
            }
        }
        exporter.finish().unwrap();
        let number = releases.find(name).unwrap();
        let mut sums = BTreeMap::new();
        for (file, digits) in &releases.index(number).unwrap().files {
            sums.insert(file.clone(), sha256(&releases.read(digits).unwrap()));
        }
        for test in releases.index(number).unwrap().tests.keys() {
            for (file, _) in releases.test(number, test).unwrap().unwrap().files {
                let bytes = std::fs::read(folder.join(format!("onnx-{name}")).join(test).join(file)).unwrap();
                sums.insert(format!("{test}/{file}"), sha256(&bytes));
            }
        }
        let mut text = String::new();
        for (file, digest) in sums {
            writeln!(text, "{digest}  {file}").unwrap();
        }
        assert_eq!(sha256(text.as_bytes()), releases.all()[number].files, "{name}");
        let read = Suite::from_folder(&folder).unwrap();
        let filter = Filter::new(&[format!("onnx-{name}/{{node,simple}}/**")]).unwrap();
        let plan = plan(&read, &filter, Variant::Runtime).unwrap();
        assert!(plan.selected > 100);
        run(&plan, &Builtin::new(TIMEOUT), &Stop::default(), |event| match event {
            Event::Finished(result) => {
                assert!(result.outcome == Outcome::Pass || result.level == Level::Open, "{result:?}");
            }
            Event::Broken(error) => panic!("{error}"),
        });
    }
}

/// A change of a file's content.
type Change<'a> = &'a dyn Fn(Vec<u8>) -> Vec<u8>;

/// An error names the damage in a folder of releases, and the fix.
#[test]
fn a_folder_of_releases_that_is_damaged_is_refused() {
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/onnx");
    let damaged = |name: &str, change: Change<'_>| {
        let home = tempfile::tempdir().unwrap();
        for file in ["releases.yaml", "defects.yaml", "1.2.2/index.txt", "1.2.2/objects.txt", "1.2.2/objects.bin"] {
            let path = home.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let bytes = std::fs::read(from.join(file)).unwrap();
            std::fs::write(&path, if file == name { change(bytes) } else { bytes }).unwrap();
        }
        let read = || {
            let releases = Releases::from_folder(home.path())?;
            let mut cases = VendoredCases::all(&releases)?;
            let first = cases.swap_remove(0);
            for unit in first.groups()? {
                first.load(&unit, &|_| true)?;
            }
            Ok::<(), SuiteError>(())
        };
        read().map_err(|error| error.to_string())
    };
    let same = |bytes: Vec<u8>| bytes;
    assert_eq!(damaged("", &same), Ok(()));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let rows: [(&str, Change<'_>, &str); 6] = [
        (
            "1.2.2/objects.bin",
            &|mut bytes| {
                bytes[5000] ^= 1;
                bytes
            },
            "is corrupt",
        ),
        ("1.2.2/objects.bin", &|bytes| bytes[..1000].to_vec(), "is cut off"),
        ("1.2.2/objects.txt", &|bytes| text(bytes).replacen("block ", "black ", 1).into(), "line 2 is neither"),
        (
            "1.2.2/index.txt",
            &|bytes| text(bytes).replacen(" model.onnx ", " model.onnx 0", 1).into(),
            "has the object 0",
        ),
        ("1.2.2/index.txt", &|bytes| text(bytes).lines().take(9).collect::<Vec<_>>().join("\n").into(), "are recorded"),
        ("releases.yaml", &|bytes| text(bytes).replacen("1.2.2", "1.2.9", 1).into(), "out of order"),
    ];
    for (name, change, expected) in rows {
        let error = damaged(name, change).unwrap_err();
        let place = name.rsplit('/').next().unwrap();
        assert!(error.contains(expected), "{name}: {error}");
        assert!(error.contains(place) || expected.starts_with("has the object"), "{name}: {error}");
    }
}
