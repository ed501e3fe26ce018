//! All cases of one operator version.

use std::collections::{BTreeMap, HashSet};

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::budget::Limits;
use onnx_conformance_reference::model::{LoadLimits, Model, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::spec::{OpSpec, OperatorVersion, Specs};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet, Evidence, ExpectedOutput, Level, Named};
use crate::generate::again;
use crate::generate::expected::Output;
use crate::generate::instance::{CaseAtVersion, ConcreteCase, NodeDraft};
use crate::generate::model::{Declared, single_node_model};
use crate::generate::operator::{CaseFile, OperatorFile};
use crate::generate::operators::{GenerateError, OperatorCatalog};
use crate::generate::refuse;

/// A case of a version that is planned but not made.
pub(super) struct Planned<'a> {
    pub(super) id: String,
    pub(super) fitted: CaseAtVersion<'a>,
    pub(super) case: &'a CaseFile,
    pub(super) instance: ConcreteCase,
    pub(super) opset: u32,
}

/// The outputs of a run.
pub(super) struct Outputs {
    pub(super) declared: Vec<Declared>,
    pub(super) expected: Vec<ExpectedOutput>,
    /// What confirms them besides our own kernels.
    pub(super) evidence: Vec<Evidence>,
}

/// What a version's cases are made from.
pub(super) struct VersionContext<'a> {
    pub(super) spec: &'a OpSpec,
    pub(super) file: &'a OperatorFile,
    pub(super) operators: &'a OperatorCatalog,
}

impl<'a> VersionContext<'a> {
    pub(super) fn new(
        operators: &'a OperatorCatalog,
        version: &OperatorVersion,
    ) -> Result<VersionContext<'a>, GenerateError> {
        let spec = Specs::embedded().get(version)?;
        let (file, _) = operators.get(version)?;
        Ok(VersionContext { spec, file, operators })
    }

    /// An error that points at a case of the file.
    pub(super) fn at(&self, name: &str, message: String) -> GenerateError {
        self.operators.at(&self.spec.version, name, message, None)
    }

    /// Every case that must run: at the version's own opset, and the first once more at the last opset of its range.
    pub(super) fn planned(&self) -> Result<Vec<Planned<'a>>, GenerateError> {
        let version = &self.spec.version;
        let mut planned: Vec<Planned<'a>> = Vec::new();
        let mut ids = HashSet::new();
        for case in &self.file.cases {
            let Ok(fitted) = CaseAtVersion::new(self.file, case, self.spec) else { continue };
            let instances = fitted.instances().map_err(|message| self.at(&case.name, message))?;
            for instance in instances {
                let id = format!("{}/{}", version.qualified(), instance.name);
                if !ids.insert(id.clone()) {
                    let help = "alternatives enter ids by value; write them as `each: {NAME: VALUE, ...}`".to_owned();
                    let message = format!("two cases have the id {id}");
                    return Err(self.operators.at(version, &case.name, message, Some(help)));
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
    pub(super) fn parts(&self, planned: &Planned<'_>) -> Result<NodeDraft, GenerateError> {
        let instance = &planned.instance;
        let seed = format!("{}/{}", self.spec.version.qualified(), instance.name);
        planned
            .fitted
            .parts(&instance.choices, &instance.types, Some(&seed))
            .and_then(|parts| parts.ok_or_else(|| "its types cannot hold its values".to_owned()))
            .map_err(|message| self.at(&planned.case.name, message))
    }

    /// Makes a planned case: its model, inputs and expected outputs.
    pub(super) fn make(&self, planned: &Planned<'_>) -> Result<Case, GenerateError> {
        let parts = self.parts(planned)?;
        let guess = self.guess_outputs(planned, &parts);
        let draft = single_node_model(self.spec, planned.opset, &parts, &guess);
        let refused = |reason: String| GenerateError::Refused { id: planned.id.clone(), reason };
        let model =
            read_model(draft, &NoExternalData, &LoadLimits::default()).map_err(|error| refused(error.to_string()))?;
        let Outputs { declared, expected, evidence } = self.outputs(planned, &model, &parts)?;
        let mut case = Case {
            id: planned.id.clone(),
            model: single_node_model(self.spec, planned.opset, &parts, &declared),
            folder: None,
            data: vec![DataSet { inputs: parts.inputs, outputs: expected }],
            refusal: None,
            level: self.level(planned.case.level),
            evidence,
            judged: None,
            rule: planned.case.constraint.as_ref().and_then(|id| self.operators.rule(&self.spec.version, id)),
        };
        if !planned.case.again.0.is_empty() {
            again::add(self, planned, &mut case)?;
        }
        Ok(case)
    }

    /// What the outputs of a run must be, and what confirms it.
    pub(super) fn outputs(
        &self,
        planned: &Planned<'_>,
        model: &Model,
        parts: &NodeDraft,
    ) -> Result<Outputs, GenerateError> {
        let names = parts.output_names.iter().filter(|name| !name.is_empty());
        let refused = |reason: String| GenerateError::Refused { id: planned.id.clone(), reason };
        let values = compute(model, parts).map_err(refused)?;
        let declared: Vec<Declared> = match &values {
            Some(values) => names.zip(values).map(|(name, value)| Declared::of(name, value)).collect(),
            None => self.guess_outputs(planned, parts),
        };
        let magnitudes = self.magnitudes(planned, model, parts, &declared)?;
        let mut expected = Vec::new();
        for (at, declared) in declared.iter().enumerate() {
            let computed = values.as_ref().and_then(|values| values.get(at));
            let magnitude = magnitudes.as_ref().and_then(|magnitudes| magnitudes.get(at)?.as_ref());
            let output = self.expected_output(planned, parts, &Output { declared, computed, magnitude })?;
            expected.push(ExpectedOutput { name: declared.name.clone(), expected: output });
        }
        // What is ours alone in one output is not confirmed by another.
        let is_literal = !declared.is_empty() && declared.iter().all(|declared| planned.is_written(declared));
        let evidence = if is_literal { vec![Evidence::Literal] } else { Vec::new() };
        Ok(Outputs { declared, expected, evidence })
    }

    /// How binding what is said of the version is. A runtime is right to refuse a deprecated version, as the checker of ONNX
    /// does; one that takes it does what its text says.
    pub(super) fn level(&self, level: Level) -> Level {
        if self.spec.deprecated { level.max(Level::Recommended) } else { level }
    }

    /// The types of the outputs as far as the inputs tell; the run tells the rest.
    pub(super) fn guess_outputs(&self, planned: &Planned<'_>, parts: &NodeDraft) -> Vec<Declared> {
        let any = ValueType::Tensor(ElementType::Float);
        let declared = |(at, name): (usize, &String)| {
            let known = self.spec.output_at(at).filter(|_| parts.nodes.is_empty());
            let known = known.and_then(|formal| planned.fitted.formal_type(formal, &planned.instance.types));
            Declared { name: name.clone(), value_type: known.unwrap_or_else(|| any.clone()), shape: None }
        };
        parts.output_names.iter().enumerate().filter(|(_, name)| !name.is_empty()).map(declared).collect()
    }
}

/// What the built-in executor computes; nothing where it has no kernel.
fn compute(model: &Model, parts: &NodeDraft) -> Result<Option<Vec<Value>>, String> {
    match run(model, by_name(&parts.inputs), Limits::default()) {
        Ok(values) => Ok(Some(values)),
        Err(error) if error.is_unsupported() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn by_name(inputs: &[Named]) -> BTreeMap<String, Value> {
    inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect()
}

/// The ids of a version's cases, in order, without making them. A case that makes none in any version is an error.
pub fn ids(operators: &OperatorCatalog, version: &OperatorVersion) -> Result<Vec<String>, GenerateError> {
    operators.check_whole(version)?;
    let version = VersionContext::new(operators, version)?;
    let planned = version.planned()?;
    let mut ids: Vec<String> = planned.iter().map(|planned| planned.id.clone()).collect();
    ids.extend(refuse::planned(&version, &planned)?.into_iter().map(|refusal| refusal.id));
    Ok(ids)
}

/// The cases of a version whose ids are wanted.
pub fn cases(
    operators: &OperatorCatalog,
    version: &OperatorVersion,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Case>, GenerateError> {
    let version = VersionContext::new(operators, version)?;
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
