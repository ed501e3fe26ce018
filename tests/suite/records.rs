//! `records/` matches the cases generated from the op.yaml files.

use onnx_conformance_cases::suite::{OperatorRecord, WrappedCases};
use onnx_conformance_reference::spec::Specs;

use crate::{FOUND, Made, assert_none};

/// Returns the operator if its record differs from these cases of all its versions.
pub(crate) fn stale(versions: &[Made]) -> Option<String> {
    // What a development build has may change, so no record holds it.
    let versions: Vec<&Made> = versions.iter().filter(|made| !Specs::is_next(&made.version)).collect();
    let version = &versions.first()?.version;
    let operator = format!("{}/{}", version.domain, version.name);
    let mut record = OperatorRecord::new(&operator);
    for made in versions {
        record.add(&made.version, &made.cases);
    }
    let is_stale = OperatorRecord::embedded(&operator).is_none_or(|recorded| recorded != record);
    is_stale.then(|| format!("records/{operator}.txt is stale; run `cargo xtask gen`"))
}

/// Returns the operator versions of which `records/wrapped.txt` lists other cases than those that are selected.
pub(crate) fn stale_wrapped(made: &Made) -> Vec<String> {
    let is_stale = !Specs::is_next(&made.version) && !WrappedCases::is_recorded(&made.version, &made.cases);
    is_stale
        .then(|| format!("{} is stale for {}; run `cargo xtask gen`", WrappedCases::RECORD, made.version))
        .into_iter()
        .collect()
}

#[test]
fn what_is_made_is_what_is_recorded() {
    assert_none(&FOUND.records);
}
