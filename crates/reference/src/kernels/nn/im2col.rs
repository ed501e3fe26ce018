//! im2col: convolution as a matrix product, weights (features x depth) times unfolded patches (depth x windows).

#![expect(
    clippy::indexing_slicing,
    reason = "blocks end at the number of windows, and runs are clipped to the line that they read"
)]

use std::ops::Range;

use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::KernelError;
use crate::kernels::nn::window::Axis;
use crate::parallel::try_for_each_block;
use crate::tensor::gemm::{Matrix, multiply_add, multiply_add_compensated};
use crate::tensor::shape::{element_count, strides};

/// Unfolded elements per block of windows.
pub(super) const UNFOLDED: usize = 1 << 21;
/// Weights that are converted to `f64` at a time.
const CONVERTED: usize = 1 << 21;

/// Convolution as a matrix product: per image and group, `features` rows of weights times `depth` rows of taps.
pub(super) struct ConvGemm<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) images: usize,
    pub(super) groups: usize,
    /// Output channels per group.
    pub(super) features: usize,
    /// Input channels per group times the taps of a window.
    pub(super) depth: usize,
    pub(super) windows: usize,
    /// Initial value of the sums, per output channel.
    pub(super) bias: Option<Vec<f64>>,
    /// True if the sums are over `double` and compensated.
    pub(super) compensated: bool,
}

/// Reads rows of the weights of one group, counted by the budget.
type Weights<'a> = dyn Fn(&Budget, Range<usize>) -> Result<Vec<f64>> + 'a;

/// Unfolded patches of one image and group.
pub(super) trait Im2Col: Sync {
    /// Writes row `row` (a channel and a tap) for the windows from `from` on.
    fn fill(&self, row: usize, from: usize, out: &mut [f64]);

    /// Returns all rows if they are already stored contiguously.
    fn unfolded(&self) -> Option<&[f64]> {
        None
    }
}

impl ConvGemm<'_> {
    /// Computes the sums for every image, output channel and window. `weights` returns rows of one group, `columns` the
    /// patches of one image and group. The budget of each lives as long as its result.
    pub(super) fn compute<C: Im2Col>(
        &self,
        weights: impl Fn(&Budget, usize, Range<usize>) -> Result<Vec<f64>> + Sync,
        columns: impl Fn(&Budget, usize, usize) -> Result<C> + Sync,
    ) -> Result<Vec<f64>> {
        let all = element_count(&[self.images, self.groups, self.features, self.windows])?;
        let mut out: Vec<f64> = self.call.budget.scratch(all)?;
        if out.is_empty() {
            return Ok(out);
        }
        try_for_each_block(&mut out, self.features * self.windows, |index, out| {
            let (image, group) = (index / self.groups, index % self.groups);
            if let Some(bias) = &self.bias {
                let bias = bias.iter().skip(group * self.features);
                out.chunks_mut(self.windows).zip(bias).for_each(|(row, &bias)| row.fill(bias));
            }
            if self.depth == 0 {
                return Ok(());
            }
            let budget = self.call.budget.nested();
            let columns = columns(&budget, image, group)?;
            self.compute_one(&|budget, rows| weights(budget, group, rows), &columns, out)
        })?;
        Ok(out)
    }

    /// Computes one image and group, in blocks of windows.
    fn compute_one(&self, weights: &Weights<'_>, columns: &dyn Im2Col, out: &mut [f64]) -> Result<(), KernelError> {
        let ConvGemm { depth, windows, .. } = *self;
        if let Some(unfolded) = columns.unfolded() {
            return self.add_product(weights, Matrix::row_major(unfolded, depth, windows), out);
        }
        let width = (UNFOLDED / depth).clamp(64, windows.max(64)).min(windows);
        let budget = self.call.budget.nested();
        let mut taps: Vec<f64> = budget.scratch(element_count(&[depth, width])?)?;
        for from in (0..windows).step_by(width) {
            let width = width.min(windows - from);
            let taps = &mut taps[..depth * width];
            try_for_each_block(taps, width, |row, out| {
                budget.count_work(out.len())?;
                columns.fill(row, from, out);
                Ok::<_, KernelError>(())
            })?;
            let taps = Matrix::row_major(taps, depth, width);
            if width == windows {
                self.add_product(weights, taps, out)?;
                continue;
            }
            let budget = budget.nested();
            let mut part: Vec<f64> = budget.scratch(self.features * width)?;
            let block = from..from + width;
            for (out, part) in out.chunks(windows).zip(part.chunks_mut(width)) {
                part.copy_from_slice(&out[block.clone()]);
            }
            self.add_product(weights, taps, &mut part)?;
            for (out, part) in out.chunks_mut(windows).zip(part.chunks(width)) {
                out[block.clone()].copy_from_slice(part);
            }
        }
        Ok(())
    }

    /// Adds the weights times `taps` to `out`, in blocks of weights.
    fn add_product(&self, weights: &Weights<'_>, taps: Matrix<'_>, out: &mut [f64]) -> Result<(), KernelError> {
        let max = (CONVERTED / self.depth).max(8);
        let deadline = self.call.budget.deadline();
        for (index, out) in out.chunks_mut(max * taps.columns).enumerate() {
            let rows = out.len() / taps.columns;
            let budget = self.call.budget.nested();
            let weights = weights(&budget, index * max..index * max + rows)?;
            let weights = Matrix::row_major(&weights, rows, self.depth);
            if self.compensated {
                multiply_add_compensated(weights, taps, out, deadline)?;
            } else {
                multiply_add(weights, taps, out, deadline)?;
            }
        }
        Ok(())
    }
}

/// Windows along one axis whose tap is inside the input. Windows and positions are evenly spaced.
#[derive(Clone, Copy, Debug)]
struct WindowRun {
    window: usize,
    window_step: usize,
    position: usize,
    position_step: usize,
    count: usize,
}

impl WindowRun {
    /// For windows that gather: window `w` reads position `w * stride + tap * dilation - before`.
    fn forward(axis: &Axis, tap: usize) -> WindowRun {
        let reach = tap * axis.dilation;
        let window = axis.before.saturating_sub(reach).div_ceil(axis.stride);
        let end = (axis.before + axis.input).saturating_sub(reach).div_ceil(axis.stride).min(axis.output);
        let position = (window * axis.stride + reach).saturating_sub(axis.before);
        let count = end.saturating_sub(window);
        WindowRun { window, window_step: 1, position, position_step: axis.stride, count }
    }

    /// For windows that collect: position `p` is added to window `p * stride + tap * dilation - before`.
    fn transposed(axis: &Axis, tap: usize) -> WindowRun {
        let reach = tap * axis.dilation;
        let position = axis.before.saturating_sub(reach).div_ceil(axis.stride);
        let end = (axis.before + axis.output).saturating_sub(reach).div_ceil(axis.stride).min(axis.input);
        let window = (position * axis.stride + reach).saturating_sub(axis.before);
        let count = end.saturating_sub(position);
        WindowRun { window, window_step: axis.stride, position, position_step: 1, count }
    }

    fn position(&self, window: usize) -> Option<usize> {
        let ahead = window.checked_sub(self.window)?;
        let index = ahead / self.window_step;
        (ahead % self.window_step == 0 && index < self.count).then(|| self.position + index * self.position_step)
    }

    /// Copies the elements of a line for the windows from `from` on, with zeros for padding.
    fn read(&self, line: &[f64], from: usize, out: &mut [f64]) {
        out.fill(0.0);
        let skipped = from.saturating_sub(self.window).div_ceil(self.window_step).min(self.count);
        let (window, position) =
            (self.window + skipped * self.window_step, self.position + skipped * self.position_step);
        let (Some(out), Some(line)) = (out.get_mut(window - from.min(window)..), line.get(position..)) else { return };
        let count = self.count - skipped;
        if (self.window_step, self.position_step) == (1, 1) {
            let count = count.min(out.len()).min(line.len());
            out[..count].copy_from_slice(&line[..count]);
            return;
        }
        let slots = out.iter_mut().step_by(self.window_step);
        slots.zip(line.iter().step_by(self.position_step)).take(count).for_each(|(slot, &value)| *slot = value);
    }
}

/// Direction in which windows read the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Conv: a window reads the elements that it covers.
    Forward,
    /// `ConvTranspose`: a window reads the elements that are scattered to it.
    Transposed,
}

/// Patches of one image and group.
pub(super) struct Patches {
    image: Vec<f64>,
    unfolded: bool,
    /// Windows that read the input, for each axis and tap.
    runs: Vec<Vec<WindowRun>>,
    outputs: Vec<usize>,
    steps: Vec<usize>,
    plane: usize,
    taps: usize,
}

impl Patches {
    /// Builds the patches of an image, which holds the channels of the group, each with the axes' input dimensions.
    pub(super) fn new(image: Vec<f64>, axes: &[Axis], direction: Direction) -> Result<Patches> {
        let inputs: Vec<usize> = axes.iter().map(|axis| axis.input).collect();
        let run = |axis, tap| match direction {
            Direction::Forward => WindowRun::forward(axis, tap),
            Direction::Transposed => WindowRun::transposed(axis, tap),
        };
        let plain = |axis: &Axis| (axis.kernel, axis.stride, axis.before, axis.output) == (1, 1, 0, axis.input);
        Ok(Patches {
            image,
            unfolded: axes.iter().all(plain),
            runs: axes.iter().map(|axis| (0..axis.kernel).map(|tap| run(axis, tap)).collect()).collect(),
            outputs: axes.iter().map(|axis| axis.output).collect(),
            steps: strides(&inputs),
            plane: element_count(&inputs)?,
            taps: element_count(&axes.iter().map(|axis| axis.kernel).collect::<Vec<_>>())?,
        })
    }

    /// Returns the run of each axis for a tap, counted in row-major order.
    fn runs_of_tap(&self, mut tap: usize) -> Vec<WindowRun> {
        let mut runs: Vec<WindowRun> = Vec::new();
        for axis_runs in self.runs.iter().rev() {
            runs.push(axis_runs[tap % axis_runs.len()]);
            tap /= axis_runs.len();
        }
        runs.reverse();
        runs
    }

    /// Returns the offset in a plane for a line of windows, which differ only in the last axis. None if they read
    /// padding.
    fn line(&self, runs: &[WindowRun], mut line: usize) -> Option<usize> {
        let mut start = 0;
        for ((run, &output), &step) in runs.iter().zip(&self.outputs).zip(&self.steps).rev().skip(1) {
            start += run.position(line % output)? * step;
            line /= output;
        }
        Some(start)
    }
}

impl Im2Col for Patches {
    fn unfolded(&self) -> Option<&[f64]> {
        self.unfolded.then_some(&self.image)
    }

    fn fill(&self, row: usize, from: usize, out: &mut [f64]) {
        let runs = self.runs_of_tap(row % self.taps);
        let plane = row / self.taps * self.plane;
        let (Some(last), Some(&length)) = (runs.last(), self.outputs.last()) else {
            return out.fill(self.image[plane]);
        };
        let line_length = self.plane.min(self.line_length());
        let mut done = 0;
        while done < out.len() {
            let (line, first) = ((from + done) / length, (from + done) % length);
            let count = (length - first).min(out.len() - done);
            let piece = &mut out[done..done + count];
            match self.line(&runs, line) {
                Some(start) => last.read(&self.image[plane + start..plane + start + line_length], first, piece),
                None => piece.fill(0.0),
            }
            done += count;
        }
    }
}

impl Patches {
    /// Returns the input's length along the last axis.
    fn line_length(&self) -> usize {
        match self.steps.len() {
            0 | 1 => self.plane,
            rank => self.steps[rank - 2],
        }
    }
}
