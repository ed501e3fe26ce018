//! Other rules for the few vendored cases with stored outputs that a correct implementation need not reproduce. Each
//! rule follows from the properties of the case, never from its name; docs/accuracy.md argues it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::executor::magnitudes;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, Model, Node, read_model};
use onnx_conformance_reference::proto::{AttributeProto, GraphProto, decode};
use onnx_conformance_reference::spec::{Draws, Specs};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet, Expected, ExpectedOutput, FolderData, Named, UpstreamOverride};
use crate::compare::Accuracy;

/// Largest difference of a lossy decoder in a channel of 8 bits.
const LOSSY: f64 = 4.0;

/// Maximum error of a stored sum whose exact value may be zero, in roundings of its terms.
const NOISE: f64 = 4.0;

/// The same for a Fourier transform, whose angles are also rounded: the multiple of the generated cases.
const NOISE_OF_FOURIER: f64 = 16.0;

/// Time limit for finding the rule of a case. After it, upstream's rule applies.
const TIME: Duration = Duration::from_secs(10);

/// Applies the rules to a vendored case.
pub(crate) fn rejudge(case: &mut Case) {
    let Some(graph) = decode::model(case.model.clone()).ok().and_then(|model| model.graph) else { return };
    let draws = draws(&graph);
    // No rule applies to any other model, which need not be read as a whole.
    if !draws && graph.node.len() != 1 {
        return;
    }
    drop(graph);
    let started = Instant::now();
    let deadline = Deadline::new(move || started.elapsed() > TIME);
    let external = FolderData::new(case.folder.as_deref(), deadline.clone());
    let limits = LoadLimits { deadline: deadline.clone(), ..LoadLimits::default() };
    let Ok(model) = read_model(case.model.clone(), &external, &limits) else { return };
    if draws {
        case.judged = Some(UpstreamOverride::Draws);
        case.data.iter_mut().flat_map(|data| &mut data.outputs).for_each(as_draw);
        return;
    }
    let [node] = model.graph.nodes.as_slice() else { return };
    for data in &mut case.data {
        let judged = if node.op_type == "Dropout" {
            dropout(node, data)
        } else if node.op_type == "ImageDecoder" {
            lossy_image(data)
        } else {
            noise(&model, data, &deadline)
        };
        case.judged = case.judged.or(judged);
    }
}

/// Returns true if a node of the graph, or of an inner graph, has random outputs whatever its inputs are.
fn draws(graph: &GraphProto) -> bool {
    graph.node.iter().any(|node| {
        let inner = node.attribute.iter().flat_map(AttributeProto::all_graphs);
        Specs::embedded().draws(node.domain(), node.op_type()) == Draws::Always || inner.into_iter().any(draws)
    })
}

/// Judges a stored draw as one sample of many: type and shape must agree, and the mean within chance.
fn as_draw(output: &mut ExpectedOutput) {
    if let Expected::Value(Value::Tensor(sample), _) = &output.expected {
        output.expected = Expected::SameMeanAs(sample.clone());
    }
}

/// Judges a dropout in training: the dropped elements are random, the others are scaled, and the mask shows which.
fn dropout(node: &Node, data: &mut DataSet) -> Option<UpstreamOverride> {
    let input = |at: usize| {
        let name = node.inputs.get(at).filter(|name| !name.is_empty())?;
        data.inputs.iter().find(|input| input.name == *name)?.value.as_tensor()
    };
    let training = input(2)?.bools().first().copied()?;
    let ratio = input(1).map_or(Some(0.5), Tensor::single_float)?;
    if !training || ratio == 0.0 {
        return None;
    }
    let source = input(0)?.clone();
    for (output, is_mask) in data.outputs.iter_mut().zip([false, true]) {
        output.expected = if is_mask {
            Expected::Mask { shape: source.shape().to_vec(), ratio }
        } else {
            Expected::DropoutOf { source: source.clone(), ratio }
        };
    }
    Some(UpstreamOverride::Dropout)
}

/// Judges JPEG and lossy WebP, for which decoders agree only up to rounding.
fn lossy_image(data: &mut DataSet) -> Option<UpstreamOverride> {
    let encoded = data.inputs.first()?.value.as_tensor()?.bytes().clone();
    let jpeg = encoded.starts_with(&[0xff, 0xd8, 0xff]);
    let webp = encoded.starts_with(b"RIFF") && encoded.get(12..16) == Some(b"VP8 ");
    if !(jpeg || webp) {
        return None;
    }
    for output in &mut data.outputs {
        if let Expected::Value(Value::Tensor(expected), _) = &output.expected {
            let bound = constant(expected.shape(), LOSSY)?;
            output.expected = Expected::Value(Value::Tensor(expected.clone()), Accuracy::Bounded(bound));
        }
    }
    Some(UpstreamOverride::Lossy)
}

fn constant(shape: &[usize], value: f64) -> Option<Tensor> {
    Tensor::of_floats(ElementType::Double, shape, &vec![value; shape.iter().product()]).ok()
}

/// Judges stored sums that are smaller than the rounding errors of their terms. The exact value may be zero there, so
/// the bound is that error. All other elements keep upstream's rule.
fn noise(model: &Model, data: &mut DataSet, deadline: &Deadline) -> Option<UpstreamOverride> {
    let is_fourier = model.graph.nodes.iter().any(|node| matches!(node.op_type.as_str(), "DFT" | "STFT"));
    let multiple = if is_fourier { NOISE_OF_FOURIER } else { NOISE };
    if !data.outputs.iter().any(|output| has_noise(&output.expected, is_fourier)) {
        return None;
    }
    let inputs: BTreeMap<String, Value> =
        data.inputs.iter().map(|Named { name, value }| (name.clone(), value.clone())).collect();
    let limits = ExecutionLimits { deadline: deadline.clone(), ..ExecutionLimits::default() };
    let magnitudes = magnitudes(model, inputs, limits).ok()??;
    let mut judged = None;
    for (output, magnitude) in data.outputs.iter_mut().zip(&magnitudes) {
        let (Expected::Value(Value::Tensor(expected), accuracy), Some(magnitude)) =
            (&output.expected, magnitude.as_tensor())
        else {
            continue;
        };
        let element = expected.element_type();
        let roundoff = element.float_format().and_then(|format| format.ulp(1.0)).map_or(0.0, |ulp| ulp / 2.0);
        let mut found = false;
        let bounds: Vec<f64> = expected
            .floats()
            .into_iter()
            .zip(magnitude.floats())
            .map(|(value, magnitude)| {
                let noise = multiple * roundoff * magnitude;
                let allowed = accuracy.distance(element, value);
                if value.abs() <= noise && noise > allowed {
                    found = true;
                    return noise;
                }
                allowed
            })
            .collect();
        if found {
            let bound = Tensor::of_floats(ElementType::Double, expected.shape(), &bounds).ok()?;
            output.expected = Expected::Value(Value::Tensor(expected.clone()), Accuracy::Bounded(bound));
            judged = Some(UpstreamOverride::Noise);
        }
    }
    judged
}

/// Returns true if a floating output has elements a million times smaller than its largest. Zeros count if the terms of
/// the sum are rounded themselves and so need not cancel.
fn has_noise(expected: &Expected, with_zeros: bool) -> bool {
    let Expected::Value(Value::Tensor(tensor), Accuracy::Close { .. }) = expected else { return false };
    if !tensor.element_type().is_float() {
        return false;
    }
    let values = tensor.floats();
    let largest = values.iter().filter(|value| value.is_finite()).fold(0.0f64, |most, value| most.max(value.abs()));
    values.iter().any(|value| (with_zeros || *value != 0.0) && value.abs() < largest * 1e-6)
}
