//! Search for the nodes that stay in float, and the comparison of both models.

use onnx_conformance_check::convert::half::{HalfError, HalfModel, to_half};

use super::alone::{kept_alone, producers};
use super::compared::NodeError;
use super::runs::{HalfQuestion, Runs};
use crate::models::proof::{OverLimit, Proof};

/// Maximum number of models to compare: keeping a node in float may show an overflow behind it, or an error before it.
const MAX_ROUNDS: usize = 8;

/// Converted model with its comparison.
#[derive(Debug)]
pub struct HalfAnswer {
    /// The converted model.
    pub half: HalfModel,
    /// The comparison of the outputs.
    pub proof: Proof,
    /// The values of the main graph that nodes compute in half precision, the largest error first.
    pub nodes: Vec<NodeError>,
}

/// Error of a conversion to half precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HalfPrecisionError {
    /// The model cannot be converted.
    #[error(transparent)]
    Half(#[from] HalfError),
    /// The time or memory limit is exceeded.
    #[error(transparent)]
    Limit(#[from] OverLimit),
}

/// Converts a model to half precision. Nodes that lose too much on the inputs stay in float.
pub fn half_precision(question: &HalfQuestion<'_>) -> Result<HalfAnswer, HalfPrecisionError> {
    let mut request = question.request.clone();
    let mut half = to_half(question.model, &request, question.limits)?;
    let unproved = |half, why: &str| Ok(HalfAnswer { half, proof: Proof::not_verified(why), nodes: Vec::new() });
    if question.count == 0 {
        return unproved(half, "no inputs were requested");
    }
    let runs = match Runs::new(question)? {
        Ok(runs) => runs,
        Err(why) => return unproved(half, &format!("the model does not run on the inputs: {why}")),
    };
    let alone = runs.errors_alone(&half)?;
    let producers = producers(question.model);
    let kept = kept_alone(&half, question.model, &alone, request.element);
    if !kept.is_empty() {
        request.measured.extend(kept);
        half = to_half(question.model, &request, question.limits)?;
    }
    let mut rounds = 1;
    loop {
        let compared = match runs.compare(&half)? {
            Ok(compared) => compared,
            Err(why) => return Ok(HalfAnswer { half, proof: Proof::Differs(why), nodes: Vec::new() }),
        };
        let mut kept = compared.overflowing(&half, question.model, request.element);
        kept.extend(compared.before_sensitive(&half, question.model, &alone, &producers));
        if kept.is_empty() || rounds == MAX_ROUNDS {
            let nodes = compared.nodes(&half, question.model);
            return Ok(HalfAnswer { proof: compared.proof(question.count), half, nodes });
        }
        rounds += 1;
        request.measured.extend(kept);
        half = to_half(question.model, &request, question.limits)?;
    }
}
