//! Search for the nodes that stay in float, and the comparison of both models.

use std::collections::BTreeMap;

use onnx_conformance_check::convert::half::{HalfError, HalfModel, to_half};
use onnx_conformance_check::infer::{BodyId, NodeId};

use super::alone::{kept_alone, producers};
use super::compared::{HalfReference, NodeError};
use super::question::HalfQuestion;
use super::runs::Runs;
use crate::models::proof::{OverLimit, Proof};

/// Maximum number of models to compare: keeping a node in float may reveal an overflow after it, or an error before it.
const MAX_ROUNDS: usize = 8;

/// Converted model with its comparison.
#[derive(Debug)]
pub struct HalfAnswer {
    /// The converted model.
    pub half: HalfModel,
    /// The comparison of the outputs.
    pub proof: Proof,
    /// The values that the converted model was compared with; `None` if it was not compared.
    pub reference: Option<HalfReference>,
    /// The values that nodes compute in half precision, the largest error first.
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
    let unproved =
        |half, why: &str| Ok(HalfAnswer { half, proof: Proof::not_verified(why), reference: None, nodes: Vec::new() });
    if question.count == 0 {
        return unproved(half, "no inputs were requested");
    }
    let runs = match Runs::new(question)? {
        Ok(runs) => runs,
        Err(why) => return unproved(half, &format!("the built-in executor does not run the model: {why}")),
    };
    let alone = runs.errors_alone(&half)?;
    let producers = producers(question.model);
    let kept = kept_alone(&half, question.model, &alone, request.element);
    if !kept.is_empty() {
        request.measured.extend(in_main_graph(kept));
        half = to_half(question.model, &request, question.limits)?;
    }
    let reference = Some(runs.reference.clone());
    let mut rounds = 1;
    loop {
        let compared = match runs.compare(&half)? {
            Ok(compared) => compared,
            Err(why) => return Ok(HalfAnswer { half, proof: Proof::Differs(why), reference, nodes: Vec::new() }),
        };
        let mut kept = compared.overflowing(&half, question.model, request.element);
        kept.extend(in_main_graph(compared.before_sensitive(&half, question.model, &alone, &producers)));
        if kept.is_empty() || rounds == MAX_ROUNDS {
            let nodes = compared.nodes(&half, question.model);
            let proof = match compared.proof(&runs.reference, question.count) {
                Proof::Differs(text) if request.half_io => {
                    Proof::Differs(format!("{text}; without --half-io, the outputs stay in float"))
                }
                proof => proof,
            };
            return Ok(HalfAnswer { half, proof, reference, nodes });
        }
        rounds += 1;
        request.measured.extend(kept);
        half = to_half(question.model, &request, question.limits)?;
    }
}

/// Returns nodes of the main graph by their ids.
fn in_main_graph(kept: BTreeMap<usize, String>) -> impl Iterator<Item = (NodeId, String)> {
    kept.into_iter().map(|(index, reason)| (NodeId { body: BodyId::MAIN, index }, reason))
}
