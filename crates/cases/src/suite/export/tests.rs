//! Export of cases and reading them back.

use super::*;
use crate::case::digest;
use crate::suite::{Filter, Generated, HostileCases, Suite, VendoredCases};
use onnx_conformance_reference::spec::Specs;

/// Returns the cases that a filter selects.
fn cases(suite: &Suite, filter: &Filter) -> Vec<Case> {
    let chosen = suite.choose(filter).unwrap();
    chosen
        .into_iter()
        .flat_map(|(source, unit, ids)| source.load(&unit, &|id| ids.contains(&id.to_owned())).unwrap())
        .collect()
}

#[test]
fn an_exported_case_reads_back_unchanged() {
    let suite = Suite::new(vec![
        Box::new(VendoredCases::newest().unwrap()),
        Box::new(Generated::embedded()),
        Box::new(HostileCases),
    ]);
    // Values of every kind, and every rule.
    let newest = Specs::embedded().newest_release();
    let patterns = [
        "ai.onnx/{Sum,Dropout,Bernoulli,RandomNormal,Unique,Identity,OptionalHasElement,CastLike}-*/**",
        "ai.onnx/{If,Loop,Sigmoid,Exp,ReduceSum,LayerNormalization,StringSplit,Multinomial}-*/**",
        "ai.onnx.ml/{CastMap,ZipMap,DictVectorizer}-*/**",
        &format!("onnx-{newest}/node/test_{{sum,dropout,bernoulli,image,optional,sequence,layer}}*"),
        &format!("onnx-{newest}/simple/**"),
        "hostile/{external,numbers,sizes}/**",
    ];
    let filter = Filter::new(&patterns).unwrap();
    let before = cases(&suite, &filter);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("suite");
    let mut exporter = Exporter::new(&target, "digest").unwrap();
    for case in &before {
        exporter.add(case, &BTreeMap::new()).unwrap();
    }
    exporter.finish().unwrap();
    let exported = Suite::new(vec![Box::new(Exported::open(&target).unwrap())]);
    let after = cases(&exported, &Filter::default());
    assert_eq!(after.len(), before.len());
    assert_eq!(digest(&after), digest(&before));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "something half-written stays");
}

#[test]
fn a_file_that_was_changed_is_named() {
    let suite = Suite::new(vec![Box::new(Generated::embedded())]);
    let before = cases(&suite, &Filter::new(&["ai.onnx/Abs-13/known_values/T=float"]).unwrap());
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
