//! Functions of the elements, and the result of compiling a model.

/// Result of compiling a model of one node: the function of its elements, or the reason why there is none.
pub type Compiled = Result<fn(f32) -> f32, NotCompiled>;

/// Reason why a model is not compiled.
#[derive(Clone, Copy, Debug)]
pub enum NotCompiled {
    /// The model needs this feature, in the form of `Response::Unsupported`.
    Unsupported(&'static str),
    /// The model is not valid.
    Invalid(&'static str),
}

/// Computes `y = |x|`.
pub fn abs(x: f32) -> f32 {
    x.abs()
}

/// Computes `y = -x`.
pub fn neg(x: f32) -> f32 {
    -x
}

/// Computes `y = max(x, 0)`, which is NaN for NaN.
pub fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}
