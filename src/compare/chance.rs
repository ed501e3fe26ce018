//! Comparing what chance decides: means and counts within what six standard deviations allow.

use onnx_conformance_reference::tensor::Tensor;

use crate::compare::values::{Difference, DifferenceKind, different};

/// How many standard deviations a drawn mean or count may be off: one right run in five hundred million is lost.
const DEVIATIONS: f64 = 6.0;

/// The mean of a draw and that of a sample of the same distribution differ by no more than chance allows.
pub fn same_mean(sample: &Tensor, actual: &Tensor) -> Result<(), Difference> {
    let (expected, drawn) = (sample.floats(), actual.floats());
    if let Some(value) = drawn.iter().find(|value| !value.is_finite()) {
        return Err(different(DifferenceKind::Values, format!("a drawn element is {value}")));
    }
    let ((want, want_variance), (got, got_variance)) = (moments(&expected), moments(&drawn));
    // Few elements may all be alike by chance, so that a variance of their own says nothing: an eighth is added.
    let allowed = DEVIATIONS * libm::sqrt((want_variance + got_variance + 0.125) / (expected.len().max(1) as f64));
    if (want - got).abs() <= allowed {
        return Ok(());
    }
    let message =
        format!("the mean of the stored draw is {want}, of this one {got}; chance allows {allowed} between them");
    Err(different(DifferenceKind::Values, message))
}

fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    (mean, variance)
}

/// Every element is 0 or the source's scaled by 1 / (1 - ratio), and as many are 0 as chance allows.
pub fn dropped(source: &Tensor, ratio: f64, actual: &Tensor) -> Result<(), Difference> {
    let scale = 1.0 / (1.0 - ratio);
    let mut fallen = 0;
    let mut all = 0;
    for (at, (from, to)) in source.floats().into_iter().zip(actual.floats()).enumerate() {
        let kept = (to - from * scale).abs() <= 1e-3 * (from * scale).abs();
        if from != 0.0 {
            all += 1;
            fallen += usize::from(to == 0.0 && !kept);
        }
        if !(kept || to == 0.0) {
            let message = format!("element {at} is {to}, neither 0 nor {from} / (1 - {ratio})");
            return Err(different(DifferenceKind::Values, message));
        }
    }
    as_many(fallen, all, ratio)
}

/// As many elements are false as chance allows.
pub fn mask(ratio: f64, actual: &Tensor) -> Result<(), Difference> {
    let kept = actual.bools();
    as_many(kept.iter().filter(|kept| !**kept).count(), kept.len(), ratio)
}

fn as_many(fallen: usize, all: usize, ratio: f64) -> Result<(), Difference> {
    let (mean, deviation) = (all as f64 * ratio, libm::sqrt(all as f64 * ratio * (1.0 - ratio)));
    if (fallen as f64 - mean).abs() <= DEVIATIONS * deviation {
        return Ok(());
    }
    let message = format!("{fallen} of {all} elements are dropped at a ratio of {ratio}");
    Err(different(DifferenceKind::Values, message))
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::dtype::ElementType;

    use super::*;

    fn floats(values: &[f64]) -> Tensor {
        Tensor::of_floats(ElementType::Float, &[values.len()], values).unwrap()
    }

    #[test]
    fn a_mean_far_off_is_refused() {
        let sample: Vec<f64> = (0..1000).map(|at| f64::from(at % 2)).collect();
        assert!(same_mean(&floats(&sample), &floats(&sample)).is_ok());
        assert!(same_mean(&floats(&sample), &floats(&[1.0; 1000])).is_err());
        assert!(same_mean(&floats(&[0.5]), &floats(&[f64::NAN])).is_err());
    }

    #[test]
    fn what_stays_is_scaled() {
        let source = floats(&[1.0, 2.0, 3.0, 4.0]);
        assert!(dropped(&source, 0.5, &floats(&[2.0, 0.0, 6.0, 0.0])).is_ok());
        assert!(dropped(&source, 0.5, &floats(&[1.0, 0.0, 6.0, 0.0])).is_err());
    }

    #[test]
    fn too_many_dropped_are_refused() {
        let source = floats(&[1.0; 1000]);
        assert!(dropped(&source, 0.1, &floats(&[0.0; 1000])).is_err());
    }
}
