//! Export of cases and reading them back.

use super::*;
use crate::case::digest;
use crate::suite::sample_cases::{SAMPLE_CASES, selected};
use crate::suite::{Filter, Generated, Suite};

#[test]
fn an_exported_case_reads_back_unchanged() {
    let is_exported = |case: &&Case| ["ir/", "graph/"].iter().all(|part| !case.id.starts_with(part));
    let before: Vec<Case> = SAMPLE_CASES.iter().filter(is_exported).cloned().collect();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("suite");
    let mut exporter = Exporter::new(&target, "digest").unwrap();
    for case in &before {
        exporter.add(case, &BTreeMap::new()).unwrap();
    }
    exporter.finish().unwrap();
    let exported = Suite::new(vec![Box::new(Exported::open(&target).unwrap())]);
    let after = selected(&exported, &Filter::default());
    assert_eq!(after.len(), before.len());
    assert_eq!(digest(&after), digest(&before));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "something half-written stays");
}

#[test]
fn a_file_that_was_changed_is_named() {
    let suite = Suite::new(vec![Box::new(Generated::embedded())]);
    let before = selected(&suite, &Filter::new(&["ai.onnx/Abs-13/known_values/T=float"]).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("suite");
    let mut exporter = Exporter::new(&target, "digest").unwrap();
    for case in &before {
        exporter.add(case, &BTreeMap::new()).unwrap();
    }
    exporter.finish().unwrap();
    let case = before.first().unwrap();
    std::fs::write(target.join(&case.id).join("test_data_set_0/input_0.pb"), b"other").unwrap();
    let exported = Exported::open(&target).unwrap();
    let error = exported.load(&CaseGroup { name: case.id.clone() }, &|_| true).unwrap_err().to_string();
    assert!(error.contains("input_0.pb") && error.contains("sha256 differs"), "{error}");
}

#[test]
fn a_folder_with_contents_is_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), b"").unwrap();
    let error = Exporter::new(folder.path(), "digest").unwrap_err().to_string();
    assert!(error.contains("is not empty"), "{error}");
}
