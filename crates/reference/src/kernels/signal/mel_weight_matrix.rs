//! `MelWeightMatrix`: triangular filters with corners evenly spaced on the mel scale.

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::invalid;
use crate::kernels::framework::registry::Kernel;
use crate::kernels::signal::shapes;

pub(super) const KERNELS: &[Kernel] =
    &[Kernel::new("MelWeightMatrix", 17, mel_weight_matrix).shape(shapes::mel_weights).typed(shapes::window_type)];

/// `MelWeightMatrix`. A filter rises from one corner to the next, where it is 1, and falls to the one after.
///
/// The text defines the scale and the peaks. The backend tests of ONNX define the rest: the number of steps between the
/// edges is the number of filters plus two, and corners round down to whole bins.
fn mel_weight_matrix(call: &Call<'_>) -> Result {
    let [filters, length] = [count(call, 0, "num_mel_bins")?, count(call, 1, "dft_length")?];
    let rate = count(call, 2, "sample_rate")?;
    if rate == 0 {
        return Err(invalid("sample_rate is 0; it must be positive"));
    }
    let bins = length / 2 + 1;
    let [low, high] = [edge(call, 3, "lower_edge_hertz")?, edge(call, 4, "upper_edge_hertz")?];
    let step = (high - low) / (filters as f64 + 2.0);
    let corner = |index: usize| {
        let hertz = mel_to_hertz(low + index as f64 * step);
        ((length as f64 + 1.0) * hertz / rate as f64).floor()
    };
    let element = call.output_type("output_datatype", 0)?.unwrap_or(ElementType::Float);
    let output = call.allocate(element, &[bins, filters])?;
    let mut corners: Vec<f64> = call.budget.scratch(filters + 2)?;
    for (index, slot) in corners.iter_mut().enumerate() {
        *slot = corner(index);
    }
    let weights = (0..bins).flat_map(|bin| {
        let bin = bin as f64;
        corners.windows(3).map(move |corners| weight(bin, corners))
    });
    Ok(output.floats(weights)?.into())
}

/// Returns the weight of a bin in a filter with these three corners.
fn weight(bin: f64, corners: &[f64]) -> f64 {
    let &[left, center, right] = corners else { return 0.0 };
    if bin == center {
        1.0
    } else if (left..center).contains(&bin) {
        (bin - left) / (center - left)
    } else if (center..right).contains(&bin) {
        (right - bin) / (right - center)
    } else {
        0.0
    }
}

fn mel(hertz: f64) -> f64 {
    2595.0 * libm::log1p(hertz / 700.0) / std::f64::consts::LN_10
}

fn mel_to_hertz(mel: f64) -> f64 {
    700.0 * libm::expm1(mel / 2595.0 * std::f64::consts::LN_10)
}

/// Returns a frequency on the mel scale.
fn edge(call: &Call<'_>, index: usize, name: &str) -> Result<f64> {
    let hertz = call.tensor(index)?.single_float().filter(|hertz| hertz.is_finite() && *hertz >= 0.0);
    hertz.map(mel).ok_or_else(|| invalid(format!("{name} must be a scalar that is finite and not negative")))
}

fn count(call: &Call<'_>, index: usize, name: &str) -> Result<usize> {
    let value = call.tensor(index)?.single_integer().and_then(|value| usize::try_from(value).ok());
    value
        .filter(|&value| value <= call.budget.limits().elements)
        .ok_or_else(|| invalid(format!("{name} must be a scalar that is not negative and within the limits")))
}

#[cfg(test)]
mod tests {
    use crate::testing::{floats, ints, node};

    #[test]
    fn a_filter_rises_to_one_and_falls() {
        // Three equal steps in mel from 0 to 4900 Hz are 700, 2100 and 4900 Hz, each 700 (2^k - 1).
        let mel = |rate: i64| {
            node("MelWeightMatrix", 17)
                .input(ints(&[], &[1]))
                .input(ints(&[], &[15]))
                .input(ints(&[], &[rate]))
                .input(floats(&[], &[0.0]))
                .input(floats(&[], &[4900.0]))
        };
        let result = mel(11_000).tensor();
        assert_eq!(result.shape(), [8, 1]);
        assert_eq!(result.floats(), [0.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(mel(0).error().contains("sample_rate"));
    }
}
