//! No element is written twice.

use std::collections::BTreeSet;

use onnx_conformance_cases::generate::Computation;

use crate::made::{Found, Lanes, assert_none, violations};

#[test]
fn no_place_is_written_twice_by_filled_indices() {
    assert_none(&violations(Computation::Scatters, |made| {
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
    }));
}
