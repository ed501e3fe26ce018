//! No quantized sum of filled values is rounded from a tie.

use std::collections::BTreeMap;

use onnx_conformance_cases::generate::Computation;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder};
use onnx_conformance_reference::value::Value;

use super::node_case::{Found, NodeCase};
use super::totals::Promise;

pub(crate) const PROMISE: Promise = Promise {
    name: "quantized sums",
    covers: |file| file.computes.contains(&Computation::RoundsSums),
    rule: differing,
};

#[test]
fn no_quantized_sum_of_filled_values_is_rounded_from_a_tie() {
    PROMISE.assert_kept();
}

/// Returns the outputs that change with the next smaller or larger scale.
fn differing(made: &NodeCase<'_>) -> Found {
    if made.filled.is_empty() {
        return Found::new();
    }
    let model = read_model(made.case.model.clone(), &NoExternalData, &LoadLimits::default()).unwrap();
    let outputs = |towards: i64| {
        let inputs = made.case.data[0].inputs.iter();
        let mut inputs: BTreeMap<String, Value> =
            inputs.map(|input| (input.name.clone(), input.value.clone())).collect();
        if let Some(Value::Tensor(scale)) = inputs.get_mut("y_scale") {
            // The next bfloat16 value is too far away: every quotient would change.
            if scale.element_type() != ElementType::Bfloat16 {
                *scale = beside(scale, towards);
            }
        }
        let values = run(&model, inputs, ExecutionLimits::default()).unwrap();
        values[0].as_tensor().unwrap().integers()
    };
    let (below, above) = (outputs(-1), outputs(1));
    let differs = (0..below.len()).filter(|&at| below[at] != above[at]);
    differs.map(|at| ("y_out".to_owned(), at, "is rounded from a tie".to_owned())).collect()
}

/// Returns the adjacent representable values of a tensor of scales.
fn beside(scale: &Tensor, towards: i64) -> Tensor {
    let bits: Vec<u64> = (0..scale.len()).map(|at| scale.bits_at(at).wrapping_add_signed(towards)).collect();
    TensorBuilder::unlimited(scale.element_type(), scale.shape().to_vec()).unwrap().bits(bits).unwrap()
}
