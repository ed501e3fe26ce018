//! Accumulation of values, or of their magnitudes.

use crate::dtype::ElementType;
use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::Result;
use crate::tensor::Tensor;

/// Accumulation mode: the operator's own values, or the same accumulation over absolute terms. The magnitude bounds the
/// rounding error of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulate {
    Value,
    Magnitude,
}

impl Accumulate {
    /// Returns the elements of a tensor, or their absolute values.
    pub(crate) fn read(self, budget: &Budget, tensor: &Tensor) -> Result<Vec<f64>> {
        budget.read_floats(tensor).map(|values| self.apply(values))
    }

    /// Returns the values, or their absolute values.
    pub(crate) fn apply(self, mut values: Vec<f64>) -> Vec<f64> {
        if self == Accumulate::Magnitude {
            for value in &mut values {
                *value = value.abs();
            }
        }
        values
    }

    /// Returns the type of the output. Magnitudes are never rounded to a narrower type.
    pub(crate) fn output(self, element: ElementType) -> ElementType {
        if self == Accumulate::Magnitude { ElementType::Double } else { element }
    }
}
