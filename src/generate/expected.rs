//! What the outputs of a case must be: as derived by hand, else as computed, and how closely.

use onnx_conformance_reference::dtype::{ElementType, FloatFormat};
use onnx_conformance_reference::executor::magnitudes;
use onnx_conformance_reference::kernels::budget::Limits;
use onnx_conformance_reference::model::Model;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::case::Expected;
use crate::compare::Accuracy;
use crate::generate::accuracy::{AccuracyFile, ResolvedAccuracy, Through};
use crate::generate::instance::NodeDraft;
use crate::generate::model::Declared;
use crate::generate::operator::ValueFile;
use crate::generate::operators::GenerateError;
use crate::generate::output::OutputFile;
use crate::generate::value::ValueBuilder;
use crate::generate::version::{Planned, VersionContext, by_name};

/// An output of a case, and what is known of it.
pub(super) struct Output<'a> {
    pub(super) declared: &'a Declared,
    pub(super) computed: Option<&'a Value>,
    /// The sum of absolute terms of each element, where the rule is about sums.
    pub(super) magnitude: Option<&'a Tensor>,
}

impl Planned<'_> {
    /// What the file says of an output.
    fn output(&self, declared: &Declared) -> Option<&OutputFile> {
        let mut outputs = self.case.outputs.0.iter();
        outputs.find_map(|(name, output)| (self.fitted.output_in_model(name)? == declared.name).then_some(output))
    }

    /// Whether the file says what an output must be, or how free it is.
    pub(super) fn is_written(&self, declared: &Declared) -> bool {
        let axes = self.fitted.axes();
        self.output(declared).is_some_and(|output| output.says_something(&axes, &self.instance.choices))
    }
}

impl VersionContext<'_> {
    fn accuracy<'a>(&'a self, planned: &Planned<'a>) -> &'a AccuracyFile {
        planned.case.accuracy.as_ref().unwrap_or(&self.file.accuracy)
    }

    fn ask(&self, planned: &Planned<'_>, element: ElementType) -> Result<ResolvedAccuracy, GenerateError> {
        let names = planned.fitted.sizes().map_err(|message| self.at(&planned.case.name, message))?;
        self.accuracy(planned).ask(element, &names).map_err(|message| self.at(&planned.case.name, message))
    }

    /// The sums of absolute terms of every output, where the rule of any is about sums.
    pub(super) fn magnitudes(
        &self,
        planned: &Planned<'_>,
        model: &Model,
        parts: &NodeDraft,
        outputs: &[Declared],
    ) -> Result<Option<Vec<Option<Tensor>>>, GenerateError> {
        let mut any = false;
        for declared in outputs {
            any |= self.ask(planned, declared.value_type.element_type())?.is_about_sums();
        }
        if !any {
            return Ok(None);
        }
        let failed = |error: String| GenerateError::Refused { id: planned.id.clone(), reason: error };
        let values =
            magnitudes(model, by_name(&parts.inputs), Limits::default()).map_err(|error| failed(error.to_string()))?;
        let lacking =
            || self.at(&planned.case.name, "the accuracy is a sum, but the kernel has no magnitude".to_owned());
        let values = values.ok_or_else(lacking)?;
        Ok(Some(values.iter().map(|value| value.as_tensor().cloned()).collect()))
    }

    /// What an output must be: as derived by hand where the file says so, else as computed.
    pub(super) fn expected_output(
        &self,
        planned: &Planned<'_>,
        parts: &NodeDraft,
        output: &Output<'_>,
    ) -> Result<Expected, GenerateError> {
        let wrong = |message: String| self.at(&planned.case.name, message);
        let Output { declared, computed, magnitude } = output;
        let shape = declared.shape.clone();
        let unspecified = || Expected::Unspecified(declared.value_type.clone(), shape.clone());
        let none = OutputFile::default();
        let file = planned.output(declared).unwrap_or(&none);
        if file.unspecified {
            return Ok(unspecified());
        }
        if let Some(values) = &file.any_of {
            let values = values.iter().map(|one| self.written(planned, declared, &one.value()));
            return Ok(Expected::AnyOf(values.collect::<Result<_, _>>()?));
        }
        let written = file.written(&planned.fitted.axes(), &planned.instance.choices).map_err(wrong)?;
        let value = match (written, &file.same_as) {
            (Some(written), _) => Some(self.written(planned, declared, &written)?),
            (None, Some(name)) => Some(same_as(parts, name).map_err(wrong)?),
            (None, None) => (*computed).cloned(),
        };
        if let Some(check) = &file.check {
            return check.expected_output(declared, value.as_ref(), parts).map_err(wrong);
        }
        let Some(value) = value else { return Ok(unspecified()) };
        let has_zero_sign = planned.case.zero_sign || file.zero_sign;
        match (self.ask(planned, value.value_type().element_type())?, &value, magnitude) {
            (ResolvedAccuracy::Uniform(Accuracy::Exact), ..) if has_zero_sign => {
                Ok(Expected::Value(value, Accuracy::ExactZeroSign))
            }
            _ if has_zero_sign => Err(wrong("zero_sign goes with `accuracy: exact` alone".to_owned())),
            (ResolvedAccuracy::Sum(multiple), Value::Tensor(tensor), Some(magnitude))
                if tensor.element_type().is_float() =>
            {
                let roundoff = tensor.element_type().float_format().map_or(0.0, FloatFormat::unit_roundoff);
                Ok(Expected::Bounded(tensor.clone(), scaled(magnitude, multiple * roundoff)))
            }
            (ResolvedAccuracy::Through(through), Value::Tensor(tensor), _) if tensor.element_type().is_float() => {
                let bounds = bounds(through, tensor, magnitude.filter(|_| through.is_sum));
                Ok(Expected::Bounded(tensor.clone(), bounds))
            }
            (ResolvedAccuracy::Uniform(accuracy), ..) => Ok(Expected::Value(value, accuracy)),
            (ResolvedAccuracy::Sum(_) | ResolvedAccuracy::Through(_), ..) => {
                Ok(Expected::Value(value, Accuracy::Exact))
            }
        }
    }

    /// An output written in the file.
    fn written(&self, planned: &Planned<'_>, declared: &Declared, file: &ValueFile) -> Result<Value, GenerateError> {
        let wrong = |message: String| self.at(&planned.case.name, message);
        let names = planned.fitted.sizes().map_err(wrong)?;
        let type_names = planned.fitted.type_names();
        let types = type_names.as_written(&planned.instance.types);
        let maker = ValueBuilder { names: &names, types: &types, seed: None };
        let value = maker.value(file, Some(&declared.value_type), &mut std::iter::empty()).map_err(wrong)?;
        let message = || format!("{} cannot hold the output '{}' as written", declared.value_type, declared.name);
        value.ok_or_else(|| wrong(message()))
    }
}

/// The value of an input that an output must equal.
fn same_as(parts: &NodeDraft, name: &str) -> Result<Value, String> {
    let found = parts.inputs.iter().find(|input| input.name == name);
    found
        .map(|input| input.value.clone())
        .ok_or_else(|| format!("same_as names '{name}', which is no input of the case"))
}

/// How far each element may be that is computed in a wider type.
fn bounds(through: Through, expected: &Tensor, magnitude: Option<&Tensor>) -> Tensor {
    let element = expected.element_type();
    let expected_values = expected.floats();
    let magnitudes = magnitude.map_or_else(|| vec![0.0; expected_values.len()], Tensor::floats);
    let bound = |(&expected, magnitude)| through.bound(element, expected, magnitude);
    let values: Vec<f64> = expected_values.iter().zip(magnitudes).map(bound).collect();
    Tensor::of_floats(ElementType::Double, expected.shape(), &values).unwrap_or_else(|_| expected.clone())
}

/// A multiple of each magnitude.
fn scaled(magnitude: &Tensor, multiple: f64) -> Tensor {
    let values: Vec<f64> = magnitude.floats().into_iter().map(|value| value * multiple).collect();
    Tensor::of_floats(ElementType::Double, magnitude.shape(), &values).unwrap_or_else(|_| magnitude.clone())
}
