//! Comparison of constants: equal ones, and ones of the same kind.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::Tensor;

use crate::pattern::strictness::Constants;

/// Largest relative difference of floats that count as equal: exporters round constants such as the square root of 2.
const ROUNDED: f64 = 1e-5;

/// Kind of a number. Optimizers and kernels distinguish no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NumberKind {
    NotANumber,
    Infinite(bool),
    Zero(bool),
    One(bool),
    /// A number so close to 1 that a narrower type rounds it to 1.
    AlmostOne(bool),
    /// A number whose square is 0 or subnormal.
    Tiny(bool),
    /// A number whose square is infinite.
    Huge(bool),
    Other(bool),
}

/// Use of a constant by the nodes of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Sizes, counts and positions, whose exact values depend on the sizes of the data.
    Sizes,
    /// Anything else.
    Other,
}

impl NumberKind {
    pub(super) fn from_float(value: f64, element: ElementType) -> NumberKind {
        let is_negative = value.is_sign_negative();
        let size = value.abs();
        // The square roots of the largest and the smallest normal number.
        let (huge, tiny) = if element == ElementType::Float16 { (256.0, 0.0078) } else { (1.8e19, 1.1e-19) };
        match () {
            () if value.is_nan() => NumberKind::NotANumber,
            () if size == f64::INFINITY => NumberKind::Infinite(is_negative),
            () if size == 0.0 => NumberKind::Zero(is_negative),
            () if size.to_bits() == 1.0_f64.to_bits() => NumberKind::One(is_negative),
            () if (size - 1.0).abs() < 1e-6 => NumberKind::AlmostOne(is_negative),
            () if size >= huge => NumberKind::Huge(is_negative),
            () if size <= tiny => NumberKind::Tiny(is_negative),
            () => NumberKind::Other(is_negative),
        }
    }

    pub(super) fn from_integer(value: i128) -> NumberKind {
        let is_negative = value < 0;
        match value.unsigned_abs() {
            0 => NumberKind::Zero(false),
            1 => NumberKind::One(is_negative),
            size if size >= 1 << 31 => NumberKind::Huge(is_negative),
            _ => NumberKind::Other(is_negative),
        }
    }

    /// Returns true for numbers that only occur on purpose.
    const fn is_extreme(self) -> bool {
        matches!(
            self,
            NumberKind::NotANumber | NumberKind::Infinite(_) | NumberKind::Huge(_) | NumberKind::AlmostOne(_)
        )
    }
}

/// Returns true if a constant of a model counts as that of a pattern. Both have the same type and rank. The elements of large
/// constants of a model are unknown.
pub(super) fn agree(pattern: &Tensor, model: Option<&Tensor>, used: Use, strictness: Constants) -> bool {
    let is_single = pattern.len() == 1;
    match (strictness, model) {
        (Constants::Equal, model) => model.is_some_and(|model| are_equal(pattern, model)),
        (Constants::Scalars, model) if is_single => model.is_some_and(|model| are_equal(pattern, model)),
        _ => is_same_kind(pattern, model, used),
    }
}

fn are_equal(pattern: &Tensor, model: &Tensor) -> bool {
    if pattern.shape() != model.shape() {
        return false;
    }
    if !pattern.element_type().is_float() {
        return pattern == model;
    }
    let is_equal = |(a, b): (&f64, &f64)| {
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || *a != 0.0 && (a - b).abs() <= ROUNDED * a.abs()
    };
    pattern.floats().iter().zip(&model.floats()).all(is_equal)
}

fn is_same_kind(pattern: &Tensor, model: Option<&Tensor>, used: Use) -> bool {
    let element = pattern.element_type();
    if element.is_float() {
        let kinds = |tensor: &Tensor| {
            tensor.floats().into_iter().map(|value| NumberKind::from_float(value, element)).collect::<Vec<_>>()
        };
        return floats_agree(&kinds(pattern), model.map(kinds).as_deref());
    }
    let is_data = matches!(
        element,
        ElementType::Int8
            | ElementType::Uint8
            | ElementType::Int4
            | ElementType::Uint4
            | ElementType::Int2
            | ElementType::Uint2
            | ElementType::Int16
            | ElementType::Uint16
            | ElementType::Int32
    );
    // Quantized weights and biases.
    if is_data && used == Use::Other && pattern.len() != 1 {
        return model.is_none_or(|model| model.len() != 1);
    }
    let Some(model) = model else { return false };
    if element.is_integer() && (used == Use::Sizes || is_data) {
        let kinds = |tensor: &Tensor| tensor.integers().into_iter().map(NumberKind::from_integer).collect::<Vec<_>>();
        return kinds(pattern) == kinds(model);
    }
    are_equal(pattern, model)
}

/// Compares floats: single ones by their kinds, others by the extreme kinds among them. Unknown elements are ordinary.
fn floats_agree(pattern: &[NumberKind], model: Option<&[NumberKind]>) -> bool {
    if let ([pattern], model) = (pattern, model) {
        return matches!(model, Some([model]) if model == pattern);
    }
    let extremes = |kinds: &[NumberKind]| {
        let mut found: Vec<NumberKind> = kinds.iter().copied().filter(|kind| kind.is_extreme()).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    extremes(pattern) == model.map(extremes).unwrap_or_default()
}
