//! The planned positive cases of one operator version.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OpSpec, OperatorVersion, Specs};

use crate::case::{CaseOpset, Level, RuleRef, TextLevel, TextRange, TextRelease};
use crate::generate::file::op_file::{CaseFile, OperatorFile};
use crate::generate::plan::catalog::{GenerateError, OperatorCatalog};
use crate::generate::plan::concrete::{ConcreteCase, ConcreteCases};
use crate::generate::plan::error::PlanError;
use crate::generate::plan::fit::CaseAtVersion;
use crate::generate::plan::node_plan::NodePlan;

/// Opsets at which the first case of a version also runs, in addition to the first and the last of its range: the last
/// opset before ONNX 1.8, and opsets of many exported models.
const LATER_OPSETS: [u32; 3] = [12, 17, 21];

/// A positive case of a version that is planned but not made.
#[derive(Clone, Debug)]
pub(crate) struct PlannedCase<'a> {
    pub(crate) id: String,
    pub(crate) case_at_version: CaseAtVersion<'a>,
    pub(crate) case: &'a CaseFile,
    pub(crate) instance: ConcreteCase,
    /// The node of a second run of the same model.
    pub(crate) second_run: Option<Arc<NodePlan>>,
    pub(crate) opset: u32,
}

/// A version with its op.yaml, from which its cases are planned.
pub(crate) struct VersionContext<'a> {
    pub(crate) spec: &'a OpSpec,
    pub(crate) file: &'a OperatorFile,
    operators: &'a OperatorCatalog,
}

impl<'a> VersionContext<'a> {
    pub(crate) fn new(
        operators: &'a OperatorCatalog,
        version: &OperatorVersion,
    ) -> Result<VersionContext<'a>, GenerateError> {
        let spec = Specs::embedded().get(version)?;
        let file = operators.get(version)?;
        Ok(VersionContext { spec, file, operators })
    }

    /// Creates an error that points at a case of the file.
    pub(crate) fn at(&self, name: &str, error: impl fmt::Display) -> GenerateError {
        self.operators.at(&self.spec.version, name, error.to_string(), None)
    }

    /// Plans every positive case at the version's first opset, and the first one, in each type, also at later opsets.
    pub(crate) fn cases(&self) -> Result<Vec<PlannedCase<'a>>, GenerateError> {
        let version = &self.spec.version;
        let mut planned: Vec<PlannedCase<'a>> = Vec::new();
        let mut ids = HashSet::new();
        for case in &self.file.cases {
            let Ok(case_at_version) = CaseAtVersion::new(self.file, case, self.spec) else { continue };
            let instances = ConcreteCases::new(&case_at_version).and_then(ConcreteCases::cases);
            for instance in instances.map_err(|error| self.at(&case.name, error))? {
                let id = format!("{}/{}", version.qualified(), instance.name);
                if !ids.insert(id.clone()) {
                    let help = "alternatives enter ids by value; write them as `each: {NAME: VALUE, ...}`".to_owned();
                    let message = format!("two cases have the id {id}");
                    return Err(self.operators.at(version, &case.name, message, Some(help)));
                }
                let second_run = self.second_run(&case_at_version, &instance)?;
                planned.push(PlannedCase { id, case_at_version, case, instance, second_run, opset: version.since });
            }
        }
        let at_later_opsets = self.at_later_opsets(&planned)?;
        planned.extend(at_later_opsets);
        Ok(planned)
    }

    /// Plans the first case, in each type, at later opsets of the version's range: runtimes choose kernels and insert casts by the
    /// opset of the model.
    fn at_later_opsets(&self, planned: &[PlannedCase<'a>]) -> Result<Vec<PlannedCase<'a>>, GenerateError> {
        let range = Specs::embedded().released_opsets(&self.spec.version)?;
        let Some(first) = planned.first().filter(|_| range.end() > range.start()) else { return Ok(Vec::new()) };
        let is_default_domain = self.spec.version.domain == DEFAULT_DOMAIN;
        let later =
            LATER_OPSETS.iter().filter(|opset| is_default_domain && (range.start() + 1..*range.end()).contains(opset));
        let opsets: Vec<(CaseOpset, u32)> =
            later.map(|opset| (CaseOpset::At(*opset), *opset)).chain([(CaseOpset::Last, *range.end())]).collect();
        let is_like_first =
            |it: &&PlannedCase<'a>| std::ptr::eq(it.case, first.case) && it.instance.choices == first.instance.choices;
        let at_opsets = |it: &PlannedCase<'a>| {
            let at = |(name, opset): &(CaseOpset, u32)| PlannedCase {
                id: format!("{}{name}", it.id),
                opset: *opset,
                ..it.clone()
            };
            opsets.iter().map(at).collect::<Vec<_>>()
        };
        Ok(planned.iter().filter(is_like_first).flat_map(at_opsets).collect())
    }

    /// Plans the node of a case's second run.
    fn second_run(
        &self,
        case_at_version: &CaseAtVersion<'_>,
        instance: &ConcreteCase,
    ) -> Result<Option<Arc<NodePlan>>, GenerateError> {
        let case = case_at_version.case;
        if case.second_inputs.0.is_empty() {
            return Ok(None);
        }
        let error = |error: PlanError| self.at(&case.name, format_args!("again: {error}"));
        let file = case.second_run();
        let second = CaseAtVersion::new(self.file, &file, self.spec).map_err(|fit| error(fit.into()))?;
        if second.axes() != case_at_version.axes() {
            return Err(error(PlanError::SecondAlternatives));
        }
        let node = NodePlan::new(&second, &instance.choices, &instance.types).map_err(error)?;
        node.map(|node| Some(Arc::new(node))).ok_or_else(|| error(PlanError::OutOfRange))
    }

    /// Returns the rule of a constraint, with its text and place.
    pub(crate) fn rule(&self, id: Option<&str>) -> Option<RuleRef> {
        let constraint = self.file.constraints.get(id?)?;
        let (operators, version) = (self.operators, &self.spec.version);
        let place = constraint.line.map_or_else(|| operators.display(version), |line| operators.place(version, line));
        Some(RuleRef { id: id?.to_owned(), says: constraint.says.clone(), place })
    }

    /// Returns the level of a case of the version by the text of the suite's release, and by the texts that decide it. A runtime
    /// may refuse a deprecated version, as the checker of ONNX does. If it accepts the version, it follows its text.
    pub(crate) fn level(&self, level: Level, texts: Option<TextRange>) -> (Level, Option<TextLevel>) {
        let level = if self.spec.deprecated { level.max(Level::Recommended) } else { level };
        let decided = texts.map(|texts| TextLevel { level, texts });
        (decided.map_or(level, |decided| decided.by(TextRelease::newest())), decided)
    }
}
