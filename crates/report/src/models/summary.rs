//! Size of a model: parameters, bytes, and multiplications of each operator.

use std::collections::BTreeMap;

use onnx_conformance_check::facts::{NodeFacts, ValueFact};
use onnx_conformance_check::infer::Inferred;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::TensorProto;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, canonical_domain};
use serde::Serialize;

/// Size of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelSummary {
    /// Number of elements of initializers and of tensors in `Constant` nodes, in all graphs and functions.
    pub parameters: u64,
    /// Bytes of these elements.
    pub parameter_bytes: u64,
    /// Nodes by operator, in all graphs and functions.
    pub operators: BTreeMap<String, OperatorSummary>,
    /// Multiplications with an addition (MACs) of one run, of all counted nodes, where unknown sizes count as 1. Each body of a loop or
    /// branch and each function counts once.
    pub macs: u64,
}

/// Nodes of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OperatorSummary {
    /// Number of nodes.
    pub nodes: usize,
    /// MACs of the counted nodes, where unknown sizes count as 1; `None` if the operator's are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macs: Option<u64>,
    /// Number of counted nodes with unknown sizes.
    #[serde(skip_serializing_if = "is_zero")]
    pub assumed: usize,
    /// Number of nodes with an unknown rank, which are not counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub uncounted: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// MACs of a node.
enum Macs {
    /// The operator's are not counted.
    Never,
    /// A rank is not known.
    Unknown,
    /// The number, and true if unknown sizes count as 1 in it.
    Count(u64, bool),
}

impl ModelSummary {
    /// Summarizes a model.
    pub(super) fn new(inferred: &Inferred<'_>) -> ModelSummary {
        let mut summary = ModelSummary::default();
        let bodies = &inferred.bodies;
        for graph in bodies.ids().filter_map(|id| bodies.body(id).graph()) {
            let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
            graph.initializer.iter().chain(sparse).for_each(|tensor| summary.add_tensor(tensor));
        }
        for id in inferred.nodes() {
            let Some(facts) = inferred.node_facts(id) else { continue };
            if facts.node.op_type() == "Constant" {
                let tensors = facts.node.attribute.iter().filter_map(|attribute| attribute.t.as_deref());
                tensors.for_each(|tensor| summary.add_tensor(tensor));
            }
            let domain = canonical_domain(facts.node.domain());
            let name = match domain {
                DEFAULT_DOMAIN => facts.node.op_type().to_owned(),
                domain => format!("{domain}/{}", facts.node.op_type()),
            };
            let operator = summary.operators.entry(name).or_default();
            operator.nodes += 1;
            let macs = if domain == DEFAULT_DOMAIN { macs(&facts) } else { Macs::Never };
            match macs {
                Macs::Never => {}
                Macs::Unknown => {
                    operator.uncounted += 1;
                    operator.macs.get_or_insert(0);
                }
                Macs::Count(count, is_assumed) => {
                    operator.assumed += usize::from(is_assumed);
                    let total = operator.macs.get_or_insert(0);
                    *total = total.saturating_add(count);
                    summary.macs = summary.macs.saturating_add(count);
                }
            }
        }
        summary
    }

    fn add_tensor(&mut self, tensor: &TensorProto) {
        let sizes = tensor.dims.iter().map(|size| u64::try_from(*size).unwrap_or(0));
        let count = sizes.fold(1_u64, u64::saturating_mul);
        let bits = ElementType::from_code(tensor.data_type()).map_or(0, |element| u64::from(element.bits()));
        self.parameters = self.parameters.saturating_add(count);
        self.parameter_bytes = self.parameter_bytes.saturating_add(count.saturating_mul(bits).div_ceil(8));
    }

    /// Describes the summary, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("{} parameters, {} bytes", grouped(self.parameters), grouped(self.parameter_bytes)),
            format!("{} MACs in the counted nodes{}", grouped(self.macs), assumption(self.operators.values())),
        ];
        let mut operators: Vec<(&String, &OperatorSummary)> = self.operators.iter().collect();
        operators.sort_by_key(|(_, operator)| std::cmp::Reverse((operator.macs, operator.nodes)));
        lines.extend(operators.into_iter().map(|(name, operator)| {
            let nodes = if operator.nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", operator.nodes) };
            let macs = match (operator.macs, operator.uncounted) {
                (None, _) => "not counted".to_owned(),
                (Some(macs), 0) => format!("{} MACs", grouped(macs)),
                (Some(macs), uncounted) => format!("{} MACs, without {uncounted} of unknown rank", grouped(macs)),
            };
            format!("{name}: {nodes}, {macs}")
        }));
        lines
    }
}

/// Describes the unknown sizes of counted nodes, if there are any.
fn assumption<'a>(operators: impl Iterator<Item = &'a OperatorSummary>) -> &'static str {
    let mut assumed = operators.map(|operator| operator.assumed);
    if assumed.any(|nodes| nodes > 0) { ", with unknown sizes taken as 1; `convert --dim` sets sizes" } else { "" }
}

/// Formats a number with a comma between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the MACs of a node of an operator whose work is mostly a matrix product or a convolution.
fn macs(facts: &NodeFacts<'_>) -> Macs {
    let count = match facts.node.op_type() {
        "MatMul" | "MatMulInteger" | "QLinearMatMul" => product(facts, 0),
        "Gemm" => gemm(facts),
        "Conv" | "ConvInteger" => convolution(facts, 1),
        "QLinearConv" => convolution(facts, 3),
        "ConvTranspose" => transposed(facts),
        "LSTM" => recurrence(facts, 4),
        "GRU" => recurrence(facts, 3),
        "RNN" => recurrence(facts, 1),
        _ => return Macs::Never,
    };
    let mut shapes = facts.inputs.iter().chain(&facts.outputs).flatten().filter_map(|fact| fact.shape.as_ref());
    let is_assumed = shapes.any(|shape| shape.iter().any(|dim| dim.size().is_none()));
    count.map_or(Macs::Unknown, |count| Macs::Count(count, is_assumed))
}

/// Returns the sizes of an input or output, with 1 for unknown sizes.
fn sizes(facts: &[Option<ValueFact>], at: usize) -> Option<Vec<u64>> {
    let shape = facts.get(at)?.as_ref()?.shape.as_ref()?;
    shape.iter().map(|dim| u64::try_from(dim.size().unwrap_or(1)).ok()).collect()
}

fn multiplied(sizes: &[u64]) -> u64 {
    sizes.iter().copied().fold(1, u64::saturating_mul)
}

/// A matrix product: each element of the output sums over the last axis of the first factor.
fn product(facts: &NodeFacts<'_>, factor: usize) -> Option<u64> {
    let (first, output) = (sizes(&facts.inputs, factor)?, sizes(&facts.outputs, 0)?);
    Some(multiplied(&output).saturating_mul(*first.last()?))
}

fn gemm(facts: &NodeFacts<'_>) -> Option<u64> {
    let (first, output) = (sizes(&facts.inputs, 0)?, sizes(&facts.outputs, 0)?);
    let is_transposed =
        facts.node.attribute.iter().find(|attribute| attribute.name() == "transA").is_some_and(|it| it.i() != 0);
    Some(multiplied(&output).saturating_mul(*first.get(usize::from(!is_transposed))?))
}

/// A convolution: each element of the output sums over a window of the channels of its group, which are the axes of the weights
/// after the first.
fn convolution(facts: &NodeFacts<'_>, weights: usize) -> Option<u64> {
    let (weights, output) = (sizes(&facts.inputs, weights)?, sizes(&facts.outputs, 0)?);
    Some(multiplied(&output).saturating_mul(multiplied(weights.get(1..)?)))
}

/// A transposed convolution: each element of the input contributes to a window of the channels of its group.
fn transposed(facts: &NodeFacts<'_>) -> Option<u64> {
    let (input, weights) = (sizes(&facts.inputs, 0)?, sizes(&facts.inputs, 1)?);
    Some(multiplied(&input).saturating_mul(multiplied(weights.get(1..)?)))
}

/// A recurrent network: for each step, sequence and direction, the gates multiply the input and the state by weights.
fn recurrence(facts: &NodeFacts<'_>, gates: u64) -> Option<u64> {
    let (input, weights) = (sizes(&facts.inputs, 0)?, sizes(&facts.inputs, 2)?);
    let ([one, two, features], [directions, _, hidden]) = (input.as_slice(), weights.as_slice()) else { return None };
    let steps = one.saturating_mul(*two);
    let per_step = gates.saturating_mul(*hidden).saturating_mul(features.saturating_add(*hidden));
    Some(steps.saturating_mul(*directions).saturating_mul(per_step))
}

/// Number of models by opset, for each domain.
pub type OpsetHistogram = BTreeMap<String, BTreeMap<i64, usize>>;

/// Counts the models with these opsets.
pub fn opset_histogram<'a>(opsets: impl IntoIterator<Item = &'a BTreeMap<String, i64>>) -> OpsetHistogram {
    let mut histogram = OpsetHistogram::new();
    for (domain, opset) in opsets.into_iter().flatten() {
        *histogram.entry(canonical_domain(domain).to_owned()).or_default().entry(*opset).or_default() += 1;
    }
    histogram
}

#[cfg(test)]
mod tests {
    use onnx_conformance_check::Limits;
    use onnx_conformance_check::infer::infer_facts;
    use onnx_conformance_reference::model::text::parse_model;

    use super::*;

    fn summary(text: &str) -> ModelSummary {
        ModelSummary::new(&infer_facts(&parse_model(text).unwrap(), &Limits::default()))
    }

    #[test]
    fn multiplications_follow_from_shapes() {
        let of = |text: &str, operator: &str| summary(text).operators[operator].macs;
        let head = r#"<ir_version: 8, opset_import: ["" : 17]> g "#;
        let product = "(float[2, 3, 4] x, float[4, 5] w) => (float[2, 3, 5] y) { y = MatMul (x, w) }";
        assert_eq!(of(&format!("{head}{product}"), "MatMul"), Some(2 * 3 * 5 * 4));
        let gemm = "(float[4, 3] x, float[4, 5] w) => (float[3, 5] y) { y = Gemm <transA = 1> (x, w) }";
        assert_eq!(of(&format!("{head}{gemm}"), "Gemm"), Some(3 * 5 * 4));
        // 6 maps of 6 x 6 outputs, each from 2 channels of a group under 3 x 3 weights.
        let conv =
            "(float[1, 4, 8, 8] x, float[6, 2, 3, 3] w) => (float[1, 6, 6, 6] y) { y = Conv <group = 2> (x, w) }";
        assert_eq!(of(&format!("{head}{conv}"), "Conv"), Some(6 * 6 * 6 * 2 * 9));
        let transposed =
            "(float[1, 4, 5, 5] x, float[4, 3, 2, 2] w) => (float[1, 3, 6, 6] y) { y = ConvTranspose (x, w) }";
        assert_eq!(of(&format!("{head}{transposed}"), "ConvTranspose"), Some(4 * 25 * 3 * 4));
        let lstm = "(float[7, 2, 3] x, float[1, 20, 3] w, float[1, 20, 5] r) => (float[7, 1, 2, 5] y) { y = LSTM <hidden_size = 5> (x, w, r) }";
        assert_eq!(of(&format!("{head}{lstm}"), "LSTM"), Some(7 * 2 * 4 * 5 * (3 + 5)));
    }

    #[test]
    fn parameters_and_unknown_sizes_are_counted() {
        let text = r#"<ir_version: 8, opset_import: ["" : 17]>
            g (float[N, 3] x) => (float[N, 5] y) <float[3, 5] w = ["location": "w.bin"]> {
                t = MatMul (x, w)
                c = Constant <value = float16[2] {1, 2}> ()
                y = Relu (t)
            }"#;
        let summary = summary(text);
        assert_eq!((summary.parameters, summary.parameter_bytes, summary.macs), (17, 64, 15));
        let product = &summary.operators["MatMul"];
        assert_eq!((product.nodes, product.macs, product.assumed, product.uncounted), (1, Some(15), 1, 0));
        assert_eq!(summary.operators["Relu"].macs, None);
        let lines = summary.lines();
        assert_eq!(lines[0], "17 parameters, 64 bytes");
        assert_eq!(lines[1], "15 MACs in the counted nodes, with unknown sizes taken as 1; `convert --dim` sets sizes");
        assert_eq!(lines[2], "MatMul: 1 node, 15 MACs");
    }

    #[test]
    fn digits_are_grouped_and_opsets_counted() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let (one, two) = (BTreeMap::from([(String::new(), 13)]), BTreeMap::from([("ai.onnx.ml".to_owned(), 3)]));
        let histogram = opset_histogram([&one, &two, &one]);
        assert_eq!((histogram["ai.onnx"][&13], histogram["ai.onnx.ml"][&3]), (2, 1));
    }
}
