//! Work of a run, known from the shapes of its inputs, and the sizes of inputs that are tried within a budget of it.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::Named;
use onnx_conformance_check::Limits;
use onnx_conformance_check::infer::infer_facts;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension;
use onnx_conformance_reference::proto::{GraphProto, ModelProto, encode};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::models::input_hints::tensor_dims;
use crate::models::summary::ModelSummary;

/// Minimum budget in MACs of all runs that search for suitable inputs.
const MIN_BUDGET: u64 = 1 << 32;

/// Minimum budget as a multiple of the first run.
const MIN_RUNS: u64 = 8;

/// Maximum number of sizes in the description of inputs.
const MAX_SIZES: usize = 6;

/// Number of inputs whose sizes a message lists.
const SHOWN: usize = 3;

/// Returns the sizes of the unknown dimensions of inputs, as in `N=1, H=32`; `None` if all are declared.
pub(super) fn chosen_sizes(graph: &GraphProto, inputs: &[Named]) -> Option<String> {
    let (mut seen, mut sizes) = (BTreeSet::new(), Vec::new());
    for info in &graph.input {
        let tensor = inputs.iter().find(|input| input.name == info.name()).and_then(|input| input.value.as_tensor());
        let (Some(tensor), Some(dims)) = (tensor, tensor_dims(info)) else { continue };
        for (axis, (dim, size)) in dims.iter().zip(tensor.shape()).enumerate() {
            let name = match &dim.value {
                Some(dimension::Value::DimValue(size)) if *size >= 0 => continue,
                Some(dimension::Value::DimParam(name)) if !name.is_empty() => name.clone(),
                _ => format!("axis {axis} of '{}'", info.name()),
            };
            if seen.insert(name.clone()) {
                sizes.push(format!("{name}={size}"));
            }
        }
    }
    let more = if sizes.len() > MAX_SIZES { ", ..." } else { "" };
    sizes.truncate(MAX_SIZES);
    (!sizes.is_empty()).then(|| format!("{}{more}", sizes.join(", ")))
}

/// Sizes of inputs that were tried, within a budget of work.
#[derive(Debug)]
pub(super) struct TriedSizes<'a> {
    model: &'a ModelProto,
    limits: &'a Limits,
    /// The model with the input shapes of the last inference.
    sized: Option<ModelProto>,
    /// MACs of a run by the shapes of its inputs. Inputs of equal shapes share an inference.
    macs: BTreeMap<Vec<Option<Vec<usize>>>, u64>,
    /// The sizes of each input that was tried.
    sizes: Vec<String>,
    /// True if others would have exceeded the budget.
    is_exceeded: bool,
    /// MACs of all runs, and their limit; `None` before the first run.
    work: Option<(u64, u64)>,
}

impl<'a> TriedSizes<'a> {
    /// Creates a budget for runs of a model.
    pub(super) fn new(model: &'a ModelProto, limits: &'a Limits) -> TriedSizes<'a> {
        let (macs, sizes) = (BTreeMap::new(), Vec::new());
        TriedSizes { model, limits, sized: None, macs, sizes, is_exceeded: false, work: None }
    }

    /// Adds inputs of the model. Returns false if a run on them would exceed the budget; the first run is always allowed.
    pub(super) fn admit(&mut self, inputs: &[Named]) -> bool {
        let sizes = self.model.graph.as_ref().and_then(|graph| chosen_sizes(graph, inputs));
        // Without unknown sizes, there is nothing to choose.
        let Some(sizes) = sizes else { return true };
        let macs = self.macs_of_run(inputs);
        let is_allowed = self.count(macs);
        if is_allowed {
            self.sizes.push(sizes);
        }
        is_allowed
    }

    /// Returns the multiplications (MACs) of a run on inputs, in the nodes that a [`ModelSummary`] counts.
    fn macs_of_run(&mut self, inputs: &[Named]) -> u64 {
        let shape = |input: &Named| input.value.as_tensor().map(|tensor| tensor.shape().to_vec());
        let shapes: Vec<Option<Vec<usize>>> = inputs.iter().map(shape).collect();
        if let Some(macs) = self.macs.get(&shapes) {
            return *macs;
        }
        let sized = self.sized.get_or_insert_with(|| self.model.clone());
        for info in sized.graph.iter_mut().flat_map(|graph| &mut graph.input) {
            let value = inputs.iter().find(|input| input.name == info.name()).map(|input| &input.value);
            if let Some(shape) = value.and_then(Value::as_tensor).map(Tensor::shape) {
                info.r#type = value.map(|value| encode::value_type(&value.value_type(), Some(shape)));
            }
        }
        let macs = ModelSummary::new(&infer_facts(sized, self.limits)).macs;
        self.macs.insert(shapes, macs);
        macs
    }

    /// Counts the MACs of a run, if the budget allows it.
    fn count(&mut self, macs: u64) -> bool {
        let (done, budget) = self.work.unwrap_or((0, MIN_BUDGET.max(macs.saturating_mul(MIN_RUNS))));
        let total = done.saturating_add(macs);
        if total > budget {
            self.is_exceeded = true;
            return false;
        }
        self.work = Some((total, budget));
        true
    }

    /// Describes the sizes at the end of a message.
    pub(super) fn text(&self) -> String {
        if self.sizes.is_empty() {
            return String::new();
        }
        let shown = self.sizes.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
        let more = match self.sizes.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let larger = if self.is_exceeded { "; larger ones would take too long" } else { "" };
        format!(" (sizes tried: {shown}{more}{larger}; --inputs gives others)")
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::dtype::ElementType;
    use onnx_conformance_reference::model::text::parse_model;

    use super::*;

    /// One multiplication of `[N, 1000]` by `[1000, 1000]`: a million MACs for each row.
    const PRODUCT: &str = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, 1000] x) => (float[N, 1000] y)
        <float[1000, 1000] w = ["location": "w.bin"]> { y = MatMul (x, w) }"#;

    fn rows(count: usize) -> Vec<Named> {
        let tensor = Tensor::of_floats(ElementType::Float, &[count, 1000], &vec![0.0; count * 1000]);
        vec![Named { name: "x".to_owned(), value: Value::Tensor(tensor.unwrap()) }]
    }

    #[test]
    fn work_follows_from_the_sizes_of_inputs() {
        let model = parse_model(PRODUCT).unwrap();
        let limits = Limits::default();
        let mut tried = TriedSizes::new(&model, &limits);
        assert_eq!([7, 2, 7].map(|count| tried.macs_of_run(&rows(count))), [7_000_000, 2_000_000, 7_000_000]);
        assert_eq!(tried.macs.len(), 2, "inputs of equal shapes share an inference");
        assert_eq!(chosen_sizes(model.graph.as_ref().unwrap(), &rows(7)).as_deref(), Some("N=7"));
    }

    #[test]
    fn large_inputs_exceed_the_budget_except_for_the_first_one() {
        let model = parse_model(PRODUCT).unwrap();
        let limits = Limits::default();
        let mut tried = TriedSizes::new(&model, &limits);
        assert_eq!([2, 3000, 3000, 4].map(|count| tried.admit(&rows(count))), [true, true, false, true]);
        let text = " (sizes tried: N=2; N=3000; N=4; larger ones would take too long; --inputs gives others)";
        assert_eq!(tried.text(), text);
        let mut first = TriedSizes::new(&model, &limits);
        assert!((0..8).all(|_| first.count(MIN_BUDGET)) && !first.count(1));
    }

    #[test]
    fn dimensions_without_a_name_are_described_by_their_axis() {
        let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, ?, 2, N] x) => (float[] y) { y = Neg (x) }"#;
        let model = parse_model(text).unwrap();
        let tensor = Tensor::of_floats(ElementType::Float, &[1, 5, 2, 1], &[0.0; 10]).unwrap();
        let inputs = vec![Named { name: "x".to_owned(), value: Value::Tensor(tensor) }];
        let sizes = chosen_sizes(model.graph.as_ref().unwrap(), &inputs);
        assert_eq!(sizes.as_deref(), Some("N=1, axis 1 of 'x'=5"));
    }
}
