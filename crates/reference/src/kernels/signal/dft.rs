//! DFT and STFT, by one-dimensional fast Fourier transforms of any length.

#![expect(
    clippy::indexing_slicing,
    reason = "the axis is checked against the rank, and lines have the length of the transform"
)]

use std::sync::Arc;

use num_complex::Complex;
use rustfft::{Fft, FftDirection, FftPlannerScalar};

use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::signal::shapes;
use crate::tensor::Tensor;
use crate::tensor::shape::{element_count, normalize_axis};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::accumulating("DFT", 17, |call, accumulate| dft(call, call.int("axis")?, accumulate))
        .shape(shapes::transformed),
    Kernel::accumulating("DFT", 20, |call, accumulate| dft(call, axis_input(call)?, accumulate))
        .shape(shapes::transformed),
    Kernel::accumulating("STFT", 17, stft).shape(shapes::frames),
];

/// Half of a spectrum that is omitted because the other half mirrors it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sides {
    /// None.
    Both,
    /// The second half of the output, the spectrum of a real signal.
    Output,
    /// The second half of the input of an inverse transform, whose output is real.
    Input,
}

/// Returns the axis of DFT from version 20 on, which is an input.
fn axis_input(call: &Call<'_>) -> Result<i64> {
    let Some(tensor) = call.optional_tensor(2)? else { return Ok(-2) };
    integer(tensor, "axis")
}

/// Discrete Fourier transform along an axis: `out[k] = sum over n of x[n] * exp(-2 pi i k n / N)`. The inverse has `+`
/// and divides by `N`.
fn dft(call: &Call<'_>, axis: i64, accumulate: Accumulate) -> Result {
    let input = call.tensor(0)?;
    let axis = normalize_axis(axis, input.rank()).rule("C7")?;
    let (Some(&parts), true) = (input.shape().last(), axis + 1 < input.rank()) else {
        let shape = input.shape();
        return Err(broken(
            "C7",
            format!("axis {axis} is the last of shape {shape:?}, which holds the real and imaginary parts"),
        ));
    };
    let inverse = call.flag("inverse")?;
    let sides = match (onesided(call, "C10")?, inverse) {
        (false, _) => Sides::Both,
        (true, false) => Sides::Output,
        (true, true) => Sides::Input,
    };
    check_parts(parts, sides, "C6").rule("C11")?;
    let size = input.shape()[axis];
    let default = if sides == Sides::Input { size.saturating_sub(1).saturating_mul(2) } else { size };
    let asked = call.optional_tensor(1)?.map(|length| integer(length, "dft_length")).transpose()?;
    let length = transform_length(call, asked, default).rule(asked.map(|_| "C3"))?;

    let mut shape = input.shape().to_vec();
    let (before, after) = (&input.shape()[..axis], &input.shape()[axis + 1..input.rank() - 1]);
    let (outer, inner) = (element_count(before)?, element_count(after)?);
    let out_size = if sides == Sides::Output { length / 2 + 1 } else { length };
    let out_parts = if sides == Sides::Input { 1 } else { 2 };
    shape[axis] = out_size;
    shape[input.rank() - 1] = out_parts;
    call.budget.check_loop(&[outer, inner, size.max(length), 2])?;

    let values = call.budget.read_floats(input)?;
    let mut transform = Transform::new(call, length, inverse, accumulate)?;
    let mut output: Vec<f64> = call.budget.scratch(element_count(&shape)?)?;
    for index in 0..outer * inner {
        let (outer, index) = (index / inner, index % inner);
        transform.load(size, sides, |k| number(&values, ((outer * size + k) * inner + index) * parts, parts));
        transform.run(call)?;
        for (k, z) in transform.line.iter().take(out_size).enumerate() {
            let place = ((outer * out_size + k) * inner + index) * out_parts;
            write(&mut output[place..place + out_parts], *z);
        }
    }
    Ok(call.floats(accumulate.output(input.element_type()), &shape, output)?.into())
}

/// Short-time Fourier transform: `out[f] = DFT(signal[f * step .. f * step + length] * window)`.
fn stft(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let signal = call.tensor(0)?;
    let [batch, samples, parts] = *signal.shape() else {
        let shape = signal.shape();
        return Err(broken("C9", format!("signal has shape {shape:?}; it must be (batch, samples, 1 or 2)")));
    };
    let sides = if onesided(call, "C8")? { Sides::Output } else { Sides::Both };
    check_parts(parts, sides, "C5").rule("C9")?;
    for (index, name) in [(1, "frame_step"), (3, "frame_length")] {
        if let Some(shape) = call.optional_tensor(index)?.map(Tensor::shape).filter(|shape| !shape.is_empty()) {
            return Err(broken("C6", format!("{name} has shape {shape:?}; it must be a scalar")));
        }
    }
    let step = integer(call.tensor(1)?, "frame_step")?;
    let step = usize::try_from(step).ok().filter(|&step| step > 0);
    let step = step.ok_or_else(|| invalid("frame_step must be positive"))?;
    let window = call.optional_tensor(2)?;
    let default = window.map_or(samples, Tensor::len);
    let length = call.optional_tensor(3)?.map(|length| integer(length, "frame_length")).transpose()?;
    let length = transform_length(call, length, default)?;
    if let Some(shape) = window.map(Tensor::shape).filter(|&shape| shape != [length]) {
        return Err(broken("C4", format!("window has shape {shape:?}; it must be [{length}], the frame length")));
    }
    let frames = samples.checked_sub(length).map_or(0, |rest| rest / step + 1);
    let bins = if sides == Sides::Output { length / 2 + 1 } else { length };
    let shape = [batch, frames, bins, 2];

    let (values, window) =
        (call.budget.read_floats(signal)?, window.map(|tensor| call.budget.read_floats(tensor)).transpose()?);
    let weight = |k: usize| window.as_ref().and_then(|window| window.get(k)).copied().unwrap_or(1.0);
    let mut transform = Transform::new(call, length, false, accumulate)?;
    let mut output: Vec<f64> = call.budget.scratch(element_count(&shape)?)?;
    for (index, out) in output.chunks_mut(bins * 2).enumerate() {
        let start = index / frames * samples + index % frames * step;
        transform.load(length, Sides::Both, |k| number(&values, (start + k) * parts, parts) * weight(k));
        transform.run(call)?;
        for (out, z) in out.chunks_mut(2).zip(&transform.line) {
            write(out, *z);
        }
    }
    Ok(call.floats(accumulate.output(signal.element_type()), &shape, output)?.into())
}

/// Transform of one length and direction, with its working line.
struct Transform {
    line: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
    plan: Arc<dyn Fft<f64>>,
    scale: f64,
    accumulate: Accumulate,
}

impl Transform {
    fn new(call: &Call<'_>, length: usize, inverse: bool, accumulate: Accumulate) -> Result<Transform> {
        let line = call.budget.scratch(length)?;
        let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
        let plan = FftPlannerScalar::new().plan_fft(length, direction);
        let scratch = call.budget.scratch(plan.get_inplace_scratch_len())?;
        let scale = if inverse { 1.0 / length as f64 } else { 1.0 };
        Ok(Transform { line, scratch, plan, scale, accumulate })
    }

    /// Fills the line from `size` numbers. It is truncated or padded with zeros, and an omitted half is mirrored.
    fn load(&mut self, size: usize, sides: Sides, number: impl Fn(usize) -> Complex<f64>) {
        let length = self.line.len();
        let half = if sides == Sides::Input { length / 2 + 1 } else { length };
        for (k, slot) in self.line.iter_mut().take(half).enumerate() {
            *slot = if k < size { number(k) } else { Complex::default() };
        }
        for k in half..length {
            self.line[k] = self.line[length - k].conj();
        }
    }

    fn run(&mut self, call: &Call<'_>) -> Result<()> {
        let length = self.line.len();
        let steps = usize::try_from(length.checked_ilog2().unwrap_or(0) + 1).unwrap_or(1);
        call.budget.count_work(length.saturating_mul(steps))?;
        match self.accumulate {
            Accumulate::Value => self.plan.process_with_scratch(&mut self.line, &mut self.scratch),
            Accumulate::Magnitude => {
                let total: f64 = self.line.iter().map(|z| z.re.abs() + z.im.abs()).sum();
                self.line.fill(Complex::new(total, total));
            }
        }
        for z in &mut self.line {
            *z *= self.scale;
        }
        Ok(())
    }
}

/// Returns the number of one or two parts at a position, or zero outside.
fn number(values: &[f64], index: usize, parts: usize) -> Complex<f64> {
    let part = |part: usize| if part < parts { values.get(index + part).copied().unwrap_or(0.0) } else { 0.0 };
    Complex::new(part(0), part(1))
}

/// Writes the real part and, if there is room, the imaginary part.
fn write(out: &mut [f64], z: Complex<f64>) {
    for (slot, part) in out.iter_mut().zip([z.re, z.im]) {
        *slot = part;
    }
}

/// Checks that the last axis holds one or two parts. By `rule`, only a real signal's spectrum may omit a half.
fn check_parts(parts: usize, sides: Sides, rule: &str) -> Result<()> {
    match (parts, sides) {
        (1, Sides::Both | Sides::Output) | (2, Sides::Both | Sides::Input) => Ok(()),
        (2, Sides::Output) => Err(broken(rule, "onesided is 1, but the signal is complex; set onesided to 0")),
        (1, Sides::Input) => {
            Err(broken(rule, "onesided and inverse are 1, but the spectrum is real; it must be complex"))
        }
        _ => Err(invalid(format!(
            "the last axis has size {parts}; it must be 1 for real numbers, or 2 for complex ones"
        ))),
    }
}

/// Returns the requested length of the transform, or else the default one.
fn transform_length(call: &Call<'_>, asked: Option<i64>, default: usize) -> Result<usize> {
    let length = asked.map_or(Some(default), |asked| usize::try_from(asked).ok());
    length
        .filter(|length| (1..=call.budget.limits().elements).contains(length))
        .ok_or_else(|| invalid(format!("a transform of {} points is not possible", asked.unwrap_or_default())))
}

/// Returns the attribute `onesided`.
fn onesided(call: &Call<'_>, rule: &'static str) -> Result<bool> {
    match call.int("onesided")? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(broken(rule, format!("onesided is {other}; it must be 0 or 1"))),
    }
}

fn integer(tensor: &Tensor, name: &str) -> Result<i64> {
    let value = tensor.single_integer().and_then(|value| i64::try_from(value).ok());
    value.ok_or_else(|| invalid(format!("{name} has shape {:?}; it must be a scalar", tensor.shape())))
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{floats, ints, node, typed};

    #[test]
    fn a_transform_has_a_point() {
        let dft = |length: i64| node("DFT", 20).input(floats(&[2, 1], &[1.0, 5.0])).input(ints(&[], &[length]));
        assert!(dft(0).error().contains("0 points"));
        assert!(dft(-1).error().contains("-1 points"));
    }

    #[test]
    fn the_imaginary_parts_of_the_first_and_the_middle_bin_are_ignored() {
        let half = node("DFT", 20).input(floats(&[3, 2], &[4.0, 9.0, 0.0, 0.0, 0.0, 9.0]));
        let signal = half.set("onesided", 1).set("inverse", 1).tensor();
        assert_eq!(signal, floats(&[4, 1], &[1.0; 4]));
    }

    #[test]
    fn lengths_without_small_factors_are_exact_to_rounding() {
        for length in [7_usize, 11, 37, 97] {
            let mut impulse = vec![0.0; length];
            impulse[0] = 1.0;
            let result = node("DFT", 20).input(typed(ElementType::Double, &[length, 1], &impulse)).tensor().floats();
            let error = result.chunks(2).find(|z| (z[0] - 1.0).abs() > 1e-14 || z[1].abs() > 1e-14);
            assert_eq!(error, None, "length {length}");
        }
    }

    #[test]
    fn a_number_has_one_part_or_two() {
        assert!(node("DFT", 17).input(floats(&[1, 2, 3], &[0.0; 6])).error().contains("size 3"));
    }

    #[test]
    fn a_frame_step_of_0_is_refused() {
        let stft = node("STFT", 17).input(floats(&[1, 4, 1], &[1.0, 2.0, 3.0, 4.0])).input(ints(&[], &[0]));
        assert!(stft.error().contains("frame_step"));
    }
}
