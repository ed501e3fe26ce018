//! Error bounds of floating elements, and the shares of them that elements take.

use std::fmt;

use onnx_conformance_reference::dtype::ElementType;
use serde::{Deserialize, Serialize};

use crate::compare::element_name;

/// Share of its error bound that the distance of an element takes. Shares above the bound fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BoundShare {
    /// The expected value.
    #[serde(rename = "exact")]
    Exact,
    /// At most a sixteenth of the bound.
    #[serde(rename = "1/16")]
    Sixteenth,
    /// At most an eighth.
    #[serde(rename = "1/8")]
    Eighth,
    /// At most a quarter.
    #[serde(rename = "1/4")]
    Quarter,
    /// At most a half.
    #[serde(rename = "1/2")]
    Half,
    /// At most the bound.
    #[serde(rename = "1")]
    Whole,
    /// Above the bound, up to four times of it.
    #[serde(rename = "4")]
    Fourfold,
    /// More than four times the bound, or no number.
    #[serde(rename = "more")]
    More,
}

impl BoundShare {
    /// All shares, the smallest first.
    pub const ALL: [BoundShare; 8] = [
        BoundShare::Exact,
        BoundShare::Sixteenth,
        BoundShare::Eighth,
        BoundShare::Quarter,
        BoundShare::Half,
        BoundShare::Whole,
        BoundShare::Fourfold,
        BoundShare::More,
    ];

    /// Returns the share of a distance that takes `used` of the bound, which it holds or breaks. A quotient near 1 may be rounded to
    /// the other side of the bound.
    pub(super) fn of(used: f64, holds: bool) -> BoundShare {
        let limits = [
            (0.0, BoundShare::Exact),
            (1.0 / 16.0, BoundShare::Sixteenth),
            (1.0 / 8.0, BoundShare::Eighth),
            (1.0 / 4.0, BoundShare::Quarter),
            (1.0 / 2.0, BoundShare::Half),
            (1.0, BoundShare::Whole),
            (4.0, BoundShare::Fourfold),
        ];
        let share = limits.into_iter().find(|(limit, _)| used <= *limit).map_or(BoundShare::More, |(_, share)| share);
        if holds { share.min(BoundShare::Whole) } else { share.max(BoundShare::Fourfold) }
    }

    /// Returns the position among all shares.
    pub const fn position(self) -> usize {
        self as usize
    }

    /// Returns true if the bound holds.
    pub fn holds(self) -> bool {
        self <= BoundShare::Whole
    }

    /// Returns the largest multiple of the bound with this share, as a word: `1/4`.
    pub const fn name(self) -> &'static str {
        match self {
            BoundShare::Exact => "exact",
            BoundShare::Sixteenth => "1/16",
            BoundShare::Eighth => "1/8",
            BoundShare::Quarter => "1/4",
            BoundShare::Half => "1/2",
            BoundShare::Whole => "1",
            BoundShare::Fourfold => "4",
            BoundShare::More => "more",
        }
    }
}

impl fmt::Display for BoundShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An error bound of floating elements, and the largest share of it that one of them takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedBound {
    /// The element type.
    #[serde(rename = "type", with = "element_name")]
    pub element: ElementType,
    /// The bound in representable values; `None` for a bound in other units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ulps: Option<u64>,
    /// The largest share.
    pub share: BoundShare,
}

impl UsedBound {
    /// Returns the bound with the larger used share; the first one if the shares are equal.
    pub fn worse(first: Option<UsedBound>, second: Option<UsedBound>) -> Option<UsedBound> {
        match (first, second) {
            (Some(first), Some(second)) => Some(if second.share > first.share { second } else { first }),
            (first, second) => first.or(second),
        }
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::tensor::Tensor;
    use onnx_conformance_reference::value::Value;

    use super::*;
    use crate::compare::{Accuracy, all_of, compare, compare_bounded};

    fn tensor(values: &[f64]) -> Tensor {
        Tensor::of_floats(ElementType::Float, &[values.len()], values).unwrap()
    }

    /// Checks the share of the bound that outputs take, whether the comparison passes or not.
    fn check(expected: &[f64], actual: &[f64], accuracy: &Accuracy, share: Option<BoundShare>) {
        let compared = compare(&Value::Tensor(tensor(expected)), &Value::Tensor(tensor(actual)), accuracy);
        let bound = match &compared {
            Ok(agreement) => agreement.bound,
            Err(difference) => difference.bound,
        };
        assert_eq!(bound.map(|bound| bound.share), share, "{actual:?} by {accuracy}");
        assert_eq!(compared.is_ok(), share.is_none_or(BoundShare::holds), "{actual:?} by {accuracy}");
    }

    #[test]
    fn the_worst_element_takes_a_share_of_the_bound() {
        let ulp = f64::from(f32::EPSILON);
        let expected = [1.0, 1.0, 0.0, f64::NAN, f64::INFINITY];
        for (ulps, share) in [
            (0.0, BoundShare::Exact),
            (1.0, BoundShare::Sixteenth),
            (2.0, BoundShare::Eighth),
            (3.0, BoundShare::Quarter),
            (5.0, BoundShare::Half),
            (16.0, BoundShare::Whole),
            (17.0, BoundShare::Fourfold),
            (64.0, BoundShare::Fourfold),
            (65.0, BoundShare::More),
        ] {
            let actual = [1.0, 1.0 + ulps * ulp, -0.0, f64::NAN, f64::INFINITY];
            check(&expected, &actual, &Accuracy::Ulp(16), Some(share));
            check(&expected, &actual, &Accuracy::Absolute(16.0 * ulp), Some(share));
            check(&expected, &actual, &Accuracy::Roundoffs(16.0), Some(share));
        }
        check(&[1.0], &[f64::NAN], &Accuracy::Ulp(16), Some(BoundShare::More));
        check(&[f64::NEG_INFINITY], &[f64::INFINITY], &Accuracy::Absolute(1.0), Some(BoundShare::More));
        check(&[f64::from(f32::MAX)], &[f64::INFINITY], &Accuracy::Ulp(2), Some(BoundShare::Half));
    }

    #[test]
    fn outputs_that_must_be_equal_have_no_bound() {
        let [one, two] = [[1.0], [2.0]];
        for accuracy in [Accuracy::Exact, Accuracy::ExactZeroSign, Accuracy::Ulp(0), Accuracy::Absolute(0.0)] {
            check(&one, &one, &accuracy, None);
            let difference =
                compare(&Value::Tensor(tensor(&one)), &Value::Tensor(tensor(&two)), &accuracy).unwrap_err();
            assert_eq!(difference.bound, None);
        }
        check(&[], &[], &Accuracy::Ulp(1), None);
    }

    #[test]
    fn an_element_has_its_own_bound() {
        let bounds = Tensor::of_floats(ElementType::Double, &[2], &[0.5, 0.25]).unwrap();
        let share = |actual: [f64; 2]| {
            let compared = compare_bounded(&tensor(&[1.0, 1.0]), &bounds, &Value::Tensor(tensor(&actual)));
            match compared {
                Ok(agreement) => agreement.bound.unwrap(),
                Err(difference) => difference.bound.unwrap(),
            }
        };
        let quarter = UsedBound { element: ElementType::Float, ulps: None, share: BoundShare::Quarter };
        assert_eq!(share([1.125, 1.0625]), quarter);
        assert_eq!(share([1.125, 1.5]).share, BoundShare::Fourfold);
    }

    #[test]
    fn the_largest_share_of_several_outputs_counts() {
        let ulp = f64::from(f32::EPSILON);
        let output = |most: u64, ulps: f64| {
            let (expected, actual) = (Value::Tensor(tensor(&[1.0])), Value::Tensor(tensor(&[1.0 + ulps * ulp])));
            compare(&expected, &actual, &Accuracy::Ulp(most))
        };
        let used = |ulps, share| Some(UsedBound { element: ElementType::Float, ulps: Some(ulps), share });
        assert_eq!(all_of([output(2, 0.0), output(4, 1.0)]).unwrap().bound, used(4, BoundShare::Quarter));
        assert_eq!(all_of([output(2, 3.0), output(4, 5.0)]).unwrap_err().bound, used(2, BoundShare::Fourfold));
        assert_eq!(all_of([output(2, 3.0), output(4, 17.0)]).unwrap_err().bound, used(4, BoundShare::More));
    }

    #[test]
    fn names_are_those_of_results() {
        for (position, share) in BoundShare::ALL.into_iter().enumerate() {
            assert_eq!((share.position(), format!("\"{share}\"")), (position, serde_json::to_string(&share).unwrap()));
        }
        let used = UsedBound { element: ElementType::Float16, ulps: Some(2), share: BoundShare::Half };
        let text = r#"{"type":"float16","ulps":2,"share":"1/2"}"#;
        assert_eq!(serde_json::to_string(&used).unwrap(), text);
        assert_eq!(serde_json::from_str::<UsedBound>(text).unwrap(), used);
    }
}
