//! No element is written twice.

use std::collections::BTreeSet;

use onnx_conformance_cases::generate::Computation;

use super::node_case::{Found, Lanes, NodeCase};
use super::totals::Promise;

pub(crate) const PROMISE: Promise =
    Promise { name: "writes", covers: |file| file.computes.contains(&Computation::Scatters), rule: repeated_places };

#[test]
fn no_place_is_written_twice_by_filled_indices() {
    PROMISE.assert_kept();
}

fn repeated_places(made: &NodeCase<'_>) -> Found {
    let Some(places) = made.fill(1).filter(|_| made.attribute("reduction").is_none()) else { return Found::new() };
    let lanes = if made.operator.starts_with("Scatter") && made.operator != "ScatterND" {
        Lanes::Along(made.axis(0, places.rank()))
    } else {
        Lanes::From(0)
    };
    let at = places.indices();
    let mut found = Found::new();
    for lane in lanes.of(places.shape()) {
        let mut seen = BTreeSet::new();
        found.extend(
            lane.iter()
                .find(|place| !seen.insert(at[**place]))
                .map(|place| (made.names[1].clone(), *place, "is there twice".to_owned())),
        );
    }
    found
}
