//! Elements that are searched for the largest are distinct, except on purpose.

use std::collections::BTreeSet;

use onnx_conformance_cases::generate::Computation;

use super::node_case::{Found, Lanes, NodeCase};
use super::totals::Promise;

pub(crate) const PROMISE: Promise =
    Promise { name: "largest", covers: |file| file.computes.contains(&Computation::Searches), rule: equal_elements };

#[test]
fn no_filled_tensor_has_two_largest_elements() {
    PROMISE.assert_kept();
}

/// Finds equal elements among those that are compared with each other.
fn equal_elements(made: &NodeCase<'_>) -> Found {
    let position = usize::from(made.operator == "NonMaxSuppression");
    let Some(tensor) = made.fill(position) else { return Found::new() };
    let along = |default| Lanes::Along(made.axis(default, tensor.rank()));
    let lanes = match made.operator {
        "ArgMax" | "ArgMin" => along(0),
        "Hardmax" if made.since < 13 => Lanes::From(made.axis(1, tensor.rank())),
        "Hardmax" | "NonMaxSuppression" | "TopK" => along(-1),
        // Only the indices show which of two equal elements was selected.
        "MaxPool" if made.outputs.get(1).is_some_and(|name| !name.is_empty()) => Lanes::From(2),
        _ => return Found::new(),
    };
    let bits: Vec<u64> = (0..tensor.len()).map(|at| tensor.bits_at(at)).collect();
    let values: BTreeSet<u64> = bits.iter().copied().collect();
    let mut found = Found::new();
    for lane in lanes.of(tensor.shape()) {
        // A small set of values means intended ties, in versions whose text says which element is selected.
        let decided = match made.operator {
            "ArgMax" | "ArgMin" => made.since >= 12,
            operator => operator == "TopK" || operator == "Hardmax",
        };
        let few = decided && values.len() <= 3.max(lane.len() / 2);
        let mut seen = BTreeSet::new();
        if let Some(at) = lane.iter().find(|at| !seen.insert(bits[**at])).filter(|_| !few) {
            found.push((made.names[position].clone(), *at, "is there twice".to_owned()));
        }
    }
    found
}
