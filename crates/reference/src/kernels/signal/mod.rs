//! Signals: Fourier transforms, the windows before them, the mel scale after them.

mod fourier;
mod mel;
mod window;

use crate::kernels::registry::Kernel;
use fourier::Mode;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("BlackmanWindow", 17, |call| window::window(call, [0.42, 0.5, 0.08])),
    Kernel::new("DFT", 17, |call| fourier::dft(call, call.int("axis")?, Mode::Value))
        .with_magnitude(|call| fourier::dft(call, call.int("axis")?, Mode::Magnitude)),
    Kernel::new("DFT", 20, |call| fourier::dft(call, fourier::axis(call)?, Mode::Value))
        .with_magnitude(|call| fourier::dft(call, fourier::axis(call)?, Mode::Magnitude)),
    Kernel::new("HammingWindow", 17, |call| window::window(call, [25.0 / 46.0, 21.0 / 46.0, 0.0])),
    Kernel::new("HannWindow", 17, |call| window::window(call, [0.5, 0.5, 0.0])),
    Kernel::new("MelWeightMatrix", 17, mel::mel_weight_matrix),
    Kernel::new("STFT", 17, |call| fourier::stft(call, Mode::Value))
        .with_magnitude(|call| fourier::stft(call, Mode::Magnitude)),
];
