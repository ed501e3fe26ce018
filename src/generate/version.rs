//! All cases of one operator version.

use std::collections::{BTreeMap, HashSet};
use std::sync::OnceLock;

use miette::Diagnostic;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::budget::Limits;
use onnx_conformance_reference::model::{Model, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::spec::yaml::YamlError;
use onnx_conformance_reference::spec::{LookupError, OpSpec, OperatorVersion, Specs, embedded};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet, Evidence, Expected, Level, Named};
use crate::generate::expected::Output;
use crate::generate::instance::{Fitted, Instance, NodeParts};
use crate::generate::model::{Declared, one_node};
use crate::generate::operator::{CaseFile, OperatorFile, at_case, read_operator};
use crate::generate::refuse;

/// Cases that cannot be made from the specs.
#[derive(Clone, Debug, thiserror::Error, Diagnostic)]
pub enum GenerateError {
    /// A version file or the list of releases cannot be read, or there is no such version.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Spec(#[from] LookupError),
    /// The operator has no op.yaml.
    #[error("{path} is missing; `cargo xtask new-op` writes a first one")]
    Missing {
        /// The file that is missing.
        path: String,
    },
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
    root: String,
    files: BTreeMap<String, (String, OnceLock<Result<OperatorFile, GenerateError>>)>,
}

impl Operators {
    /// The files that were embedded when the program was built.
    pub fn embedded() -> Operators {
        Operators::new("specs", embedded::FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())))
    }

    /// Files by their paths below the folder `root`, which only errors name; those that are no op.yaml are left out.
    pub fn new(root: &str, files: impl IntoIterator<Item = (String, String)>) -> Operators {
        let operators = files.into_iter().filter(|(path, _)| path.ends_with("/op.yaml"));
        let files = operators.map(|(path, text)| (path, (text, OnceLock::new()))).collect();
        Operators { root: root.to_owned(), files }
    }

    /// The texts of all files, in the order of their paths.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.values().map(|(text, _)| text.as_str())
    }

    /// Whether an operator has an op.yaml, without reading it.
    pub fn has(&self, version: &OperatorVersion) -> bool {
        self.files.contains_key(&key(version))
    }

    /// The op.yaml of an operator, and its text.
    pub fn get(&self, version: &OperatorVersion) -> Result<(&OperatorFile, &str), GenerateError> {
        let missing = || GenerateError::Missing { path: self.display(version) };
        let (text, file) = self.files.get(&key(version)).ok_or_else(missing)?;
        let read = || {
            let path = self.display(version);
            let file = read_operator(&path, text)?;
            check_fits(&path, text, &file, version)?;
            Ok(file)
        };
        Ok((file.get_or_init(read).as_ref().map_err(GenerateError::clone)?, text))
    }

    /// Where the op.yaml of an operator is, for people.
    fn display(&self, version: &OperatorVersion) -> String {
        format!("{}/{}", self.root, key(version))
    }
}

fn key(version: &OperatorVersion) -> String {
    format!("{}/{}/op.yaml", version.domain, version.name)
}

/// Every case fits some version of the operator.
fn check_fits(path: &str, text: &str, file: &OperatorFile, version: &OperatorVersion) -> Result<(), GenerateError> {
    let specs = Specs::embedded();
    let sinces: Vec<u32> = specs.versions(&version.domain, &version.name).collect();
    let mut newest_first = Vec::new();
    for &since in sinces.iter().rev() {
        newest_first.push(specs.get(&OperatorVersion::new(&version.domain, &version.name, since))?);
    }
    for case in &file.cases {
        let versions: Vec<&OpSpec> =
            newest_first.iter().copied().filter(|spec| case.covers(spec.version.since)).collect();
        let reason = if versions.is_empty() {
            Some(format!("since and until leave none of the versions {sinces:?}"))
        } else {
            misfit(file, case, &versions)
        };
        if let Some(reason) = reason {
            let message = format!("the case '{}' fits no version of {}", case.name, version.name);
            return Err(at_case(path, text, &case.name, message, Some(reason)).into());
        }
    }
    for refusal in &file.refuse {
        if let Some(reason) = refuse::misfit(file, refusal, &newest_first) {
            let message = format!("the refusal '{}' fits no version of {}", refusal.name, version.name);
            return Err(at_case(path, text, &refusal.name, message, Some(reason)).into());
        }
    }
    Ok(())
}

/// Why a case does not fit the first of these versions; nothing if it fits any.
fn misfit(file: &OperatorFile, case: &CaseFile, versions: &[&OpSpec]) -> Option<String> {
    let mut first = None;
    for spec in versions {
        let reason = Fitted::new(file, case, spec).err()?;
        first.get_or_insert(reason);
    }
    first
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
    path: String,
}

impl<'a> Version<'a> {
    fn new(operators: &'a Operators, version: &OperatorVersion) -> Result<Version<'a>, GenerateError> {
        let spec = Specs::embedded().get(version)?;
        let (file, text) = operators.get(version)?;
        Ok(Version { spec, file, text, path: operators.display(version) })
    }

    /// An error that points at a case of the file.
    pub(super) fn at(&self, name: &str, message: String) -> GenerateError {
        GenerateError::File(at_case(&self.path, self.text, name, message, None))
    }

    /// Every case that must run: at the version's own opset, and the first once more at the last opset of its range.
    pub(super) fn planned(&self) -> Result<Vec<Planned<'a>>, GenerateError> {
        let version = &self.spec.version;
        let mut planned: Vec<Planned<'a>> = Vec::new();
        let mut ids = HashSet::new();
        for case in &self.file.cases {
            let Ok(fitted) = Fitted::new(self.file, case, self.spec) else { continue };
            let instances = fitted.instances().map_err(|message| self.at(&case.name, message))?;
            for instance in instances {
                let id = format!("{}/{}", version.qualified(), instance.name);
                if !ids.insert(id.clone()) {
                    let help = "alternatives enter ids by value; write them as `each: {NAME: VALUE, ...}`".to_owned();
                    let message = format!("two cases have the id {id}");
                    return Err(at_case(&self.path, self.text, &case.name, message, Some(help)).into());
                }
                planned.push(Planned { id, fitted, case, instance, opset: version.since });
            }
        }
        let range = Specs::embedded().opsets(version)?;
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
            .parts(&instance.picks, &instance.types, Some(&seed))
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
        let values = compute(&model, &parts).map_err(refused)?;
        let outputs: Vec<Declared> = match &values {
            Some(values) => names.iter().zip(values).map(|(name, value)| Declared::of(name, value)).collect(),
            None => guess,
        };
        let magnitudes = self.magnitudes(planned, &model, &parts, &outputs)?;
        let mut evidence = Vec::new();
        let mut expected = Vec::new();
        for (at, declared) in outputs.iter().enumerate() {
            let computed = values.as_ref().and_then(|values| values.get(at));
            let magnitude = magnitudes.as_ref().and_then(|magnitudes| magnitudes.get(at)?.as_ref());
            let want = self.want(planned, &parts, &Output { declared, computed, magnitude })?;
            if planned.is_written(declared) {
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
            level: self.level(planned),
            evidence,
            judged: None,
        })
    }

    /// How binding a case is. A runtime is right to refuse a deprecated version, as the checker of ONNX does.
    fn level(&self, planned: &Planned<'_>) -> Level {
        if self.spec.deprecated { Level::Open } else { planned.case.level }
    }

    /// The types of the outputs as far as the inputs tell; the run tells the rest.
    pub(super) fn guess_outputs(&self, planned: &Planned<'_>, parts: &NodeParts) -> Vec<Declared> {
        let any = ValueType::Tensor(ElementType::Float);
        let declared = |(at, name): (usize, &String)| {
            let known =
                self.spec.output_at(at).and_then(|formal| planned.fitted.formal_type(formal, &planned.instance.types));
            Declared { name: name.clone(), value_type: known.unwrap_or_else(|| any.clone()), shape: None }
        };
        parts.output_names.iter().enumerate().filter(|(_, name)| !name.is_empty()).map(declared).collect()
    }
}

/// What the built-in executor computes; nothing where it has no kernel.
fn compute(model: &Model, parts: &NodeParts) -> Result<Option<Vec<Value>>, String> {
    match run(model, by_name(&parts.inputs), Limits::default()) {
        Ok(values) => Ok(Some(values)),
        Err(error) if error.is_unsupported() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn by_name(inputs: &[Named]) -> BTreeMap<String, Value> {
    inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect()
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
