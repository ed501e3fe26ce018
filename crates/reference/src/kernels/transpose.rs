//! Axes and blocks moved: Transpose, DepthToSpace, SpaceToDepth, ReverseSequence, Tile, Expand, Col2Im.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
