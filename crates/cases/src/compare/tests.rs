//! Values exactly on each bound and one step past it, for every type and every rule.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_complex::Complex;
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, MapKey, Optional, Sequence, SparseTensor, Value};

use crate::compare::{Accuracy, Difference, DifferenceKind, Distance, compare, compare_bounded, statistics};

/// The floating types with the bits of 1 and the number of bits of the fraction, by the formats' definitions.
const FLOATS: [(ElementType, u64, u32); 12] = [
    (ElementType::Float, 0x3f80_0000, 23),
    (ElementType::Double, 0x3ff0_0000_0000_0000, 52),
    (ElementType::Float16, 0x3c00, 10),
    (ElementType::Bfloat16, 0x3f80, 7),
    (ElementType::Float8e4m3fn, 0x38, 3),
    (ElementType::Float8e4m3fnuz, 0x40, 3),
    (ElementType::Float8e5m2, 0x3c, 2),
    (ElementType::Float8e5m2fnuz, 0x40, 2),
    (ElementType::Float8e8m0, 0x7f, 0),
    (ElementType::Float4e2m1, 0x2, 1),
    (ElementType::Float6e2m3, 0x8, 3),
    (ElementType::Float6e3m2, 0xc, 2),
];

fn bits(element: ElementType, bits: &[u64]) -> Tensor {
    TensorBuilder::unlimited(element, vec![bits.len()]).unwrap().bits(bits.iter().copied()).unwrap()
}

fn floats(element: ElementType, values: &[f64]) -> Tensor {
    Tensor::of_floats(element, &[values.len()], values).unwrap()
}

fn integers(element: ElementType, values: &[i128]) -> Tensor {
    Tensor::of_integers(element, &[values.len()], values).unwrap()
}

fn strings(values: &[&str]) -> Tensor {
    Tensor::from_strings(vec![values.len()], values.iter().map(|&text| Arc::from(text)).collect()).unwrap()
}

/// Asserts that two tensors agree, or that they do not.
fn check(expected: &Tensor, actual: &Tensor, accuracy: &Accuracy, agrees: bool) {
    let result = compare(&Value::Tensor(expected.clone()), &Value::Tensor(actual.clone()), accuracy);
    let what = format!("{expected:?} and {actual:?} by {accuracy}");
    assert_eq!(result.is_ok(), agrees, "{what}: {result:?}");
}

fn message(result: Result<impl std::fmt::Debug, Difference>) -> String {
    result.unwrap_err().message
}

fn ulps(expected: &Tensor, actual: &Tensor, most: u64) -> Option<u64> {
    let accuracy = Accuracy::Ulp(most);
    compare(&Value::Tensor(expected.clone()), &Value::Tensor(actual.clone()), &accuracy).unwrap().ulps
}

#[test]
fn every_floating_type_is_listed() {
    let all = ElementType::ALL.into_iter().filter(|element| element.kind() == Kind::Float);
    for element in all {
        let row = FLOATS.iter().find(|(other, ..)| *other == element);
        let (_, one, _) = row.unwrap_or_else(|| panic!("{element} is missing"));
        assert_eq!(element.decode_f64(*one), 1.0, "{element}");
    }
}

#[test]
fn units_in_the_last_place_are_counted_in_representable_values() {
    for (element, one, _) in FLOATS {
        for most in 0..3 {
            let expected = bits(element, &[one]);
            check(&expected, &bits(element, &[one + most]), &Accuracy::Ulp(most), true);
            check(&expected, &bits(element, &[one + most + 1]), &Accuracy::Ulp(most), false);
            check(&bits(element, &[one + most]), &expected, &Accuracy::Ulp(most), true);
            check(&bits(element, &[one + most + 1]), &expected, &Accuracy::Ulp(most), false);
            assert_eq!(ulps(&expected, &bits(element, &[one + most]), most), Some(most), "{element}");
        }
    }
}

#[test]
fn exact_allows_no_step() {
    for (element, one, _) in FLOATS {
        for accuracy in [Accuracy::Exact, Accuracy::ExactZeroSign, Accuracy::Ulp(0)] {
            check(&bits(element, &[one]), &bits(element, &[one]), &accuracy, true);
            check(&bits(element, &[one]), &bits(element, &[one + 1]), &accuracy, false);
            check(&bits(element, &[one]), &bits(element, &[one - 1]), &accuracy, false);
        }
    }
}

/// Checks a rule under which the second value above 1 is exactly on the bound, and the third past it.
fn on_the_second_step(element: ElementType, one: u64, accuracy: &Accuracy) {
    let expected = bits(element, &[one]);
    check(&expected, &bits(element, &[one + 2]), accuracy, true);
    check(&expected, &bits(element, &[one + 3]), accuracy, false);
}

/// Distance of the second value above 1: two units of the fraction, or 4 - 1 for powers of two only.
fn two_steps(element: ElementType, fraction: u32) -> f64 {
    match (element, fraction) {
        (ElementType::Float8e8m0, _) => 3.0,
        // 1, 1.5, 2
        (_, fraction) => 2.0 / f64::from(2u32.pow(fraction.min(30))) / f64::from(2u32.pow(fraction.max(30) - 30)),
    }
}

#[test]
fn absolute_distances_include_their_bound() {
    for (element, one, fraction) in FLOATS {
        let distance = two_steps(element, fraction);
        on_the_second_step(element, one, &Accuracy::Absolute(distance));
        let expected = bits(element, &[one]);
        check(&expected, &bits(element, &[one + 2]), &Accuracy::Absolute(distance.next_down()), false);
    }
}

#[test]
fn roundoffs_include_their_bound() {
    for (element, one, fraction) in FLOATS {
        // One unit roundoff is half the distance from 1 to the next value, and the bound is of 1 + |1|.
        let roundoff = if fraction == 0 { 0.5 } else { two_steps(element, fraction) / 4.0 };
        let multiple = two_steps(element, fraction) / roundoff / 2.0;
        on_the_second_step(element, one, &Accuracy::Roundoffs(multiple));
        let less = Accuracy::Roundoffs(multiple.next_down());
        check(&bits(element, &[one]), &bits(element, &[one + 2]), &less, false);
    }
}

#[test]
fn close_includes_its_bound_and_takes_bfloat16_wider() {
    for (element, one, fraction) in FLOATS {
        let distance = two_steps(element, fraction);
        if element == ElementType::Bfloat16 {
            // Two steps are 2^-6, which is the smallest tolerance for bfloat16.
            on_the_second_step(element, one, &Accuracy::Close { relative: 0.0, absolute: 0.0 });
            continue;
        }
        on_the_second_step(element, one, &Accuracy::Close { relative: distance, absolute: 0.0 });
        on_the_second_step(element, one, &Accuracy::Close { relative: 0.0, absolute: distance });
        on_the_second_step(element, one, &Accuracy::Close { relative: distance / 2.0, absolute: distance / 2.0 });
    }
}

#[test]
fn relative_distances_are_of_the_expected_value() {
    let accuracy = Accuracy::Close { relative: 0.5, absolute: 0.0 };
    let tensor = |value| floats(ElementType::Double, &[value]);
    check(&tensor(4.0), &tensor(6.0), &accuracy, true);
    check(&tensor(6.0), &tensor(4.0), &accuracy, true);
    check(&tensor(4.0), &tensor(2.0), &accuracy, true);
    check(&tensor(2.0), &tensor(4.0), &accuracy, false);
    check(&tensor(-4.0), &tensor(-6.0), &accuracy, true);
    check(&tensor(-4.0), &tensor((-6.0f64).next_up()), &accuracy, true);
    check(&tensor(-4.0), &tensor((-6.0f64).next_down()), &accuracy, false);
}

#[test]
fn bounds_of_elements_are_each_their_own() {
    for (element, one, fraction) in FLOATS {
        let distance = two_steps(element, fraction);
        let expected = bits(element, &[one, one]);
        let bound = floats(ElementType::Double, &[0.0, distance]);
        let holds = |first, second| {
            compare_bounded(&expected, &bound, &Value::Tensor(bits(element, &[one + first, one + second]))).is_ok()
        };
        assert!(holds(0, 2), "{element}");
        assert!(!holds(0, 3), "{element}");
        assert!(!holds(1, 0), "{element}");
    }
}

#[test]
fn bounds_do_not_apply_to_nan_and_infinities() {
    let expected = floats(ElementType::Float, &[1.0, f64::NAN, f64::INFINITY]);
    let bound = floats(ElementType::Double, &[1.0; 3]);
    let check =
        |values: [f64; 3]| compare_bounded(&expected, &bound, &Value::Tensor(floats(ElementType::Float, &values)));
    assert!(check([2.0, f64::NAN, f64::INFINITY]).is_ok());
    for mismatch in [
        [f64::NAN, f64::NAN, f64::INFINITY],
        [f64::INFINITY, f64::NAN, f64::INFINITY],
        [1.0, 1.0, f64::INFINITY],
        [1.0, f64::NAN, f64::from(f32::MAX)],
        [1.0, f64::NAN, f64::NEG_INFINITY],
        [1.0, f64::NAN, f64::NAN],
    ] {
        assert!(check(mismatch).is_err(), "{mismatch:?}");
    }
}

#[test]
fn nan_only_equals_nan_under_every_rule() {
    let rules = [
        Accuracy::Exact,
        Accuracy::ExactZeroSign,
        Accuracy::Ulp(u64::MAX),
        Accuracy::Absolute(f64::MAX),
        Accuracy::Roundoffs(1e6),
        Accuracy::Close { relative: 1.0, absolute: 1e30 },
    ];
    for (element, one, _) in FLOATS {
        let nan = element.encode(f64::NAN);
        if !element.decode_f64(nan).is_nan() {
            continue;
        }
        for accuracy in &rules {
            check(&bits(element, &[nan]), &bits(element, &[nan]), accuracy, true);
            check(&bits(element, &[nan]), &bits(element, &[one]), accuracy, false);
            check(&bits(element, &[one]), &bits(element, &[nan]), accuracy, false);
        }
    }
    // Payload and sign of a NaN are ignored.
    check(&bits(ElementType::Float, &[0x7fc0_0000]), &bits(ElementType::Float, &[0xff80_0001]), &Accuracy::Exact, true);
}

#[test]
fn rounding_may_reach_infinity_but_not_leave_it() {
    for element in
        [ElementType::Float, ElementType::Double, ElementType::Float16, ElementType::Bfloat16, ElementType::Float8e5m2]
    {
        let infinity = element.encode(f64::INFINITY);
        let (infinite, largest) = (bits(element, &[infinity]), bits(element, &[infinity - 1]));
        let negative = floats(element, &[f64::NEG_INFINITY]);
        check(&infinite, &infinite, &Accuracy::Exact, true);
        check(&infinite, &negative, &Accuracy::Absolute(f64::INFINITY), false);
        check(&largest, &infinite, &Accuracy::Ulp(1), true);
        check(&largest, &infinite, &Accuracy::Ulp(0), false);
        check(&infinite, &largest, &Accuracy::Ulp(u64::MAX), false);
        let boundless = floats(ElementType::Double, &[f64::INFINITY]);
        assert!(compare_bounded(&infinite, &boundless, &Value::Tensor(infinite.clone())).is_ok());
        assert!(compare_bounded(&infinite, &boundless, &Value::Tensor(largest.clone())).is_err());
        for accuracy in [Accuracy::Absolute(f64::MAX), Accuracy::Close { relative: 1.0, absolute: 1.0 }] {
            check(&infinite, &largest, &accuracy, false);
            check(&largest, &infinite, &accuracy, false);
        }
    }
}

#[test]
fn zeros_are_equal_unless_the_sign_is_compared() {
    for element in [
        ElementType::Float,
        ElementType::Double,
        ElementType::Float16,
        ElementType::Float8e4m3fn,
        ElementType::Float4e2m1,
    ] {
        let (plus, minus) = (floats(element, &[0.0]), floats(element, &[-0.0]));
        for accuracy in [Accuracy::Exact, Accuracy::Ulp(0), Accuracy::Absolute(0.0), Accuracy::Roundoffs(0.0)] {
            check(&plus, &minus, &accuracy, true);
            check(&minus, &plus, &accuracy, true);
        }
        check(&plus, &minus, &Accuracy::ExactZeroSign, false);
        check(&minus, &minus, &Accuracy::ExactZeroSign, true);
        // For nonzero numbers it is the same rule as exact.
        check(&floats(element, &[1.0]), &floats(element, &[1.0]), &Accuracy::ExactZeroSign, true);
    }
}

#[test]
fn subnormals_are_steps_like_all_others() {
    for element in
        [ElementType::Float, ElementType::Double, ElementType::Float16, ElementType::Bfloat16, ElementType::Float8e5m2]
    {
        let zero = bits(element, &[0]);
        check(&zero, &bits(element, &[1]), &Accuracy::Exact, false);
        check(&zero, &bits(element, &[1]), &Accuracy::Ulp(1), true);
        check(&zero, &bits(element, &[2]), &Accuracy::Ulp(1), false);
        let smallest = element.decode_f64(1);
        let (minus, plus) = (floats(element, &[-smallest]), floats(element, &[smallest]));
        assert_eq!(ulps(&minus, &plus, 2), Some(2), "{element}");
        check(&minus, &plus, &Accuracy::Ulp(1), false);
        check(&zero, &plus, &Accuracy::Absolute(smallest), true);
        if element != ElementType::Double {
            check(&zero, &plus, &Accuracy::Absolute(smallest.next_down()), false);
        }
    }
}

#[test]
fn integers_are_exact_by_every_rule() {
    let lax =
        [Accuracy::Exact, Accuracy::Ulp(9), Accuracy::Absolute(9.0), Accuracy::Close { relative: 1.0, absolute: 9.0 }];
    for element in ElementType::ALL.into_iter().filter(|element| element.is_integer()) {
        let (least, most) = (element.min_value().unwrap(), element.max_value().unwrap());
        for accuracy in &lax {
            check(&integers(element, &[least, most]), &integers(element, &[least, most]), accuracy, true);
            check(&integers(element, &[least, most]), &integers(element, &[least, most - 1]), accuracy, false);
            check(&integers(element, &[least, most]), &integers(element, &[least + 1, most]), accuracy, false);
        }
    }
}

#[test]
fn bools_and_strings_are_exact() {
    let lax = Accuracy::Close { relative: 1.0, absolute: 9.0 };
    let bools = |values: &[u64]| bits(ElementType::Bool, values);
    check(&bools(&[0, 1]), &bools(&[0, 1]), &lax, true);
    check(&bools(&[0, 1]), &bools(&[1, 1]), &lax, false);
    check(&strings(&["a", ""]), &strings(&["a", ""]), &lax, true);
    check(&strings(&["a", ""]), &strings(&["a", " "]), &lax, false);
    check(&strings(&["a"]), &strings(&["A"]), &lax, false);
}

#[test]
fn each_part_of_a_complex_number_is_held_to_the_bound() {
    for (element, step) in [(ElementType::Complex64, f64::from(f32::EPSILON)), (ElementType::Complex128, f64::EPSILON)]
    {
        let tensor = |re: f64, im: f64| {
            TensorBuilder::unlimited(element, vec![1]).unwrap().complexes([Complex::new(re, im)]).unwrap()
        };
        let expected = tensor(1.0, -1.0);
        for accuracy in [Accuracy::Ulp(2), Accuracy::Absolute(2.0 * step), Accuracy::Roundoffs(2.0)] {
            check(&expected, &tensor(1.0 + 2.0 * step, -1.0), &accuracy, true);
            check(&expected, &tensor(1.0, -1.0 - 2.0 * step), &accuracy, true);
            check(&expected, &tensor(1.0 + 3.0 * step, -1.0), &accuracy, false);
            check(&expected, &tensor(1.0, -1.0 - 3.0 * step), &accuracy, false);
        }
        let text = message(compare(
            &Value::Tensor(expected.clone()),
            &Value::Tensor(tensor(1.0, -1.0 - 3.0 * step)),
            &Accuracy::Ulp(2),
        ));
        assert!(text.contains("at [0, 1]") && text.contains("3 ULP") && text.contains("2 ULP"), "{text}");
    }
}

#[test]
fn containers_are_compared_item_by_item() {
    let tensor = |value: f64| Value::Tensor(floats(ElementType::Float, &[value]));
    let float = ValueType::Tensor(ElementType::Float);
    let sequence =
        |values: &[f64]| Value::Sequence(Sequence::new(float.clone(), values.iter().map(|&v| tensor(v)).collect()));
    let optional = |value: Option<f64>| {
        Value::Optional(Optional { item_type: float.clone(), item: value.map(|value| Arc::new(tensor(value))) })
    };
    let step = 1.0 + f64::from(f32::EPSILON);
    let one_ulp = Accuracy::Ulp(1);
    assert!(compare(&sequence(&[1.0, 1.0]), &sequence(&[1.0, step]), &one_ulp).is_ok());
    let difference = compare(&sequence(&[1.0, 1.0]), &sequence(&[1.0, step]), &Accuracy::Exact).unwrap_err();
    assert!(difference.message.starts_with("item 1: 1 of 1 elements differ (exact); at [0]"), "{}", difference.message);
    let kind = |a: &Value, b: &Value| compare(a, b, &one_ulp).map_err(|difference| difference.kind).map(|_| ());
    assert_eq!(kind(&sequence(&[1.0]), &sequence(&[1.0, 1.0])), Err(DifferenceKind::Shape));
    assert_eq!(kind(&sequence(&[]), &sequence(&[])), Ok(()));
    assert_eq!(kind(&sequence(&[1.0]), &tensor(1.0)), Err(DifferenceKind::Type));
    assert_eq!(kind(&optional(None), &optional(None)), Ok(()));
    assert_eq!(kind(&optional(Some(1.0)), &optional(Some(step))), Ok(()));
    assert_eq!(kind(&optional(Some(1.0)), &optional(Some(2.0))), Err(DifferenceKind::Values(Distance::Far)));
    assert_eq!(kind(&optional(Some(1.0)), &optional(None)), Err(DifferenceKind::Shape));
    assert_eq!(kind(&optional(None), &optional(Some(1.0))), Err(DifferenceKind::Shape));
}

#[test]
fn maps_have_the_same_keys() {
    let map = |entries: &[(i128, f64)]| {
        let entries: BTreeMap<MapKey, Value> = entries
            .iter()
            .map(|&(key, value)| {
                (MapKey::Integer(key), Value::Tensor(Tensor::of_floats(ElementType::Float, &[], &[value]).unwrap()))
            })
            .collect();
        Value::Map(Map {
            key_type: ElementType::Int64,
            value_type: ValueType::Tensor(ElementType::Float),
            entries: entries.into(),
        })
    };
    let one_ulp = Accuracy::Ulp(1);
    let step = f64::from(f32::EPSILON);
    assert!(compare(&map(&[(3, 1.0)]), &map(&[(3, 1.0 + step)]), &one_ulp).is_ok());
    let text = message(compare(&map(&[(3, 1.0)]), &map(&[(3, 1.0 + 2.0 * step)]), &one_ulp));
    assert!(text.starts_with("key 3: 1 of 1 elements differ (1 ULP); at []"), "{text}");
    let difference = compare(&map(&[(3, 1.0)]), &map(&[(4, 1.0)]), &one_ulp).unwrap_err();
    assert_eq!((difference.kind, difference.message.as_str()), (DifferenceKind::Shape, "expected keys [3], got [4]"));
}

#[test]
fn sparse_tensors_have_the_same_places() {
    let sparse = |at: i128, value: f64| {
        Value::Sparse(Arc::new(SparseTensor {
            values: floats(ElementType::Float, &[value]),
            indices: integers(ElementType::Int64, &[at]),
            shape: vec![4],
        }))
    };
    let step = f64::from(f32::EPSILON);
    assert!(compare(&sparse(2, 1.0), &sparse(2, 1.0 + step), &Accuracy::Ulp(1)).is_ok());
    assert!(compare(&sparse(2, 1.0), &sparse(2, 1.0 + 2.0 * step), &Accuracy::Ulp(1)).is_err());
    assert!(compare(&sparse(2, 1.0), &sparse(3, 1.0), &Accuracy::Ulp(1)).is_err());
}

#[test]
fn type_and_shape_are_compared_before_values() {
    let kind = |a: Tensor, b: Tensor| compare(&Value::Tensor(a), &Value::Tensor(b), &Accuracy::Exact).unwrap_err().kind;
    let (float, double) = (floats(ElementType::Float, &[1.0]), floats(ElementType::Double, &[1.0]));
    assert_eq!(kind(float.clone(), double), DifferenceKind::Type);
    assert_eq!(kind(float.clone(), float.with_shape(vec![1, 1]).unwrap()), DifferenceKind::Shape);
    let empty = Tensor::of_floats(ElementType::Float, &[0, 2], &[]).unwrap();
    assert_eq!(kind(empty.clone(), empty.with_shape(vec![2, 0]).unwrap()), DifferenceKind::Shape);
}

#[test]
fn a_mismatch_shows_position_values_distance_and_bound() {
    let expected = Tensor::of_floats(ElementType::Float, &[2, 2], &[1.0, 2.0, 3.0, 4.0]).unwrap();
    // 2 is off by 4 steps, 3 by 2 steps; a step there is 2^-22.
    let step = libm::exp2(-22.0);
    let actual =
        Tensor::of_floats(ElementType::Float, &[2, 2], &[1.0, 2.0 + 4.0 * step, 3.0 + 2.0 * step, 4.0]).unwrap();
    let says = |accuracy: &Accuracy, parts: &[&str]| {
        let text = message(compare(&Value::Tensor(expected.clone()), &Value::Tensor(actual.clone()), accuracy));
        for part in [&["2 of 4 elements differ", "at [0, 1]", "expected 2", "got 2.000001", "4 ULP"], parts].concat() {
            assert!(text.contains(part), "'{part}' is not in: {text}");
        }
    };
    says(&Accuracy::Exact, &["(exact)"]);
    says(&Accuracy::Ulp(1), &["(1 ULP)"]);
    says(&Accuracy::Absolute(step), &["|actual - expected| <= 2.38418579", "off by 9.5367431640625e-7", "is allowed"]);
    says(&Accuracy::Roundoffs(1.0), &["1 unit roundoffs of 1 + |expected|", "off by", "is allowed"]);
    says(&Accuracy::Close { relative: 1e-9, absolute: 0.0 }, &["0e0 + 1e-9 * |expected|", "off by", "2e-9 is allowed"]);
    let bound = Tensor::of_floats(ElementType::Double, &[2, 2], &[step; 4]).unwrap();
    let text = message(compare_bounded(&expected, &bound, &Value::Tensor(actual.clone())));
    for part in [
        "the bound of each element",
        "at [0, 1]",
        "4 ULP",
        "off by 9.5367431640625e-7 where 2.384185791015625e-7 is allowed",
    ] {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

#[test]
fn a_mismatch_of_any_type_shows_position_and_values() {
    let text = |a: Tensor, b: Tensor| message(compare(&Value::Tensor(a), &Value::Tensor(b), &Accuracy::Exact));
    let shown = text(integers(ElementType::Int64, &[1, 100_000]), integers(ElementType::Int64, &[1, 100_050]));
    assert_eq!(shown, "1 of 2 elements differ (exact); at [1] expected 100000, got 100050");
    let shown = text(strings(&["a"]), strings(&["b"]));
    assert!(shown.contains("at [0]") && shown.contains('a') && shown.contains('b'), "{shown}");
    let shown = text(floats(ElementType::Float, &[1.0]), floats(ElementType::Float, &[f64::NAN]));
    assert!(shown.contains("at [0]") && shown.contains("NaN") && !shown.contains("ULP"), "{shown}");
}

#[test]
fn drawn_counts_may_be_on_their_bound_but_not_past_it() {
    // For 100 elements at one half, the deviation is 5, and six deviations are 30.
    let mask = |fallen: usize| {
        let kept: Vec<u64> = (0..100).map(|at| u64::from(at >= fallen)).collect();
        statistics::mask(0.5, &bits(ElementType::Bool, &kept))
    };
    for (fallen, agrees) in [(19, false), (20, true), (50, true), (80, true), (81, false)] {
        assert_eq!(mask(fallen).is_ok(), agrees, "{fallen}");
    }
    assert_eq!(
        message(mask(81)),
        "81 of 100 elements are dropped at a ratio of 0.5; chance allows 50 plus or minus 30"
    );
    let source = floats(ElementType::Float, &[3.0; 100]);
    let dropped = |fallen: usize, kept: f64| {
        let values: Vec<f64> = (0..100).map(|at| if at < fallen { 0.0 } else { kept }).collect();
        statistics::dropped(&source, 0.5, &floats(ElementType::Float, &values))
    };
    for (fallen, agrees) in [(19, false), (20, true), (80, true), (81, false)] {
        assert_eq!(dropped(fallen, 6.0).is_ok(), agrees, "{fallen}");
    }
    // A kept element is 6, within a thousandth.
    assert!(dropped(50, 6.005_999).is_ok());
    assert!(dropped(50, 6.006_001).is_err());
}

#[test]
fn drawn_means_may_be_on_their_bound_but_not_past_it() {
    // Of 8 equal elements, the bound is six times the root of an eighth of an eighth: 0.75.
    let sample = floats(ElementType::Double, &[1.0; 8]);
    for (value, agrees) in [(0.25, true), (0.249_999, false), (1.75, true), (1.750_001, false)] {
        let actual = floats(ElementType::Double, &[value; 8]);
        assert_eq!(statistics::same_mean(&sample, &actual).is_ok(), agrees, "{value}");
    }
    let text = message(statistics::same_mean(&sample, &floats(ElementType::Double, &[2.0; 8])));
    assert!(text.contains("is 1, that of the output 2; chance allows a difference of 0.75"), "{text}");
}
