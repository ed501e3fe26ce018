//! Every partial sum of filled values is exact, in any order.

use onnx_conformance_cases::generate::Computation;
use onnx_conformance_reference::dtype::{ElementType, Kind};

use super::node_case::{Found, NodeCase, places};
use super::totals::Promise;

/// Number of fractional bits of fills, and number of significant bits of a sum. Double sums are compensated, which doubles their
/// width.
fn grid_of(element: ElementType) -> (i32, i32) {
    if element == ElementType::Double { (23, 106) } else { (10, 53) }
}

pub(crate) const PROMISE: Promise =
    Promise { name: "exact sums", covers: |file| file.computes.contains(&Computation::Sums), rule: inexact_sums };

#[test]
fn partial_sums_of_filled_values_are_exact_in_any_order() {
    PROMISE.assert_kept();
}

fn inexact_sums(made: &NodeCase<'_>) -> Found {
    // These operators only move elements unless they accumulate.
    let adds = match made.operator {
        "ScatterElements" | "ScatterND" => made.attribute("reduction").is_some(),
        "Resize" | "Upsample" => !["", "nearest"].contains(&made.text("mode").as_str()),
        "GridSample" => made.text("mode") != "nearest",
        _ => true,
    };
    if !adds {
        return Found::new();
    }
    let tensors = made.case.data[0].inputs.iter().filter(|input| made.filled.contains(&input.name));
    let floats = tensors.filter_map(|input| {
        let tensor = input.value.as_tensor()?;
        let element = tensor.element_type();
        (element.kind() == Kind::Float).then(|| (input.name.as_str(), grid_of(element), tensor.floats()))
    });
    let operands: Vec<(&str, (i32, i32), Vec<f64>)> = floats.collect();
    let mut found = Found::new();
    for (name, (fraction, _), values) in &operands {
        let grid = libm::scalbn(1.0, *fraction);
        found.extend(places(
            name,
            values.iter().copied(),
            |value| libm::trunc(value * grid) != value * grid,
            "is off the grid",
        ));
    }
    let widest = operands.iter().map(|(_, grid, _)| *grid).max();
    let (fraction, kept) = widest.unwrap_or((0, 53));
    let largest = |values: &Vec<f64>| values.iter().fold(0f64, |most, value| most.max(libm::fabs(*value)));
    let terms = operands.iter().map(|(.., values)| values.len()).max().unwrap_or(0) as f64;
    // A term has one factor per input of an Einsum, and at most two elsewhere.
    let factors = if made.operator == "Einsum" { operands.len().max(2) } else { 2 };
    let factor = operands.iter().map(|(.., values)| largest(values)).fold(1.0, f64::max) * libm::scalbn(1.0, fraction);
    let most = terms * libm::pow(factor, factors as f64);
    if let Some((name, ..)) = operands.first().filter(|_| most >= libm::scalbn(1.0, kept)) {
        found.push(((*name).to_owned(), 0, format!("sums grow to {most}")));
    }
    found
}
