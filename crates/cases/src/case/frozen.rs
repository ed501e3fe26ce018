//! What a list of a suite version keeps of a case.

use std::fmt;

use onnx_conformance_reference::dtype::FloatFormat;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, CaseDigest, Expected, Level};
use crate::compare::Accuracy;

/// Level and digests of a case in a version of the suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrozenCase {
    /// Level of the expectation.
    pub level: Level,
    /// The digest.
    pub digest: CaseDigest,
    /// The digest without the bounds of expected outputs.
    pub without_bounds: CaseDigest,
    /// Sum of the allowed distances of all elements from their expected values.
    pub tolerance: f32,
}

/// Change of a case between two versions of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaseChange {
    /// Its level is stricter.
    Raised,
    /// Its level is less strict.
    Lowered,
    /// Its bounds are tighter.
    Tightened,
    /// Its bounds are wider.
    Weakened,
    /// Its model, inputs or expected outputs differ.
    Changed,
}

impl FrozenCase {
    /// Collects the facts of a case.
    pub fn new(case: &Case) -> FrozenCase {
        let outputs = case.data.iter().flat_map(|data| &data.outputs);
        let tolerance: f64 = outputs.map(|output| tolerance(&output.expected)).sum();
        // The text has two digits.
        let tolerance = format!("{tolerance:.1e}").parse().unwrap_or_default();
        FrozenCase {
            level: case.level,
            digest: CaseDigest::new(case),
            without_bounds: CaseDigest::without_bounds(case),
            tolerance,
        }
    }

    /// Parses the output of `Display`.
    pub fn parse(text: &str) -> Option<FrozenCase> {
        let mut words = text.split(' ');
        let level = [Level::Required, Level::Recommended, Level::Open];
        let word = words.next()?;
        let frozen = FrozenCase {
            level: level.into_iter().find(|level| level.to_string() == word)?,
            digest: CaseDigest::parse(words.next()?)?,
            without_bounds: CaseDigest::parse(words.next()?)?,
            tolerance: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(frozen)
    }

    /// Returns the change from an earlier version of the suite to this one; `None` if the case is the same.
    pub fn change_since(&self, earlier: &FrozenCase) -> Option<CaseChange> {
        Some(match () {
            () if self.level < earlier.level => CaseChange::Raised,
            () if self.without_bounds != earlier.without_bounds => CaseChange::Changed,
            () if self.level > earlier.level => CaseChange::Lowered,
            () if self.digest == earlier.digest => return None,
            () if self.tolerance < earlier.tolerance => CaseChange::Tightened,
            () if self.tolerance > earlier.tolerance => CaseChange::Weakened,
            () => CaseChange::Changed,
        })
    }
}

impl fmt::Display for FrozenCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {:e}", self.level, self.digest, self.without_bounds, self.tolerance)
    }
}

/// Returns the sum of the allowed distances of the elements from the expected values.
fn tolerance(expected: &Expected) -> f64 {
    match expected {
        Expected::Value(Value::Tensor(_), Accuracy::Bounded(bound)) => finite(bound).sum(),
        Expected::Value(Value::Tensor(tensor), accuracy) => {
            let element = tensor.element_type();
            let Some(format) = element.float_format() else { return 0.0 };
            let distance = |value: f64| match accuracy {
                Accuracy::Ulp(most) => *most as f64 * 2.0 * FloatFormat::unit_roundoff(format) * value.abs(),
                _ => accuracy.distance(element, value),
            };
            finite(tensor).map(distance).sum()
        }
        _ => 0.0,
    }
}

fn finite(tensor: &Tensor) -> impl Iterator<Item = f64> {
    tensor.floats().into_iter().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::dtype::ElementType;

    use super::*;
    use crate::case::{DataSet, ExpectedOutput};

    fn frozen(level: Level, output: f64, accuracy: Accuracy) -> FrozenCase {
        let value = Value::Tensor(Tensor::of_floats(ElementType::Float, &[1], &[output]).unwrap());
        let outputs = vec![ExpectedOutput { name: "y".to_owned(), expected: Expected::Value(value, accuracy) }];
        let data = DataSet { inputs: Vec::new(), outputs };
        FrozenCase::new(&Case { level, ..Case::new("a", bytes::Bytes::from_static(b"model"), vec![data]) })
    }

    #[test]
    fn a_frozen_case_reads_back() {
        for accuracy in [Accuracy::Exact, Accuracy::Ulp(3), Accuracy::Close { relative: 1e-3, absolute: 1e-7 }] {
            let case = frozen(Level::Recommended, 2.0, accuracy);
            assert_eq!(FrozenCase::parse(&case.to_string()), Some(case), "{case}");
        }
        for text in ["", "required", "required 0a1b2c 0a1b2c", "needed 0a1b2c 0a1b2c 0e0", "open 0a1b2c 0a1b2c 0e0 1"] {
            assert_eq!(FrozenCase::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_change_says_its_direction() {
        let base = frozen(Level::Recommended, 2.0, Accuracy::Ulp(2));
        let rows = [
            (base, None),
            (frozen(Level::Required, 2.0, Accuracy::Ulp(2)), Some(CaseChange::Raised)),
            (frozen(Level::Open, 2.0, Accuracy::Ulp(2)), Some(CaseChange::Lowered)),
            (frozen(Level::Recommended, 2.0, Accuracy::Exact), Some(CaseChange::Tightened)),
            (frozen(Level::Recommended, 2.0, Accuracy::Absolute(0.5)), Some(CaseChange::Weakened)),
            (frozen(Level::Recommended, 2.5, Accuracy::Ulp(2)), Some(CaseChange::Changed)),
        ];
        for (later, expected) in rows {
            assert_eq!(later.change_since(&base), expected, "{later}");
        }
    }
}
