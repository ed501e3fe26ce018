//! Wrong values with one cause in all operators, recognized by their message.

use onnx_conformance_cases::compare::Distance;

use crate::run::CaseResult;

/// Maximum relative distance of a double that was computed in float.
const FLOAT_ACCURACY: f64 = 1e-6;

/// Largest number of digits of a float in a message.
const FLOAT_DIGITS: usize = 9;

/// Describes a difference that has the same cause in every operator.
pub(crate) fn known_difference(result: &CaseResult) -> Option<&'static str> {
    let (expected, actual) = element(&result.message)?;
    if let (Ok(expected), Ok(actual)) = (expected.parse(), actual.parse()) {
        return is_narrowed(expected, actual).then_some("integers beyond int32 come back as int32");
    }
    let (before, after): (f64, f64) = (expected.parse().ok()?, actual.parse().ok()?);
    if before != 0.0 && before.abs() < f64::from(f32::MIN_POSITIVE) && after == 0.0 {
        return Some("numbers below the normal floats come back as 0");
    }
    let is_near = (before - after).abs() <= FLOAT_ACCURACY * before.abs();
    let is_small = result.distance == Some(Distance::Small);
    (is_small && is_near && digits(expected) > FLOAT_DIGITS).then_some("doubles come back with the accuracy of float")
}

/// Returns the differing element of a message: `... at [0, 1] expected 20.0, got 10.0, 8388608 ULP`.
fn element(message: &str) -> Option<(&str, &str)> {
    let (_, rest) = message.split_once("expected ")?;
    let (expected, rest) = rest.split_once(", got ")?;
    let end = rest.find([',', ' ', '\n']).unwrap_or(rest.len());
    Some((expected, rest.get(..end)?))
}

/// Returns true if an integer is not an `int32`, and the other is its last 32 bits or the nearest `int32`.
fn is_narrowed(expected: i128, actual: i128) -> bool {
    let [a, b, c, d, ..] = expected.to_le_bytes();
    let narrow = [i32::from_le_bytes([a, b, c, d]), i32::MIN, i32::MAX];
    i32::try_from(expected).is_err() && narrow.map(i128::from).contains(&actual)
}

/// Returns the number of digits of a number without its exponent.
fn digits(number: &str) -> usize {
    let mantissa = number.split('e').next().unwrap_or_default();
    mantissa.chars().filter(char::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Outcome;
    use crate::run::test_results::result;

    #[test]
    fn differences_of_types_and_small_numbers_are_known() {
        let check = |expected: &str, actual: &str, distance: Distance, text: Option<&str>| {
            let message = format!(
                "output 'y': 1 of 4 elements differ (8 ULP); at [0, 1] expected {expected}, got {actual}, 9 ULP"
            );
            let result =
                CaseResult { message, distance: Some(distance), ..result("ai.onnx/Abs-13/a", Outcome::Mismatch) };
            assert_eq!(known_difference(&result), text, "{expected} {actual}");
        };
        let narrowed = Some("integers beyond int32 come back as int32");
        check("8589934593", "1", Distance::Far, narrowed);
        check("8589934593", "2147483647", Distance::Far, narrowed);
        check("8589934593", "8589934592", Distance::LastBits, None);
        check("3", "2147483647", Distance::Far, None);
        check("1e-45", "0.0", Distance::Small, Some("numbers below the normal floats come back as 0"));
        check("1e-30", "0.0", Distance::Far, None);
        let in_float = Some("doubles come back with the accuracy of float");
        check("3.152103066444397", "3.1521029472351074", Distance::Small, in_float);
        check("3.152103066444397", "3.2521029472351074", Distance::Far, None);
        check("3.152103", "3.1521032", Distance::Small, None);
        check("20.0", "NaN", Distance::Far, None);
        check("true", "false", Distance::Far, None);
    }
}
