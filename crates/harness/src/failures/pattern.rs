//! Pattern of a wrong output: a constant ratio, another order, only some elements.

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::Tensor;

/// Relative tolerance for numbers that count as equal.
const NEAR: f64 = 1e-3;

/// Differences that a pattern does not cover.
const SMALLER: &str = "differences below 0.1 % and in the sign of 0";

/// Minimum number of differing elements to establish a ratio or a distance.
const FEWEST: usize = 2;

/// Maximum number of elements to examine.
const MAX_ELEMENTS: usize = 1 << 16;

/// Describes the relation of the actual tensor to the expected one; `None` if there is no pattern. `input` is the first input if
/// it has the same number of elements.
pub(super) fn pattern(expected: &Tensor, actual: &Tensor, input: Option<&Tensor>) -> Option<String> {
    let has_numbers = |tensor: &Tensor| {
        tensor.element_type() != ElementType::String
            && tensor.element_type().kind() != Kind::Complex
            && tensor.len() <= MAX_ELEMENTS
    };
    if !has_numbers(expected) || !has_numbers(actual) {
        return None;
    }
    let (before, after) = (expected.floats(), actual.floats());
    if before.len() != after.len() {
        return (expected.shape().iter().rev().eq(actual.shape())).then(|| "the shape is reversed".to_owned());
    }
    let differing: Vec<usize> =
        before.iter().zip(&after).enumerate().filter(|(_, (a, b))| !is_near(**a, **b)).map(|(at, _)| at).collect();
    if differing.is_empty() {
        return None;
    }
    let pairs: Vec<(f64, f64)> =
        differing.iter().filter_map(|at| Some((*before.get(*at)?, *after.get(*at)?))).collect();
    if after.iter().all(|value| *value == 0.0) {
        return Some("every element is 0".to_owned());
    }
    let found = special(&pairs)
        .or_else(|| reordered(expected, &before, &after))
        .or_else(|| ratio(&pairs))
        .or_else(|| ties(&differing, input))?;
    let is_same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    let has_more = before.iter().zip(&after).any(|(a, b)| is_near(*a, *b) && !is_same((a, b)));
    Some(if has_more { format!("{found} ({SMALLER} aside)") } else { found })
}

fn is_near(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= NEAR * a.abs().max(b.abs())
}

/// Detects outputs where only NaN, infinities or zeros are wrong.
fn special(pairs: &[(f64, f64)]) -> Option<String> {
    let all = |is_special: fn(f64) -> bool| pairs.iter().all(|(expected, _)| is_special(*expected));
    match () {
        () if all(f64::is_nan) => Some("it differs only where NaN is expected".to_owned()),
        () if all(f64::is_infinite) => Some("it differs only where an infinity is expected".to_owned()),
        () if pairs.iter().all(|(_, actual)| actual.is_nan()) => Some("it is NaN wherever it differs".to_owned()),
        () => None,
    }
}

/// Detects the expected elements in another order: transposed, reversed, or permuted.
fn reordered(expected: &Tensor, before: &[f64], after: &[f64]) -> Option<String> {
    let same = |order: Vec<f64>| order.len() == after.len() && order.iter().zip(after).all(|(a, b)| is_near(*a, *b));
    if let [.., rows, columns] = *expected.shape() {
        let matrix = rows.checked_mul(columns).filter(|size| *size > 0)?;
        let transposed = |matrix: &[f64]| {
            (0..columns)
                .flat_map(|column| matrix.iter().skip(column).step_by(columns).copied().collect::<Vec<_>>())
                .collect::<Vec<f64>>()
        };
        if rows > 1 && columns > 1 && same(before.chunks(matrix).flat_map(transposed).collect()) {
            return Some("it is transposed: the last two axes are swapped".to_owned());
        }
    }
    if same(before.iter().rev().copied().collect()) {
        return Some("the elements are in reverse order".to_owned());
    }
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let has_all = sorted(before).iter().zip(sorted(after)).all(|(a, b)| is_near(*a, b));
    has_all.then(|| "the elements are those expected, in another order".to_owned())
}

/// Detects a constant factor or a constant distance between the differing elements.
fn ratio(pairs: &[(f64, f64)]) -> Option<String> {
    let constant = |values: Vec<f64>| {
        let first = *values.first().filter(|first| first.is_finite() && values.len() >= FEWEST)?;
        values.iter().all(|value| is_near(*value, first)).then_some(first)
    };
    // Equal pairs would match any pattern.
    let is_varied = pairs.iter().any(|pair| Some(pair) != pairs.first());
    if !is_varied {
        return None;
    }
    if let Some(factor) = constant(pairs.iter().map(|(expected, actual)| actual / expected).collect()) {
        return Some(match factor {
            -1.0 => "the sign is wrong wherever it differs".to_owned(),
            _ => format!("it is {} times the expected value wherever it differs", short(factor)),
        });
    }
    let distance = constant(pairs.iter().map(|(expected, actual)| actual - expected).collect())?;
    let (size, side) = (short(distance.abs()), if distance > 0.0 { "more" } else { "less" });
    Some(format!("it is {size} {side} than expected wherever it differs"))
}

fn short(value: f64) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    if rounded == 0.0 { format!("{value:.2e}") } else { rounded.to_string() }
}

/// Detects outputs that differ only in rounding of halves.
fn ties(differing: &[usize], input: Option<&Tensor>) -> Option<String> {
    let input = input.filter(|input| input.len() <= MAX_ELEMENTS && input.element_type().is_float())?.floats();
    let is_tie = |at: &usize| input.get(*at).is_some_and(|value| value.fract().abs() == 0.5);
    differing.iter().all(is_tie).then(|| "it differs only at ties, halves of odd integers".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: &[usize], expected: &[f64], actual: &[f64], pattern_has: Option<&str>) {
        let tensor = |values: &[f64]| Tensor::of_floats(ElementType::Float, shape, values).unwrap();
        let found = pattern(&tensor(expected), &tensor(actual), None);
        match pattern_has {
            Some(words) => {
                assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{found:?} has no '{words}'");
            }
            None => assert_eq!(found, None),
        }
    }

    #[test]
    fn patterns_are_seen() {
        check(&[2, 2], &[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0], Some("transposed"));
        check(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0], Some("transposed"));
        check(&[3], &[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0], Some("reverse"));
        check(&[4], &[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0], Some("another order"));
        check(&[3], &[1.0, 2.0, 3.0], &[0.5, 1.0, 1.5], Some("0.5 times"));
        check(&[3], &[1.0, 2.0, 3.0], &[-1.0, -2.0, -3.0], Some("sign"));
        check(&[3], &[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0], Some("1 more"));
        check(&[3], &[f64::NAN, 2.0, 3.0], &[0.5, 2.0, 3.0], Some("where NaN"));
        check(&[3], &[f64::NAN, 2.0, -0.0], &[0.5, 2.0, 0.0], Some("where NaN is expected (differences below 0.1 %"));
        check(&[3], &[1.0, 2.0, 3.0], &[0.0, 0.0, 0.0], Some("every element is 0"));
        check(&[3], &[1.0, 2.0, 3.0], &[1.0, 7.0, 90.0], None);
        check(&[3], &[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], None);
    }

    #[test]
    fn ties_are_seen_in_the_input() {
        let tensor = |values: &[f64]| Tensor::of_floats(ElementType::Float, &[values.len()], values).unwrap();
        let input = tensor(&[0.5, 1.2, 2.5, 7.5]);
        let found = pattern(&tensor(&[0.0, 1.0, 2.0, 8.0]), &tensor(&[1.0, 1.0, 4.0, 8.0]), Some(&input));
        assert!(found.unwrap().contains("ties"));
    }
}
