//! Expected outputs of a run: derived by hand, or else computed, with their accuracy.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::executor::{magnitudes, run};
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::Model;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::case::{Evidence, Expected, ExpectedOutput, Named, OutputEvidence};
use crate::compare::Accuracy;
use crate::generate::file::accuracy::{ErrorBound, ResolvedAccuracy};
use crate::generate::file::output::OutputFile;
use crate::generate::file::value_file::ValueFile;
use crate::generate::make::check::checked;
use crate::generate::make::draft::NodeDraft;
use crate::generate::make::error::MakeError;
use crate::generate::make::model::Declared;
use crate::generate::plan::catalog::GenerateError;
use crate::generate::plan::value_plan::ValueBuilder;
use crate::generate::plan::version::{PlannedCase, VersionContext};

/// A run of a case, whose outputs are expected.
pub(crate) struct Run<'a> {
    pub(crate) version: &'a VersionContext<'a>,
    pub(crate) planned: &'a PlannedCase<'a>,
    pub(crate) draft: &'a NodeDraft,
    /// True if op.yaml's `outputs` apply to this run, which is the first.
    pub(crate) is_first: bool,
}

/// The outputs of a run.
pub(crate) struct Outputs {
    pub(crate) declared: Vec<Declared>,
    pub(crate) expected: Vec<ExpectedOutput>,
    /// Evidence for each output, apart from our own kernels.
    pub(crate) evidence: Vec<OutputEvidence>,
}

/// An output with its sources.
struct Output<'a> {
    declared: &'a Declared,
    /// The entry in op.yaml.
    file: Option<&'a OutputFile>,
    computed: Option<&'a Value>,
    /// The sum of absolute terms of each element, if the accuracy depends on it.
    magnitude: Option<&'a Tensor>,
}

impl Run<'_> {
    /// Returns the expectations for the outputs, with their evidence.
    pub(crate) fn outputs(&self, model: &Model) -> Result<Outputs, GenerateError> {
        let names = self.draft.output_names.iter().filter(|name| !name.is_empty());
        let values = self.compute(model)?;
        let declared: Vec<Declared> = match &values {
            Some(values) => names.zip(values).map(|(name, value)| Declared::new(name, value)).collect(),
            None => Declared::guess(self.planned, self.draft),
        };
        let magnitudes = self.magnitudes(model, &declared)?;
        let axes = self.planned.case_at_version.axes();
        let mut expected = Vec::new();
        let mut evidence = Vec::new();
        for (index, declared) in declared.iter().enumerate() {
            let file = self.file(declared);
            // Evidence for one output does not apply to another.
            if file.is_some_and(|file| file.decides_expectation(&axes, &self.planned.instance.choices)) {
                evidence.push(OutputEvidence::new(&declared.name, Evidence::Literal));
            }
            let computed = values.as_ref().and_then(|values| values.get(index));
            let magnitude = magnitudes.as_ref().and_then(|magnitudes| magnitudes.get(index)?.as_ref());
            let output = self.expected(&Output { declared, file, computed, magnitude })?;
            expected.push(ExpectedOutput { name: declared.name.clone(), expected: output });
        }
        Ok(Outputs { declared, expected, evidence })
    }

    /// Runs the built-in executor; returns `None` if it has no kernel.
    fn compute(&self, model: &Model) -> Result<Option<Vec<Value>>, GenerateError> {
        match run(model, by_name(&self.draft.inputs), ExecutionLimits::default()) {
            Ok(values) => Ok(Some(values)),
            Err(error) if error.is_unsupported() => Ok(None),
            Err(error) => Err(self.refused(error.to_string())),
        }
    }

    fn refused(&self, reason: String) -> GenerateError {
        GenerateError::Refused { id: self.planned.id.clone(), reason }
    }

    /// Creates an error that points at the case.
    fn error(&self, error: impl fmt::Display) -> GenerateError {
        self.version.at(&self.planned.case.name, error)
    }

    /// Returns the entry of an output in op.yaml.
    fn file(&self, declared: &Declared) -> Option<&OutputFile> {
        let mut outputs = self.planned.case.outputs.0.iter().filter(|_| self.is_first);
        outputs.find_map(|(name, output)| {
            (self.planned.case_at_version.output_in_model(name)? == declared.name).then_some(output)
        })
    }

    fn accuracy(&self, element: ElementType) -> Result<ResolvedAccuracy, GenerateError> {
        let accuracy = self.planned.case.accuracy.as_ref().unwrap_or(&self.version.file.accuracy);
        let names = self.planned.case_at_version.sizes().map_err(|error| self.error(error))?;
        accuracy.resolve(element, &names).map_err(|error| self.error(error))
    }

    /// Computes the sums of absolute terms of every output, if the accuracy of any output depends on them.
    fn magnitudes(&self, model: &Model, outputs: &[Declared]) -> Result<Option<Vec<Option<Tensor>>>, GenerateError> {
        let mut any = false;
        for declared in outputs {
            let accuracy = self.accuracy(declared.value_type.element_type())?;
            any |= matches!(accuracy, Accuracy::Bounded(ErrorBound { is_sum: true, .. }));
        }
        if !any {
            return Ok(None);
        }
        let values = magnitudes(model, by_name(&self.draft.inputs), ExecutionLimits::default());
        let values = values.map_err(|error| self.refused(error.to_string()))?;
        let missing = || self.error(MakeError::NoMagnitude);
        Ok(Some(values.ok_or_else(missing)?.iter().map(|value| value.as_tensor().cloned()).collect()))
    }

    /// Returns the expectation for an output: derived by hand if op.yaml has it, else computed.
    fn expected(&self, output: &Output<'_>) -> Result<Expected, GenerateError> {
        let Output { declared, file, computed, magnitude } = *output;
        let unspecified = || Expected::Unspecified(declared.value_type.clone(), declared.shape.clone());
        let empty = OutputFile::default();
        let file = file.unwrap_or(&empty);
        if file.unspecified {
            return Ok(unspecified());
        }
        if let Some(values) = &file.any_of {
            let values = values.iter().map(|one| self.written(declared, &one.value()));
            return Ok(Expected::AnyOf(values.collect::<Result<_, _>>()?));
        }
        let PlannedCase { case_at_version, instance, case, .. } = self.planned;
        let written = file.written(&case_at_version.axes(), &instance.choices);
        let written = written.map_err(|error| self.error(error))?;
        let value = match (written, &file.same_as) {
            (Some(written), _) => Some(self.written(declared, &written)?),
            (None, Some(name)) => Some(same_as(self.draft, name).map_err(|error| self.error(error))?),
            (None, None) => computed.cloned(),
        };
        if let Some(check) = &file.check {
            return checked(check, declared, value.as_ref(), self.draft).map_err(|error| self.error(error));
        }
        let Some(value) = value else { return Ok(unspecified()) };
        let has_zero_sign = case.zero_sign || file.zero_sign;
        let accuracy = match self.accuracy(value.value_type().element_type())? {
            Accuracy::Exact if has_zero_sign => Accuracy::ExactZeroSign,
            _ if has_zero_sign => return Err(self.error(MakeError::ZeroSign)),
            resolved => bounded(&resolved, &value, magnitude),
        };
        Ok(Expected::Value(value, accuracy))
    }

    /// Makes the value of an output that op.yaml has.
    fn written(&self, declared: &Declared, file: &ValueFile) -> Result<Value, GenerateError> {
        let names = self.planned.case_at_version.sizes().map_err(|error| self.error(error))?;
        let type_names = self.planned.case_at_version.type_names();
        let types = type_names.as_written(&self.planned.instance.types);
        let builder = ValueBuilder { names: &names, types: &types };
        let value = builder.written(file, Some(&declared.value_type)).map_err(|error| self.error(error))?;
        value.ok_or_else(|| {
            let (name, value_type) = (declared.name.clone(), declared.value_type.clone());
            self.error(MakeError::Output { name, value_type })
        })
    }
}

fn by_name(inputs: &[Named]) -> BTreeMap<String, Value> {
    inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect()
}

/// Returns the value of an input that an output must equal.
fn same_as(draft: &NodeDraft, name: &str) -> Result<Value, MakeError> {
    let found = draft.inputs.iter().find(|input| input.name == name);
    found.map(|input| input.value.clone()).ok_or_else(|| MakeError::SameAs(name.to_owned()))
}

/// Resolves the accuracy to a bound for each element. Types other than floats, and sums without terms, are exact.
fn bounded(accuracy: &ResolvedAccuracy, expected: &Value, magnitude: Option<&Tensor>) -> Accuracy {
    let element_bounds = |rule: &ErrorBound| {
        let tensor = expected.as_tensor().filter(|tensor| tensor.element_type().is_float())?;
        let magnitude = magnitude.filter(|_| rule.is_sum);
        (rule.through.is_some() || magnitude.is_some()).then(|| bounds(*rule, tensor, magnitude))
    };
    accuracy.try_map_bound(|rule| element_bounds(rule).ok_or(())).unwrap_or(Accuracy::Exact)
}

/// Computes the bound of each element.
fn bounds(rule: ErrorBound, expected: &Tensor, magnitude: Option<&Tensor>) -> Tensor {
    let element = expected.element_type();
    let expected_values = expected.floats();
    let magnitudes = magnitude.map_or_else(|| vec![0.0; expected_values.len()], Tensor::floats);
    let bound = |(&expected, magnitude)| rule.bound(element, expected, magnitude);
    let values: Vec<f64> = expected_values.iter().zip(magnitudes).map(bound).collect();
    Tensor::of_floats(ElementType::Double, expected.shape(), &values).unwrap_or_else(|_| expected.clone())
}
