//! Numbers as text, for Cast from and to strings.

use std::cmp::Ordering;
use std::fmt::Write;

use crate::dtype::{ElementType, Kind};

/// Number read from a string, not yet rounded to an element type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Numeral {
    /// Number without a point or an exponent that fits an `i128`.
    Integer(i128),
    /// Any other number.
    Float {
        /// Nearest `f64`.
        nearest: f64,
        /// `f64` that every narrower floating-point type rounds like the number itself.
        sticky: f64,
    },
}

/// Parses a plain or scientific number, or infinity or NaN in any case.
pub(super) fn parse(text: &str) -> Option<Numeral> {
    let exactly = |value: f64| Some(Numeral::Float { nearest: value, sticky: value });
    match text.to_ascii_lowercase().as_str() {
        "+inf" | "inf" => return exactly(f64::INFINITY),
        "-inf" => return exactly(f64::NEG_INFINITY),
        "nan" => return exactly(f64::NAN),
        _ => {}
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        return None;
    }
    let integer = text.parse().ok().map(Numeral::Integer);
    integer.or_else(|| text.parse().ok().map(|nearest| Numeral::Float { nearest, sticky: sticky(text, nearest) }))
}

/// Low mantissa bits that are zero in every value of at most 24 significant bits, and in every midpoint of two.
const BELOW_TIES: u64 = (1 << 27) - 1;

/// Rounds to odd: moves `nearest` one step toward the number if it may look like a tie that the number is not.
fn sticky(text: &str, nearest: f64) -> f64 {
    if nearest.is_infinite() {
        return f64::MAX.copysign(nearest);
    }
    if nearest.to_bits() & BELOW_TIES != 0 {
        return nearest;
    }
    let magnitude = nearest.abs();
    let adjusted = match Decimal::read(text).cmp(&Decimal::read(&format!("{magnitude:.766e}"))) {
        Ordering::Less => magnitude.next_down(),
        Ordering::Equal => magnitude,
        Ordering::Greater => magnitude.next_up(),
    };
    adjusted.copysign(nearest)
}

/// Magnitude `0.d1d2d3... * 10^exponent` with nonzero `d1`. Zero has no digits and the minimal exponent.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Decimal {
    exponent: i64,
    digits: String,
}

impl Decimal {
    /// Parses a number that `f64` also parses.
    fn read(text: &str) -> Decimal {
        let unsigned = text.trim_start_matches(['+', '-']);
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        if significant.is_empty() {
            return Decimal { exponent: i64::MIN, digits: String::new() };
        }
        let lead = whole.len().cast_signed() - (all.len() - significant.len()).cast_signed();
        let huge = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
        let exponent = exponent.parse().unwrap_or(huge).clamp(i64::MIN / 2, i64::MAX / 2) + lead as i64;
        Decimal { exponent, digits: significant.trim_end_matches('0').to_owned() }
    }
}

/// Formats an element in plain notation, with as few digits as needed to read it back. A float always has a point.
/// Infinities and NaN are the words that [`parse`] reads.
pub(super) fn print(element: ElementType, bits: u64) -> String {
    if element.kind() != Kind::Float {
        return element.decode_i128(bits).to_string();
    }
    let value = element.decode_f64(bits);
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "INF" } else { "-INF" }.to_owned();
    }
    let mut text = format!("{}", shortest(element, value));
    if !text.contains('.') {
        text.push_str(".0");
    }
    text
}

/// Returns the number with the fewest decimal digits that the element type rounds to `value`.
fn shortest(element: ElementType, value: f64) -> f64 {
    let mut text = String::new();
    for digits in 0..f64::DIGITS as usize + 2 {
        text.clear();
        let short = write!(text, "{value:.digits$e}").ok().and_then(|()| text.parse::<f64>().ok());
        if let Some(short) = short.filter(|&short| element.round(short) == value) {
            return short;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(text: &str) -> f64 {
        match parse(text) {
            Some(Numeral::Float { nearest, .. }) => nearest,
            other => panic!("{text} gave {other:?}"),
        }
    }

    fn rounded(element: ElementType, text: &str) -> f64 {
        match parse(text) {
            Some(Numeral::Float { sticky, .. }) => element.round(sticky),
            other => panic!("{text} gave {other:?}"),
        }
    }

    #[test]
    fn plain_scientific_and_reserved_numerals_are_read() {
        assert_eq!(parse("-1000"), Some(Numeral::Integer(-1000)));
        assert_eq!(float("3.25"), 3.25);
        assert_eq!(float("1e-5"), 1e-5);
        assert_eq!(float("1E8"), 1e8);
        assert_eq!(float("-.5"), -0.5);
        for text in ["+INF", "INF", "inf", "+iNf"] {
            assert_eq!(float(text), f64::INFINITY, "{text}");
        }
        assert_eq!(float("-Inf"), f64::NEG_INFINITY);
        assert!(float("nan").is_nan());
        for text in ["", "Hello World!", "infinity", "1_000", "0x10", " 1", "1e", "--1", "."] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_numeral_beside_a_tie_is_rounded_once() {
        let half = ElementType::Float16;
        let tie = "1.00048828125";
        assert_eq!(rounded(half, tie), 1.0);
        assert_eq!(rounded(half, &format!("{tie}00000000000000000001")), 1.000_976_562_5);
        assert_eq!(rounded(half, "1.00048828124999999999999999999"), 1.0);
        assert_eq!(rounded(half, "-1.0014648437499999999999999999"), -1.000_976_562_5);
        assert_eq!(rounded(half, "1.00146484375"), 1.001_953_125);
        assert_eq!(rounded(ElementType::Float, "1e400"), f64::INFINITY);
        assert_eq!(rounded(half, "1e-99999999999999999999"), 0.0);
        assert_eq!(rounded(ElementType::Float, "0.0e99999999999999999999"), 0.0);
    }

    #[test]
    fn floats_are_written_plainly_and_as_short_as_they_read_back() {
        let rows = [
            (ElementType::Float, 0.1, "0.1"),
            (ElementType::Double, 314.15926, "314.15926"),
            (ElementType::Float, 1e20, "100000000000000000000.0"),
            (ElementType::Float, 1e-7, "0.0000001"),
            (ElementType::Double, -0.0, "-0.0"),
            (ElementType::Double, 0.1, "0.1"),
            (ElementType::Float16, 0.1, "0.1"),
            (ElementType::Float16, 65504.0, "65500.0"),
            (ElementType::Bfloat16, 2.0, "2.0"),
            (ElementType::Float, f64::NAN, "NaN"),
            (ElementType::Float16, f64::NEG_INFINITY, "-INF"),
        ];
        for (element, value, text) in rows {
            assert_eq!(print(element, element.encode(value)), text, "{value} as {element}");
        }
        assert_eq!(print(ElementType::Int8, ElementType::Int8.wrap(-7)), "-7");
        assert_eq!(print(ElementType::Uint64, u64::MAX), "18446744073709551615");
    }
}
