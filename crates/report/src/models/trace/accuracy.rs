//! Comparison of a single node's outputs by the accuracy of its operator.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use onnx_conformance_cases::case::FolderData;
use onnx_conformance_cases::compare::{Accuracy, compare};
use onnx_conformance_cases::generate::{Computation, OperatorCatalog};
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::dtype::{ElementType, FloatFormat};
use onnx_conformance_reference::executor::magnitudes;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::Request;

use crate::models::comparison::{Steps, is_a_step_away};

fn catalog() -> &'static OperatorCatalog {
    static CATALOG: OnceLock<OperatorCatalog> = OnceLock::new();
    CATALOG.get_or_init(OperatorCatalog::embedded)
}

/// Bound of an operator's outputs of an element type near 0.
pub type BoundAtZero = fn(&OpSpec, ElementType) -> f64;

/// Returns the distance from an expected 0 that the accuracy of an operator allows for terms of any magnitude.
pub fn bound_at_zero(spec: &OpSpec, element: ElementType) -> f64 {
    let Ok(file) = catalog().get(&spec.version) else { return 0.0 };
    match file.accuracy.resolve(element, &BTreeMap::new()) {
        Ok(Accuracy::Absolute(distance)) => distance,
        Ok(Accuracy::Roundoffs(multiple)) => multiple * element.float_format().map_or(0.0, FloatFormat::unit_roundoff),
        Ok(Accuracy::Bounded(rule)) => rule.bound(element, 0.0, 0.0),
        _ => 0.0,
    }
}

/// Result of a comparison by the accuracy of an operator.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OwnBound {
    /// Every output is within the bound.
    Within,
    /// An output, by its number, is beyond it.
    Beyond(usize, String),
    /// The bound is unknown: the operator is not ONNX's, or the suite's cases avoid all rounding.
    Unknown,
}

/// Run of a single node, whose outputs are compared.
pub(super) struct SingleRun<'a> {
    pub(super) spec: &'a OpSpec,
    /// The run, with the single-node model.
    pub(super) request: &'a Request<'a>,
    pub(super) deadline: &'a Deadline,
    /// Memory limit in bytes.
    pub(super) bytes: usize,
    pub(super) steps: Steps,
}

impl SingleRun<'_> {
    /// Compares the outputs with the expected ones.
    pub(super) fn compare(&self, expected: &[Value], actual: &[Value]) -> OwnBound {
        let sums = OnceCell::new();
        let mut result = OwnBound::Within;
        for (number, (expected, actual)) in expected.iter().zip(actual).enumerate() {
            let Some(accuracy) = self.accuracy(number, expected, &sums) else {
                result = OwnBound::Unknown;
                continue;
            };
            match compare(expected, actual, &accuracy) {
                Ok(_) => {}
                Err(_) if self.steps != Steps::None && is_a_step_away(expected, actual) => {}
                Err(difference) => return OwnBound::Beyond(number, difference.message),
            }
        }
        result
    }

    /// Returns the accuracy of an output; `None` if it is unknown. `sums` keeps the sums of absolute terms.
    fn accuracy(&self, number: usize, expected: &Value, sums: &OnceCell<Option<Vec<Value>>>) -> Option<Accuracy> {
        let file = catalog().get(&self.spec.version).ok()?;
        let element = expected.value_type().element_type();
        let resolved = file.accuracy.resolve(element, &BTreeMap::new()).ok()?;
        if resolved == Accuracy::Exact {
            // The cases of these operators are filled so that no sum is rounded.
            return (!element.is_float() || !file.computes.contains(&Computation::Sums)).then_some(Accuracy::Exact);
        }
        let tensor = expected.as_tensor()?;
        if !element.is_float() {
            return Some(Accuracy::Exact);
        }
        let bounds = resolved.try_map_bound(|rule| {
            let values = tensor.floats();
            let magnitudes = if rule.is_sum {
                let all = sums.get_or_init(|| self.sums());
                all.as_ref().and_then(|all| Some(all.get(number)?.as_tensor()?.floats())).ok_or(())?
            } else {
                vec![0.0; values.len()]
            };
            let bound = |(value, magnitude): (&f64, f64)| rule.bound(element, *value, magnitude);
            let bounds: Vec<f64> = values.iter().zip(magnitudes).map(bound).collect();
            Tensor::of_floats(ElementType::Double, tensor.shape(), &bounds).map_err(|_| ())
        });
        bounds.ok()
    }

    /// Returns the sums of absolute terms of every output; `None` if the operator does not accumulate.
    fn sums(&self) -> Option<Vec<Value>> {
        let external = FolderData::new(self.request.folder, self.deadline.clone());
        let loading = LoadLimits { deadline: self.deadline.clone(), bytes: self.bytes };
        let model = read_model(self.request.model.clone(), &external, &loading).ok()?;
        let inputs = self.request.inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
        let limits =
            ExecutionLimits { deadline: self.deadline.clone(), bytes: self.bytes, ..ExecutionLimits::default() };
        magnitudes(&model, inputs, limits).ok().flatten()
    }
}
