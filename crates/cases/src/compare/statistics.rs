//! Statistical tests of random outputs: means and counts within six standard deviations.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_reference::dtype::FloatFormat;
use onnx_conformance_reference::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::compare::distance::Distance;
use crate::compare::values::{Difference, DifferenceKind, different};

/// Standard deviations that a mean or count may be off. A correct run fails once in five hundred million.
const DEVIATIONS: f64 = 6.0;

/// Checks that a draw has the mean of a sample of the same distribution, within chance.
pub fn same_mean(sample: &Tensor, actual: &Tensor) -> Result<(), Difference> {
    let (expected, drawn) = (sample.floats(), actual.floats());
    if let Some(value) = drawn.iter().find(|value| !value.is_finite()) {
        return Err(different(DifferenceKind::Values(Distance::Far), format!("an element is {value}")));
    }
    let ((want, want_variance), (got, got_variance)) = (moments(&expected), moments(&drawn));
    // Few elements may all be equal by chance, and their variance is then 0: an eighth is added.
    let allowed = DEVIATIONS * libm::sqrt((want_variance + got_variance + 0.125) / (expected.len().max(1) as f64));
    if (want - got).abs() <= allowed {
        return Ok(());
    }
    let message = format!(
        "the mean of the stored sample is {want}, that of the output {got}; chance allows a difference of {allowed}"
    );
    Err(different(DifferenceKind::Values(Distance::Far), message))
}

fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    (mean, variance)
}

/// Checks that every element is 0 or the source's element times 1 / (1 - ratio), with the expected number of zeros,
/// within chance.
pub fn dropped(source: &Tensor, ratio: f64, actual: &Tensor) -> Result<(), Difference> {
    let scale = 1.0 / (1.0 - ratio);
    // The scale and the product are rounded to the type.
    let roundoff = source.element_type().float_format().map_or(0.0, FloatFormat::unit_roundoff);
    let allowed = f64::max(1e-3, 4.0 * roundoff);
    let mut dropped_count = 0;
    let mut all = 0;
    for (at, (from, to)) in source.floats().into_iter().zip(actual.floats()).enumerate() {
        let kept = (to - from * scale).abs() <= allowed * (from * scale).abs();
        if from != 0.0 {
            all += 1;
            dropped_count += usize::from(to == 0.0 && !kept);
        }
        if !(kept || to == 0.0) {
            let message = format!("element {at} is {to}, neither 0 nor {from} / (1 - {ratio})");
            return Err(different(DifferenceKind::Values(Distance::Far), message));
        }
    }
    check_dropped(dropped_count, all, ratio)
}

/// Checks that the expected number of elements is false, within chance.
pub fn mask(ratio: f64, actual: &Tensor) -> Result<(), Difference> {
    let kept = actual.bools();
    check_dropped(kept.iter().filter(|kept| !**kept).count(), kept.len(), ratio)
}

fn check_dropped(dropped_count: usize, all: usize, ratio: f64) -> Result<(), Difference> {
    let (mean, deviation) = (all as f64 * ratio, libm::sqrt(all as f64 * ratio * (1.0 - ratio)));
    let allowed = DEVIATIONS * deviation;
    if (dropped_count as f64 - mean).abs() <= allowed {
        return Ok(());
    }
    let message = format!(
        "{dropped_count} of {all} elements are dropped at a ratio of {ratio}; chance allows {mean} plus or minus \
         {allowed}"
    );
    Err(far_off(message))
}

/// Distribution of a random output.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Distribution<T = Tensor> {
    /// Normal.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// Uniform over a range.
    Uniform {
        /// The lower end, which is included.
        low: f64,
        /// The upper end, which only rounding reaches.
        high: f64,
    },
    /// 1 with the probability at the same position, else 0.
    Bernoulli(T),
    /// Classes by the logarithms of their weights, one row of classes per row of draws.
    Multinomial(T),
}

impl<T> Distribution<T> {
    /// Returns the tensor of parameters, if the distribution has one.
    pub fn tensor(&self) -> Option<&T> {
        match self {
            Distribution::Normal { .. } | Distribution::Uniform { .. } => None,
            Distribution::Bernoulli(tensor) | Distribution::Multinomial(tensor) => Some(tensor),
        }
    }

    /// Converts the tensor of the distribution.
    pub fn try_map<Other, Error>(
        &self,
        map: impl FnOnce(&T) -> Result<Other, Error>,
    ) -> Result<Distribution<Other>, Error> {
        Ok(match self {
            Distribution::Normal { mean, deviation } => Distribution::Normal { mean: *mean, deviation: *deviation },
            Distribution::Uniform { low, high } => Distribution::Uniform { low: *low, high: *high },
            Distribution::Bernoulli(probabilities) => Distribution::Bernoulli(map(probabilities)?),
            Distribution::Multinomial(weights) => Distribution::Multinomial(map(weights)?),
        })
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Normal { mean, deviation } => {
                write!(f, "drawn from the normal distribution of mean {mean} and standard deviation {deviation}")
            }
            Distribution::Uniform { low, high } => write!(f, "drawn evenly from {low} to {high}"),
            Distribution::Bernoulli(_) => f.write_str("1 with the probabilities of the input, or else 0"),
            Distribution::Multinomial(_) => f.write_str("classes drawn by the weights of the input"),
        }
    }
}

/// Checks that a draw follows a distribution, within chance.
pub fn drawn(law: &Distribution, actual: &Tensor) -> Result<(), Difference> {
    let values = actual.floats();
    if values.is_empty() {
        return Ok(());
    }
    match law {
        Distribution::Normal { mean, deviation } => {
            let below = |value: f64| 0.5 * libm::erfc((mean - value) / (deviation * std::f64::consts::SQRT_2));
            check_moments(&values, *mean, deviation * deviation, 2.0)?;
            check_shape(&values, below)
        }
        Distribution::Uniform { low, high } => {
            if let Some(value) = values.iter().find(|value| !(*low..=*high).contains(*value)) {
                return Err(far_off(format!("an element is {value}, outside {low} to {high}")));
            }
            let width = high - low;
            check_moments(&values, (low + high) / 2.0, width * width / 12.0, 0.8)?;
            check_shape(&values, |value| ((value - low) / width).clamp(0.0, 1.0))
        }
        Distribution::Bernoulli(probabilities) => check_bernoulli(&probabilities.floats(), &values),
        Distribution::Multinomial(weights) => check_multinomial(weights, actual),
    }
}

fn far_off(message: String) -> Difference {
    different(DifferenceKind::Values(Distance::Far), message)
}

/// Checks mean and variance, within chance. `spread` is the variance of the squared distance from the mean, divided by
/// the squared variance: 2 for a normal distribution, 0.8 for a uniform one.
fn check_moments(values: &[f64], mean: f64, variance: f64, spread: f64) -> Result<(), Difference> {
    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
        return Err(far_off(format!("an element is {value}")));
    }
    let count = values.len().max(1) as f64;
    let (got, _) = moments(values);
    let allowed = DEVIATIONS * libm::sqrt(variance / count) + ROUNDING * (mean.abs() + libm::sqrt(variance));
    if (got - mean).abs() > allowed {
        return Err(far_off(format!("the mean is {got}, expected {mean}; chance allows a difference of {allowed}")));
    }
    let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    let allowed = variance * (DEVIATIONS * libm::sqrt(spread / count) + ROUNDING);
    // The sum of few squares is far from normal, and six deviations would be too strict.
    if values.len() >= MIN_DRAWS_FOR_VARIANCE && (squares - variance).abs() > allowed {
        let message =
            format!("the variance is {squares}, expected {variance}; chance allows a difference of {allowed}");
        return Err(far_off(message));
    }
    Ok(())
}

/// Error of a mean, a variance or a fraction due to rounding to the narrowest types, as a fraction of its value.
const ROUNDING: f64 = 0.01;

/// Smallest number of draws for a test of the variance.
const MIN_DRAWS_FOR_VARIANCE: usize = 200;

/// Limit of the Kolmogorov-Smirnov distance, times the root of the number of draws. A correct run exceeds it once in
/// five hundred million (Dvoretzky, Kiefer, Wolfowitz).
const MAX_KS_DISTANCE: f64 = 3.22;

fn check_shape(values: &[f64], below: impl Fn(f64) -> f64) -> Result<(), Difference> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = values.len().max(1) as f64;
    let allowed = MAX_KS_DISTANCE / libm::sqrt(count) + ROUNDING;
    for (at, value) in sorted.iter().enumerate() {
        let (share, probability) = (at as f64 / count, below(*value));
        if (share - probability).abs() > allowed {
            let message = format!("a fraction of {share} of the elements is below {value}, expected {probability}");
            return Err(far_off(message));
        }
    }
    Ok(())
}

/// Checks that every element is 0 or 1, never 1 at probability 0 nor 0 at 1. For each probability, the number of ones
/// must be as expected, within chance.
fn check_bernoulli(probabilities: &[f64], values: &[f64]) -> Result<(), Difference> {
    let mut groups: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    for (at, (probability, value)) in probabilities.iter().zip(values).enumerate() {
        if *value != 0.0 && *value != 1.0 {
            return Err(far_off(format!("element {at} is {value}, neither 0 nor 1")));
        }
        let (ones, all) = groups.entry(probability.to_bits()).or_default();
        *all += 1;
        *ones += usize::from(*value == 1.0);
    }
    let mut groups: Vec<(f64, usize, usize)> =
        groups.into_iter().map(|(bits, (ones, all))| (f64::from_bits(bits), ones, all)).collect();
    groups.push(merge_groups(&groups));
    groups.into_iter().try_for_each(|(probability, ones, all)| check_count(probability, ones, all, "1"))
}

/// Merges all groups into one at the mean probability. Its deviation is at least that of the groups together.
fn merge_groups(groups: &[(f64, usize, usize)]) -> (f64, usize, usize) {
    let (ones, all) = groups.iter().fold((0, 0), |(ones, all), group| (ones + group.1, all + group.2));
    let expected: f64 = groups.iter().map(|(probability, _, all)| probability * *all as f64).sum();
    (expected / (all.max(1) as f64), ones, all)
}

fn check_count(probability: f64, found: usize, all: usize, what: &str) -> Result<(), Difference> {
    let mean = all as f64 * probability;
    let allowed = DEVIATIONS * libm::sqrt(mean * (1.0 - probability).max(0.0));
    // Six deviations of a rare event may be less than one event. One more is allowed if the event is possible.
    let allowed = if probability > 0.0 && probability < 1.0 { allowed + 1.0 } else { 0.5 };
    if (found as f64 - mean).abs() <= allowed {
        return Ok(());
    }
    Err(far_off(format!(
        "{found} of {all} elements are {what} at a probability of {probability}; chance allows {mean} plus or minus \
         {allowed}"
    )))
}

/// Checks that every element is a class, and that each class has its expected frequency in each row, within chance.
fn check_multinomial(weights: &Tensor, actual: &Tensor) -> Result<(), Difference> {
    let (rows, classes) = match weights.shape() {
        [rows, classes] => (*rows, *classes),
        shape => return Err(far_off(format!("weights of shape {shape:?} are not rows of classes"))),
    };
    let (weights, values) = (weights.floats(), actual.floats());
    let draws = values.len().checked_div(rows).unwrap_or(0);
    for row in 0..rows {
        let mut counts = vec![0; classes];
        for value in values.iter().skip(row * draws).take(draws) {
            let class = (0..classes).find(|class| *class as f64 == *value);
            let Some(count) = class.and_then(|class| counts.get_mut(class)) else {
                return Err(far_off(format!("an element is {value}, which is not one of {classes} classes")));
            };
            *count += 1;
        }
        let exponentials: Vec<f64> =
            weights.iter().skip(row * classes).take(classes).map(|weight| libm::exp(*weight)).collect();
        let total: f64 = exponentials.iter().sum();
        for (class, (count, weight)) in counts.iter().zip(&exponentials).enumerate() {
            check_count(weight / total, *count, draws, &format!("{class} in row {row}"))?;
        }
    }
    Ok(())
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
    fn kept_elements_are_scaled() {
        let source = floats(&[1.0, 2.0, 3.0, 4.0]);
        assert!(dropped(&source, 0.5, &floats(&[2.0, 0.0, 6.0, 0.0])).is_ok());
        assert!(dropped(&source, 0.5, &floats(&[1.0, 0.0, 6.0, 0.0])).is_err());
    }

    #[test]
    fn too_many_dropped_are_refused() {
        let source = floats(&[1.0; 1000]);
        assert!(dropped(&source, 0.1, &floats(&[0.0; 1000])).is_err());
    }

    /// Returns numbers evenly spread between 0 and 1, from a low-discrepancy sequence.
    fn even(count: u32) -> Vec<f64> {
        (0..count).map(|at| (f64::from(at) * 0.618_033_988_749_895).fract()).collect()
    }

    #[test]
    fn a_draw_of_another_distribution_is_refused() {
        let normal: Vec<f64> = even(4000)
            .into_iter()
            .map(|share| {
                // The inverse of the normal distribution by bisection.
                let (mut low, mut high) = (-8.0, 8.0);
                for _ in 0..60 {
                    let middle = f64::midpoint(low, high);
                    if 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2) < share {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                low
            })
            .collect();
        let law = |mean, deviation| Distribution::Normal { mean, deviation };
        assert_eq!(drawn(&law(0.0, 1.0), &floats(&normal)), Ok(()));
        for (mean, deviation) in [(0.2, 1.0), (0.0, 1.3), (0.0, 0.7)] {
            assert!(drawn(&law(mean, deviation), &floats(&normal)).is_err(), "{mean} {deviation}");
        }
        let even = even(4000);
        let law = |low, high| Distribution::Uniform { low, high };
        assert_eq!(drawn(&law(0.0, 1.0), &floats(&even)), Ok(()));
        for (low, high) in [(0.0, 0.9), (0.0, 1.2), (-0.1, 1.0)] {
            assert!(drawn(&law(low, high), &floats(&even)).is_err(), "{low} {high}");
        }
        // A normal distribution with the mean and variance of a uniform one has another shape.
        let alike: Vec<f64> = normal.iter().map(|value| (value / libm::sqrt(12.0) + 0.5).clamp(0.0, 1.0)).collect();
        assert!(drawn(&law(0.0, 1.0), &floats(&alike)).is_err());
    }

    #[test]
    fn ones_are_as_frequent_as_their_probability_says() {
        let probabilities: Vec<f64> = (0..1000).map(|at| [0.0, 1.0, 0.5, 0.25][at % 4]).collect();
        let right: Vec<f64> = (0..1000)
            .map(|at| match at % 4 {
                0 => 0.0,
                1 => 1.0,
                2 => f64::from(u8::from(at % 8 == 2)),
                _ => f64::from(u8::from(at % 16 == 3)),
            })
            .collect();
        let law = Distribution::Bernoulli(floats(&probabilities));
        assert_eq!(drawn(&law, &floats(&right)), Ok(()));
        let mut never = right.clone();
        never[0] = 1.0;
        assert!(drawn(&law, &floats(&never)).is_err());
        let swapped: Vec<f64> = right.iter().map(|value| 1.0 - value).collect();
        assert!(drawn(&law, &floats(&swapped)).is_err());
        assert!(drawn(&law, &floats(&[0.5; 1000])).is_err());
    }

    #[test]
    fn classes_are_as_frequent_as_their_weights_say() {
        let weights = Tensor::of_floats(ElementType::Float, &[1, 2], &[0.0, libm::log(3.0)]).unwrap();
        let law = Distribution::Multinomial(weights);
        let draws = |value_at: fn(usize) -> i128| {
            let values: Vec<i128> = (0..1000).map(value_at).collect();
            Tensor::of_integers(ElementType::Int32, &[1, 1000], &values).unwrap()
        };
        assert_eq!(drawn(&law, &draws(|at| i128::from(at % 4 != 0))), Ok(()));
        assert!(drawn(&law, &draws(|at| i128::from(at % 2 != 0))).is_err());
        assert!(drawn(&law, &draws(|_| 2)).is_err());
    }
}
