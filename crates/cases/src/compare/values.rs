//! Comparing values of every type.

use std::fmt::Write;

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::{Map, MapKey, Value};

use crate::compare::Accuracy;
use crate::compare::bound::{BoundShare, UsedBound};
use crate::compare::distance::{Distance, is_inexact};
use crate::compare::rule::ulps;

/// Closeness of two values that agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The largest distance of two elements in representable values; `None` if no floating element was compared.
    pub ulps: Option<u64>,
    /// The error bound with the largest share used by an element; `None` if all outputs must be equal to the expected
    /// ones.
    pub bound: Option<UsedBound>,
}

/// Reason why two values do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The kind of the difference.
    pub kind: DifferenceKind,
    /// Place and size of the difference.
    pub message: String,
    /// The largest distance in representable values, if the value is only inexact: every element beyond its bound is a finite
    /// number with the sign of the expected one, and near it.
    pub ulps: Option<u64>,
    /// The broken bound with the largest share used by an element; `None` if no bound is broken.
    pub bound: Option<UsedBound>,
}

/// Kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Values of elements, by distance.
    Values(Distance),
    /// Shape, length or keys.
    Shape,
    /// Type.
    Type,
}

pub(super) fn different(kind: DifferenceKind, message: impl Into<String>) -> Difference {
    Difference { kind, message: message.into(), ulps: None, bound: None }
}

/// Compares an actual value with the expected one. Strings, keys and lengths are always exact.
pub fn compare(expected: &Value, actual: &Value, accuracy: &Accuracy) -> Result<Agreement, Difference> {
    if let (Value::Tensor(expected), Accuracy::Bounded(bound)) = (expected, accuracy) {
        return compare_bounded(expected, bound, actual);
    }
    let (want, got) = (expected.value_type(), actual.value_type());
    if want != got {
        return Err(different(DifferenceKind::Type, format!("expected {want}, got {got}")));
    }
    match (expected, actual) {
        (Value::Tensor(expected), Value::Tensor(actual)) => compare_tensors(expected, actual, accuracy),
        (Value::Sparse(expected), Value::Sparse(actual)) => {
            same_shape(&expected.shape, &actual.shape)?;
            let indices = compare_tensors(&expected.indices, &actual.indices, &Accuracy::Exact)?;
            Ok(less_close(indices, compare_tensors(&expected.values, &actual.values, accuracy)?))
        }
        (Value::Sequence(expected), Value::Sequence(actual)) => {
            let (want, got) = (expected.items.len(), actual.items.len());
            if want != got {
                return Err(different(DifferenceKind::Shape, format!("expected {want} items, got {got}")));
            }
            let pairs = expected.items.iter().zip(actual.items.iter()).enumerate();
            all_of(
                pairs.map(|(at, (expected, actual))| {
                    at_place(&format!("item {at}"), compare(expected, actual, accuracy))
                }),
            )
        }
        (Value::Optional(expected), Value::Optional(actual)) => match (&expected.item, &actual.item) {
            (None, None) => Ok(Agreement::default()),
            (Some(expected), Some(actual)) => compare(expected, actual, accuracy),
            (want, _) => {
                let (want, got) = if want.is_some() { ("present", "absent") } else { ("absent", "present") };
                Err(different(DifferenceKind::Shape, format!("the optional is {got}, expected {want}")))
            }
        },
        (Value::Map(expected), Value::Map(actual)) => {
            if !expected.entries.keys().eq(actual.entries.keys()) {
                let keys = |map: &Map| map.entries.keys().map(MapKey::to_string).collect::<Vec<_>>().join(", ");
                let message = format!("expected keys [{}], got [{}]", keys(expected), keys(actual));
                return Err(different(DifferenceKind::Shape, message));
            }
            let pairs = expected.entries.iter().zip(actual.entries.values());
            all_of(
                pairs.map(|((key, expected), actual)| {
                    at_place(&format!("key {key}"), compare(expected, actual, accuracy))
                }),
            )
        }
        _ => Err(different(DifferenceKind::Type, format!("expected {want}, got {got}"))),
    }
}

/// Compares a tensor with the expected one of the same shape, with a bound for each element.
pub fn compare_bounded(expected: &Tensor, bound: &Tensor, actual: &Value) -> Result<Agreement, Difference> {
    let Value::Tensor(actual) = actual else {
        return Err(different(DifferenceKind::Type, format!("expected a tensor, got {}", actual.value_type())));
    };
    check_kind(expected, actual)?;
    let bounds = bound.floats();
    let limit = |at: usize, _: f64| bounds.get(at).copied().unwrap_or(0.0);
    let holds = |at: usize, element: ElementType, want: (f64, u64), got: (f64, u64)| {
        Accuracy::Exact.holds(element, want, got) || (want.0.is_finite() && (want.0 - got.0).abs() <= limit(at, want.0))
    };
    let rule = FloatRule { name: "the bound of each element", holds, limit, ulps: 0, has_bound: true };
    compare_reals(expected, actual, &rule)
}

/// Returns the result of several comparisons: the largest distance of all, or the first difference. The other
/// differences have the same distance.
pub fn all_of(results: impl IntoIterator<Item = Result<Agreement, Difference>>) -> Result<Agreement, Difference> {
    let mut sum = Ok(Agreement::default());
    for next in results {
        sum = match (sum, next) {
            (Ok(sum), Ok(next)) => Ok(less_close(sum, next)),
            (Err(first), Err(next)) => {
                let ulps = first.ulps.zip(next.ulps).map(|(first, next)| first.max(next));
                Err(Difference { ulps, bound: UsedBound::worse(first.bound, next.bound), ..first })
            }
            (Err(difference), Ok(_)) | (Ok(_), Err(difference)) => Err(difference),
        };
        if sum.as_ref().is_err_and(|difference| difference.ulps.is_none()) {
            break;
        }
    }
    sum
}

fn less_close(a: Agreement, b: Agreement) -> Agreement {
    Agreement { ulps: a.ulps.max(b.ulps), bound: UsedBound::worse(a.bound, b.bound) }
}

fn at_place(place: &str, result: Result<Agreement, Difference>) -> Result<Agreement, Difference> {
    result.map_err(|difference| Difference { message: format!("{place}: {}", difference.message), ..difference })
}

fn same_shape(expected: &[usize], actual: &[usize]) -> Result<(), Difference> {
    if expected == actual {
        return Ok(());
    }
    Err(different(DifferenceKind::Shape, format!("expected shape {expected:?}, got {actual:?}")))
}

fn check_kind(expected: &Tensor, actual: &Tensor) -> Result<(), Difference> {
    let (want, got) = (expected.element_type(), actual.element_type());
    if want != got {
        return Err(different(DifferenceKind::Type, format!("expected tensor({want}), got tensor({got})")));
    }
    same_shape(expected.shape(), actual.shape())
}

fn compare_tensors(expected: &Tensor, actual: &Tensor, accuracy: &Accuracy) -> Result<Agreement, Difference> {
    check_kind(expected, actual)?;
    match expected.element_type().kind() {
        Kind::Float => {
            let rule = FloatRule {
                name: &accuracy.to_string(),
                holds: |_, element, want, got| accuracy.holds(element, want, got),
                limit: |_, want| accuracy.distance(expected.element_type(), want),
                ulps: if let Accuracy::Ulp(most) = accuracy { *most } else { 0 },
                has_bound: accuracy.has_bound(),
            };
            compare_reals(expected, actual, &rule)
        }
        Kind::Complex => compare_complexes(expected, actual, accuracy),
        Kind::String => compare_exact(expected, actual, |at| expected.strings().get(at) == actual.strings().get(at)),
        Kind::Bool => compare_exact(expected, actual, |at| (expected.bits_at(at) != 0) == (actual.bits_at(at) != 0)),
        Kind::Signed | Kind::Unsigned => {
            if expected.bytes() == actual.bytes() {
                return Ok(Agreement::default());
            }
            compare_exact(expected, actual, |at| expected.bits_at(at) == actual.bits_at(at))
        }
    }
}

fn compare_exact(expected: &Tensor, actual: &Tensor, same: impl Fn(usize) -> bool) -> Result<Agreement, Difference> {
    let mismatches: Vec<usize> = (0..expected.len()).filter(|&at| !same(at)).collect();
    match mismatches.first() {
        None => Ok(Agreement::default()),
        Some(&at) => {
            let mismatch = Mismatch { count: mismatches.len(), at, rule: "exact", detail: "", ulps: None, bound: None };
            Err(mismatch.difference(expected, actual))
        }
    }
}

/// A rule for the elements of a float tensor.
struct FloatRule<'a, Holds, Limit> {
    /// The name in messages.
    name: &'a str,
    /// Returns true if the actual element at a position is close enough to the expected one. Both are of a type, given
    /// as value and stored bits.
    holds: Holds,
    /// Returns the allowed distance from an expected value at a position, for messages.
    limit: Limit,
    /// The allowed distance in representable values; 0 for rules that are in other units.
    ulps: u64,
    /// True if the rule allows any distance.
    has_bound: bool,
}

impl<Holds, Limit: Fn(usize, f64) -> f64> FloatRule<'_, Holds, Limit> {
    /// Returns the share of the bound that an element takes by its values, their distance in representable values, and whether the
    /// rule holds for it.
    fn share(&self, at: usize, (want, got): (f64, f64), distance: Option<u64>, holds: bool) -> BoundShare {
        let used = if want == got || (want.is_nan() && got.is_nan()) {
            0.0
        } else if self.ulps > 0 {
            distance.map_or(f64::INFINITY, |ulps| ulps as f64 / self.ulps as f64)
        } else {
            (got - want).abs() / (self.limit)(at, want)
        };
        BoundShare::of(used, holds)
    }
}

/// Compares floats.
fn compare_reals<Holds, Limit>(
    expected: &Tensor,
    actual: &Tensor,
    rule: &FloatRule<'_, Holds, Limit>,
) -> Result<Agreement, Difference>
where
    Holds: Fn(usize, ElementType, (f64, u64), (f64, u64)) -> bool,
    Limit: Fn(usize, f64) -> f64,
{
    let element = expected.element_type();
    let (wants, gots) = (expected.floats(), actual.floats());
    let mut agreement = Agreement { ulps: (!wants.is_empty()).then_some(0), bound: None };
    let (mut count, mut worst, mut inexact, mut share) = (0, None, Some(0), BoundShare::Exact);
    for (at, (&want, &got)) in wants.iter().zip(&gots).enumerate() {
        if want == got && want != 0.0 {
            continue;
        }
        let (want_bits, got_bits) = (expected.bits_at(at), actual.bits_at(at));
        let distance = ulps(element, want_bits, got_bits);
        agreement.ulps = agreement.ulps.max(distance);
        let holds = (rule.holds)(at, element, (want, want_bits), (got, got_bits));
        if rule.has_bound {
            share = share.max(rule.share(at, (want, got), distance, holds));
        }
        if !holds {
            count += 1;
            // A NaN or a wrong sign of zero has no distance and counts as the worst mismatch.
            let rank = distance.filter(|&ulps| ulps > 0).unwrap_or(u64::MAX);
            if worst.is_none_or(|(_, most)| rank > most) {
                worst = Some((at, rank));
            }
            let near = distance.filter(|ulps| is_inexact(element, (want, got), *ulps, rule.ulps));
            inexact = inexact.zip(near).map(|(most, ulps)| most.max(ulps));
        }
    }
    let is_bounded = rule.has_bound && !wants.is_empty();
    agreement.bound = is_bounded.then(|| UsedBound { element, ulps: (rule.ulps > 0).then_some(rule.ulps), share });
    let Some((at, rank)) = worst else { return Ok(agreement) };
    let want = wants.get(at).copied().unwrap_or_default();
    let mut detail = if rank == u64::MAX { String::new() } else { format!(", {rank} ULP") };
    let allowed = (rule.limit)(at, want);
    if allowed > 0.0 {
        let got = gots.get(at).copied().unwrap_or_default();
        let _ = write!(detail, ", off by {:e} where {allowed:e} is allowed", (got - want).abs());
    }
    let bound = agreement.bound;
    Err(Mismatch { count, at, rule: rule.name, detail: &detail, ulps: inexact, bound }.difference(expected, actual))
}

/// Compares complex numbers as reals with one more axis: index 0 is the real part, 1 the imaginary part.
fn compare_complexes(expected: &Tensor, actual: &Tensor, accuracy: &Accuracy) -> Result<Agreement, Difference> {
    let part = match expected.element_type() {
        ElementType::Complex64 => ElementType::Float,
        _ => ElementType::Double,
    };
    let parts = |tensor: &Tensor| {
        let shape = [tensor.shape(), &[2]].concat();
        Tensor::from_bytes(part, shape, tensor.bytes().clone())
            .map_err(|error| different(DifferenceKind::Type, error.to_string()))
    };
    at_place("parts", compare_tensors(&parts(expected)?, &parts(actual)?, accuracy))
}

/// Elements that differ from the expected ones, and the one that the message shows.
struct Mismatch<'a> {
    /// The number of elements that differ.
    count: usize,
    /// The position of the element that the message shows.
    at: usize,
    /// The name of the violated rule.
    rule: &'a str,
    /// The end of the message, such as the distance of the element.
    detail: &'a str,
    /// The largest distance, if all of them are near.
    ulps: Option<u64>,
    /// The bound that they break.
    bound: Option<UsedBound>,
}

impl Mismatch<'_> {
    /// Describes the mismatch of two tensors of one type and shape.
    fn difference(&self, expected: &Tensor, actual: &Tensor) -> Difference {
        let mut message = format!(
            "{} of {} elements differ ({}); at {:?} expected ",
            self.count,
            expected.len(),
            self.rule,
            index_of(expected.shape(), self.at)
        );
        let _ = expected.write_element(&mut message, self.at);
        message.push_str(", got ");
        let _ = actual.write_element(&mut message, self.at);
        message.push_str(self.detail);
        let kind = DifferenceKind::Values(Distance::between(expected, actual));
        Difference { ulps: self.ulps, bound: self.bound, ..different(kind, message) }
    }
}

/// Converts a flat position to a multi-index.
fn index_of(shape: &[usize], at: usize) -> Vec<usize> {
    let mut rest = at;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&dim| {
            let here = rest % dim.max(1);
            rest /= dim.max(1);
            here
        })
        .collect();
    index.reverse();
    index
}
