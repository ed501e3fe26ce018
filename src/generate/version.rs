//! All cases of one operator version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use miette::Diagnostic;
use onnx_conformance_reference::executor::{magnitudes, run};
use onnx_conformance_reference::kernels::budget::Limits;
use onnx_conformance_reference::model::{Model, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{OpSpec, OperatorVersion, Specs, embedded};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet, Evidence, Expected, Named, Want};
use crate::compare::Accuracy;
use crate::generate::accuracy::Ask;
use crate::generate::instance::{Fitted, Instance, NodeParts};
use crate::generate::model::{Declared, one_node};
use crate::generate::operator::{CaseFile, OperatorFile, OutputFile, at_case, read_operator};
use crate::generate::random::Random;
use crate::generate::refuse;

/// Cases that cannot be made from the specs.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum GenerateError {
    /// A version file or the list of releases cannot be read.
    #[error("{0}")]
    Spec(String),
    /// An op.yaml is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] Box<YamlError>),
    /// The built-in executor refuses a case that should run.
    #[error("{id}: a case that should run does not: {reason}")]
    Refused {
        /// The case.
        id: String,
        /// Why.
        reason: String,
    },
}

/// The op.yaml files, each read when it is first asked for.
#[derive(Debug)]
pub struct Operators {
    files: BTreeMap<String, (String, OnceLock<Result<OperatorFile, Box<YamlError>>>)>,
}

impl Operators {
    /// The files that were embedded when the program was built.
    pub fn embedded() -> Operators {
        Operators::new(embedded::FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())))
    }

    /// Files by their paths below `specs/`; those that are no op.yaml are left out.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Operators {
        let operators = files.into_iter().filter(|(path, _)| path.ends_with("/op.yaml"));
        Operators { files: operators.map(|(path, text)| (path, (text, OnceLock::new()))).collect() }
    }

    /// Whether an operator has an op.yaml, without reading it.
    pub fn has(&self, version: &OperatorVersion) -> bool {
        self.files.contains_key(&path(version))
    }

    /// The op.yaml of an operator, and its text.
    pub fn get(&self, version: &OperatorVersion) -> Result<(&OperatorFile, &str), GenerateError> {
        let path = path(version);
        let missing = || GenerateError::Spec(format!("specs/{path} is missing"));
        let (text, file) = self.files.get(&path).ok_or_else(missing)?;
        let file = file.get_or_init(|| read_operator(&format!("specs/{path}"), text));
        Ok((file.as_ref().map_err(|error| GenerateError::File(error.clone()))?, text))
    }
}

fn path(version: &OperatorVersion) -> String {
    format!("{}/{}/op.yaml", version.domain, version.name)
}

/// A case of a version that is planned but not made.
pub(super) struct Planned<'a> {
    pub(super) id: String,
    pub(super) fitted: Fitted<'a>,
    pub(super) case: &'a CaseFile,
    pub(super) instance: Instance,
    pub(super) opset: u32,
}

/// What a version's cases are made from.
pub(super) struct Version<'a> {
    pub(super) spec: &'a OpSpec,
    pub(super) file: &'a OperatorFile,
    text: &'a str,
}

impl<'a> Version<'a> {
    fn new(operators: &'a Operators, version: &OperatorVersion) -> Result<Version<'a>, GenerateError> {
        let spec = Specs::embedded().get(version).map_err(|error| GenerateError::Spec(error.to_string()))?;
        let (file, text) = operators.get(version)?;
        Ok(Version { spec, file, text })
    }

    /// An error that points at a case of the file.
    pub(super) fn at(&self, name: &str, message: String) -> GenerateError {
        GenerateError::File(at_case(&format!("specs/{}", path(&self.spec.version)), self.text, name, message))
    }

    /// Every case that must run: at the version's own opset, and the first once more at the last opset of its range.
    pub(super) fn planned(&self) -> Result<Vec<Planned<'a>>, GenerateError> {
        let version = &self.spec.version;
        let mut planned: Vec<Planned<'a>> = Vec::new();
        for case in &self.file.cases {
            let Some(fitted) = Fitted::new(self.file, case, self.spec) else { continue };
            let instances = fitted.instances().map_err(|message| self.at(&case.name, message))?;
            for instance in instances {
                let id = format!("{}/{}", version.qualified(), instance.name);
                if planned.iter().any(|other| other.id == id) {
                    return Err(self.at(&case.name, format!("two cases have the id {id}; name the alternatives")));
                }
                planned.push(Planned { id, fitted, case, instance, opset: version.since });
            }
        }
        let range = Specs::embedded().opsets(version).map_err(|error| GenerateError::Spec(error.to_string()))?;
        if let Some(first) = planned.first().filter(|_| range.end() > range.start()) {
            let last = *range.end();
            let id = format!("{}@opset={last}", first.id);
            planned.push(Planned { id, instance: first.instance.clone(), opset: last, ..*first });
        }
        Ok(planned)
    }

    /// The node of a planned case.
    pub(super) fn parts(&self, planned: &Planned<'_>) -> Result<NodeParts, GenerateError> {
        let instance = &planned.instance;
        let seed = format!("{}/{}", self.spec.version.qualified(), instance.name);
        planned
            .fitted
            .parts(&instance.picks, &instance.types, &Random::new(&seed), &seed)
            .and_then(|parts| parts.ok_or_else(|| "its types cannot hold its values".to_owned()))
            .map_err(|message| self.at(&planned.case.name, message))
    }

    /// Makes a planned case: its model, inputs and expected outputs.
    pub(super) fn make(&self, planned: &Planned<'_>) -> Result<Case, GenerateError> {
        let parts = self.parts(planned)?;
        let names: Vec<&String> = parts.output_names.iter().filter(|name| !name.is_empty()).collect();
        let guess = self.guess_outputs(planned, &parts);
        let draft = one_node(self.spec, planned.opset, &parts, &guess);
        let refused = |reason: String| GenerateError::Refused { id: planned.id.clone(), reason };
        let model = read_model(draft, &NoExternalData).map_err(|error| refused(error.to_string()))?;
        let values = self.compute(&model, &parts).map_err(refused)?;
        let outputs: Vec<Declared> = match &values {
            Some(values) => names.iter().zip(values).map(|(name, value)| Declared::of(name, value)).collect(),
            None => guess,
        };
        let bounds = self.bounds(planned, &model, &parts)?;
        let mut evidence = Vec::new();
        let mut expected = Vec::new();
        for (at, declared) in outputs.iter().enumerate() {
            let computed = values.as_ref().and_then(|values| values.get(at));
            let want = self.want(planned, declared, computed, bounds.as_ref().and_then(|bounds| bounds.get(at)))?;
            if self.literal(planned, declared).is_some() {
                evidence = vec![Evidence::Literal];
            }
            expected.push(Expected { name: declared.name.clone(), want });
        }
        Ok(Case {
            id: planned.id.clone(),
            model: one_node(self.spec, planned.opset, &parts, &outputs),
            folder: None,
            data: vec![DataSet { inputs: parts.inputs, outputs: expected }],
            refusal: None,
            level: planned.case.level,
            evidence,
            judged: None,
        })
    }

    /// The types of the outputs as far as the inputs tell; the run tells the rest.
    fn guess_outputs(&self, planned: &Planned<'_>, parts: &NodeParts) -> Vec<Declared> {
        let any = ValueType::Tensor(onnx_conformance_reference::dtype::ElementType::Float);
        let declared = |(at, name): (usize, &String)| {
            let known =
                self.spec.output_at(at).and_then(|formal| planned.fitted.formal_type(formal, &planned.instance.types));
            Declared { name: name.clone(), value_type: known.unwrap_or_else(|| any.clone()), shape: None }
        };
        parts.output_names.iter().enumerate().filter(|(_, name)| !name.is_empty()).map(declared).collect()
    }

    /// What the built-in executor computes; nothing where it has no kernel.
    fn compute(&self, model: &Model, parts: &NodeParts) -> Result<Option<Vec<Value>>, String> {
        match run(model, by_name(&parts.inputs), Limits::default()) {
            Ok(values) => Ok(Some(values)),
            Err(error) if error.is_unsupported() => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn ask(&self, planned: &Planned<'_>) -> Result<Ask, GenerateError> {
        let file = planned.case.accuracy.as_ref().unwrap_or(&self.file.accuracy);
        file.ask().map_err(|message| self.at(&planned.case.name, message))
    }

    /// The bound of each element of each output, where the rule is about sums.
    fn bounds(
        &self,
        planned: &Planned<'_>,
        model: &Model,
        parts: &NodeParts,
    ) -> Result<Option<Vec<Option<Tensor>>>, GenerateError> {
        let Ask::Sum(multiple) = self.ask(planned)? else { return Ok(None) };
        let failed = |error: String| GenerateError::Refused { id: planned.id.clone(), reason: error };
        let values =
            magnitudes(model, by_name(&parts.inputs), Limits::default()).map_err(|error| failed(error.to_string()))?;
        let Some(values) = values else {
            return Err(
                self.at(&planned.case.name, "the accuracy is a sum, but the kernel has no magnitude".to_owned())
            );
        };
        Ok(Some(values.iter().map(|value| value.as_tensor().map(|tensor| scaled(tensor, multiple))).collect()))
    }

    fn literal<'b>(&self, planned: &'b Planned<'_>, declared: &Declared) -> Option<&'b OutputFile> {
        planned.case.outputs.0.iter().find_map(|(name, output)| {
            let at = planned.fitted.output_position(name)?;
            let formal = self.spec.outputs.get(at)?;
            (format!("{}_out", formal.name) == declared.name).then_some(output)
        })
    }

    /// What an output must be: as derived by hand where the file says so, else as computed.
    fn want(
        &self,
        planned: &Planned<'_>,
        declared: &Declared,
        computed: Option<&Value>,
        magnitude: Option<&Option<Tensor>>,
    ) -> Result<Want, GenerateError> {
        let wrong = |message: String| self.at(&planned.case.name, message);
        let shape = declared.shape.clone();
        let unspecified = || Want::Unspecified(declared.value_type.clone(), shape.clone());
        let file = self.literal(planned, declared);
        if file.is_some_and(|file| file.unspecified) {
            return Ok(unspecified());
        }
        let tensor = |literal: &crate::generate::literal::Literal, shape: Option<&[usize]>| {
            let element = declared.value_type.element_type();
            let tensor = literal.tensor(element, shape).map_err(wrong)?;
            tensor.ok_or_else(|| wrong(format!("{element} cannot hold the output '{}' as written", declared.name)))
        };
        if let Some(values) = file.and_then(|file| file.any_of.as_ref()) {
            let values = values.iter().map(|literal| tensor(literal, None).map(Value::Tensor));
            return Ok(Want::AnyOf(values.collect::<Result<_, _>>()?));
        }
        let written = match file.and_then(|file| Some((file, file.values.as_ref()?))) {
            Some((file, values)) => Some(self.written(planned, file, values, &tensor)?),
            None => None,
        };
        let Some(value) = written.map(Value::Tensor).or_else(|| computed.cloned()) else { return Ok(unspecified()) };
        match (self.ask(planned)?, &value, magnitude) {
            (Ask::Sum(_), Value::Tensor(tensor), Some(Some(magnitude))) if tensor.element_type().is_float() => {
                let element = tensor.element_type();
                Ok(Want::Bounded(tensor.clone(), in_roundoffs(magnitude, element)))
            }
            (Ask::Uniform(accuracy), ..) => Ok(Want::Value(value, accuracy)),
            (Ask::Sum(_), ..) => Ok(Want::Value(value, Accuracy::Exact)),
        }
    }

    /// An output written in the file. Alternatives of outputs go with those of the inputs, in order.
    fn written(
        &self,
        planned: &Planned<'_>,
        file: &OutputFile,
        values: &crate::generate::choice::Choice<crate::generate::literal::Literal>,
        tensor: &dyn Fn(&crate::generate::literal::Literal, Option<&[usize]>) -> Result<Tensor, GenerateError>,
    ) -> Result<Tensor, GenerateError> {
        let wrong = |message: String| self.at(&planned.case.name, message);
        let pick = || std::iter::once(planned.instance.picks.first().copied().unwrap_or(0));
        let literal = values.pick(&mut pick()).map_err(wrong)?;
        let shape = match &file.shape {
            Some(shape) => {
                let sizes = &shape.pick(&mut pick()).map_err(wrong)?.0;
                let names = BTreeMap::new();
                let size = |size: &crate::generate::expression::Size| {
                    size.value(&names).ok().and_then(|value| usize::try_from(value).ok())
                };
                let shape: Option<Vec<usize>> = sizes.iter().map(size).collect();
                Some(shape.ok_or_else(|| wrong("the shape of an output is no list of sizes".to_owned()))?)
            }
            None => None,
        };
        tensor(literal, shape.as_deref())
    }
}

fn by_name(inputs: &[Named]) -> BTreeMap<String, Value> {
    inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect()
}

/// A multiple of each magnitude.
fn scaled(magnitude: &Tensor, multiple: f64) -> Tensor {
    let values: Vec<f64> = magnitude.floats().into_iter().map(|value| value * multiple).collect();
    Tensor::of_floats(onnx_conformance_reference::dtype::ElementType::Double, magnitude.shape(), &values)
        .unwrap_or_else(|_| magnitude.clone())
}

/// Magnitudes in units of the type's roundoff: half the distance from 1 to the next value.
fn in_roundoffs(magnitude: &Tensor, element: onnx_conformance_reference::dtype::ElementType) -> Tensor {
    let roundoff = element.float_format().map_or(0.0, |format| format.ulp(1.0).unwrap_or(0.0) / 2.0);
    scaled(magnitude, roundoff)
}

/// The ids of a version's cases, in order, without making them.
pub fn ids(operators: &Operators, version: &OperatorVersion) -> Result<Vec<String>, GenerateError> {
    let version = Version::new(operators, version)?;
    let planned = version.planned()?;
    let mut ids: Vec<String> = planned.iter().map(|planned| planned.id.clone()).collect();
    ids.extend(refuse::planned(&version, &planned)?.into_iter().map(|refusal| refusal.id));
    Ok(ids)
}

/// The cases of a version whose ids are wanted.
pub fn cases(
    operators: &Operators,
    version: &OperatorVersion,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Case>, GenerateError> {
    let version = Version::new(operators, version)?;
    let planned = version.planned()?;
    let refusals = refuse::planned(&version, &planned)?;
    let mut cases = Vec::new();
    for planned in planned.iter().filter(|planned| wanted(&planned.id)) {
        cases.push(version.make(planned)?);
    }
    for refusal in refusals.iter().filter(|refusal| wanted(&refusal.id)) {
        cases.push(refuse::make(&version, &planned, refusal)?);
    }
    Ok(cases)
}

/// The names of the cases of every operator file that fit no version: mistakes in the file.
pub fn cases_without_version(operator: &OperatorFile, versions: &[&OpSpec]) -> Vec<String> {
    let fitting: BTreeSet<&str> = operator
        .cases
        .iter()
        .filter(|case| versions.iter().any(|spec| Fitted::new(operator, case, spec).is_some()))
        .map(|case| case.name.as_str())
        .collect();
    operator.cases.iter().map(|case| case.name.clone()).filter(|name| !fitting.contains(name.as_str())).collect()
}
