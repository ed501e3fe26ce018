//! Accumulation of values, or of their magnitudes.

use crate::dtype::ElementType;
use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::Result;
use crate::tensor::Tensor;

/// Whether an accumulation is the operator's, or the same over absolute terms, which bounds what rounding each step may
/// do to the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulate {
    Value,
    Magnitude,
}

impl Accumulate {
    /// The elements of a tensor, or their absolute values.
    pub(crate) fn read(self, budget: &Budget, tensor: &Tensor) -> Result<Vec<f64>> {
        budget.read_floats(tensor).map(|values| self.of(values))
    }

    /// The values, or their absolute values.
    pub(crate) fn of(self, mut values: Vec<f64>) -> Vec<f64> {
        if self == Accumulate::Magnitude {
            for value in &mut values {
                *value = value.abs();
            }
        }
        values
    }

    /// The type of the output: magnitudes are never rounded into a narrower type.
    pub(crate) fn output(self, element: ElementType) -> ElementType {
        if self == Accumulate::Magnitude { ElementType::Double } else { element }
    }
}
